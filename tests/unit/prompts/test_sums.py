"""Prompts counted from their pieces have the tokens that they have as a whole."""

from __future__ import annotations

import json
import random
import resource
import time
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import pyarrow as pa
import pytest

import tokenizers_made
from needlework.benchmarks.oneruler.niah import Haystack
from needlework.data.corpora.books import BOOKS
from needlework.errors import UserError
from needlework.prompts.counting.pieces import Counter, Pieces, _cut_words
from needlework.prompts.counting.proofs import Automaton, Proof, Unproven
from needlework.prompts.tokenizers import Tokenizer, load_tokenizer
from tokenizers_made import NAMES, PACKAGED

# What patterns and vocabularies tell apart, side by side in every order.
ODD = [
    *"ab Z9'\n.,\r\t(!-—é٣塔，한ᄒ\u1161\u11a8e\u0301हि\u200d😀\u00a0\u2009\u3000",
    *"▁<s>|end_'sTLlſ\u0130\x85\x1c",
    *("<|end|>", "'re", "  ", "\n\n", "12345", " the"),
]


@pytest.fixture(params=NAMES)
def tokenizer(request, named_tokenizer) -> Tokenizer:
    return named_tokenizer(request.param)


def exact(tokenizer: Tokenizer) -> Counter:
    found = Counter(tokenizer)
    assert found.exact
    return found


def test_random_seams_between_texts_are_counted_exactly(tokenizer) -> None:
    counting, draw = exact(tokenizer), random.Random(17)

    def noise(most: int) -> str:
        return "".join(draw.choice(ODD) for _ in range(draw.randrange(most)))

    texts = tokenizers_made.texts()
    documents = [counting.document(text) for text in [*texts, *(noise(400) for _ in range(20))]]
    assert all(document.places for document in documents[: len(texts)])
    for _ in range(400):
        parts, whole = [], ""
        for _ in range(draw.randrange(1, 7)):
            if draw.random() < 0.35:
                text = noise(8)
                parts.append(counting.part(text))
            else:
                document = draw.choice(documents)
                start = draw.randrange(len(document.text) + 1)
                end = min(len(document.text), start + draw.randrange(300))
                text = document.text[start:end]
                parts.append(document.part(start, end))
            whole += text
        assert counting.tokens(parts) == tokenizer.count(whole), repr(whole)


def test_a_split_between_two_characters_holds_in_every_neighbourhood(tokenizer) -> None:
    counting, draw = exact(tokenizer), random.Random(18)
    found = 0
    for _ in range(1500):
        left, right = ("".join(draw.choices(ODD, k=draw.randrange(1, 6))) for _ in range(2))
        if counting.proof.splits(left[-1], right[0]):
            found += 1
            within = counting.proof.within(right)
            assert tokenizer.count(left + right) == tokenizer.count(left) + within, (left, right)
    assert found > 180


@pytest.mark.parametrize("pattern", [r"(?<=a)b|.", r"\ba|b", r"\w+|\W", r"[a-z&&[^b]]|b", r"^a|a"])
def test_a_pattern_that_is_not_understood_proves_nothing(pattern) -> None:
    with pytest.raises(Unproven):
        Automaton(pattern)


def test_a_pattern_splits_where_no_path_reads_on() -> None:
    automaton = Automaton(r"'(?i:s|ll)| ?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+(?!\S)|\s+")
    assert automaton.splits("a", " ")
    assert automaton.splits("a", "1")
    assert not automaton.splits(" ", "a")
    assert not automaton.splits("1", "2")
    assert not automaton.splits(".", "\n")
    # What follows white space decides where its match ends.
    assert not automaton.splits("\n", "a")
    assert not automaton.splits("'", "S")


@pytest.mark.parametrize(
    "change",
    [
        {"model": {"type": "Unigram"}},
        {"normalizer": {"type": "Lowercase"}},
        {"pre_tokenizer": {"type": "Punctuation", "behavior": "Isolated"}},
        {"added_tokens": [{"content": "x", "lstrip": True, "rstrip": False, "single_word": False}]},
    ],
)
def test_a_tokenizer_of_which_nothing_is_proved_is_refused(change, tmp_path) -> None:
    from needlework.prompts.counting.proofs import of_huggingface

    tokenizers_made.save("llama-3", tmp_path)
    told = json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))
    assert of_huggingface(json.dumps(told)).splits("a", " ")
    with pytest.raises(Unproven):
        of_huggingface(json.dumps({**told, **change}))


