"""Imports OpenVINO without telemetry: a plain `import openvino` sends a report to its makers."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType


def runtime(module: str = "openvino") -> ModuleType:
    """The module `openvino`, or a part of it. Raises ImportError if it is not installed."""
    # Its tools do without this package where it cannot be imported, and then send nothing.
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]  # documented
    return importlib.import_module(module)


def genai() -> ModuleType:
    """The module `openvino_genai`. Raises ImportError if it is not installed."""
    return runtime("openvino_genai")
