"""Search is exact, in one order, and the same in any number of threads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from needlework import records
from needlework.errors import UserError
from needlework.retrieval.embedders import NgramHasher
from needlework.retrieval.search import (
    NOTHING,
    RANKED,
    AnswerFree,
    distractors,
    random_ranking,
    search,
)
from needlework.retrieval.vectors import (
    BLOCK,
    count_rows,
    embed_texts,
    read_array,
    read_texts,
    write_array,
)
from needlework.scoring import metrics

GRID = 2.0**-26


def units(n: int, dimensions: int, seed: int) -> np.ndarray:
    vectors = np.random.default_rng(seed).standard_normal((n, dimensions))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return (np.rint(vectors / GRID) * GRID).astype(np.float32)


def expected(
    questions: np.ndarray,
    passages: np.ndarray,
    top: int,
    allowed: Callable[[int, int], bool] = lambda question, row: True,
) -> np.ndarray:
    """The ranking in plain NumPy: a float64 product, and a sort of everything."""
    scores = (questions.astype(np.float64) @ passages.astype(np.float64).T).astype(np.float32)
    ranking = np.full((len(questions), top), NOTHING)
    for question, row_scores in enumerate(scores):
        rows = [r for r in range(len(passages)) if allowed(question, r)]
        best = sorted(rows, key=lambda r: (-row_scores[r], r))[:top]
        ranking[question, : len(best)] = [(row_scores[r], r) for r in best]
    return ranking


@pytest.mark.parametrize("dimensions", [2, 24, 768])
@pytest.mark.parametrize("n", [1, 50, 3000])
def test_search_is_exact(dimensions: int, n: int) -> None:
    questions, passages = units(40, dimensions, 0), units(n, dimensions, 1)
    found = search(questions, passages, 60)
    assert found.dtype == RANKED
    np.testing.assert_array_equal(found, expected(questions, passages, 60))


def test_search_of_few_questions_is_the_same(tmp_path: Path) -> None:
    questions, passages = units(600, 64, 0), units(5000, 64, 1)
    found = search(questions, passages, 10)
    for few in (questions[:0], questions[:1], questions[:7], questions[:513]):
        np.testing.assert_array_equal(search(few, passages, 10), found[: len(few)])
    assert (search(questions, units(0, 64, 1), 5) == NOTHING).all()
    # Vectors may be mapped from the disk.
    write_array(passages, tmp_path / "passages.npy")
    mapped = read_array(tmp_path / "passages.npy")
    np.testing.assert_array_equal(search(questions, mapped, 10), found)


def test_a_gpu_that_is_not_there_is_refused() -> None:
    import faiss

    if faiss.get_num_gpus():
        pytest.skip("FAISS sees a GPU here")
    vectors = np.eye(4, dtype=np.float32)
    with pytest.raises(UserError, match=r"device is gpu, but FAISS sees no GPU: install"):
        search(vectors, vectors, 2, on_gpu=True)


def test_threads_change_no_bit_and_negatives_are_last() -> None:
    questions, passages = units(150, 384, 0), units(3000, 384, 1)
    one, two, three = (search(questions, passages, 40, threads=t).tobytes() for t in (1, 2, 3))
    assert one == two == three
    passages = np.array([[-1, 0], [0, 1], [0, 0], [1, 0], [-0.5, 0], [0, -1]], dtype=np.float32)
    (found,) = search(np.array([[1, 0]], dtype=np.float32), passages, 6)
    assert found["row"].tolist() == [3, 1, 2, 5, 4, 0]
    assert found["score"].tolist() == [1, 0, 0, 0, -0.5, -1]


@pytest.mark.parametrize("distinct", [1, 3, 40])
def test_ties_are_broken_by_row(distinct: int) -> None:
    # Every vector many times over, in random order: ties at every rank, at the last one too.
    originals = units(distinct, 32, 1)
    passages = originals[np.random.default_rng(2).integers(0, distinct, 2500)]
    questions = units(30, 32, 0)
    whole = search(questions, passages, 100)
    np.testing.assert_array_equal(whole, expected(questions, passages, 100))


def test_near_ties_are_ordered_by_their_exact_scores() -> None:
    # Passages that differ from one another in the last places, so that the rounding errors of a
    # float32 product are larger than the differences of scores.
    rng = np.random.default_rng(3)
    steps = rng.integers(-40, 40, (2000, 256))
    passages = units(1, 256, 1) + (steps * GRID).astype(np.float32)
    questions = units(25, 256, 0)
    exact = expected(questions, passages, 64)
    assert (np.diff(exact["score"], axis=1) > -1e-7).mean() > 0.5
    np.testing.assert_array_equal(search(questions, passages, 64), exact)


def test_passages_not_allowed_make_room_for_others() -> None:
    questions, passages = units(30, 48, 0), units(2000, 48, 1)
    # Question 0 may have none, question 1 only the worst; the others lose from none to most.
    order = np.argsort(-(questions[1] @ passages.T))
    worst = set(order[-20:].tolist())
    seed = np.random.default_rng(5).random((30, 2000)) < np.linspace(0, 0.99, 30)[:, None]

    def one(question: int, row: int) -> bool:
        if question == 0:
            return False
        return row in worst if question == 1 else not seed[question, row]

    def allowed(question: int, rows: np.ndarray) -> np.ndarray:
        return np.array([one(question, row) for row in rows.tolist()], dtype=bool)

    exact = expected(questions, passages, 50, one)
    np.testing.assert_array_equal(search(questions, passages, 50, allowed), exact)
    assert (exact["row"][0] == -1).all() and (exact["row"][1] >= 0).sum() == 20


TEXTS = [
    *("The Orla is 212 kilometres long.", "It froze in 1909, and in U.S. newspapers too!"),
    *("ÓRLA-quelle im Wald", "…!?", "奥拉河很长。"),
]
ANSWERS = [["212 Kilometres"], ["u.s", "nowhere"], ["奥拉河", "wald"], ["!?", ""], []]


def answer_free() -> AnswerFree:
    return AnswerFree(TEXTS, ANSWERS, metrics.normalise, metrics.contains)


def test_answer_free_passages_are_normalised_once() -> None:
    rows = np.array([4, 3, 2, 1, 0])
    allowed = [answer_free()(question, rows).tolist() for question in range(len(ANSWERS))]
    assert allowed[0] == [True, True, True, True, False]
    assert allowed[1] == [True, True, True, False, True]
    assert allowed[2] == [False, True, False, True, True]
    # An answer of punctuation alone, and no answer, exclude nothing, even where every text is
    # said to contain the empty one.
    assert allowed[3] == allowed[4] == [True] * 5
    every = AnswerFree(TEXTS, ANSWERS, metrics.normalise, lambda answer, text: answer in text)
    assert every(3, rows).tolist() == [True] * 5
    assert answer_free()(0, np.array([], dtype=np.int64)).tolist() == []
    seen: list[str] = []

    def normalise(text: str) -> str:
        seen.append(text)
        return text

    allowed = AnswerFree(TEXTS, [["x"], ["y"]], normalise, lambda answer, text: answer in text)
    for question in (0, 1, 0):
        allowed(question, np.array([0, 2]))
    assert sorted(seen) == sorted(["x", "y", TEXTS[0], TEXTS[2]])


def test_no_distractor_holds_an_answer() -> None:
    rng = np.random.default_rng(1)
    words = np.array([f"w{i}" for i in range(300)])
    texts = [" ".join(rng.choice(words, 30)) for _ in range(1500)]
    asked = [" ".join(rng.choice(words, 5)) for _ in range(25)]
    # The answer is a word of the question, so the nearest passages hold it.
    answers = [[question.split()[0].upper() + "."] for question in asked]
    embedder = NgramHasher(256)
    allowed = AnswerFree(texts, answers, metrics.normalise, metrics.contains)
    found = search(embedder.encode(asked), embedder.encode(texts), 300, allowed)
    exact = expected(
        embedder.encode(asked),
        embedder.encode(texts),
        300,
        lambda question, row: answers[question][0][:-1].lower() not in texts[row],
    )
    np.testing.assert_array_equal(found, exact)
    assert (found["row"] >= 0).all()


def test_draws_are_uniform_among_allowed_passages() -> None:
    names = [("random", f"q{i}", "de") for i in range(400)]
    whole = random_ranking(names, 200, 20)
    assert (np.diff(whole["score"], axis=1) <= 0).all()
    assert whole["score"].min() >= 0 and whole["score"].max() < 1
    assert all(len(set(rows)) == 20 for rows in whole["row"].tolist())
    # 400 x 20 draws of 200 passages: 40 each, with a standard deviation of about 6.
    counts = np.bincount(whole["row"].ravel(), minlength=200)
    assert counts.min() > 10 and counts.max() < 75
    np.testing.assert_array_equal(random_ranking(names[7:9], 200, 20), whole[7:9])
    other = random_ranking([("random", "q0", "en")], 200, 20)
    assert other["row"][0].tolist() != whole["row"][0].tolist()
    n = 2 * BLOCK + 50
    answers = np.random.default_rng(0).random((30, n)) < 0.7
    names = [("random", f"q{i}") for i in range(30)]
    drawn = random_ranking(names, n, 300, lambda question, rows: ~answers[question, rows])
    assert (drawn["row"] >= 0).all()
    assert not answers[np.arange(30)[:, None], drawn["row"]].any()
    # Also where it asks for more than there is.
    (drawn,) = random_ranking([("q",)], 10, 15, lambda question, rows: rows % 2 == 0)
    assert sorted(drawn["row"].tolist()) == [-1] * 10 + [0, 2, 4, 6, 8]


def test_distractors() -> None:
    ranking = np.full((2, 3), NOTHING)
    ranking[0] = [(0.9, 2), (0.5, 0), (0.5, 1)]
    ranking[1, 0] = (0.25, 1)
    table = distractors("semantic", ["q0", "q1"], ["p0", "p1", "p2"], ranking)
    assert table.schema.equals(records.DISTRACTORS)
    assert table.to_pydict() == {
        **{"example_id": ["q0", "q0", "q0", "q1"], "retrieval": ["semantic"] * 4},
        **{"rank": [0, 1, 2, 0], "passage_id": ["p2", "p0", "p1", "p1"]},
        "score": [np.float32(0.9), 0.5, 0.5, 0.25],
    }


@pytest.fixture(scope="module")
def texts() -> list[str]:
    rng = np.random.default_rng(0)
    words = ["river", "mill", "Fluß", "磨坊", "海", "समुद्र", "الطاحونة", "cối", "xay"]
    return [" ".join(rng.choice(words, rng.integers(0, 12))) for _ in range(2 * BLOCK + 300)]


@pytest.fixture
def table(texts: list[str], tmp_path: Path) -> Path:
    rows = {"passage_id": [str(i) for i in range(len(texts))], "text": texts}
    records.write_table(pa.table(rows, schema=records.PASSAGES), tmp_path / "passages.parquet")
    return tmp_path / "passages.parquet"


def test_vectors_are_those_of_the_texts(table, texts, tmp_path) -> None:
    assert count_rows(table) == len(texts)
    assert list(read_texts(table, "text")) == texts
    import pyarrow.parquet as pq

    values = [str(i) for i in range(3000)]
    pq.write_table(pa.table({"text": values}), tmp_path / "t.parquet", row_group_size=700)
    assert list(read_texts(tmp_path / "t.parquet", "text")) == values
    embed_texts(NgramHasher(128), table, "text", tmp_path / "vectors.npy")
    made = read_array(tmp_path / "vectors.npy")
    assert made.dtype == np.float32
    assert made.tobytes() == NgramHasher(128).encode(texts).tobytes()


def test_a_failure_leaves_no_file(table: Path, tmp_path: Path) -> None:
    class FailsAtSecondBlock(NgramHasher):
        def encode(self, texts: list[str]) -> np.ndarray:
            if len(list(tmp_path.glob("out/*.part"))) and len(texts) != BLOCK:
                raise MemoryError
            return super().encode(texts)

    with pytest.raises(MemoryError):
        embed_texts(FailsAtSecondBlock(16), table, "text", tmp_path / "out" / "vectors.npy")
    assert list((tmp_path / "out").iterdir()) == []


def test_arrays_come_back_and_bad_files_are_named(tmp_path) -> None:
    path = tmp_path / "array.npy"
    write_array(np.arange(12).reshape(3, 4), path)
    np.testing.assert_array_equal(read_array(path), np.arange(12).reshape(3, 4))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(UserError, match=r"array\.npy .* corrupt; delete it"):
        read_array(path)
    path.write_bytes(b"no array")
    with pytest.raises(UserError, match=r"array\.npy .* corrupt; delete it"):
        read_array(path)
    with pytest.raises(UserError, match=r"missing\.npy does not exist"):
        read_array(tmp_path / "missing.npy")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 no Parquet")
    with pytest.raises(UserError, match=r"bad\.parquet .* corrupt; delete it"):
        count_rows(tmp_path / "bad.parquet")
    with pytest.raises(UserError, match=r"missing\.parquet does not exist"):
        count_rows(tmp_path / "missing.parquet")
