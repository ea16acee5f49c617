"""Where the parts of a benchmark lie.

A benchmark is a package beside this module, or a single module. Its parts are modules of the package:

| module | what the workflow reads in it |
|---|---|
| benchmark | BENCHMARK: all that planning and results know of it |
| settings | the class of its keys: of lost_in_the_middle, `LostInTheMiddle` |
| prompts | `build(slice_settings, tables, templates, tokenizer) -> Built` |
| scores | `score(instances, generations, translations, *, model, settings, **files) -> scores` |

BENCHMARK is put together from a package's further modules: plan, checks, tables, figures, card. It is not in
the package's `__init__`, which runs before every module of the package: each prompt's code digest would then
change with each figure.

A single module has all of them but the settings, which are in `<name>_settings.py` beside it. Planning
imports `benchmark`, whose modules therefore import pandas and Arrow inside functions; jobs import the part
that they run. Jobs lack pydantic, which settings need.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).parent
# What a package has to have to be a benchmark, and the modules beside the packages that are none.
OBJECT, SETTINGS = "benchmark", "settings"
NONE = ("__init__", "benchmark", "parts")
# The parts that make and show numbers.
RESULTS = ("tables", "figures")


def names() -> list[str]:
    """All benchmarks: the packages beside this module that have the object, and single modules."""
    single = {path.stem for path in HERE.glob("*.py") if not path.match(f"*_{SETTINGS}.py")} - {
        *NONE
    }
    return sorted(single.union(path.parent.name for path in HERE.glob(f"*/{OBJECT}.py")))


def part_file(benchmark: str, part: str) -> str:
    """The file of a benchmark's part, below workflow/scripts."""
    if (HERE / benchmark).is_dir():
        return f"needlework/benchmarks/{benchmark}/{part}.py"
    return f"needlework/benchmarks/{benchmark}{'_settings' if part == SETTINGS else ''}.py"


def load_part(benchmark: str, part: str) -> ModuleType:
    """The module of a benchmark's part."""
    return import_module(part_file(benchmark, part).removesuffix(".py").replace("/", "."))
