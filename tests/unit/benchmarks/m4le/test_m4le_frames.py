"""M4LE's frames against its real rows and the paper's printed prompts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from factories.m4le import frames, items_of, mirrored
from needlework.benchmarks.m4le.data.rows import _gold, counted, length, read_rows
from needlework.benchmarks.m4le.data.tasks import (
    TASKS,
    Item,
    cut,
    fill,
    load_frames,
    pieces,
    render,
)
from needlework.errors import UserError

EACH_TASK = pytest.mark.parametrize("name", TASKS)


@EACH_TASK
def test_every_real_row_is_found_and_made_again(name: str, mirror: Path) -> None:
    """The frame, with the row's own documents, ids and question, gives the row to the letter."""
    frame = frames()[name]
    for row in mirrored(mirror, TASKS[name]):
        text = row["input"]
        found = cut(frame, row["instruction"], text)
        assert found is not None
        items = items_of(frame, found, text)
        n = len(items)
        values = {
            **found.values,
            **{"n": str(n), "next": str(n + 1), "count": counted(n, TASKS[name].answer_lang)},
            **{"last": items[-1].id, "last_title": items[-1].title},
            **_example_ids(frame.example, text),
        }
        own = frame
        if frame.other_end and text.endswith(frame.other_end):
            own = frame._replace(end=frame.other_end)
        made = render(own, items, values, [])
        assert made.text == f"{row['instruction']}\n{text}"


def _example_ids(example: str, text: str) -> dict[str, str]:
    """The ids of a row's example, which MN-DS's frames leave open."""
    if "{example_1}" not in example:
        return {}
    found = re.findall(r"\b[0-9A-F]{6}\b", text)
    return {f"example_{place}": id_ for place, id_ in enumerate(found[:3], start=1)}


@EACH_TASK
def test_needles_of_real_rows_are_what_gold_index_says(name: str, mirror: Path) -> None:
    frame = frames()[name]
    for row in mirrored(mirror, TASKS[name]):
        found = cut(frame, row["instruction"], row["input"])
        assert found is not None
        gold, missing = _gold(TASKS[name], row, found)
        assert not missing
        whole = f"{row['instruction']}\n{row['input']}"
        spans = pieces(frame, found, len(row["input"]), gold)
        assert "".join(whole[piece.start : piece.end] for piece in spans) == whole
        needles = [whole[p.start : p.end] for p in spans if p.role == "needle"]
        assert len(needles) == len(gold)
        if "gold_index" in row:
            (needle,) = needles
            items = items_of(frame, found, row["input"])
            assert gold == [row["gold_index"]]
            assert items[row["gold_index"]].text in needle
            if frame.ids != "title" and found.values.get("gold"):
                assert items[row["gold_index"]].id == found.values["gold"]
            if frame.ids == "hex" and name.startswith("wiki"):
                assert items[row["gold_index"]].id == row["answers"][0]
        elif TASKS[name].metric == "f1":
            ids = [item.id for item in items_of(frame, found, row["input"])]
            assert {ids[place] for place in gold} == {
                id_.strip(" .。") for id_ in row["answers"][0].replace("，", ",").split(",")
            }


@EACH_TASK
def test_reading_keeps_the_file_its_buckets_and_lengths(name: str, mirror: Path) -> None:
    """The scripts leave instructions out in eleven files and add up mixed lengths by hand; ours count all.

    (arXiv's rows have the length without the answer, DuReader's that of the longest one; in mixed rows the
    scripts count Latin letters in Chinese texts one by one.)
    """
    task = TASKS[name]
    every = list(mirrored(mirror, task))
    expected = [row for row in every if row["length_bucket"] in (2000, 8000)]
    rows = list(read_rows(task, frames()[name], mirror / "m4le" / task.file, [2000, 8000]))
    assert [(row.text, row.bucket, row.answers) for row in rows] == [
        (f"{r['instruction']}\n{r['input']}", r["length_bucket"], r["answers"]) for r in expected
    ]
    low, high = {"mixed": (-0.35, 0.05)}.get(task.unit, (-0.09, 0.1))
    for row in every:
        text = f"{row['instruction']} {row['input']} {row['answers'][0] if name != 'arxiv' else ''}"
        assert low < length(text, task.unit) / row["total_length"] - 1 < high


