"""M4LE's tasks in a user's wording: records in Hindi, from the configuration to the scores."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml

from needlework.benchmarks.m4le import corpus, plan
from needlework.benchmarks.m4le.data.sources import source_records
from needlework.benchmarks.m4le.data.tasks import TASKS, load_frames, texts_of, worded
from needlework.benchmarks.m4le.prompts import build
from needlework.benchmarks.m4le.scores import score
from needlework.errors import UserError
from needlework.planning.affects import effective_config
from needlework.planning.config import validated
from needlework.planning.layout import Layout
from needlework.prompts.tokenizers import load_tokenizer
from needlework.records import GENERATIONS, RECORDS, write_table
from own_languages import LANGUAGES, LATIN

ROOT = Path(__file__).resolve().parents[4]
FRAMES = ROOT / "resources/m4le/frames.yaml"
HINDI = LANGUAGES["hi"]
CLASSES = ("खेल", "मौसम", "बाज़ार")
# Ids of six hexadecimal digits, as UUIDs are in no language.
ID = re.compile(r"(?<!\w)[0-9A-F]{6}(?!\w)")
ITEM = "समाचार {id}: {text}"
TEXTS = {
    "cnnnews": {
        "instruction": "नीचे कई समाचार हैं। एक का सार लिखिए।",
        "example": "समाचार FE6806: मेला कल खुला।\nसार FE6806: मेला खुला।",
        "item": ITEM,
        "end": "सार {gold}:",
    },
    "newsqa": {
        "instruction": "एक समाचार के आधार पर उत्तर दीजिए।",
        "item": ITEM,
        "end": "समाचार {gold}: {question}\nउत्तर:",
    },
    "wow": {
        "instruction": "विषय याद रखिए।",
        "opening": "{count} लेख:",
        "item": "विषय {id} है {title}, लेख:\n{text}",
        "end": "{count} विषयों में {last} है {last_title}, और {gold} है",
    },
    "mnds-news_explicit-multiple": {
        "instruction": "एक वर्ग के सभी समाचार बताइए।",
        "item": ITEM,
        "end": "वर्ग '{question}' के समाचार बताइए।\nउत्तर:",
    },
    "mnds-news_semantic-multiple": {
        "instruction": "एक वर्ग के समाचार गिनिए।",
        "item": "समाचार: {text}",
        "end": "वर्ग '{question}' के कितने समाचार हैं?\nउत्तर:",
    },
    "wikitext-103": {
        "instruction": "कौन सा अंश पहले अंश के बाद आता है?",
        "opening": "पहला अंश: {query}",
        "item": "अंश {id}: {text}",
        "end": "उत्तर:",
    },
}
TASKS_ASKED = sorted(TEXTS)


def _records() -> pa.Table:
    rows = []
    for number, town in enumerate(HINDI.towns.split() * 4):
        year = 1700 + 7 * number
        text = f"{HINDI.passage.format(town=town)} {HINDI.context.format(town=town, year=year)}"
        rows.append(
            {
                **{"text": text, "title": f"{town} {year}", "label": CLASSES[number % 3]},
                **{"question": HINDI.question.format(town=town), "answers": [str(year)]},
                "parts": [f"{town} का पहला अंश {year} है।", f"{town} का दूसरा अंश {year} है।"],
            }
        )
    return pa.Table.from_pylist(
        [{**dict.fromkeys(RECORDS.names), **row} for row in rows], schema=RECORDS
    )


def _block(instructions: Any, **own: Any) -> dict[str, Any]:
    names = own.pop("names", TASKS_ASKED)
    return {
        **{"source": "constructed", "tasks": names, "records": dict.fromkeys(names, "mine")},
        **{
            "lengths": [250],
            "examples": 3,
            "positions": {"places": 0},
            "instructions": instructions,
        },
        **own,
    }


def _config(
    block: dict[str, Any], *languages: str, columns: Sequence[str] = RECORDS.names
) -> dict[str, Any]:
    """A validated configuration, whose corpus is in these languages."""
    files = {"files": [str(ROOT / "resources/examples/turkish/data/sorular.csv")]}
    own = {
        "kind": "records",
        "columns": {name: name for name in columns},
        "languages": dict.fromkeys(languages or ["hi"], files),
    }
    return validated(
        {
            **yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8")),
            "run": {"models": ["oracle"], "benchmarks": ["m4le"]},
            "corpora": {"mine": own},
            "benchmarks": {"m4le": block},
        }
    )


def _texts(*names: str) -> dict[str, str]:
    """A block of the texts of some tasks."""
    return {f"{task}.{text}": own for task in names for text, own in TEXTS[task].items()}


@pytest.fixture
def instances(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pa.Table:
    """The instances of the tasks, by a folder of texts."""
    monkeypatch.chdir(tmp_path)
    Path("texts").mkdir()
    for name, text in _texts(*TASKS_ASKED).items():
        Path(f"texts/{name}.txt").write_text(f"{text}\n", encoding="utf-8")
    files = Layout(_config(_block({"hi": "texts"})))
    own, tables = files.settings("m4le"), []
    tokenizer = load_tokenizer("characters", {"kind": "characters"})
    for slug in plan.slices(own):
        sources = files.corpus_sources("m4le_constructed", slug)
        assert sources[1:] == ["results/corpora/mine/hi.parquet"]
        write_table(_records(), sources[1])
        settings = files.corpus_settings("m4le_constructed", slug)
        rows = corpus.table("m4le_constructed", slug, sources, settings)
        assert rows.num_rows == 3
        made = build(plan.settings(own, slug, [250]), {"rows": {slug: rows}}, [], tokenizer)
        shown = {row["passage_id"]: row["text"] for row in rows.to_pylist()}
        texts = [shown[name] for name in made.instances["example_id"].to_pylist()]
        tables.append(made.instances.append_column("shown", pa.array(texts)))
    return pa.concat_tables(tables)


def test_no_latin_letter_but_of_ids_stands_in_a_prompt(instances: pa.Table) -> None:
    assert set(instances["task"].to_pylist()) == {*TASKS_ASKED}
    assert set(instances["lang"].to_pylist()) == {"hi"}
    for row in instances.to_pylist():
        text = "\n".join([row["shown"], *row["references"]])
        assert not LATIN.search(ID.sub("", text)), text


def _verdicts(
    instances: pa.Table, answer: Callable[[dict[str, Any]], str]
) -> dict[tuple[str, str], set[float]]:
    rows = [
        {
            **{"instance_id": row["instance_id"], "sample": 0, "finish_reason": "stop"},
            "text": answer(row),
        }
        for row in instances.to_pylist()
    ]
    given = pa.Table.from_pylist(rows, schema=GENERATIONS)
    tasks = dict(
        zip(instances["instance_id"].to_pylist(), instances["task"].to_pylist(), strict=True)
    )
    found: dict[tuple[str, str], set[float]] = {}
    for row in score(instances, given, model="m", settings={}).to_pylist():
        found.setdefault((tasks[row["instance_id"]], row["metric"]), set()).add(row["value"])
    return found


def test_right_answers_in_the_language_score_one(instances: pa.Table) -> None:
    right = _verdicts(instances, lambda row: row["references"][0])
    for task in TASKS_ASKED:
        assert right[task, "paper"] == right[task, "released"] == {1.0}, task
        if TASKS[task].metric != "rouge":
            assert right[task, "careful"] == {1.0}, task
    wrong = _verdicts(instances, lambda row: "पता नहीं")
    assert {value for values in wrong.values() for value in values} == {0.0}


def test_ids_are_parted_as_the_language_writes_lists(instances: pa.Table) -> None:
    listed = _verdicts(instances, lambda row: row["references"][0].replace(", ", "، ") + "।")
    assert listed["mnds-news_explicit-multiple", "paper"] == {1.0}


def test_lines_are_parted_as_in_the_papers_prompt() -> None:
    frame = worded(load_frames(FRAMES)["cnnnews"], TEXTS["cnnnews"])
    assert frame.example.endswith("मेला खुला।\n\n") and frame.end == "\nसार {gold}:"
    bare = {**TEXTS["cnnnews"], "example": ""}
    assert worded(frame, bare).example == ""


@pytest.mark.parametrize("name", [name for name, task in TASKS.items() if "," not in task.lang])
def test_the_papers_texts_are_a_wording_of_their_own(name: str) -> None:
    """Every word of a frame is in its texts, and its own texts give the frame again."""
    frame = load_frames(FRAMES)[name]
    texts = {text: getattr(frame, text).strip() for text in texts_of(frame)}
    assert worded(frame, texts) == frame
    left = worded(frame, {})._replace(ids="", other_end="")
    assert not re.search(r"\w", re.sub(r"\{\w+\}", "", "".join(filter(None, left))))


def test_provenance_has_the_users_texts(tmp_path: Path) -> None:
    for name, text in _texts("cnnnews").items():
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    config = _config(_block({"hi": str(tmp_path)}, names=["cnnnews"]))
    kept = effective_config(config)["benchmarks"]["m4le"]["instructions"]
    assert kept == {"hi": _texts("cnnnews")}


def test_a_wording_changes_its_own_task_alone() -> None:
    both = {"hi": _texts("cnnnews", "wow")}
    first, other = (
        _config(_block(both, names=["cnnnews", "wow"])),
        _config(
            _block(
                {"hi": {**both["hi"], "wow.end": both["hi"]["wow.end"] + ":"}},
                names=["cnnnews", "wow"],
            )
        ),
    )
    made = [Layout(config) for config in (first, other)]
    for slug, same in (("cnnnews", True), ("wow", False)):
        one, two = (files.corpus_settings("m4le_constructed", slug) for files in made)
        assert (one == two) == same


@pytest.mark.parametrize(
    ("change", "own", "message"),
    [
        (
            {"cnnnews.end": None},
            {},
            "hi lacks 'cnnnews.end', which the prompts of this run take: write it, with {gold}",
        ),
        ({"cnnnews.end": "सार:"}, {}, "hi.cnnnews.end: the template must hold {gold}, once"),
        (
            {"cnnnews.item": "{text} {id}"},
            {},
            "hi.cnnnews.item: the template must hold {id} and {text}",
        ),
        (
            {"cnnnews.head": "x"},
            {},
            "has the unknown text 'cnnnews.head': the texts are cnnnews.instruction",
        ),
        ({"wow.item": "x"}, {}, "has the unknown text 'wow.item'"),
        ({}, {"source": "sample", "records": {}}, "instructions needs `source: constructed`"),
        ({}, {"records": {}}, "instructions needs `records`"),
    ],
)
def test_a_wrong_wording_is_one_sentence(
    change: dict[str, str | None], own: dict[str, Any], message: str
) -> None:
    texts = {**_texts("cnnnews"), **change}
    block = _block({"hi": {k: v for k, v in texts.items() if v}}, names=["cnnnews"]) | own
    with pytest.raises(UserError) as raised:
        _config(block)
    assert message in str(raised.value) and "\n" not in str(raised.value)


def test_records_without_what_a_task_asks_are_refused(tmp_path: Path) -> None:
    texts = {"hi": _texts("wow", "newsqa")}
    with pytest.raises(UserError, match=r"lacks 'answers', which benchmarks\.m4le"):
        _config(_block(texts, names=["wow", "newsqa"]), columns=["text", "title", "question"])
    rows = [{**row, "answers": [" "]} for row in _records().to_pylist()]
    write_table(pa.Table.from_pylist(rows, RECORDS), tmp_path / "hi.parquet")
    for task, refused in (("newsqa", True), ("wow", False)):
        found = source_records(TASKS[task], [tmp_path / "hi.parquet"])
        if refused:
            with pytest.raises(UserError, match="has no answer, which the task needs"):
                list(found)
        else:
            assert len(list(found)) == len(rows)


def test_records_in_another_language_need_a_wording() -> None:
    with pytest.raises(UserError, match="has hi, but the task is in en: write the task's texts"):
        _config(_block({}, names=["cnnnews"]))
    two = {lang: _texts("cnnnews") for lang in ("hi", "ne")}
    with pytest.raises(UserError, match="has texts of cnnnews in hi and ne"):
        _config(_block(two, names=["cnnnews"]), "hi", "ne")
    for name in ("booksum", "ncls"):
        with pytest.raises(UserError, match=f"has {name}, which is made of pairs of texts"):
            _config(_block({}, names=[name]))
