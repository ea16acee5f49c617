"""Speed and memory on a GPU: embedding, the backend `transformers` at long prompts, searching.

    python perf/gpu.py                                      writes perf/gpu.json
    python perf/gpu.py --tiny --device cpu --out /tmp/gpu.json     tries it without a GPU

The models have the shapes of real ones (the paper's embedder, Llama 3.1 8B) and random weights, which are
made here and saved: 16 GB in --folder. Nothing is downloaded. It needs PyTorch, transformers and
sentence-transformers; for the backend also pyarrow, for the search also a FAISS built for GPUs. A part
that lacks something is not run, and the result says so.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / name) for name in ("workflow/scripts", "perf", "tests")]

import numpy as np  # noqa: E402

import machine  # noqa: E402
from engines.tiny_model import make_tokenizer  # noqa: E402
from needlework.retrieval.embedders import GRID, SentenceTransformerEmbedder  # noqa: E402

PACKAGES = ("torch", "transformers", "sentence-transformers", "faiss-gpu", "faiss-cpu")


class NotRunError(Exception):
    """What a part lacks here."""


@dataclass(frozen=True)
class Size:
    """How large models and inputs are."""

    encoder: Mapping[str, int]
    texts: int
    decoder: Mapping[str, Any]
    prompts: tuple[tuple[int, int], ...]  # (tokens of a prompt, prompts at once)
    new_tokens: int
    dtype: str
    questions: int
    passages: int
    dimensions: int
    top: int


FULL = Size(
    # paraphrase-multilingual-mpnet-base-v2: XLM-R base, which cuts texts at 128 tokens.
    encoder={
        "vocab_size": 250002,
        "hidden_size": 768,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "intermediate_size": 3072,
    },
    texts=20000,
    # Llama 3.1 8B.
    decoder={
        "vocab_size": 128256,
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "max_position_embeddings": 131072,
    },
    prompts=((8192, 1), (8192, 4), (32768, 1)),
    new_tokens=64,
    dtype="bfloat16",
    questions=5000,
    passages=70000,
    dimensions=768,
    top=300,
)
TINY = Size(
    encoder={
        "vocab_size": 512,
        "hidden_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 4,
        "intermediate_size": 64,
    },
    texts=48,
    decoder={
        "vocab_size": 1000,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 1,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 1024,
    },
    prompts=((96, 1), (96, 2), (384, 1)),
    new_tokens=32,
    dtype="float32",
    questions=20,
    passages=500,
    dimensions=32,
    top=10,
)


# Models and texts


def text_of(n_words: int, number: int) -> str:
    """Words that a tokenizer takes apart, different for every number."""
    words = [
        "harbour",
        "Orveld",
        "was",
        "built",
        "in",
        str(1000 + number),
        "Brackwater",
        "passages",
    ]
    return " ".join(words[(i * i + number) % len(words)] for i in range(n_words))


def make_encoder(folder: Path, size: Size) -> None:
    """A sentence-transformers model of the size, with random weights and the mean of its tokens."""
    import torch
    from sentence_transformers import SentenceTransformer
    from transformers import AutoTokenizer, XLMRobertaConfig, XLMRobertaModel

    raw = folder / "raw"
    make_tokenizer(raw)
    tokenizer = AutoTokenizer.from_pretrained(raw)
    tokenizer.pad_token, tokenizer.model_max_length = "</s>", 128
    tokenizer.save_pretrained(raw)
    torch.manual_seed(0)
    config = XLMRobertaConfig(
        **size.encoder, max_position_embeddings=514, pad_token_id=tokenizer.pad_token_id
    )
    XLMRobertaModel(config).save_pretrained(raw)
    SentenceTransformer(str(raw), device="cpu").save(str(folder / "encoder"))


def make_decoder(folder: Path, size: Size, device: str) -> None:
    """A Llama of the size with random weights, made on the device, saved in the size's dtype."""
    import torch
    from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM

    make_tokenizer(folder)
    config = LlamaConfig(
        **size.decoder,
        rope_parameters={"rope_type": "default", "rope_theta": 500000.0},
        bos_token_id=0,
        eos_token_id=1,
        dtype=size.dtype,
    )
    torch.manual_seed(0)
    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, size.dtype))
    try:
        with torch.device(device):
            model = LlamaForCausalLM(config)
    finally:
        torch.set_default_dtype(before)
    # Never the likeliest token: every answer is as long as it may be.
    model.lm_head.weight.data[config.eos_token_id] = 0
    model.generation_config = GenerationConfig(bos_token_id=0, eos_token_id=1)
    model.save_pretrained(folder)