def test_without_a_proof_sums_are_estimates_and_prompts_exact(tmp_path) -> None:
    from tokenizers import Tokenizer as Made
    from tokenizers import models
    from transformers import PreTrainedTokenizerFast

    words = Made(models.WordLevel({"[UNK]": 0, "a": 1}, unk_token="[UNK]"))
    PreTrainedTokenizerFast(tokenizer_object=words).save_pretrained(tmp_path)
    loaded = load_tokenizer("mine", {"kind": "huggingface", "name": str(tmp_path)})
    assert loaded.proof is None
    assert not Counter(loaded).exact
    whole = load_tokenizer("words", {"kind": "words"}, whole=True)
    pieces = Pieces(whole)
    # Sums take a word that is cut in two for two words.
    numbers = [pieces.slice("haystack", "book", BOOK, start, start + 9000) for start in (5, 9005)]
    joined = pieces.sums.tokens([pieces.document(BOOK).part(5, 9005)])
    assert not pieces.sums.exact and abs(joined - whole.count(BOOK[5:9005])) <= 2
    assert pieces.tokens(numbers) == whole.count(BOOK[5:9005] + BOOK[9005:18005])


@pytest.mark.parametrize("name", ["tekken", "mistral-v1"])
def test_a_long_document_is_summed_in_stretches(name, named_tokenizer, monkeypatch) -> None:
    tokenizer = named_tokenizer(name)
    text = max(tokenizers_made.texts(), key=len)
    document = exact(tokenizer).document(text)
    monkeypatch.setattr("needlework.prompts.counting.pieces._STRETCH", 1000)
    in_stretches = exact(tokenizer).document(text)
    assert in_stretches.places == document.places
    assert in_stretches.sums == document.sums
    assert len(text) > 5000


def test_sums_of_the_first_and_some_prompts_are_verified() -> None:
    words = load_tokenizer("words", {"kind": "words"})
    for place in range(3):
        words.check("f" * 64, "two words", 2, place)
        with pytest.raises(UserError, match=f"{'f' * 64}.*add up to 3"):
            words.check("f" * 64, "two words", 3, place)
    words.check("1" * 64, "two words", 3, 3)
    replace(words, proof=None).check("f" * 64, "two words", 3, 0)
    from needlework.seeding import rank_key

    counted = []
    words = load_tokenizer("words", {"kind": "words"})
    words = replace(words, count=lambda text: counted.append(text) or 2)
    for i in range(20_000):
        words.check(rank_key("prompt", i), "two words", 2, 50)
    assert 150 < len(counted) < 250


def counting_words(folder: Path) -> tuple[Counter, list[str]]:
    """A counter that keeps its sums in a folder, and the documents that it tokenizes."""
    words = load_tokenizer("words", {"kind": "words"}, folder)
    assert words.proof is not None
    seen: list[str] = []

    def before(text, places):
        seen.append(text)
        return words.proof.before(text, places)

    return exact(replace(words, proof=replace(words.proof, before=before))), seen


BOOK = "One two, three. " * 1000


def test_a_documents_sums_are_made_once(tmp_path) -> None:
    first, seen = counting_words(tmp_path)
    document = first.document(BOOK)
    second, again = counting_words(tmp_path)
    assert second.document(BOOK).sums == document.sums
    assert second.document(BOOK).places == document.places
    assert (seen, again) == ([BOOK], [])
    characters = load_tokenizer("words", PACKAGED["characters"], tmp_path)
    assert exact(characters).document(BOOK).sums != document.sums


@pytest.mark.parametrize("damage", [lambda d: d[:-1], lambda d: b"", lambda d: d[:40] + b"x"])
def test_damaged_or_deleted_sums_are_made_again(tmp_path, damage) -> None:
    document = counting_words(tmp_path)[0].document(BOOK)
    (path,) = (path for path in tmp_path.rglob("*") if path.is_file())
    path.write_bytes(damage(path.read_bytes()))
    repaired, seen = counting_words(tmp_path)
    assert repaired.document(BOOK).sums == document.sums
    assert seen == [BOOK]
    path.unlink()
    assert counting_words(tmp_path)[0].document(BOOK).sums == document.sums


