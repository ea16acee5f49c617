"""On a GPU: the same results as without, and how fast. Skipped where there is no CUDA device.

For a machine that has PyTorch, transformers and sentence-transformers, and PyArrow for the backend:

    python -m pytest tests/gpu

What needs more (FAISS for GPUs) is skipped without it. perf/gpu.py measures the same and writes it down.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "perf"))

import gpu  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("gpu")]


@pytest.fixture(scope="module", autouse=True)
def device() -> Any:
    """The device's properties. Every test needs one."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device: these tests need one")
    return torch.cuda.get_device_properties(0)


@pytest.fixture
def encoder(tmp_path: Path) -> Path:
    """A small sentence-transformers model."""
    pytest.importorskip("sentence_transformers")
    gpu.make_encoder(tmp_path, gpu.TINY)
    return tmp_path / "encoder"


def test_vectors_are_those_of_the_processor(encoder) -> None:
    texts = [gpu.text_of(5 + 17 * number % 150, number) for number in range(200)]
    here, there = (
        gpu.SentenceTransformerEmbedder(str(encoder), device=device).encode(texts)
        for device in ("cpu", "cuda")
    )
    assert np.abs(here - there).max() < 1e-5
    assert np.abs(here[0] - here[1]).max() > 1e-3, "texts differ"


def test_embedding_is_fast(tmp_path) -> None:
    pytest.importorskip("sentence_transformers")
    found = gpu.embedding(gpu.FULL, tmp_path, "cuda")
    print(found)
    assert found["texts_per_second"] > 500
    assert found["peak_memory_mib"] > 1000, "it ran on the device"


def test_sampled_answers_are_those_of_the_processor(tmp_path) -> None:
    """In float32: the noise of sampling is drawn on the processor, by the prompt."""
    pytest.importorskip("pyarrow")
    from needlework.given import given
    from needlework.models.backends.base import Request, load_backend
    from needlework.prompts.spans import literal

    gpu.make_decoder(tmp_path, gpu.TINY, "cpu")
    asked = [
        Request(
            f"i{n}", 0, "exact", [literal("question", gpu.text_of(10 + n, n))], ["x"], 24, 1, {}
        )
        for n in range(6)
    ]
    answers = {}
    for device in ("cpu", "cuda"):
        model = load_backend("measured", given(gpu.backend_settings(tmp_path, gpu.TINY, device, 1)))
        model.load()
        answers[device] = [answer.text for answer in model.generate(asked)]
        model.close()
    assert answers["cpu"] == answers["cuda"]
    assert len(set(answers["cpu"])) > 1


def test_an_8b_model_reads_32k_tokens(tmp_path, device) -> None:
    pytest.importorskip("pyarrow")
    if device.total_memory < 40 * 2**30:
        pytest.skip("8 billion parameters and 32K tokens take 40 GB of GPU memory")
    found = gpu.generation(gpu.FULL, tmp_path, "cuda")
    print(found)
    assert 14 < found["weights_gib"] < 16
    assert [row["prompt_tokens"] // 1000 for row in found["prompts"]] == [8, 8, 32]
    for row in found["prompts"]:
        assert row["prefill_tokens_per_second"] > 1000
        assert row["decode_tokens_per_second"] > 5
        assert row["peak_memory_mib"] > 14 * 1024


def test_the_search_on_the_gpu_finds_the_nearest(tmp_path) -> None:
    pytest.importorskip("pyarrow")
    faiss = pytest.importorskip("faiss")
    if not faiss.get_num_gpus():
        pytest.skip("this FAISS is not built for GPUs")
    assert gpu.searching(gpu.FULL, tmp_path, "cuda")["on"] == "gpu"
