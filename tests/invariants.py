"""What must be true of every finished instance file, checked by plain means."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from needlework.benchmarks.lost_in_the_middle import scores
from needlework.data.words import word_starts
from needlework.prompts.spans import Documents, render, span_text
from needlework.prompts.tokenizers import Tokenizer
from needlework.records import read_table
from needlework.scoring.metrics import contains, normalise
from runs import Workflow

NUMBERED = re.compile(r"(?:^|\n)\[(\d+)\] ")


def corpora_of(workflow: Workflow, *names: str) -> Documents:
    """The documents of these corpora of a run, in all their languages."""
    files = {
        f"{file.parent.name}/{file.stem}": str(file)
        for name in names
        for file in workflow.result(f"corpora/{name}").glob("*.parquet")
    }
    return Documents.read(files)


def check_instances(
    files: Iterable[Path], documents: Documents, tokenizer: Tokenizer, answer_buffer: int = 64
) -> int:
    """Assert invariants 2 and 3 for every row; how many rows there were."""
    checked = 0
    normalised: dict[str, str] = {}
    for file in files:
        for row in read_table(file).to_pylist():
            check_needle(row, documents, normalised)
            check_budget(row, documents, tokenizer, answer_buffer)
            checked += 1
    return checked


def check_needle(row: Mapping, documents: Documents, normalised: dict[str, str]) -> None:
    """One needle, in its place, and no answer anywhere else."""
    passages = [span for span in row["prompt"] if span["role"] in ("needle", "distractor")]
    places = [i for i, span in enumerate(passages) if span["role"] == "needle"]
    assert len(places) == row["needle_present"]
    if places and row["depth"] is not None:
        n = row["n_distractors"]
        assert places[0] == {"start": 0, "middle": n // 2, "end": n}[row["position"]]
    labels = [span["text"] for span in row["prompt"] if span["role"] == "haystack"]
    assert [int(NUMBERED.match(label)[1]) for label in labels] == list(range(len(passages)))
    if row["task"] == "existence":
        assert row["references"] == ["Yes" if places else "No"]
        return
    answers = [normalise(reference) for reference in row["references"]]
    assert all(answers)
    for span in passages:
        text = span_text(span, documents)
        clean = normalised.setdefault(text, normalise(text))
        holds = any(contains(answer, clean) for answer in answers)
        assert holds == (span["role"] == "needle"), (row["instance_id"], text)


def check_budget(
    row: Mapping, documents: Documents, tokenizer: Tokenizer, answer_buffer: int
) -> None:
    """The prompt's length is exact, within the budget, and one more word would not have fitted."""
    prompt = render(row["prompt"], documents)
    assert tokenizer.count(prompt) == row["n_tokens"]
    if row["length"] == 0:
        return
    budget = row["length"] - answer_buffer
    assert row["n_tokens"] <= budget
    if row["exhausted"]:
        return
    # The last distractor is cut, unless not even its first word fits: then nothing is left but less
    # than a label and a word.
    cut = [
        i
        for i, span in enumerate(row["prompt"])
        if span["role"] == "distractor" and span["end"] < len(documents[span["source"]])
    ]
    assert len(cut) <= 1
    if cut:
        span = row["prompt"][cut[0]]
        text = documents[span["source"]]
        ends = [len(text[:start].rstrip()) for start in word_starts(text)[1:]] + [len(text)]
        longer = [dict(s) for s in row["prompt"]]
        longer[cut[0]]["end"] = next(end for end in ends if end > span["end"])
        assert tokenizer.count(render(longer, documents)) > budget
    else:
        assert row["n_tokens"] >= budget - 64, "a label and a first word are short"


def check_documents(files: Iterable[Path], documents: Documents, tokenizer: Tokenizer) -> int:
    """Assert what Lost in the Middle promises of every question's prompt; how many there were."""
    checked = 0
    for file in files:
        for row in read_table(file).to_pylist():
            if row["task"] == "key_value":
                continue
            prompt = render(row["prompt"], documents)
            assert tokenizer.count(prompt) == row["n_tokens"]
            shown = [span for span in row["prompt"] if span["role"] in ("needle", "distractor")]
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
            checked += 1
    return checked


def check_pairs(files: Iterable[Path], documents: Documents, tokenizer: Tokenizer) -> int:
    """Assert what Lost in the Middle promises of every key-value prompt; how many there were."""
    checked = 0
    for file in files:
        for row in read_table(file).to_pylist():
            if row["task"] != "key_value":
                continue
            prompt = render(row["prompt"], documents)
            assert tokenizer.count(prompt) == row["n_tokens"]
            data = json.loads(prompt[prompt.index("{") : prompt.rindex("}") + 1])
            (key,) = (span["text"] for span in row["prompt"][-2:] if span["role"] == "question")
            assert len(data) == row["n_documents"] == len(set(data.values()))
            assert list(data).index(key) == row["gold_index"]
            assert row["references"] == [data[key]]
            checked += 1
    return checked


# Keys and values in the text, and how many values are asked for, of each of ONERULER's tasks.
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
    for file in files:
        for row in read_table(file).to_pylist():
            prompt = render(row["prompt"], documents)
            assert tokenizer.count(prompt) == row["n_tokens"]
            room = row["length"] - row["max_new_tokens"] - row["n_tokens"]
            assert room >= 0
            if row["task"] in NEEDLES:
                needles = [span["text"] for span in row["prompt"] if span["role"] == "needle"]
                stand, asked = NEEDLES[row["task"]]
                assert len(needles) == stand
                assert sorted(re.findall(r"\d{7}", prompt)) == sorted(
                    re.findall(r"\d{7}", "".join(needles))
                )
                if asked:
                    assert len(row["references"]) == asked
                    assert all(prompt.count(value) == 1 for value in row["references"])
                assert room < longest
            else:
                words = Counter(re.findall(r"\d+\. (\S+)", prompt))
                common = [word for word, _ in words.most_common(10)]
                assert sorted(common) == sorted(row["references"])
                assert min(words[w] for w in common) > max(
                    n for w, n in words.items() if w not in common
                )
            checked += 1
    return checked


def check_cut(
    files: Iterable[Path], documents: Documents, tokenizer: Tokenizer, longest: int = 80
) -> int:
    """Assert what mLongRR promises of every prompt; how many there were.

    A sentence has at most `longest` tokens, so a prompt that had room for so many was not filled.
    """
    checked = 0
    for file in files:
        for row in read_table(file).to_pylist():
            prompt = render(row["prompt"], documents)
            assert tokenizer.count(prompt) == row["n_tokens"]
            assert 0 <= row["length"] - row["max_new_tokens"] - row["n_tokens"] < longest
            numbers = row["numbers"].split()
            assert len(numbers) == row["n_needles"]
            assert sorted(re.findall(r"\d{7}", prompt)) == sorted(numbers)
            needles = [span["text"] for span in row["prompt"] if span["role"] == "needle"]
            gold = needles[numbers.index(max(numbers))]
            assert any(reference in gold for reference in row["references"])
            checked += 1
    return checked