def test_sums_of_concurrent_jobs_are_known_to_a_third(tmp_path) -> None:
    texts = [f"{i} " + "word " * 80 for i in range(4)]
    one, two = counting_words(tmp_path)[0], counting_words(tmp_path)[0]
    for job, own in ((one, texts[:3]), (two, texts[1:])):
        for text in own:
            job.part(text)
    one.save()
    two.save()
    third = exact(replace(load_tokenizer("words", PACKAGED["words"]), sums=tmp_path))
    counted = []
    third.proof = replace(third.proof, within=lambda text: counted.append(text) or 0)
    assert [third.part(text).inner for text in texts] == [one.part(texts[0]).inner] * 4
    assert counted == []


def test_a_job_reads_what_another_counted_after_it_began(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("needlework.prompts.counting.pieces._SHARE", 2)
    texts = [f"{i} " + "word " * 80 for i in range(12)]
    first, second = counting_words(tmp_path)[0], counting_words(tmp_path)[0]
    within, counted = second.proof.within, []
    second.proof = replace(second.proof, within=lambda text: counted.append(text) or within(text))
    second.cut_ahead(texts[:1], "second")
    first.cut_ahead(texts, "first")
    second.cut_ahead(texts, "second")
    # Its own first text and, at most, those before its next look.
    assert len(counted) <= 3
    assert [second.part(text) for text in texts] == [first.part(text) for text in texts]


def test_long_texts_are_summed_ahead_once_in_orders_of_jobs(tmp_path) -> None:
    books = [f"{i} {BOOK}" for i in range(9)]
    (first, seen), (second, seen_again) = counting_words(tmp_path), counting_words(tmp_path)
    first.sum_ahead([*books, *books, "a short text"], "first")
    second.sum_ahead(books, "second")
    assert sorted(seen) == books and seen_again == []
    alone, other_order = counting_words(tmp_path / "alone")
    alone.sum_ahead(books, "second")
    assert seen != other_order and sorted(other_order) == books


def test_a_folder_that_cannot_be_written_stops_nothing(tmp_path) -> None:
    (tmp_path / "file").write_text("in the way")
    kept, _ = counting_words(tmp_path / "file")
    assert kept.document(BOOK).tokens == counting_words(tmp_path / "other")[0].document(BOOK).tokens
    kept.part("word " * 80)
    kept.save()


def test_two_million_tokens_take_little_time_and_memory(named_tokenizer) -> None:
    tokenizer = named_tokenizer("tekken")
    sentences = [f"Sentence {i} tells of a harbour, {i * 7} boats and tower." for i in range(9000)]
    ends = [*accumulate(len(sentence) + 1 for sentence in sentences)]
    table = pa.table([["book"], [" ".join(sentences)], [[0, *ends[:-1]]]], schema=BOOKS)
    pieces = Pieces(tokenizer, 2_000_000)
    haystack = Haystack("books", "en", table, pieces, 2_000_000)
    haystack.most(1)
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    most = haystack.most(1_990_000)
    head, tail = "Read this. ", "\n\nWhat now?"
    numbers = [pieces.literal("instruction", head), *haystack.numbers(0, most)]
    numbers.append(pieces.literal("question", tail))
    tokens = pieces.tokens(numbers)
    spent = time.process_time() - start
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert 1_900_000 < tokens <= 2_000_000
    assert grown < 50_000  # KiB
    start = time.process_time()
    assert tokenizer.count(pieces.text(numbers)) == tokens
    assert spent < time.process_time() - start, "no longer than tokenizing them"


def test_numbered_words_are_cut_where_all_of_them_end() -> None:
    """Behind the numbers, or behind their points; nowhere if a word may go on behind its space."""

    def proof(joined: str) -> Proof:
        return Proof(lambda before, _: before not in joined, len, lambda *_: None, "")

    words = ["ab", "cd"]
    assert _cut_words(proof(""), words) == 0 and _cut_words(proof("7"), words) == 1
    for joined in ("b", "d", "a", "7."):
        assert _cut_words(proof(joined), words) is None
