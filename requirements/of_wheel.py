"""What a wheel asks for: the versions of requirements/demo.txt, and more packages as extras."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

# Dependency groups. vLLM and inspect_ai need other versions of some packages, so that no extra can have them.
EXTRAS = {"tokenizers": ("instances",), "transformers": ("instances", "neural")}


class Requirements(MetadataHookInterface):
    """The dependencies and extras of the project's metadata."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add them to the metadata of pyproject.toml."""
        listed = Path(self.root, "requirements/demo.txt").read_text(encoding="utf-8")
        metadata["dependencies"] = re.findall(r"^(\w.*?)(?: \\)?$", listed, re.MULTILINE)
        project = Path(self.root, "pyproject.toml").read_text(encoding="utf-8")
        groups = tomllib.loads(project)["dependency-groups"]
        metadata["optional-dependencies"] = {
            extra: sorted({package for name in names for package in _packages(groups, name)})
            for extra, names in EXTRAS.items()
        }


def _packages(groups: dict[str, list[Any]], name: str) -> Iterator[str]:
    """The packages of a dependency group, with those of the groups that it includes."""
    for entry in groups[name]:
        if isinstance(entry, str):
            yield entry
        else:
            yield from _packages(groups, entry["include-group"])
