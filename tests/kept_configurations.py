"""Configurations as users write them, with what planning made of them when they were kept.

tests/data/configurations.json has the demo's configuration and what `validated` made of it. Of the presets,
the files of config/ and the examples of the documentation it has what they say, and how the validated values
differ from the demo's. A key that was added later is in none of them, and GONE names those that went.

    python tests/kept_configurations.py     keeps them anew
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "tests/data/configurations.json"
sys.path.append(str(ROOT / "workflow/scripts"))

from needlework.planning.config import validated  # noqa: E402
from needlework.planning.layers import layered  # noqa: E402

ABSENT = "<gone>"
# Keys that went since the configurations were kept; a number as `run.limit` stays.
GONE = (
    *(("records",), ("run", "limit"), ("run", "audits"), ("audit",)),
    ("benchmarks", "lost_in_the_middle", "unambiguous"),
    ("benchmarks", "lost_in_the_middle", "gold_without_answer"),
)


def sources() -> Iterator[tuple[str, Any]]:
    """(name, content) of all configurations that the repository shows."""
    for file in sorted([*ROOT.glob("presets/*.yaml"), *ROOT.glob("config/*.yaml")]):
        yield file.relative_to(ROOT).as_posix(), yaml.safe_load(file.read_text("utf-8"))
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/*.md"))]
    for page in [*pages, ROOT / "config/README.md"]:
        shown = re.findall(r"^```yaml\n(.*?)^```", page.read_text("utf-8"), flags=re.M | re.S)
        for number, text in enumerate(shown):
            yield f"{page.relative_to(ROOT)} {number}", yaml.safe_load(text)


def kept() -> Any:
    """The file's content, without the keys that went."""
    found = json.loads(FILE.read_text(encoding="utf-8"))
    own = [part for case in found["cases"].values() for part in case.values()]
    for config in (found["demo"], found["validated"], *own):
        for *blocks, key in GONE:
            block = reduce(lambda own, name: own.get(name, {}), blocks, config)
            if key != "limit" or isinstance(block.get(key), dict):
                block.pop(key, None)
    return found


def made(demo: Any, given: Any) -> Any:
    """What planning makes of a configuration over the demo's, with paths as in every clone."""
    full = json.dumps(validated(layered(demo, [given] if given else [])))
    return json.loads(full.replace(str(ROOT), "<root>"))


def difference(usual: Any, own: Any) -> Any:
    """The values in which `own` differs from `usual`, by key."""
    if not (isinstance(usual, dict) and isinstance(own, dict)):
        return own
    other = {k: v for k, v in own.items() if k not in usual or usual[k] != v}
    found = {k: difference(usual.get(k), v) for k, v in other.items()}
    return found | {key: ABSENT for key in usual if key not in own}


def with_difference(usual: Any, change: Any) -> Any:
    if not (isinstance(usual, dict) and isinstance(change, dict)):
        return change
    found = usual | {key: with_difference(usual.get(key), own) for key, own in change.items()}
    return {key: value for key, value in found.items() if value != ABSENT}


def main() -> None:
    """Keep the configurations and what planning makes of them."""
    demo = yaml.safe_load((ROOT / "config.yaml").read_text("utf-8"))
    usual = made(demo, None)
    cases = {
        name: {"given": given, "differs": difference(usual, made(demo, given))}
        for name, given in sources()
    }
    kept = {"demo": demo, "validated": usual, "cases": cases}
    FILE.write_text(json.dumps(kept, separators=(",", ":"), ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
