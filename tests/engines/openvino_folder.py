"""A language model of transformers as an OpenVINO folder, in the form that optimum-intel writes.

optimum-intel needs another version of transformers than ours. What it does for a Llama is little.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from needlework.prompts.openvino_runtime import runtime

Tensor = torch.Tensor
# Below every score, and within 16 bits.
MASKED = -30000.0


class Past:
    """Keys and values of the tokens before, as the model's layers ask for a cache."""

    is_compileable = False

    def __init__(self, layers: Sequence[tuple[Tensor, Tensor]]) -> None:
        self.layers = list(layers)
        self.length = layers[0][0].shape[2]

    def update(
        self, keys: Tensor, values: Tensor, layer: int, *_: Any, **__: Any
    ) -> tuple[Tensor, Tensor]:
        known_keys, known_values = self.layers[layer]
        grown = torch.cat([known_keys, keys], 2), torch.cat([known_values, values], 2)
        self.layers[layer] = grown
        return grown

    def get_seq_length(self, *_: Any) -> int:
        return self.length


class Step(torch.nn.Module):
    """New tokens behind those of the cache: the logits, and the grown cache."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, position_ids: Tensor, past: Any
    ) -> tuple[Tensor, ...]:
        cache = Past(past)
        new, total = input_ids.shape[1], attention_mask.shape[1]
        before = torch.arange(total)[None, :] <= torch.arange(new)[:, None] + (total - new)
        seen = before[None, None] & (attention_mask[:, None, None, :] > 0)
        mask = torch.where(seen, torch.tensor(0.0), torch.tensor(MASKED))
        logits = self.model(
            input_ids, mask, position_ids=position_ids, past_key_values=cache, use_cache=True
        ).logits
        return (logits, *(tensor for layer in cache.layers for tensor in layer))


def write(model: Any, folder: Path) -> None:
    """Write `openvino_model.xml` of a Llama of transformers (eager attention, float32) into a folder."""
    from openvino import PartialShape, Type, opset13, save_model
    from openvino._offline_transformations import apply_make_stateful_transformation

    shape = model.config
    heads, size, layers = shape.num_key_value_heads, shape.head_dim, shape.num_hidden_layers
    past = [(torch.randn(1, heads, 3, size), torch.randn(1, heads, 3, size)) for _ in range(layers)]
    example = {
        "input_ids": torch.ones(1, 2, dtype=torch.long),
        "attention_mask": torch.ones(1, 5, dtype=torch.long),
        "position_ids": torch.tensor([[3, 4]]),
        "past": past,
    }
    with torch.no_grad():
        graph = runtime().convert_model(Step(model), example_input=example)
    parts = [f"{layer}.{part}" for layer in range(layers) for part in ("key", "value")]
    before, after = (
        [f"{word}.{part}" for part in parts] for word in ("past_key_values", "present")
    )
    for port, name in zip(graph.inputs, [*list(example)[:3], *before], strict=True):
        dimensions = [-1, heads, -1, size] if name in before else [-1, -1]
        port.get_node().set_partial_shape(PartialShape(dimensions))
        port.get_tensor().set_names({name})
    for port, name in zip(graph.outputs, ["logits", *after], strict=True):
        port.get_tensor().set_names({name})
    # Beams choose among the caches of a batch.
    beams = opset13.parameter([-1], Type.i32, name="beam_idx")
    beams.output(0).get_tensor().add_names({"beam_idx"})
    graph.add_parameters([beams])
    for port in graph.inputs[3 : 3 + len(before)]:
        users = port.get_target_inputs()
        chosen = opset13.gather(port.get_node().output(0), beams, opset13.constant(0))
        for user in users:
            user.replace_source_output(chosen.output(0))
    graph.validate_nodes_and_infer_types()
    apply_make_stateful_transformation(graph, dict(zip(before, after, strict=True)))
    save_model(graph, folder / "openvino_model.xml")
