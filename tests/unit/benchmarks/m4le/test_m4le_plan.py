"""What M4LE's runs consist of, and its published numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from factories import ROOT, configuration
from factories.m4le import configured, frames
from made_slices import CHARACTERS, Made
from needlework.benchmarks.m4le import corpus, plan
from needlework.benchmarks.m4le.data.sources import source_records
from needlework.benchmarks.m4le.data.tasks import (
    ABILITIES,
    CONSTRUCTED,
    SAMPLED,
    SLUGS,
    TASKS,
    texts_of,
    worded,
)
from needlework.benchmarks.m4le.scores import score
from needlework.errors import UserError
from needlework.given import given
from needlework.given import given as blocks
from needlework.planning.affects import effective_config
from needlework.planning.config import validated
from needlework.planning.notices import notices
from needlework.planning.rule_inputs import RuleInputs
from needlework.records import GENERATIONS, RECORDS, write_table
from needlework.results import published
from own_languages import LANGUAGES, LATIN


def block(seed: int = 0, **own: Any) -> Any:
    """M4LE's block, with the schema's defaults and a run's seed."""
    return given(configured(**own)["benchmarks"]["m4le"] | {"seed": seed})


@pytest.fixture(scope="module")
def numbers() -> pd.DataFrame:
    return published.load(ROOT / "resources/published/m4le.csv")


_METRICS = {"Acc": {"accuracy", "match"}, "F1": {"f1"}, "Rouge-L": {"rouge"}, "BLEU": {"bleu"}}


def test_tasks_and_numbers_are_the_papers(numbers) -> None:
    # Every row of the paper's Table 2 has a task or the two directions of one, with its facts.
    rows = numbers[numbers["table"] == "table2"]
    assert len(rows) == 36
    found = []
    for row in rows.itertuples():
        ability, source, kind = row.row.split("/")
        lang, domain, metric = row.note.split("; ")
        own = [
            task
            for task in TASKS.values()
            if (task.source, task.task_type.replace("+", " + ")) == (source, kind)
            and task.ability == ability.lower().replace(" ", "_")
        ]
        assert 1 <= len(own) <= 2, row.row
        for task in own:
            assert task.lang == lang.lower().replace("/", ",")
            assert task.domain == {"tedtalks": "talks"}.get(domain.lower(), domain.lower())
            assert task.metric in _METRICS[metric]
        found += own
    assert len(found) == len(TASKS) == 39
    assert {task.ability for task in found} == set(ABILITIES)
    assert len(SLUGS) == len(CONSTRUCTED)
    assert all(slug.isascii() and slug.isalnum() and slug.islower() for slug in SLUGS)
    assert len(numbers) == 2378
    assert set(numbers["source"]) == {"paper", "repository"}


def test_released_runs_have_a_slice_a_task_and_samples_one() -> None:
    own = block()
    assert plan.slices(own) == [task.slug for task in TASKS.values()]
    assert plan.corpus(own) == "m4le_2024" and plan.corpus(block(release="2023")) == "m4le_2023"
    slice_settings = plan.settings(own, "c3", [2000, 1000])
    assert plan.reads(slice_settings) == {"rows": [("m4le_2024", "c3")]}
    assert slice_settings["lengths"] == [1000, 2000]
    assert slice_settings["max_new_tokens"] == {"c3": None}
    sample = block(source="sample")
    assert plan.slices(sample) == ["sample"]
    assert sorted(plan.settings(sample, "sample", [500])["max_new_tokens"]) == sorted(SAMPLED)
    for source in ("released", "sample"):
        files = RuleInputs(configured(source=source))
        for name, lang in plan.quotes(files.prompts.settings("m4le"))[:3]:
            assert files.corpora.sources(name, lang)[0].endswith("resources/m4le/frames.yaml")


