"""A GGUF file as an OpenVINO folder with exactly the file's weights.

OpenVINO GenAI reads GGUF itself, but rounds each group's zero point to a whole number. If the groups of a
format have a minimum (Q4_1, Q4_K), this changes the weights by about a tenth: SmolLM2-135M (Q4_1) then gives
other answers. So the weights are set again from the file.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import struct
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from needlework.atomic import STALE_S, host, runs
from needlework.errors import UserError
from needlework.prompts.openvino_runtime import genai, runtime
from needlework.records import file_digest

logger = logging.getLogger("needlework")

# The tensors of a block, in the order in which OpenVINO GenAI builds its layers.
_BLOCK = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
# How far OpenVINO's own reading of a tensor may be from the file's for it to be the same tensor, and
# how far ours may be (both as shares of the mean weight). Rounding to 16 bits costs 0.0006.
_RECOGNISED, _EXACT = 0.3, 0.005
_WHOLE = ("F32", "F16", "BF16", "F64")
# A folder that is being written: host, process, and a name of this writing.
_UNFINISHED = re.compile(r"unfinished-(?:([0-9a-f]{8})-(\d+)-)?\w+")


class _Weights(NamedTuple):
    """The part of OpenVINO's graph that makes a tensor: (quantized - zero) * scale, group by group."""

    quantized: np.ndarray  # float32 (rows, groups, group)
    subtract: Any
    multiply: Any


def kept_folder(file: Path, cache: Path) -> Path:
    """The folder of `exact_folder` in `cache`.

    It is written if the cache has none for this file, OpenVINO and code. Jobs may share `cache`. Raises
    Raises UserError as `exact_folder` does.
    """
    made_by = f"{genai().__version__.partition('-')[0]}-{file_digest(__file__)[:8]}"
    folder = cache / f"{file_digest(file)[:16]}-{made_by}"
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        _remove_left_overs(cache)
        own = f"unfinished-{host()}-{os.getpid()}-"
        with tempfile.TemporaryDirectory(dir=cache, prefix=own) as unfinished:
            whole = Path(unfinished) / folder.name
            whole.mkdir()
            exact_folder(file, whole)
            try:
                whole.rename(folder)
            except OSError:
                # Another job was faster.
                if not folder.is_dir():
                    raise
    return folder


def _remove_left_overs(cache: Path) -> None:
    """Remove the folders that killed jobs have left, each as large as a model."""
    for folder in cache.glob("unfinished-*"):
        found = _UNFINISHED.fullmatch(folder.name)
        if not found:
            continue
        # Another job may remove it first.
        with suppress(OSError):
            ended = found[1] == host() and not runs(int(found[2]))
            if ended or folder.stat().st_mtime < time.time() - STALE_S:
                shutil.rmtree(folder)


def exact_folder(file: Path, folder: Path) -> None:
    """Write into `folder` the OpenVINO model and tokenizer of a GGUF file, with the file's weights.

    Raises UserError if OpenVINO's weights cannot be matched with the file's, or cannot be stored.
    """
    openvino = runtime()
    link = folder / "model.gguf"
    link.symlink_to(file.resolve())
    # It writes the folder as it loads; there is no other way to ask for it.
    genai().LLMPipeline(str(link), "CPU", enable_save_ov_model=True)
    link.unlink()
    path = folder / "openvino_model.xml"
    model = openvino.Core().read_model(path)
    changed = _set_weights(model, file)
    if changed:
        openvino.save_model(model, folder / "exact.xml", compress_to_fp16=False)
        del model
        for suffix in (".xml", ".bin"):
            (folder / f"exact{suffix}").replace(path.with_suffix(suffix))
    logger.info("%s: the weights of %d tensors were set from the file.", file.name, changed)


def _set_weights(model: Any, file: Path) -> int:
    """Set the scales and zero points of `model` to what the file says; how many tensors changed."""
    from gguf import dequantize

    tensors = {tensor.name: tensor for tensor in _tensors(file)}
    stored = [name for name in _names(tensors) if tensors[name].tensor_type.name not in _WHOLE]
    found = list(_weights(model))
    if len(found) != len(stored):
        raise _unknown(
            file, f"{len(stored)} quantized tensors are {len(found)} in OpenVINO's graph"
        )
    changed = 0
    for name, weights in zip(stored, found, strict=True):
        tensor = tensors[name]
        # A view of the mapped file: `dequantize` takes it apart row by row, which a memmap makes slow.
        exact = dequantize(np.asarray(tensor.data), tensor.tensor_type).astype(np.float32)
        zero, scale = (_constant(node.input(1)) for node in (weights.subtract, weights.multiply))
        own = (weights.quantized - zero) * scale
        if own.size != exact.size:
            raise _unknown(file, f"{name} has another size in OpenVINO's graph")
        candidates = [exact, *_halves(name, exact, tensors)]
        grouped = [weights_of.reshape(own.shape) for weights_of in candidates]
        distances = [_distance(own, wanted) for wanted in grouped]
        best = int(np.argmin(distances))
        if distances[best] > _RECOGNISED:
            raise _unknown(file, f"{name} has other weights in OpenVINO's graph")
        if distances[best] > _EXACT:
            _replace(weights, grouped[best], f"{file.name}: {name}")
            changed += 1
    return changed


