"""What must be true of every finished instance file, checked by plain means."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from needlework.benchmarks.lost_in_the_middle import scores
from needlework.data.words import word_starts
from needlework.prompts.spans import Documents, render, span_text
from needlework.prompts.tokenizers import Tokenizer
from needlework.records import read_table
from needlework.scoring.metrics import contains, normalise
from runs import Workflow

NUMBERED = re.compile(r"(?:^|\n)\[(\d+)\] ")
Row = Mapping[str, Any]


def corpora_of(workflow: Workflow, *names: str) -> Documents:
    """The documents of these corpora of a run, in all their languages."""
    files = {
        f"{file.parent.name}/{file.stem}": str(file)
        for name in names
        for file in workflow.result(f"corpora/{name}").glob("*.parquet")
    }
    return Documents.read(files)


def rows_of(
    files: Iterable[Path], documents: Documents, tokenizer: Tokenizer
) -> Iterator[tuple[Row, str]]:
    """The rows of these files with their prompts, whose tokens are as many as the rows say."""
    for file in files:
        for row in read_table(file).to_pylist():
            prompt = render(row["prompt"], documents)
            assert tokenizer.count(prompt) == row["n_tokens"]
            yield row, prompt


def spans_of(row: Row, *roles: str) -> list[dict[str, Any]]:
    return [span for span in row["prompt"] if span["role"] in roles]


# MLNeedle


def check_instances(files: Iterable[Path], documents: Documents, tokenizer: Tokenizer) -> int:
    """Assert of every row that its needle and its length are right; how many rows there were."""
    checked, clean = 0, cache(normalise)
    for row, prompt in rows_of(files, documents, tokenizer):
        existence = row["task"] == "existence"
        answers = [] if existence else [clean(reference) for reference in row["references"]]
        check_needle(row, documents, answers, clean)
        check_budget(row, prompt, documents, tokenizer)
        checked += 1
    return checked


def check_needle(
    row: Row, documents: Documents, answers: Collection[str], clean: Callable[[str], str]
) -> None:
    """One whole needle, where the factors say, and none of these answers anywhere else."""
    passages = spans_of(row, "needle", "distractor")
    labels = [span["text"] for span in spans_of(row, "haystack")]
    assert [int(NUMBERED.match(label)[1]) for label in labels] == list(range(len(passages)))
    places = [i for i, span in enumerate(passages) if span["role"] == "needle"]
    assert len(places) == row["needle_present"]
    n = row["n_distractors"]
    assert len(passages) == n + len(places)
    if row["depth"] is None:
        assert row["position"] == "none" and (row["haystack_lang"] == "none" or not places)
    elif row["position"] in ("start", "middle", "end"):
        assert places == [{"start": 0, "middle": n // 2, "end": n}[row["position"]]]
        assert row["depth"] == {"start": 0, "middle": 0.5, "end": 1}[row["position"]]
    else:
        k, of = map(int, row["position"].split("/"))
        assert places == [round(k * n / of)] and row["depth"] == k / of
    for i in places:
        source = passages[i]["source"]
        assert source.endswith(f"/{row['needle_lang']}/{row['example_id']}")
        assert (passages[i]["start"], passages[i]["end"]) == (0, len(documents[source]))
    if row["task"] == "existence":
        assert row["references"] == ["Yes" if places else "No"]
    elif answers:
        assert {clean(reference) for reference in row["references"]} == set(answers)
        assert all(answers)
    for span in passages if answers else []:
        text = clean(span_text(span, documents))
        holds = any(contains(answer, text) for answer in answers)
        assert holds == (span["role"] == "needle"), (row["instance_id"], text)


def check_budget(
    row: Row,
    prompt: str,
    documents: Documents,
    tokenizer: Tokenizer,
    *,
    answer_buffer: int = 64,
    following: str | None = None,
    truncate_last: bool = True,
) -> None:
    """The prompt is within the budget, and one more word would not have fitted.

    `following` is the distractor after the last one, if it is known.
    """
    if row["length"] == 0:
        return
    budget = row["length"] - answer_buffer
    assert row["n_tokens"] <= budget
    if row["exhausted"]:
        return
    spans = spans_of(row, "needle", "distractor")
    texts = [span_text(span, documents) for span in spans]
    wholes = [documents[span["source"]] for span in spans]
    cut = [i for i, text in enumerate(texts) if text != wholes[i]]
    if cut:
        (last,) = cut
        assert truncate_last and spans[last]["role"] == "distractor"
        ends = ends_of_words(wholes[last])
        assert len(texts[last]) in ends
        texts[last] = wholes[last][: next(end for end in ends if end > len(texts[last]))]
    elif following is None:
        assert row["n_tokens"] >= budget - 64, "a label and a first word are short"
        return
    else:
        texts.append(following[: ends_of_words(following)[0]] if truncate_last else following)
    # The question's own text may hold anything: the last paragraphs are the template's.
    head, tail = prompt[: prompt.index("[0] ")], prompt[prompt.rindex("\n\nQuestion: ") :]
    longer = "\n".join(f"[{i}] {text}" for i, text in enumerate(texts))
    assert tokenizer.count(head + longer + tail) > budget


def ends_of_words(text: str) -> list[int]:
    """Where a text may be cut."""
    return [len(text[:start].rstrip()) for start in word_starts(text)[1:]] + [len(text)]


# Lost in the Middle


def check_documents(files: Iterable[Path], documents: Documents, tokenizer: Tokenizer) -> int:
    """Assert what Lost in the Middle promises of every question's prompt; how many there were."""
    rows = rows_of(files, documents, tokenizer)
    asked = [(row, prompt) for row, prompt in rows if row["task"] != "key_value"]
    for row, prompt in asked:
        check_document_row(row, prompt, documents)
    return len(asked)


