"""No prompt exceeds its budget, and one that could be filled is filled."""

from __future__ import annotations

from dataclasses import replace

import pytest

from needlework.data.words import word_starts
from needlework.prompts.counting.pieces import Candidates, Frame, LineCosts, Pieces, fill, line
from needlework.prompts.tokenizers import Tokenizer, load_tokenizer
from needlework.seeding import rng
from tokenizers_made import TOKENIZERS, tiktoken_cache

HEAD, TAIL = "Read the passages.\n\n### Passages\n", "\n\nQuestion: Wer baute den Turm?\n\nAnswer:"

WORDS = {
    "latin": "Der alte Turm, der 1873 gebaut wurde, steht noch. Its height: 41.5 m! (see Map)".split(),
    "devanagari": "मीनार अभी भी खड़ी है। यह १८७३ में बनी थी, और ऊँची है।".split(),
    "arabic": "لا يزال البرج قائماً، وقد بُني عام 1873؛ هل تراه؟".split(),
    "han": list("这座塔建于1873年，至今仍然矗立。高四十一米半！"),
}


@pytest.fixture(params=list(TOKENIZERS))
def tokenizer(request, tmp_path, monkeypatch) -> Tokenizer:
    if request.param == "cl100k":
        tiktoken_cache(request.getfixturevalue("mirror"), tmp_path, monkeypatch)
    return load_tokenizer(request.param, TOKENIZERS[request.param])


def passages(n: int, *names: object) -> list[str]:
    """Made-up passages of 3 to 60 words, each in one script, some with line breaks and odd endings."""
    draw = rng("test_passages", *names)
    made = []
    for _ in range(n):
        script = list(WORDS)[draw.integers(len(WORDS))]
        words = draw.choice(WORDS[script], size=draw.integers(3, 60))
        text = ("" if script == "han" else " ").join(words)
        made.append(text.replace(". ", ".\n", 1) if draw.random() < 0.2 else text)
    return made


@pytest.mark.parametrize("truncate_last", [True, False])
def test_a_prompt_is_exact_within_its_budget_and_full(tokenizer, truncate_last) -> None:
    counted = []

    def count(text: str) -> int:
        counted.append(len(text))
        return tokenizer.count(text)

    watched = replace(tokenizer, count=count)
    pieces = Pieces(watched)
    costs = LineCosts(pieces)
    frame = Frame(HEAD, TAIL, costs)
    most_counts = 0
    for trial in range(8):
        distractors, needle = passages(80, trial), passages(1, trial, "needle")
        budget = int(rng("budget", trial).integers(200, 3000))

        def shown(whole: int, cut: int, distractors=distractors) -> list[str]:
            return [*distractors[:whole], *([distractors[whole][:cut]] if cut else [])]

        def prompt(texts: list[str], needle=needle) -> str:
            middle = len(texts) // 2
            placed = [*texts[:middle], *needle, *texts[middle:]]
            return HEAD + "\n".join(line(i, text) for i, text in enumerate(placed)) + TAIL

        finished = []

        def numbers(whole: int, cut: int, shown=shown, prompt=prompt, finished=finished) -> list:
            finished.append(prompt(shown(whole, cut)))
            return [pieces.literal("haystack", finished[-1])]

        filling = fill(
            frame,
            needle,
            Candidates(distractors, costs),
            budget,
            truncate_last=truncate_last,
            prompt=numbers,
        )
        if filling is None:
            assert tokenizer.count(prompt([])) > budget
            continue
        most_counts = max(most_counts, len(finished))
        texts = shown(filling.whole, filling.cut)
        assert tokenizer.count(prompt(texts)) == filling.n_tokens <= budget
        assert filling.exhausted == (filling.whole == len(distractors))
        if filling.exhausted:
            continue
        following = distractors[filling.whole]
        assert tokenizer.count(prompt([*distractors[: filling.whole + 1]])) > budget
        if truncate_last:
            # The next word would not have fitted.
            ends = [len(following[:start].rstrip()) for start in word_starts(following)[1:]]
            after = next((end for end in ends if end > filling.cut), len(following))
            longer = [*distractors[: filling.whole], following[:after]]
            assert tokenizer.count(prompt(longer)) > budget
    assert most_counts <= 2


def test_a_passage_is_tokenized_once_at_most() -> None:
    counted: list[str] = []
    words = load_tokenizer("words", {"kind": "words"})
    watched = replace(words, count=lambda text: counted.append(text) or words.count(text))
    costs, texts = LineCosts(Pieces(watched)), passages(10, "once")
    costs.texts(texts * 3)
    assert all(sum(text in line for line in counted) <= 1 for text in texts)


def test_nothing_is_built_where_the_needle_does_not_fit() -> None:
    words = load_tokenizer("words", {"kind": "words"})
    costs = LineCosts(Pieces(words))
    filling = fill(
        Frame(HEAD, TAIL, costs),
        ["a very long needle " * 20],
        Candidates(["short"], costs),
        50,
        truncate_last=True,
        prompt=lambda whole, cut: [],
    )
    assert filling is None