# What is measured


def embedding(size: Size, folder: Path, device: str) -> dict[str, Any]:
    """Texts a second of needlework's embedder, each cut at 128 tokens; text to vectors on the host."""
    make_encoder(folder, size)
    encoder = SentenceTransformerEmbedder(str(folder / "encoder"), device=device)
    texts = [text_of(128, number) for number in range(size.texts)]
    encoder.encode(texts[:256])
    start_counting(device)
    seconds, vectors = timed(lambda: encoder.encode(texts))
    lengths = np.linalg.norm(vectors, axis=1)
    if not np.allclose(lengths, 1, atol=1e-6) or np.unique(vectors, axis=0).shape[0] < 2:
        raise AssertionError("these are no vectors of texts")
    return {
        "texts": size.texts,
        "tokens_a_text": 128,
        "texts_per_second": round(size.texts / seconds, 1),
        "peak_memory_mib": peak_memory_mib(device),
    }


def backend_settings(folder: Path, size: Size, device: str, batch_size: int) -> dict[str, Any]:
    """A model's block of the configuration, which samples, for the decoder in the folder."""
    return {
        "backend": "transformers",
        "name": str(folder),
        "revision": None,
        "trust_remote_code": False,
        "chat": False,
        "chat_template": None,
        "reasoning": None,
        "config": {},
        "dtype": size.dtype,
        "rope_scaling": None,
        "repeatable": False,
        "stop": [],
        "system": None,
        "answer_prefix": None,
        "batch_size": batch_size,
        "device": device,
        "sampling": {"temperature": 0.7, "top_k": 50, "top_p": 1, "seed": 0},
    }


def generation(size: Size, folder: Path, device: str) -> dict[str, Any]:
    """The backend `transformers`: tokens a second that it reads and writes, by prompt and batch.

    Reading is the time to answers of one token; writing is what further tokens take on top of it.
    """
    need("pyarrow", "the backend")
    from transformers import AutoTokenizer

    from needlework.given import given
    from needlework.models.backends.base import Request, load_backend
    from needlework.prompts.spans import literal

    made, _ = timed(lambda: make_decoder(folder, size, device))
    free(device)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    at_most = max(at_once for _, at_once in size.prompts)
    settings = backend_settings(folder, size, device, at_most)
    settings["sampling"]["temperature"] = 0
    model = load_backend("measured", given(settings))

    def ask(tokens: int, at_once: int, new: int) -> tuple[float, list[Any]]:
        """The seconds that a batch takes, and its answers."""
        asked = []
        for number in range(at_once):
            # The words have several tokens each; the first one is the tokenizer's own.
            ids = tokenizer.encode(text_of(tokens, number))[1:tokens]
            spans = [literal("question", tokenizer.decode(ids))]
            asked.append(Request(f"i{number}", 0, "exact", spans, ["x"], new, tokens, {}))
        seconds, answers = timed(lambda: list(model.generate(asked)))
        for answer in answers:
            if answer.error or answer.completion_tokens != new:
                raise AssertionError(f"{new} tokens were asked for: {answer}")
        return seconds, answers

    rows = []
    try:
        loaded, _ = timed(model.load)
        first, _ = ask(16, 1, 1)
        for tokens, at_once in size.prompts:
            ask(tokens, at_once, 2)
            start_counting(device)
            # The less disturbed of two.
            (short, answers), (long, _) = (
                min((ask(tokens, at_once, new) for _ in range(2)), key=lambda asked: asked[0])
                for new in (1, 1 + size.new_tokens)
            )
            read = sum(answer.prompt_tokens for answer in answers)
            written = at_once * size.new_tokens
            rows.append(
                {
                    "prompt_tokens": round(read / at_once),
                    "prompts_at_once": at_once,
                    "prefill_tokens_per_second": round(read / short, 1),
                    "decode_tokens_per_second": round(written / (long - short), 1),
                    "peak_memory_mib": peak_memory_mib(device),
                }
            )
    finally:
        model.close()
    weights = sum(file.stat().st_size for file in folder.glob("*.safetensors"))
    return {
        "dtype": size.dtype,
        "weights_gib": round(weights / 2**30, 3),
        "making_and_saving_seconds": round(made, 1),
        "loading_seconds": round(loaded + first, 1),
        "new_tokens": size.new_tokens,
        "prompts": rows,
    }


