"""Which rule's script runs in which of envs/, read from the rules."""

from __future__ import annotations

import re
from pathlib import Path

from needlework.codedigest import import_closure

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = ROOT / "workflow/scripts"


def rules() -> dict[str, tuple[set[str], list[str]]]:
    """Of each script: the environments of its rule, and the files that its code digest names."""
    found = {}
    common = (ROOT / "workflow/rules/common.smk").read_text(encoding="utf-8")
    for path in sorted((ROOT / "workflow/rules").glob("*.smk")):
        for block in re.split(r"^ *rule\b", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[
            1:
        ]:
            if "script:" not in block:
                continue  # a target that only names files
            own = re.search(r"conda:(.*?)\n *\w+:\n", block, re.DOTALL)
            assert own, f"a rule without an environment in {path.name}"
            text = with_functions(own[1], common)
            environments = set(re.findall(r"envs/([\w-]+)\.yaml", text))
            script = re.search(r'script:\s+"\.\./scripts/(\w+\.py)"', block)[1]
            named = re.findall(r'f?"(needlework/[^\n]*?\.py)"', block)
            # What a rule chooses at run time may be any of its kind.
            patterns = [re.sub(r"\{.*?\}(?=[./])", "*", name) for name in named]
            if "backend_file(" in block:
                patterns += [f"needlework/models/backends/{own}.py" for own in ("*", "*/backend")]
            parts = re.findall(r'part_file\([\w.]+, "(\w+)"\)', block)
            patterns += [f"needlework/benchmarks/*/{part}.py" for part in parts]
            found[script] = (environments, patterns)
    return found


def with_functions(text: str, common: str) -> str:
    """A text, and the functions of common.smk for environments that it calls."""
    for name in re.findall(r"\b(\w*environment)\(", text):
        called = re.search(rf"^def {name}\(.*?\n(.*?)^\S", common, re.MULTILINE | re.DOTALL)
        if called:
            text += with_functions(called[1], common)
    return text


RULES = rules()


def code_of(script: str) -> list[Path]:
    """The files of all code that a script may import at the head of a module."""
    chosen = []
    for pattern in RULES[script][1]:
        # No job imports the settings.
        files = sorted(f for f in SCRIPTS.glob(pattern) if not f.stem.endswith("_settings"))
        assert files, pattern
        chosen += [path.relative_to(SCRIPTS).as_posix() for path in files]
    return sorted(import_closure(script, *chosen))