def test_limits_follow_task_types_and_drawn_rows_the_seed() -> None:
    own = block(max_new_tokens="types")
    assert plan.settings(own, "duorc", [1000])["max_new_tokens"] == {"duorc": plan.LIMITS["QA"]}
    assert plan.settings(own, "wow", [1000])["max_new_tokens"] == {"wow": plan.LIMITS["RET"]}
    assert set(plan.LIMITS) == {task.task_type for task in TASKS.values()}

    def settings(**own: Any) -> dict[str, Any]:
        return plan.corpus_settings(block(**own), "sample" if "source" in own else "c3")

    assert settings(seed=0) == settings(seed=1) == settings(positions={"places": 3})
    drawn = settings(source="sample")
    assert drawn != settings(source="sample", seed=1) and "positions" not in drawn
    found = settings(source="sample", positions={"places": 3})
    assert found["positions"] == {"places": 3, "candidates": 20, "examples": 100}


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"tasks": ["c4"]}, "tasks has 'c4'"),
        ({"source": "sample", "tasks": ["cepsum"]}, "tasks has 'cepsum'"),
        ({"lengths": [1500]}, "lengths has 1500, but the release of 2024"),
        ({"release": "2023", "lengths": [64000]}, "lengths has 64000, but the release of 2023"),
        ({"source": "constructed"}, "folder is missing"),
        ({"source": "constructed", "folder": "/nowhere"}, "is not a folder"),
        ({"reference": "gpt"}, "neither `published` nor one of"),
        ({"reference": "lexical", "lengths": [2000]}, "lengths lacks 1000, where scores of"),
    ],
)
def test_a_wrong_configuration_is_one_sentence(own: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        configured(**own)


def test_missing_sources_are_named_or_skipped_by_name(tmp_path: Path) -> None:
    path = tmp_path / "qa/c3/c3-m-test.json"
    path.parent.mkdir(parents=True)
    path.write_text("[]", encoding="utf-8")
    own = {"source": "constructed", "folder": str(tmp_path)}
    with pytest.raises(UserError) as found:
        configured(**own)
    of_file = ("MNDS News", "zenodo", "CC-BY-4.0", "MN-DS-news-classification.csv")
    assert all(part in str(found.value) for part in (*of_file, "skip_missing"))
    own["skip_missing"] = True
    every = configured(**own)
    assert plan.slices(given(every["benchmarks"]["m4le"])) == ["c3"]
    assert RuleInputs(every).corpora.sources("m4le_constructed", "c3")[1:] == [str(path)]
    assert "38 of 39 tasks are left out" in notices(given(every))[0]
    listed = configured(**own, tasks=["c3", "wow"])
    assert plan.slices(given(listed["benchmarks"]["m4le"])) == ["c3"]
    assert notices(given(listed)) == [
        f"benchmarks.m4le: 1 of 2 tasks are left out, since {tmp_path} lacks their sources: wow."
    ]
    assert notices(given(configured(**own, tasks=["c3"]))) == []
    with pytest.raises(UserError, match="has no files of any task"):
        configured(**own, tasks=["wow"])


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
        **{"instruction": "कौन सा अंश पहले अंश के बाद आता है?", "opening": "पहला अंश: {query}"},
        **{"item": "अंश {id}: {text}", "end": "उत्तर:"},
    },
}
TASKS_ASKED = sorted(TEXTS)


def records() -> list[dict[str, Any]]:
    rows = []
    for number, town in enumerate(HINDI.towns.split() * 4):
        year = 1700 + 7 * number
        text = f"{HINDI.passage.format(town=town)} {HINDI.context.format(town=town, year=year)}"
        own = {"text": text, "title": f"{town} {year}", "label": CLASSES[number % 3]}
        own |= {"question": HINDI.question.format(town=town), "answers": [str(year)]}
        own["parts"] = [f"{town} का पहला अंश {year} है।", f"{town} का दूसरा अंश {year} है।"]
        rows.append({**dict.fromkeys(RECORDS.names), **own})
    return rows


def write_records(path: Path, rows: list[dict[str, Any]]) -> Path:
    write_table(pa.Table.from_pylist(rows, schema=RECORDS), path)
    return path


