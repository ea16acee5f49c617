"""Where the parts of a benchmark lie.

A benchmark is a package beside this module, or a single module. Its parts are modules of the package:

| module | what the workflow reads in it |
|---|---|
| settings | the class of its keys: of lost_in_the_middle, `LostInTheMiddle` |
| plan | the fields of `benchmark.py`: constants in capitals, functions by their names |
| factors | FACTORS, if `plan` lacks them |
| results | RESULTS, PROMPTS, CALLED and DESIGNED |
| card | CARD: how report cards show it, if they do |
| prompts | `build(slice_settings, tables, templates, tokenizer) -> Built` |
| scores | `score(instances, generations, translations, *, model, settings, **files) -> scores` |
| checks | `check(config)`: raises UserError if the configuration cannot be built |

A single module has all of them, `check` if there is something to check, but the settings, which are in
`<name>_settings.py` beside it. Planning imports settings, plan, factors and results, which therefore import
pandas and Arrow inside functions; jobs import the part that they run. Jobs lack pydantic, which settings
need.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).parent
# What a package has to have to be a benchmark, and the modules beside the packages that are none.
PLAN, SETTINGS = "plan", "settings"
NONE = ("__init__", "benchmark", "contract", "parts")


def names() -> list[str]:
    """All benchmarks: the packages beside this module that have a plan, and single modules."""
    single = {path.stem for path in HERE.glob("*.py") if not path.match(f"*_{SETTINGS}.py")} - {
        *NONE
    }
    return sorted(single.union(path.parent.name for path in HERE.glob(f"*/{PLAN}.py")))


def part_file(benchmark: str, part: str) -> str:
    """The file of a benchmark's part, below workflow/scripts."""
    if (HERE / benchmark).is_dir():
        return f"needlework/benchmarks/{benchmark}/{part}.py"
    return f"needlework/benchmarks/{benchmark}{'_settings' if part == SETTINGS else ''}.py"


def has_part(benchmark: str, part: str) -> bool:
    """Whether a benchmark has a module for this part."""
    return (HERE.parents[1] / part_file(benchmark, part)).is_file()


def load_part(benchmark: str, part: str) -> ModuleType:
    """The module of a benchmark's part."""
    return import_module(part_file(benchmark, part).removesuffix(".py").replace("/", "."))