def units(n: int, dimensions: int, seed: int) -> np.ndarray:
    """Random vectors such as an Embedder makes: shape (n, dimensions), of length 1."""
    vectors = np.random.default_rng(seed).standard_normal((n, dimensions))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return (np.rint(vectors / GRID) * GRID).astype(np.float32)


def searching(size: Size, folder: Path, device: str) -> dict[str, Any]:
    """The exact search of questions among passages, by FAISS on the GPU."""
    need("pyarrow", "the search")
    faiss = need("faiss", "the search")
    gpus = faiss.get_num_gpus() if hasattr(faiss, "get_num_gpus") else 0
    if device == "cuda" and not gpus:
        raise NotRunError("the search needs a FAISS built for GPUs, and this one is not")
    from needlework.retrieval.search import search

    questions = units(size.questions, size.dimensions, 0)
    passages = units(size.passages, size.dimensions, 1)
    search(questions[:8], passages, size.top, on_gpu=bool(gpus))
    threads = machine.describe()["cores"]
    seconds, found = timed(
        lambda: search(questions, passages, size.top, threads=threads, on_gpu=bool(gpus))
    )
    scores = questions[:8].astype(np.float64) @ passages.T.astype(np.float64)
    if not (found["row"][:8] == np.argsort(-scores, axis=1, kind="stable")[:, : size.top]).all():
        raise AssertionError("the search did not find the nearest")
    return {
        "questions": size.questions,
        "passages": size.passages,
        "dimensions": size.dimensions,
        "top": size.top,
        "on": "gpu" if gpus else "cpu",
        "threads": threads,
        "seconds": round(seconds, 3),
    }


PARTS: dict[str, Callable[[Size, Path, str], dict[str, Any]]] = {
    "embedding": embedding,
    "generation": generation,
    "search": searching,
}


def measure(size: Size, folder: Path, device: str) -> dict[str, Any]:
    """All parts, each in a folder of its own; a part that lacks something says so."""
    result: dict[str, Any] = {}
    for name, part in PARTS.items():
        own = folder / name
        own.mkdir()
        try:
            result[name] = part(size, own, device)
        except NotRunError as error:
            result[name] = {"not_run": str(error)}
        finally:
            shutil.rmtree(own)
            free(device)
        print(json.dumps({name: result[name]}), flush=True)
    return result


# The machine


def need(package: str, what: str) -> Any:
    """The imported package; NotRunError where it is not installed."""
    try:
        return __import__(package)
    except ImportError:
        raise NotRunError(f"{what} needs {package}, which is not installed") from None


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and what came of it. What we time ends with its results on the host."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def start_counting(device: str) -> None:
    """Forget the device's peak of memory until now."""
    if device == "cuda":
        import torch

        torch.cuda.reset_peak_memory_stats()


def peak_memory_mib(device: str) -> float | None:
    """The most memory that tensors took on the device; None on a CPU."""
    if device != "cuda":
        return None
    import torch

    return round(torch.cuda.max_memory_allocated() / 2**20, 1)


def free(device: str) -> None:
    """Hand back the device's memory that nothing uses any more."""
    import gc

    import torch

    gc.collect()
    if device == "cuda":
        torch.cuda.empty_cache()


def describe_device(device: str) -> dict[str, Any]:
    """The GPU, its driver and CUDA; on a CPU, only that."""
    if device != "cuda":
        return {"name": "none: on the CPU"}
    import torch

    driver = ""
    if shutil.which("nvidia-smi"):
        query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        driver = subprocess.run(query, capture_output=True, text=True).stdout.split("\n")[0]
    properties = torch.cuda.get_device_properties(0)
    return {
        "name": torch.cuda.get_device_name(0),
        "memory_gib": round(properties.total_memory / 2**30, 1),
        "driver": driver,
        "cuda": torch.version.cuda,
    }


def installed(packages: tuple[str, ...]) -> list[str]:
    """Those of the packages that are there."""
    found = []
    for package in packages:
        try:
            version(package)
        except PackageNotFoundError:
            continue
        found.append(package)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--tiny", action="store_true", help="small models and inputs, to try it")
    parser.add_argument("--folder", type=Path, help="where models are written (16 GB)")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    args = parser.parse_args()

    import torch

    if args.device == "cuda" and not torch.cuda.is_available():
        sys.exit(
            "No CUDA device: nothing was run. `--tiny --device cpu --out FILE` tries the code."
        )
    size = TINY if args.tiny else FULL
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        result = {
            "machine": machine.describe(installed(PACKAGES)),
            "device": describe_device(args.device),
            "size": "tiny" if args.tiny else "full",
            **measure(size, Path(folder), args.device),
        }
    args.out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