def _tensors(file: Path) -> Iterable[Any]:
    """The tensors of a GGUF file, without its lists.

    The package reads the vocabulary token by token, which takes seconds.
    """
    from gguf import GGUFReader, GGUFValueType

    class Reader(GGUFReader):
        def _get_field_parts(self, orig_offs: int, raw_type: int) -> Any:
            if raw_type != GGUFValueType.ARRAY or self.byte_order != "I":
                return super()._get_field_parts(orig_offs, raw_type)
            kind = GGUFValueType(self._get(orig_offs, np.uint32)[0])
            n, end = int(self._get(orig_offs + 4, np.uint64)[0]), orig_offs + 12
            if kind in self.gguf_scalar_to_np:
                end += n * np.dtype(self.gguf_scalar_to_np[kind]).itemsize
            elif kind == GGUFValueType.STRING:
                data, length = memoryview(self.data.data), struct.Struct("=Q")
                for _ in range(n):
                    end += length.size + length.unpack_from(data, end)[0]
            else:
                return super()._get_field_parts(orig_offs, raw_type)
            return end - orig_offs, [], [], [GGUFValueType.ARRAY, kind]

    return Reader(file).tensors


def _names(tensors: dict[str, Any]) -> Iterator[str]:
    """The names of the tensors that are multiplied with, in the order of OpenVINO's graph."""
    yield "token_embd.weight"
    block = 0
    while f"blk.{block}.attn_q.weight" in tensors:
        yield from (f"blk.{block}.{part}.weight" for part in _BLOCK)
        block += 1
    if "output.weight" in tensors:
        yield "output.weight"


def _weights(model: Any) -> Iterator[_Weights]:
    """The quantized weights of OpenVINO's graph, in the order in which it was built."""
    found = []
    for node in model.get_ordered_ops():
        if node.get_type_name() != "Subtract":
            continue
        convert = node.input(0).get_source_output().get_node()
        if convert.get_type_name() != "Convert":
            continue
        constant = convert.input(0).get_source_output().get_node()
        if constant.get_type_name() == "Constant":
            multiply = next(iter(node.output(0).get_target_inputs())).get_node()
            number = int(node.get_friendly_name().rpartition("_")[2])
            found.append((number, _Weights(_numbers(constant), node, multiply)))
    yield from (weights for _, weights in sorted(found, key=lambda item: item[0]))


def _constant(port: Any) -> np.ndarray:
    """The constant behind an input, through a conversion of its type, as float32."""
    node = port.get_source_output().get_node()
    if node.get_type_name() == "Convert":
        node = node.input(0).get_source_output().get_node()
    return _numbers(node)


def _numbers(constant: Any) -> np.ndarray:
    """A constant's values as float32; of two 4-bit numbers in a byte, the lower is the first."""
    values = constant.data
    if constant.get_element_type().get_type_name() == "u4":
        values = np.stack([values & 15, values >> 4], -1).reshape(-1)[
            : int(np.prod(constant.shape))
        ]
    return values.reshape(list(constant.shape)).astype(np.float32)


def _halves(name: str, weights: np.ndarray, tensors: dict[str, Any]) -> Iterator[np.ndarray]:
    """Queries and keys in the order of OpenVINO's rotary positions: first halves before second ones.

    llama.cpp stores the two rows of each pair side by side, for some architectures.
    """
    if ".attn_q." not in name and ".attn_k." not in name:
        return
    rows, columns = weights.shape
    for head in (64, 128, 32, 80, 96, 256):
        if rows % head == 0:
            pairs = weights.reshape(-1, head // 2, 2, columns)
            yield pairs.swapaxes(1, 2).reshape(rows, columns)


def _distance(own: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.abs(own - wanted).mean() / max(np.abs(wanted).mean(), 1e-12))


def _replace(weights: _Weights, wanted: np.ndarray, where: str) -> None:
    """Set scale and zero point so that the quantized numbers give the wanted weights."""
    opset13 = runtime("openvino.opset13")
    quantized = weights.quantized
    # In each group weights are a straight line over the quantized numbers: two points are enough.
    low, high = (at(-1)[..., None] for at in (quantized.argmin, quantized.argmax))
    below, above = (np.take_along_axis(quantized, at, -1) for at in (low, high))
    first, last = (np.take_along_axis(wanted, at, -1) for at in (low, high))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        scale = (last - first) / (above - below)
        zero = below - first / scale
        # A group of one number has no line, and one of zeros no scale.
        flat = ~np.isfinite(zero)
        scale, zero = np.where(flat, first, scale), np.where(flat, below - 1, zero)
        scale, zero = scale.astype(np.float16), zero.astype(np.float16)
        stored = (quantized - zero.astype(np.float32)) * scale.astype(np.float32)
    distance = _distance(stored, wanted)
    if not distance <= _EXACT:
        raise UserError(
            f"{where}: the weights cannot be stored in OpenVINO's format (they would be off by "
            f"{distance:.1%}): convert the model to an OpenVINO folder with optimum-intel."
        )
    for node, values in ((weights.subtract, zero), (weights.multiply, scale)):
        node.input(1).replace_source_output(opset13.constant(values).output(0))


def _unknown(file: Path, why: str) -> UserError:
    return UserError(
        f"{file.name}: its weights cannot be compared with what OpenVINO reads of them ({why}): convert "
        "the model to an OpenVINO folder with optimum-intel."
    )
