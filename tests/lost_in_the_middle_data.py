"""Stand-ins for the files of Lost in the Middle that are too large to have here, in their own format.

Another question's gold passage serves as a distractor where it does not hold the answer; so the oracle
file, which is there, gives retrieval results, and those the 10-, 20- and 30-document files, as the
published description of the data says. Plain code of its own: nothing here is the workflow's.
"""

from __future__ import annotations

import copy
import gzip
import json
import random
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

FOLDER = "lost-in-the-middle"
ORACLE = f"{FOLDER}/qa_data/nq-open-oracle.jsonl.gz"
RETRIEVAL = f"{FOLDER}/nq-open-contriever-msmarco-retrieved-documents.jsonl.gz"

Row = dict[str, object]
WORD = re.compile(r"[^_\W]+")


def documents_path(n: int, gold_index: int) -> str:
    """Where the release has the file of `n` documents with the gold one at an index."""
    name = f"nq-open-{n}_total_documents_gold_at_{gold_index}.jsonl.gz"
    return f"{FOLDER}/qa_data/{n}_total_documents/{name}"


def pairs_path(n: int) -> str:
    """Where the release has the file of `n` key-value pairs."""
    return f"{FOLDER}/kv_retrieval_data/kv-retrieval-{n}_keys.jsonl.gz"


def read(path: Path) -> list[Row]:
    """The objects of a released file."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def write(path: Path, rows: Iterable[object]) -> Path:
    """Write a file in the released format."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(row) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode(), compresslevel=1, mtime=0))
    return path


def retrieval(oracle: Sequence[Row], n: int, *, distinct: bool = False) -> list[Row]:
    """Retrieval results: `n` or more passages a question, some of which hold an answer, and 30 do not.

    Passages are other questions' gold passages; with `distinct`, the first half of one and the second
    half of another, so that hardly any comes twice, as in the released results.
    """
    rows = []
    for number, row in enumerate(oracle):
        draw = random.Random(number)
        contexts: list[Row] = []
        # The own gold passage, in other words: it holds an answer and is not the gold one.
        own = row["nq_annotated_gold"]
        again = {"title": own["title"], "text": "In short: " + own["chunked_long_answer"]}
        at = draw.randrange(3 * n)
        # Some answers are short and stand in most passages.
        while len(contexts) < n or sum(not found["hasanswer"] for found in contexts) < 30:
            one, other = (oracle[draw.randrange(len(oracle))] for _ in range(2))
            context = dict(zip(("title", "text"), _gold(one), strict=True))
            if distinct:
                first, second = context["text"].split(" "), _gold(other)[1].split(" ")
                half = len(first) // 2
                context["text"] = " ".join(first[:half] + second[len(second) // 2 :])
            if len(contexts) == at:
                context = again
            if context["text"] == own["chunked_long_answer"]:
                continue
            context |= {
                "id": str(len(contexts) + 10_000 * number),
                "score": str(2.0 - len(contexts) / n),
                "hasanswer": _holds(row["answers"], context["text"]),
            }
            contexts.append(context)
        rows.append({**copy.deepcopy(dict(row)), "ctxs": contexts})
    return rows


def _gold(row: Row) -> tuple[str, str]:
    gold = row["nq_annotated_gold"]
    return gold["title"], gold["chunked_long_answer"]


def _holds(answers: Sequence[str], text: str) -> bool:
    """Whether the words of an answer stand in a text, in a row."""
    words = [f" {' '.join(WORD.findall(part.lower()))} " for part in (*answers, text)]
    return any(answer in words[-1] for answer in words[:-1] if answer.strip())


def documents(retrieved: Iterable[Row], n: int, gold_index: int) -> list[Row]:
    """The released file of `n` documents that these retrieval results give."""
    rows = []
    for row in retrieved:
        distractors = [
            {**context, "original_retrieval_index": place, "isgold": False}
            for place, context in enumerate(row["ctxs"])
            if context["hasanswer"] is False
        ]
        contexts = distractors[: n - 1]
        assert len(contexts) == n - 1
        title, text = _gold(row)
        gold = {"title": title, "text": text, "hasanswer": True, "isgold": True}
        contexts.insert(gold_index, gold)
        rows.append({**row, "ctxs": contexts})
    return rows


def pairs(n: int, examples: int) -> list[Row]:
    """A released file of `n` key-value pairs."""
    rows = []
    for example in range(examples):
        draw = random.Random(1000 * n + example)
        names = [str(uuid.UUID(int=draw.getrandbits(128), version=4)) for _ in range(2 * n)]
        records = [list(record) for record in zip(names[::2], names[1::2], strict=True)]
        key, value = draw.choice(records)
        rows.append({"ordered_kv_records": records, "key": key, "value": value})
    return rows


def prompt(contexts: Sequence[Mapping[str, str]], asked: str, *, kind: str = "plain") -> str:
    """A prompt as the paper prints it: `kind` is plain, random_order or query_aware."""
    head = (
        "Write a high-quality answer for the given question using only the provided search results "
        "(some of which might be irrelevant)."
    )
    head += " The search results are ordered randomly." if kind == "random_order" else ""
    head += f"\n\nQuestion: {asked}" if kind == "query_aware" else ""
    lines = [
        f"Document [{number}](Title: {context['title']}) {context['text']}"
        for number, context in enumerate(contexts, start=1)
    ]
    return head + "\n\n" + "\n".join(lines) + f"\n\nQuestion: {asked}\nAnswer:"


def pairs_prompt(records: Sequence[Sequence[str]], key: str, *, query_aware: bool = False) -> str:
    """A key-value prompt as the paper prints it."""
    body = ",\n ".join(f'"{name}": "{value}"' for name, value in records)
    head = "Extract the value corresponding to the specified key in the JSON object below.\n\n"
    head += f'Key: "{key}"\n\n' if query_aware else ""
    return f'{head}JSON data:\n{{{body}}}\n\nKey: "{key}"\nCorresponding value:'


def stand_ins(
    mirror: Path,
    folder: Path,
    n: int,
    retrieved: int = 60,
    examples: int = 20,
    *,
    distinct: bool = False,
) -> Path:
    """A mirror with stand-ins of `n` questions: oracle, retrieval, 30 documents, and key-value files."""
    oracle = read(mirror / ORACLE)[:n]
    write(folder / ORACLE, oracle)
    results = retrieval(oracle, retrieved, distinct=distinct)
    write(folder / RETRIEVAL, results)
    write(folder / documents_path(30, 0), documents(results, 30, 0))
    for size in (75, 140, 300):
        write(folder / pairs_path(size), pairs(size, examples))
    return folder
