"""The passages of a corpus that are nearest to each question, or random ones.

A ranking is an array (questions, top) of RANKED, best first, in one total order: by score, then by row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache
from itertools import chain
from threading import Lock
from typing import Any, Generic, TypeVar

import numpy as np
import pyarrow as pa

from needlework import records, seeding
from needlework.errors import UserError
from needlework.jobs.progress import progress

# Score and row of a passage; NOTHING where a question has fewer passages than places.
RANKED = np.dtype([("score", "<f4"), ("row", "<i8")])
NOTHING = np.array((-np.inf, -1), dtype=RANKED)

# allowed(question, rows): which of these rows (of the passages searched) the question may have.
N = TypeVar("N")
Allowed = Callable[[int, np.ndarray], np.ndarray]

# Questions and passages that a thread multiplies at once (the fastest of those tried), and the most
# candidates that are held at once.
_QUESTIONS, _PASSAGES, _CANDIDATES = 512, 2048, 1 << 20
# Candidates beyond `top` in the first round, for near-ties and for passages that are not allowed.
_MARGIN = 32
# The most candidates that FAISS returns on a GPU, where it takes one search at a time.
_GPU_MOST_CANDIDATES = 2048
_gpu_lock = Lock()


class AnswerFree(Generic[N]):
    """Allows the passages that contain none of a question's accepted answers.

    `texts[row]` is a passage, `answers[question]` the accepted answers in all languages. `contains(reference,
    text)` compares texts that `normalise` returned. If normalisation leaves nothing of an answer, the answer
    excludes nothing. A passage is normalised once, when it is first asked for.
    """

    def __init__(
        self,
        texts: Sequence[str],
        answers: Sequence[Iterable[str]],
        normalise: Callable[[str], N],
        contains: Callable[[N, N], bool],
    ) -> None:
        self._answers = [list(filter(None, dict.fromkeys(map(normalise, a)))) for a in answers]
        self._normalised = lru_cache(maxsize=None)(lambda row: normalise(texts[row]))
        self._contains = contains

    def __call__(self, question: int, rows: np.ndarray) -> np.ndarray:
        answers, contains = self._answers[question], self._contains
        texts = map(self._normalised, rows.tolist())
        return np.array([not any(contains(a, text) for a in answers) for text in texts], dtype=bool)


def search(
    questions: np.ndarray,
    passages: np.ndarray,
    top: int,
    allowed: Allowed | None = None,
    threads: int = 1,
    on_gpu: bool = False,
) -> np.ndarray:
    """The exact ranking of the `top` allowed passages by inner product.

    `questions` (q, d) and `passages` (n, d) are an Embedder's vectors; `passages` may be mapped from disk.
    Scores are exact inner products rounded to float32, with any number of threads, with and without a GPU.

    FAISS finds candidates, and their exact scores decide. A candidate is certain if FAISS, with its own
    rounding, cannot have missed a higher score. If a question has too few certain and allowed candidates, it
    is searched again for twice as many. Raises UserError if `on_gpu` is asked for and FAISS has no GPU.
    """
    if on_gpu:
        _check_gpu()
    ranking = np.full((len(questions), top), NOTHING)
    pending = np.arange(len(questions))
    with ThreadPoolExecutor(threads) as pool:
        for k in _depths(top, len(passages)):
            last = k == len(passages)
            size = min(_QUESTIONS * threads, max(1, _CANDIDATES // k))
            starts = range(0, len(pending), size)
            short = []
            for at in progress(starts, desc=f"search, {k} candidates", unit="block"):
                batch = pending[at : at + size]
                parts = [questions[part] for part in np.array_split(batch, threads) if len(part)]
                found = pool.map(lambda part, k=k: _candidates(part, passages, k, on_gpu), parts)
                for question, keys in zip(batch, chain.from_iterable(found), strict=True):
                    if not _fill(ranking[question], keys, question, allowed, last):
                        short.append(question)
            pending = np.array(short, dtype=np.int64)
    return ranking


def random_ranking(
    names: Sequence[Sequence[object]],
    n: int,
    top: int,
    allowed: Allowed | None = None,
) -> np.ndarray:
    """A ranking of `top` allowed passages, drawn at random from a corpus of `n`.

    A question's draw is seeded from `names[question]`, so it depends on no other question. Every passage has
    a score, uniform in [0, 1), so that rankings of several languages can be merged as those of `search` are.
    """
    ranking = np.full((len(names), top), NOTHING)
    for question, name in enumerate(progress(names, desc="draw", unit="question")):
        scores = seeding.rng(*name).random(n, dtype=np.float32)
        keys = _keys(scores, np.arange(n))
        for k in _depths(top, n):
            best = np.sort(np.partition(keys, k - 1)[:k])
            if _fill(ranking[question], best, question, allowed, k == n):
                break
    return ranking


def distractors(
    retrieval: str, example_ids: Sequence[str], passage_ids: Sequence[str], ranking: np.ndarray
) -> pa.Table:
    """A ranking as DISTRACTORS, question by question and best first.

    `example_ids` has a name for each question of the ranking, `passage_ids` one for each row of the
    corpus.
    """
    question, rank = np.nonzero(ranking["row"] >= 0)
    chosen = ranking[question, rank]
    columns = [
        pa.array(example_ids, pa.string()).take(pa.array(question)),
        pa.array([retrieval], pa.string()).take(pa.array(np.zeros_like(question))),
        pa.array(rank, pa.int32()),
        pa.array(passage_ids, pa.string()).take(pa.array(chosen["row"])),
        pa.array(chosen["score"], pa.float32()),
    ]
    return pa.Table.from_arrays(columns, schema=records.DISTRACTORS)


def _depths(top: int, n: int) -> Iterator[int]:
    """How many candidates to look at, round by round, until all `n` passages are."""
    k = top + _MARGIN
    while k < n:
        yield k
        k *= 2
    if n:
        yield n


def _fill(
    places: np.ndarray,
    keys: np.ndarray,
    question: int,
    allowed: Allowed | None,
    last: bool,
) -> bool:
    """Put the best allowed of `keys` into a question's places; whether that is all there can be."""
    found = _ranked(keys)
    if allowed is not None:
        found = found[allowed(question, found["row"])]
    if len(found) < len(places) and not last:
        return False
    places[: len(found)] = found[: len(places)]
    return True