def recorded(
    instructions: Any,
    names: Sequence[str] = TASKS_ASKED,
    languages: Sequence[str] = ("hi",),
    columns: Sequence[str] = RECORDS.names,
    **own: Any,
) -> dict[str, Any]:
    """A validated configuration of these tasks of records in these languages."""
    block = {
        **{"source": "constructed", "tasks": names, "records": dict.fromkeys(names, "mine")},
        **{"lengths": [250], "examples": 3, "positions": {"places": 0}},
        **{"instructions": instructions, **own},
    }
    files = {"files": [str(ROOT / "resources/examples/turkish/data/sorular.csv")]}
    corpus = {"kind": "records", "columns": {name: name for name in columns}}
    corpus["languages"] = dict.fromkeys(languages, files)
    made = configuration("m4le", block) | {"corpora": {"mine": corpus}}
    return validated({**made, "run": {"models": ["oracle"], "benchmarks": ["m4le"]}})


def texts_of_tasks(*names: str) -> dict[str, str]:
    return {f"{task}.{text}": own for task in names for text, own in TEXTS[task].items()}


@pytest.fixture(scope="module")
def instances(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The instances of the tasks, by a folder of texts, each with the text that it shows."""
    folder = tmp_path_factory.mktemp("run")
    for name, text in texts_of_tasks(*TASKS_ASKED).items():
        (folder / f"{name}.txt").write_text(f"{text}\n", encoding="utf-8")
    files = RuleInputs(recorded({"hi": str(folder)}))
    own, found = files.prompts.settings("m4le"), []
    path = str(write_records(folder / "hi.parquet", records()))
    for slug in plan.slices(own):
        frame_file, *sources = files.corpora.sources("m4le_constructed", slug)
        assert sources == ["results/corpora/mine/hi.parquet"]
        settings = files.corpora.corpus_settings("m4le_constructed", slug)
        rows = corpus.table("m4le_constructed", slug, [frame_file, path], settings)
        assert rows.num_rows == 3
        made = Made("m4le", plan.settings(own, slug, [250]), {"rows": {slug: rows}}, CHARACTERS)
        shown = {row["passage_id"]: row["text"] for row in rows.to_pylist()}
        found += [{**row, "shown": shown[row["example_id"]]} for row in made.rows]
    return found


def test_prompts_have_no_latin_letter_and_right_answers_score(instances) -> None:
    assert {(row["task"], row["lang"]) for row in instances} == {(t, "hi") for t in TASKS_ASKED}
    for row in instances:
        text = "\n".join([row["shown"], *row["references"]])
        assert not LATIN.search(ID.sub("", text)), text
    right = verdicts(instances, lambda row: row["references"][0])
    for task in TASKS_ASKED:
        assert right[task, "paper"] == right[task, "released"] == {1.0}, task
        if TASKS[task].metric != "rouge":
            assert right[task, "careful"] == {1.0}, task
    wrong = verdicts(instances, lambda row: "पता नहीं")
    assert {value for values in wrong.values() for value in values} == {0.0}
    # Ids are parted as the language writes lists.
    listed = verdicts(instances, lambda row: row["references"][0].replace(", ", "، ") + "।")
    assert listed["mnds-news_explicit-multiple", "paper"] == {1.0}


def verdicts(
    instances: list[dict[str, Any]], answer: Callable[[dict[str, Any]], str]
) -> dict[tuple[str, str], set[float]]:
    rows = [
        {"instance_id": r["instance_id"], "sample": 0, "text": answer(r), "finish_reason": "stop"}
        for r in instances
    ]
    given = pa.Table.from_pylist(rows, schema=GENERATIONS)
    asked = pa.Table.from_pylist(instances)
    found: dict[tuple[str, str], set[float]] = {}
    for row in score(asked, given, model="m", settings={}).to_pylist():
        found.setdefault((row["task"], row["metric"]), set()).add(row["value"])
    return found


def test_the_papers_texts_are_a_wording_of_their_own() -> None:
    frame = worded(frames()["cnnnews"], TEXTS["cnnnews"])
    assert frame.example.endswith("मेला खुला।\n\n") and frame.end == "\nसार {gold}:"
    assert worded(frame, {**TEXTS["cnnnews"], "example": ""}).example == ""
    # Every word of a frame is in its texts, and its own texts give the frame again.
    for name in (name for name, task in TASKS.items() if "," not in task.lang):
        frame = frames()[name]
        texts = {text: getattr(frame, text).strip() for text in texts_of(frame)}
        assert worded(frame, texts) == frame
        left = worded(frame, {})._replace(ids="", other_end="")
        assert not re.search(r"\w", re.sub(r"\{\w+\}", "", "".join(filter(None, left)))), name


def test_a_wording_is_in_provenance_and_of_its_task(tmp_path) -> None:
    for name, text in texts_of_tasks("cnnnews").items():
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    config = recorded({"hi": str(tmp_path)}, names=["cnnnews"])
    kept = effective_config(blocks(config))["benchmarks"]["m4le"]["instructions"]
    assert kept == {"hi": texts_of_tasks("cnnnews")}
    texts = texts_of_tasks("cnnnews", "wow")
    other = {**texts, "wow.end": texts["wow.end"] + ":"}
    made = [RuleInputs(recorded({"hi": own}, names=["cnnnews", "wow"])) for own in (texts, other)]
    for slug, same in (("cnnnews", True), ("wow", False)):
        one, two = (files.corpora.corpus_settings("m4le_constructed", slug) for files in made)
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
        ({"cnnnews.item": "{text} {id}"}, {}, "cnnnews.item: the template must hold {id} and"),
        ({"cnnnews.head": "x"}, {}, "unknown text 'cnnnews.head': the texts are cnnnews.instr"),
        ({"wow.item": "x"}, {}, "has the unknown text 'wow.item'"),
        ({}, {"source": "sample", "records": {}}, "instructions needs `source: constructed`"),
        ({}, {"records": {}}, "instructions needs `records`"),
    ],
)
def test_a_wrong_wording_is_one_sentence(change, own, message) -> None:
    texts = {**texts_of_tasks("cnnnews"), **change}
    with pytest.raises(UserError) as raised:
        recorded({"hi": {k: v for k, v in texts.items() if v}}, names=["cnnnews"], **own)
    assert message in str(raised.value) and "\n" not in str(raised.value)


def test_records_without_what_a_task_asks_are_refused(tmp_path: Path) -> None:
    names = ["wow", "newsqa"]
    with pytest.raises(UserError, match=r"lacks 'answers', which benchmarks\.m4le"):
        columns = ["text", "title", "question"]
        recorded({"hi": texts_of_tasks(*names)}, names=names, columns=columns)
    rows = [{**row, "answers": [" "]} for row in records()]
    path = write_records(tmp_path / "hi.parquet", rows)
    assert len(list(source_records(TASKS["wow"], [path]))) == len(rows)
    with pytest.raises(UserError, match="has no answer, which the task needs"):
        list(source_records(TASKS["newsqa"], [path]))
    # One answer of several is enough.
    some = write_records(path, [{**row, "answers": [" ", "1"]} for row in rows])
    assert len(list(source_records(TASKS["newsqa"], [some]))) == len(rows)


TWO = {lang: texts_of_tasks("cnnnews") for lang in ("hi", "ne")}


@pytest.mark.parametrize(
    ("task", "texts", "languages", "message"),
    [
        ("cnnnews", {}, ["hi"], "has hi, but the task is in en: write the task's texts"),
        ("cnnnews", TWO, ["hi", "ne"], "has texts of cnnnews in hi and ne"),
        ("booksum", {}, ["hi"], "has booksum, which is made of pairs of texts"),
        ("ncls", {}, ["hi"], "has ncls, which is made of pairs of texts"),
    ],
)
def test_records_in_another_language_need_a_wording(task, texts, languages, message) -> None:
    with pytest.raises(UserError, match=message):
        recorded(texts, names=[task], languages=languages)
