"""Where the parts of a benchmark lie: modules of a package beside this module.

| module | what the workflow reads in it |
|---|---|
| benchmark | BENCHMARK: all that planning and results know of it, from plan, tables and figures |
| settings | the class of its keys: of lost_in_the_middle, `LostInTheMiddle` |
| prompts | `build(slice_settings, tables, templates, tokenizer) -> Built` |
| scores | `score(instances, generations, translations, *, model, settings, **files) -> scores` |

BENCHMARK is not in the package's `__init__`, which runs before every module of the package: each prompt's
code digest would then change with each figure. Planning imports `benchmark` in an environment without pandas
and Arrow: the modules that it names import them inside functions. Jobs import the part that they run, and
lack pydantic, which `settings` needs.

A small benchmark is a single module with all of them but its settings, in `<name>_settings.py` beside it.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).parent
# The part that makes a package a benchmark, and the part that a single module has in a file beside it.
OBJECT, SETTINGS = "benchmark", "settings"
# The parts that make and show numbers.
RESULTS = ("tables", "figures")


def names() -> list[str]:
    """All benchmarks: packages that have the object, and single modules."""
    packages = {path.parent.name for path in HERE.glob(f"*/{OBJECT}.py")}
    modules = {path.stem for path in HERE.glob("*.py") if not path.match(f"*_{SETTINGS}.py")}
    return sorted(packages | (modules - {"__init__", "benchmark", "parts"}))


def part_file(benchmark: str, part: str) -> str:
    """The file of a benchmark's part, below workflow/scripts."""
    if (HERE / benchmark).is_dir():
        return f"needlework/benchmarks/{benchmark}/{part}.py"
    return f"needlework/benchmarks/{benchmark}{'_settings' if part == SETTINGS else ''}.py"


def load_part(benchmark: str, part: str) -> ModuleType:
    """The module of a benchmark's part."""
    return import_module(part_file(benchmark, part).removesuffix(".py").replace("/", "."))