def _candidates(
    questions: np.ndarray, passages: np.ndarray, k: int, on_gpu: bool
) -> list[np.ndarray]:
    """For each question the `_keys` of passages that are certainly its best, at most `k`, in order."""
    approximate, rows = _nearest(questions, passages, k, on_gpu)
    scores = _exact_scores(questions, passages, rows)
    if k == len(passages):
        certain = np.full(len(questions), k)
    else:
        # Twice the bound on the rounding of a float32 inner product of unit vectors.
        error = (questions.shape[1] + 2) * 2.0**-23
        certain = (scores > approximate.min(axis=1, keepdims=True) + error).sum(axis=1)
    ordered = np.sort(_keys(scores, rows), axis=1)
    return [keys[:n] for keys, n in zip(ordered, certain, strict=True)]


def _nearest(
    questions: np.ndarray, passages: np.ndarray, k: int, on_gpu: bool
) -> tuple[np.ndarray, np.ndarray]:
    """FAISS's `k` best passages of each question: scores with float32's rounding errors, and rows."""
    import faiss

    inner_product = faiss.METRIC_INNER_PRODUCT
    if on_gpu and k <= _GPU_MOST_CANDIDATES:
        with _gpu_lock:
            return faiss.knn_gpu(_gpu(), questions, passages, k, metric=inner_product)
    # Of this thread of ours: each searches for its own questions, and none waits for another.
    faiss.omp_set_num_threads(1)
    faiss.cvar.distance_compute_blas_query_bs = _QUESTIONS
    faiss.cvar.distance_compute_blas_database_bs = _PASSAGES
    return faiss.knn(questions, passages, k, metric=inner_product)


def _check_gpu() -> None:
    import faiss

    if not faiss.get_num_gpus():
        raise UserError(
            "retrieval.device is gpu, but FAISS sees no GPU: install faiss-gpu in place of faiss-cpu (or run "
            "with --use-conda) on a machine with an NVIDIA GPU, or set retrieval.device to cpu."
        )


@cache
def _gpu() -> Any:
    import faiss

    return faiss.StandardGpuResources()


def _exact_scores(questions: np.ndarray, passages: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The inner products of each question with the passages at its `rows`, (q, k) float32."""
    scores = np.empty(rows.shape, dtype=np.float32)
    for i, question in enumerate(questions.astype(np.float64)):
        for at in range(0, rows.shape[1], _PASSAGES):
            chosen = passages[rows[i, at : at + _PASSAGES]]
            scores[i, at : at + _PASSAGES] = np.vecdot(chosen, question)  # in float64
    return scores


def _keys(scores: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """One uint64 for each (score, row); they ascend as scores fall and, among equal ones, rows rise."""
    # IEEE numbers compare as their bits do, once negative ones are turned round. -0.0 becomes 0.0.
    bits = (scores + np.float32(0)).view(np.uint32)
    falling = np.where(bits >> 31, bits, ~bits & 0x7FFFFFFF)
    return falling.astype(np.uint64) << np.uint64(32) | rows.astype(np.uint32)


def _ranked(keys: np.ndarray) -> np.ndarray:
    """The RANKED of `_keys`."""
    falling = (keys >> np.uint64(32)).astype(np.uint32)
    ranked = np.empty(keys.shape, dtype=RANKED)
    ranked["score"] = np.where(falling >> 31, falling, ~falling & 0x7FFFFFFF).view(np.float32)
    ranked["row"] = keys.astype(np.uint32).view(np.int32)
    return ranked
