"""A prompt is its spans, one after the other."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.errors import UserError
from needlework.prompts.spans import (
    ROLES,
    Documents,
    Span,
    literal,
    render,
    span_text,
)
from needlework.prompts.wording import (
    Templates,
    all_texts,
    check_texts,
    pieces,
    read_template,
    user_texts,
)
from needlework.records import PASSAGES, QUESTIONS, SPAN, write_table

DOCUMENTS = {"c/de/1": "Der Turm steht.", "c/zh/1": "塔还在。", "c/en/𝄞": "a𝄞b"}


def test_rendering_is_concatenation() -> None:
    spans = [
        literal("instruction", "Read {b}.\n"),
        Span("distractor", "c/de/1", 0, 8),
        literal("haystack", "\n"),
        Span("needle", "c/zh/1", 1, 3),
        # Characters beyond the basic plane: not in UTF-16's units, nor in bytes.
        Span("needle", "c/en/𝄞", 1, 2),
        literal("question", ""),
    ]
    assert render(spans, DOCUMENTS) == "Read {b}.\nDer Turm\n还在𝄞"
    assert render([], DOCUMENTS) == ""
    # As those of a file do.
    column = pa.array([[span._asdict() for span in spans]], pa.list_(SPAN))
    assert render(column.to_pylist()[0], DOCUMENTS) == render(spans, DOCUMENTS)
    assert Span._fields == tuple(field.name for field in SPAN)
    assert len(set(ROLES)) == len(ROLES)
    with pytest.raises(UserError, match=r"'c/de/9'.*delete the instance file and run again"):
        render([Span("needle", "c/de/9", 0, 1)], DOCUMENTS)


PARTS = st.lists(
    st.tuples(
        st.sampled_from([None, *DOCUMENTS]), st.text("a{}塔𝄞\n", max_size=4), st.integers(0, 9)
    ),
    max_size=5,
)


@given(PARTS)
def test_any_spans_render_as_their_parts(parts: list[tuple[str | None, str, int]]) -> None:
    spans, texts = [], []
    for source, text, cut in parts:
        whole = text if source is None else DOCUMENTS[source]
        start = min(cut, len(whole))
        own = literal("haystack", text), Span("needle", source, start, len(whole))
        spans.append(own[source is not None])
        texts.append(text if source is None else whole[start:])
    shown = "".join(span_text(span, DOCUMENTS) for span in spans)
    assert render(spans, DOCUMENTS) == "".join(texts) == shown


def test_documents_are_named_by_corpus_language_and_id(tmp_path: Path) -> None:
    passages = pa.table({"passage_id": ["1", "a/b"], "text": ["eins", "zwei"]}, schema=PASSAGES)
    question = {
        **{"example_id": "1", "title": "t", "context": "the context", "question": "the question"},
        **{"answers": ["the"], "answer_starts": [0]},
    }
    write_table(passages, tmp_path / "p.parquet")
    write_table(pa.Table.from_pylist([question], schema=QUESTIONS), tmp_path / "q.parquet")
    documents = Documents.read({n: str(tmp_path / f"{n[0]}.parquet") for n in ("p/de", "q/en")})
    assert dict(documents) == {"p/de/1": "eins", "p/de/a/b": "zwei", "q/en/1": "the context"}
    assert len(documents) == 3


WANTED = ["passages", "question"]


def template(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "exact.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_template_is_the_text_around_its_placeholders(tmp_path: Path) -> None:
    path = template(tmp_path, "\nRead.\n{passages}\n\nQ: {question}\nA:\n\n")
    assert read_template(path, WANTED) == ["Read.\n", "\n\nQ: ", "\nA:"]
    assert read_template(template(tmp_path, "{question}"), ["question"]) == ["", ""]
    assert read_template(template(tmp_path, "Hello.\n"), []) == ["Hello."]
    path.write_bytes(b"Read.\r\n\r\n{passages}\r\n{question}\r\n")
    assert read_template(path, WANTED) == ["Read.\n\n", "\n", ""]


@pytest.mark.parametrize(
    "text",
    [
        *("{question} {passages}", "{passages}", "{passages} {question} {question}"),
        *("{passages} {Question}", "{passages} {question} {answer}"),
        *("{passages} {question} {the answer}", "{passages} {question} {question.upper}"),
        *("{passages} {question} {}", "{passages!r} {question}", "passages question"),
    ],
)
def test_a_template_with_other_placeholders_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(UserError) as raised:
        read_template(template(tmp_path, text), WANTED)
    message = str(raised.value)
    assert "exact.txt" in message and "{passages} and {question}, once and in this order" in message
    assert all(found in message for found in re.findall(r"\{\w+\}", text))


def test_whole_prompts_are_read_when_they_are_asked_for(tmp_path):
    table = pa.table({"passage_id": ["a", "b"], "text": ["first", "second"], "pieces": [[1], [2]]})
    other = table.set_column(1, "text", pa.array(["third", "fourth"]))
    files = {}
    for name, own in (("m4le_2024/c3", table), ("m4le_2024/wow", other)):
        files[name] = str(tmp_path / f"{name[-2:]}.parquet")
        write_table(own, files[name])
    documents = Documents.read(files)
    asked = ("m4le_2024/c3/b", "m4le_2024/wow/a", "m4le_2024/c3/a")
    assert [documents[name] for name in asked] == ["second", "third", "first"]
    assert len(documents) == 4
    assert documents._held[0] == "m4le_2024/c3"


TEXTS = {"exact": ("passages", "question"), "yes": ()}
BLOCK = {"exact": "Oku: {passages} Soru: {question}", "yes": "Evet"}


@pytest.fixture
def folder(tmp_path: Path) -> str:
    for name, text in BLOCK.items():
        (tmp_path / f"{name}.txt").write_text(f"\ufeff{text}\n", encoding="utf-8")
    return str(tmp_path)


def test_a_folder_and_a_block_are_the_same_texts(folder) -> None:
    assert user_texts({"tr": folder}, "tr", [*TEXTS]) == user_texts({"tr": BLOCK}, "tr", [*TEXTS])
    assert all_texts(folder) == all_texts(BLOCK) == BLOCK
    assert user_texts({"tr": BLOCK}, "de", [*TEXTS]) == {}
    files = {"exact": f"{folder}/exact.txt"}
    own = Templates({"exact": "A {passages} B {question} C"}, files, TEXTS)
    assert own.of_user and own.pieces("exact") == ["A ", " B ", " C"]
    paper = Templates({}, files, TEXTS)
    assert not paper.of_user and paper.pieces("exact") == ["Oku: ", " Soru: ", ""]
    assert (own.text("yes", "Yes"), paper.text("yes", "Yes")) == ("Yes", "Yes")
    assert pieces(" a {x} b ", ["x"], "here") == ["a ", " b"]
    (Path(folder) / "exact.txt").unlink()
    with pytest.raises(UserError, match=r"lacks the file .*/exact\.txt"):
        check_texts("i", {"tr": folder}, TEXTS, {"tr": ["exact"]})
    with pytest.raises(UserError, match="none is not a folder"):
        check_texts("i", {"tr": "none"}, TEXTS, {})


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ({**BLOCK, "exacts": "x"}, "has the unknown text 'exacts': the texts are exact, yes"),
        ({"yes": "Evet"}, "lacks 'exact', which the prompts of this run take: write it"),
        ({**BLOCK, "yes": " "}, "instructions.tr.yes is empty"),
        ({**BLOCK, "yes": "{x}"}, "must hold no placeholder; it holds {x}"),
        ({**BLOCK, "exact": "{question}{passages}"}, "{passages} and {question}, once and in this"),
    ],
)
def test_a_wrong_block_is_one_sentence(block: dict[str, str], message: str) -> None:
    with pytest.raises(UserError) as raised:
        check_texts("benchmarks.b.instructions", {"tr": block}, TEXTS, {"tr": ["exact"]})
    assert message in str(raised.value) and "\n" not in str(raised.value)
