"""perf/gpu.py in its small variant, on the CPU: a GPU's figures come from the same code."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "perf"))

import gpu  # noqa: E402


@pytest.fixture(autouse=True)
def one_thread():
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.slow
def test_every_part_gives_its_figures(tmp_path, monkeypatch) -> None:
    out = tmp_path / "gpu.json"
    arguments = ["--tiny", "--device", "cpu", "--folder", str(tmp_path), "--out", str(out)]
    monkeypatch.setattr("sys.argv", ["gpu.py", *arguments])
    gpu.main()
    found = json.loads(out.read_text())
    assert found["size"] == "tiny" and found["device"]["name"] == "none: on the CPU"
    assert "torch" in found["machine"]["packages"]
    assert found["embedding"]["texts_per_second"] > 1
    rows = found["generation"]["prompts"]
    assert [(row["prompt_tokens"], row["prompts_at_once"]) for row in rows] == list(
        gpu.TINY.prompts
    )
    assert all(row["prefill_tokens_per_second"] > 1 for row in rows)
    assert found["search"]["on"] == "cpu"
    assert [path.name for path in tmp_path.iterdir()] == ["gpu.json"], "no models are left"


def test_a_part_that_lacks_something_says_so(tmp_path, monkeypatch) -> None:
    """As on a machine with PyTorch and its libraries alone."""
    for package in ("faiss", "pyarrow"):
        monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr(gpu, "PARTS", {name: gpu.PARTS[name] for name in ("generation", "search")})
    found = gpu.measure(gpu.TINY, tmp_path, "cpu")
    assert "pyarrow" in found["generation"]["not_run"]
    assert "not installed" in found["search"]["not_run"]


def test_a_faiss_without_gpus_is_not_taken_for_one(tmp_path) -> None:
    import faiss

    if getattr(faiss, "get_num_gpus", int)():
        pytest.skip("this FAISS has a GPU")
    with pytest.raises(gpu.NotRunError, match="built for GPUs"):
        gpu.searching(gpu.TINY, tmp_path, "cuda")


def test_without_a_gpu_nothing_is_written(monkeypatch, tmp_path) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    monkeypatch.setattr("sys.argv", ["gpu.py", "--out", str(tmp_path / "gpu.json")])
    with pytest.raises(SystemExit, match="No CUDA device: nothing was run"):
        gpu.main()
    assert not (tmp_path / "gpu.json").exists()


def test_the_full_size_is_that_of_the_real_models() -> None:
    """Counted by the shapes, on no device."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM, XLMRobertaConfig, XLMRobertaModel

    with torch.device("meta"):
        decoder = LlamaForCausalLM(LlamaConfig(**gpu.FULL.decoder))
        encoder = XLMRobertaModel(XLMRobertaConfig(**gpu.FULL.encoder, max_position_embeddings=514))
    assert decoder.num_parameters() == 8_030_261_248, "Llama 3.1 8B"
    assert 277e6 < encoder.num_parameters() < 279e6, "XLM-R base"