# The paper's Figures 7 to 10, without line ends, with what it leaves out cut off at "...".
FIGURES = {
    "mnds-news_explicit-single": (
        ["AD3258", "D55E47", "A7D6BE"],
        [
            Item("Read the full article by Catherine Frompovitch", id="11BD15"),
            Item("Undoubtedly, this latest flooding crisis", id="92FF60"),
        ],
        {"gold": "11BD15"},
        "Answer: arts, culture, entertainment and media Article 11BD15: Read the full article by Catherine "
        "Frompovitch Article 92FF60: Undoubtedly, this latest flooding crisis Question: What is the "
        "category of article 11BD15? Answer:",
        "You are given multiple news articles below. Each of them belongs to one of the following "
        "categories: 1. crime, law and justice 2. arts, culture, entertainment and media",
    ),
    "mnds-news_explicit-multiple": (
        ["0A1A04", "95A4BF", "A7D6BE"],
        [
            Item("CNN contributor Ana Navarro accused President", id="AE8707"),
            Item("A widely-anticipated exchange of prisoners", id="5BC439"),
        ],
        {"question": "society"},
        "The article id AE8707. CNN contributor Ana Navarro accused President The article id 5BC439. "
        "A widely-anticipated exchange of prisoners Question: Provide me the article id of all the news "
        "articles related to 'society'. Answer:",
        "You are given multiple news articles below where each of them belongs to one of the 17 "
        "categories. Each article is prefixed with a article id. You will be asked to return the article "
        "ids of all articles belong to a particular category. The article id is 0A1A04. Rarely do the "
        "worlds of art and science intersect, but they did with famed Dutch artist Escher.",
    ),
    "wikihow": (
        [],
        [
            Item("Make sure that the shoe is the appropriate length and width", id="1"),
            Item("Learning and studying shouldn't be stressful.", id="2"),
        ],
        {"question": "How to Fit Your Kid for Shoes"},
        "Article 1: Make sure that the shoe is the appropriate length and width Article 2: Learning and "
        "studying shouldn't be stressful. Question: Summarize the article related to \"How to Fit Your "
        'Kid for Shoes" using a few instructive sentences. Summary:',
        "Below are some articles from wikihow. I will ask you to summarize a particular article at the "
        "end. Article 1: It's style that will leave you looking classy and feminine.",
    ),
    "hotpotqa": (
        [],
        [
            Item("The Stresa Festival Orchestra is a formation", id="1"),
            Item("The Metropolitan City of Messina", id="2"),
        ],
        {"question": "What Metropolitan City was Massimo Giordano born in?"},
        "Paragraph 1: The Stresa Festival Orchestra is a formation Paragraph 2: The Metropolitan City of "
        "Messina Question: What Metropolitan City was Massimo Giordano born in? Answer:",
        "Answer the question based on the given paragraphs. Note that some paragraphs might be "
        "irrelevant. Paragraph 1: Pratia is a genus of flowering plants in the family Campanulaceae, "
        "native to Asia, Australia and New Zealand. Paragraph 2: Sutherlandia is a genus of flowering "
        "plants in the family Fabaceae. Question: Are Sutherlandia and Pratia in the same family? "
        "Answer: no.",
    ),
}


@pytest.mark.parametrize("name", FIGURES)
def test_the_papers_printed_prompts(name: str) -> None:
    """But for line ends, which the print has not."""
    ids, items, values, end, start = FIGURES[name]
    examples = {f"example_{place}": id_ for place, id_ in enumerate(ids, start=1)}
    text = " ".join(render(frames()[name], items, {**values, **examples}, []).text.split())
    assert text.startswith(start) and text.endswith(end)


def test_other_texts_have_no_frame_and_numbers_are_words(tmp_path) -> None:
    # Numbers must follow each other, so a document that cites "Article 1: " adds no item.
    frame = frames()["newsqa"]
    items = [Item("as Article 1: says\nArticle 7: too", id="1"), Item("other", id="2")]
    made = render(frame, items, {"gold": "2", "question": "what is it?"}, [1])
    instruction = fill(frame.instruction, {})
    found = cut(frame, instruction, made.text[len(instruction) + 1 :])
    assert found is not None
    assert found.ids == ["1", "2"]
    frame = frames()["newsqa"]
    assert cut(frame, frame.instruction, "Once upon a time.\nAnswer:") is None
    assert cut(frame, "Something else.", frame.example + "Article 1: x") is None
    assert list(frames())[: len(TASKS)] == list(TASKS)
    (tmp_path / "frames.yaml").write_text("newsqa: {nothing: 1}", encoding="utf-8")
    with pytest.raises(UserError, match=r"frames\.yaml holds no frames"):
        load_frames(tmp_path / "frames.yaml")
    for number, english, chinese in (
        *(
            (6, "six", "六"),
            (11, "eleven", "十一"),
            (20, "twenty", "二十"),
            (61, "sixty one", "六十一"),
        ),
        *((101, "one hundred and one", "一百零一"), (110, "one hundred and ten", "一百一十")),
        *(
            (251, "two hundred and fifty one", "二百五十一"),
            (1001, "one thousand, one", "一千零一"),
        ),
    ):
        assert (counted(number, "en"), counted(number, "zh")) == (english, chinese)