def check_document_row(row: Row, prompt: str, documents: Documents) -> None:
    """Assert that the gold document alone holds an answer, and stands where the row says."""
    shown = spans_of(row, "needle", "distractor")
    needles = [i for i, span in enumerate(shown) if span["role"] == "needle"]
    assert len(shown) == row["n_documents"]
    assert needles == ([] if row["gold_index"] is None else [row["gold_index"]])
    numbers = re.findall(r"^Document \[(\d+)\]", prompt, re.MULTILINE)
    assert numbers == [str(i + 1) for i in range(len(shown))]
    for span in shown:
        # The metric reads the first line alone.
        text = " ".join(span_text(span, documents).split())
        value, _ = scores.best_subspan_em(text, row["references"])
        assert value == (span["role"] == "needle"), row["instance_id"]


def check_pairs(files: Iterable[Path], documents: Documents, tokenizer: Tokenizer) -> int:
    """Assert what Lost in the Middle promises of every key-value prompt; how many there were."""
    checked = 0
    for row, prompt in rows_of(files, documents, tokenizer):
        if row["task"] == "key_value":
            data = json.loads(prompt[prompt.index("{") : prompt.rindex("}") + 1])
            (key,) = (span["text"] for span in row["prompt"][-2:] if span["role"] == "question")
            assert len(data) == row["n_documents"] == len(set(data.values()))
            assert list(data).index(key) == row["gold_index"]
            assert row["references"] == [data[key]]
            checked += 1
    return checked


# ONERULER: keys and values in the text, and how many values are asked for, of each task.
NEEDLES = {
    "niah_single": (1, 1),
    "niah_multikey": (4, 1),
    "niah_multivalue": (4, 4),
    "niah_multiquery": (2, 2),
    "niah_none": (4, 0),
}


def check_lengths(
    files: Iterable[Path], documents: Documents, tokenizer: Tokenizer, longest: int = 80
) -> int:
    """Assert what ONERULER promises of every prompt; how many there were.

    A sentence has at most `longest` tokens, so a prompt that had room for so many was not filled.
    """
    checked = 0
    for row, prompt in rows_of(files, documents, tokenizer):
        checked += 1
        room = row["length"] - row["max_new_tokens"] - row["n_tokens"]
        assert room >= 0
        if row["task"] in NEEDLES:
            needles = [span["text"] for span in spans_of(row, "needle")]
            stand, asked = NEEDLES[row["task"]]
            assert len(needles) == stand
            numbers = sorted(re.findall(r"\d{7}", "".join(needles)))
            assert sorted(re.findall(r"\d{7}", prompt)) == numbers
            if asked:
                assert len(row["references"]) == asked
                assert all(prompt.count(value) == 1 for value in row["references"])
            assert room < longest
        else:
            words = Counter(re.findall(r"\d+\. (\S+)", prompt))
            common = [word for word, _ in words.most_common(10)]
            assert sorted(common) == sorted(row["references"])
            others = [n for word, n in words.items() if word not in common]
            assert min(words[word] for word in common) > max(others)
    return checked


def check_cut(
    files: Iterable[Path], documents: Documents, tokenizer: Tokenizer, longest: int = 80
) -> int:
    """Assert what mLongRR promises of every prompt; how many there were. `longest`: as above."""
    checked = 0
    for row, prompt in rows_of(files, documents, tokenizer):
        checked += 1
        assert 0 <= row["length"] - row["max_new_tokens"] - row["n_tokens"] < longest
        numbers = row["numbers"].split()
        assert len(numbers) == row["n_needles"]
        assert sorted(re.findall(r"\d{7}", prompt)) == sorted(numbers)
        gold = spans_of(row, "needle")[numbers.index(max(numbers))]["text"]
        assert any(reference in gold for reference in row["references"])
    return checked
