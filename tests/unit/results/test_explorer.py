"""The explorer's files: what the page reads is what the run's files say."""

from __future__ import annotations

import base64
import gzip
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from explorer_run import FACTORS, PROGRAM, STYLE, Asked, explore, identifier, write_files
from needlework import answer_states
from needlework.benchmarks.benchmark import load_benchmark
from needlework.benchmarks.mlneedle.metrics import METRICS
from needlework.errors import UserError
from needlework.prompts.spans import Documents, Span, literal
from needlework.records import DOCUMENTS, read_table, write_table
from needlework.results.explorer import page as verdicts
from needlework.results.explorer.data import Explored
from needlework.results.explorer.data_files import column_shard, encoded, smallest
from needlework.results.explorer.documents import DocumentShards
from needlework.results.explorer.page import write_explorer
from needlework.scoring.metric import meanings

TYPES = {"u8": "<u1", "u16": "<u2", "u32": "<u4", "i32": "<i4", "f32": "<f4"}
SPANS = [
    literal("instruction", "Find it. "),
    Span("distractor", "texts/en/a", 0, 5),
    Span("needle", "texts/en/b", 2, 4),
    literal("question", "Who?"),
]
PASSAGES = {"a": "apple", "b": "🙂🙂bc🙂d"}


def shards(page: Path) -> dict[str, bytes]:
    """All shards of an explorer, whether in the page or beside it."""
    inside = re.findall(
        r'<script type="text/plain" id="shard-([^"]+)">([^<]*)</script>', page.read_text()
    )
    beside = [
        re.fullmatch(r'needlework\("([^"]+)","([^"]*)"\);\n', file.read_text()).groups()
        for file in page.parent.glob("data/*.js")
    ]
    return {name: gzip.decompress(base64.b64decode(text)) for name, text in [*inside, *beside]}


def documents_of(found: dict[str, bytes]) -> list[str | list[str]]:
    """All documents of an explorer, as the page reads them."""
    documents: list[str | list[str]] = []
    names = sorted((name for name in found if name.startswith("documents-")), key=len)
    for name in names:
        header, planes = unpacked(found[name])
        codes = sum(
            planes[plane].astype(np.int64) << shift
            for plane, shift in (("low", 0), ("middle", 8), ("high", 16))
            if plane in planes
        )
        at = 0
        for piece in header["pieces"]:
            if isinstance(piece, str):
                documents.append(piece)
                continue
            vocabulary, length = piece
            words = json.loads(found[f"words-{vocabulary}"])
            documents.append([words[code] for code in codes[at : at + length]])
            at += length
    return documents


def unpacked(payload: bytes) -> tuple[dict, dict[str, np.ndarray]]:
    """A shard of columns."""
    size = int.from_bytes(payload[:4], "little")
    header = json.loads(payload[4 : 4 + size])
    return header, {
        name: np.frombuffer(payload, TYPES[kind], count, 4 + size + offset)
        for name, (kind, offset, count) in header["arrays"].items()
    }


def written(folder: Path, prompts, answers, asked=("task",), **options) -> Path:
    """The page of these prompts and answers."""
    told = {"made_up": Explored("Made up", list(asked), prompts, answers)}
    write_explorer(folder, told, program=PROGRAM, style=STYLE, **options)
    return folder / "index.html"


def asked(n: int = 3) -> list[Asked]:
    return [
        Asked(
            SPANS,
            {"one": "Ada Lovelace", "two": f"nobody {i}"},
            factors={"tongue": "हि" if i else "en", "place": i / 2, "size": 1000},
            example=f"example-{i}",
        )
        for i in range(n)
    ]


def test_columns_come_back_as_they_were() -> None:
    arrays = {
        "small": np.array([1, 2, 3], np.uint8),
        "real": np.array([0.5, np.nan], np.float32),
        "whole": np.array([-1, 2**31 - 1], np.int32),
    }
    header, back = unpacked(column_shard({"name": "नाम"}, arrays))
    assert header["name"] == "नाम"
    for name, array in arrays.items():
        np.testing.assert_array_equal(back[name], array)
    for size, kind in ((256, "u1"), (257, "u2"), (65536, "u2"), (65537, "u4")):
        codes = smallest([0, size - 1], size)
        assert (codes.dtype.str[1:], codes.tolist()) == (kind, [0, size - 1])


def test_index_says_what_the_scores_say(tmp_path) -> None:
    header, arrays = unpacked(shards(explore(tmp_path, asked(), PASSAGES))["made_up-index"])
    assert header["columns"] == ["task", "tongue", "place", "size"]
    assert header["factors"] == ["task", "tongue", "place", "size"]
    tongue = header["columns"].index("tongue")
    assert [header["values"][tongue][code] for code in arrays[f"factor{tongue}"]] == [
        "en",
        "हि",
        "हि",
    ]
    assert header["values"][tongue] == ["en", "हि"]
    assert arrays["instance"].tolist() == [0, 0, 1, 1, 2, 2]
    assert arrays["model"].tolist() == [0, 1] * 3
    assert arrays["value0"].tolist() == [1, 0] * 3
    verdicts = [header["verdicts"][code] for code in arrays["verdict0"]]
    assert verdicts == ["match:0", "no_match"] * 3
    assert arrays["id"].tobytes()[:8].hex() == identifier(0)[:16]
    # 9 characters of instruction and 5 of a distractor, of 22 in the browser's units.
    assert arrays["needle"].tolist() == [round(1000 * 14 / 20)] * 3
    assert "cached_tokens" not in arrays
    assert arrays["prompt_tokens"].tolist() == [100] * 6


def test_index_says_what_was_asked_and_became_of_it(tmp_path) -> None:
    told = [
        Asked(SPANS, {"m": ""}, outcome="empty", remarks=["reasoning_only"], reasoning="Ada?"),
        Asked(SPANS, {"m": "x"}, references=["Ada", "Lovelace"], remarks=["odd_count: 3 of 9"]),
        # Files of older versions have no outcome.
        Asked(SPANS, {"m": "Ada"}, finish="length"),
        Asked([literal("instruction", "Sum\nup. ")], {"m": "x"}, finish="skipped"),
        Asked([Span("question", "texts/en/b", 2, 5)], {"m": "x"}),
    ]
    found = shards(explore(tmp_path, told, PASSAGES))
    header, arrays = unpacked(found["made_up-index"])
    _, texts = unpacked(found["made_up-texts"])
    offsets, all_bytes = texts["offsets"], texts["bytes"].tobytes()

    def text(name: str, row: int) -> str:
        code = arrays[name][row]
        return all_bytes[offsets[code] : offsets[code + 1]].decode()

    assert [header["outcomes"][code] for code in arrays["outcome"]] == [
        *("empty", "answered", "cut", "skipped", "answered")
    ]
    assert [header["remarks"][code] for code in arrays["remarks"]] == [
        *("reasoning_only", "odd_count", "", "", "")
    ]
    assert [text("question", row) for row in range(5)] == ["Who?"] * 3 + ["Sum up.", "bc🙂"]
    assert text("reference", 1) == "Ada | Lovelace"
    details = json.loads(found["made_up-details-0"])
    assert details[0]["answers"][0]["reasoning"] == "Ada?"
    assert details[1]["answers"][0]["remarks"] == ["odd_count: 3 of 9"]


def test_measured_numbers_have_four_digits(tmp_path) -> None:
    measured = [
        Asked(SPANS, {"one": "x"}, factors={"tongue": "en", "place": place, "size": 1})
        for place in (1 / 3, 0.33333, 0.25)
    ]
    header, _ = unpacked(shards(explore(tmp_path, measured, PASSAGES))["made_up-index"])
    assert header["values"][header["columns"].index("place")] == [0.3333, 0.25]


def test_models_with_other_tokenizers_answer_the_same_question(tmp_path) -> None:
    """Their prompts differ in what was measured, here the place, and not in what was asked."""
    prompts, answers = {}, {}
    for model, tokenizer, place in (("a", "words", 0.1), ("b", "other", 0.2)):
        asked = Asked(SPANS, {model: "x"}, factors={"tongue": "en", "place": place, "size": 1})
        own, made = write_files(tmp_path / model, [asked], PASSAGES)
        prompts[tokenizer] = own["words"]
        answers[model] = replace(made[model], tokenizer=tokenizer)
    page = written(tmp_path / "explorer", prompts, answers, ("task", "tongue", "size"))
    assert unpacked(shards(page)["made_up-index"])[1]["twin"].tolist() == [0, 0]


def test_a_file_without_prompts_is_left_out(tmp_path) -> None:
    """As of a tokenizer whose context holds none of them."""
    prompts, answers = write_files(tmp_path, asked(), PASSAGES)
    own = prompts["words"]
    empty = tmp_path / "empty.parquet"
    write_table(read_table(own.instances[0]).slice(0, 0), empty)
    both = {"words": replace(own, instances=[*own.instances, str(empty)])}
    more, fewer = (written(tmp_path / n, p, answers) for n, p in (("a", both), ("b", prompts)))
    assert shards(more) == shards(fewer)


def test_details_hold_spans_answers_and_references(tmp_path) -> None:
    found = shards(explore(tmp_path, asked(50), PASSAGES))
    detail = json.loads(found["made_up-details-0"])[0]
    assert detail["id"] == identifier(0)
    assert detail["references"] == ["Ada Lovelace"]
    assert [answer["text"] for answer in detail["answers"]] == ["Ada Lovelace", "nobody 0"]
    # Two faces before it, which a browser counts as four. Each document is stored once.
    assert detail["prompt"] == [[0, "Find it. "], [2, 0], [3, 1, 4, 6], [4, "Who?"]]
    assert documents_of(found) == ["apple", "🙂🙂bc🙂d"]


# One vocabulary of more than 256 words, one of more than 65,536, and characters outside the basic plane.
LISTS = {
    "few": ["b", "a", "b", "🙂c"],
    "many": [f"word {i % 300}" for i in range(1234)],
    "most": [f"w{i * 7919 % 70_000}" for i in range(70_000)],
    "none": [],
}


def test_numbered_lists_come_back_from_their_vocabulary(tmp_path) -> None:
    file = tmp_path / "made_up/lists.parquet"
    rows = {"passage_id": list(LISTS), "text": [None] * len(LISTS), "words": list(LISTS.values())}
    write_table(pa.table(rows, schema=DOCUMENTS), file)
    sources = [f"made_up/lists/{name}" for name in LISTS]
    texts = Documents.of("made_up", [], [str(file)])
    found: dict[str, bytes] = {}
    made = DocumentShards(
        lambda n, payload, shuffled: found.update({f"documents-{n}": payload}),
        lambda n, payload: found.update({f"words-{n}": payload}),
    )
    numbers = [made.number("made_up/words", source, texts) for source in sources]
    made.flush()
    assert numbers == [0, 1, 2, 3]
    assert documents_of(found) == list(LISTS.values())
    units = [len(texts[source].encode("utf-16-le")) // 2 for source in sources]
    assert [made.length(number) for number in numbers] == units


def test_shuffled_bytes_take_no_more_room() -> None:
    payload = np.random.default_rng(1).integers(9, size=100_000, dtype=np.uint8).tobytes()
    plain, shuffled = (encoded(payload, shuffled=one) for one in (False, True))
    assert len(shuffled) < len(plain) and plain == encoded(payload)
    for text in (plain, shuffled):
        assert gzip.decompress(base64.b64decode(text)) == payload


def test_threads_change_no_byte(tmp_path) -> None:
    """Nor does a second run into the same folder."""
    found = []
    for threads in (1, 2):
        made = write_files(tmp_path / str(threads), asked(200), PASSAGES)
        page = written(tmp_path / "out", *made, one_file=0, threads=threads)
        files = [file for file in page.parent.rglob("*") if file.is_file()]
        found.append({file.name: file.read_bytes() for file in files})
    assert found[0] == found[1] and len(found[0]) > 4


def test_large_runs_lie_beside_the_page(tmp_path) -> None:
    page = explore(tmp_path, asked(), PASSAGES, one_file=100)
    assert "shard-" not in re.sub(r"<script>.*?</script>", "", page.read_text(), flags=re.S)
    assert {file.name for file in page.parent.glob("data/*")} == {
        "documents-0.js",
        "made_up-details-0.js",
        "made_up-index.js",
        "made_up-texts.js",
    }


def test_hostile_names_stay_data(tmp_path) -> None:
    hostile = "</script><script>alert(1)</script>"
    asked = Asked(SPANS, {"model": hostile}, references=[hostile])
    page = explore(tmp_path, [asked], PASSAGES)
    assert "alert(1)" not in page.read_text()
    (detail,) = json.loads(shards(page)["made_up-details-0"])
    assert detail["answers"][0]["text"] == hostile


def test_answers_without_an_instance_are_refused(tmp_path) -> None:
    _, answers = write_files(tmp_path / "many", asked(3), PASSAGES)
    fewer, _ = write_files(tmp_path / "few", asked(2), PASSAGES)
    with pytest.raises(UserError, match="answers 1, which no"):
        written(tmp_path / "out", fewer, answers, ("task", *FACTORS))


def test_the_page_has_the_meanings_of_its_metrics(tmp_path) -> None:
    prompts, answers = write_files(tmp_path / "run", asked(3), PASSAGES)
    told = Explored("Made up", ["task"], prompts, answers, meanings=meanings(METRICS.values()))
    write_explorer(tmp_path, {"made_up": told}, program=PROGRAM, style=STYLE)
    page = (tmp_path / "index.html").read_text("utf-8")
    about = json.loads(re.search(r'id="about">(.*?)</script>', page)[1])
    assert about["meanings"]["match"] == METRICS["containment"].verdicts["match"].sentence
    assert about["words"]["skipped"] == "not sent: too long"
    assert about["words"].keys() == about["meanings"].keys()


def test_every_outcome_and_remark_is_in_words() -> None:
    assert set(verdicts.OUTCOMES) == set(answer_states.OUTCOMES)
    told = {
        value for name, value in vars(answer_states).items() if name.isupper() and name[0] != "_"
    }
    ends = {answer_states.STOP, answer_states.LENGTH, answer_states.UNKNOWN, answer_states.ERROR}
    assert {remark for remark in told if isinstance(remark, str)} - ends == {
        *verdicts.OUTCOMES,
        *verdicts.REMARKS,
    }


def test_shares_are_written_in_percent(tmp_path) -> None:
    page = explore(tmp_path, asked(), PASSAGES, percent={"place": 100, "gone": 100})
    header, _ = unpacked(shards(page)["made_up-index"])
    assert header["labels"] == {"place": ["0%", "50%", "100%"]}
    assert header["values"][header["columns"].index("place")] == [0, 0.5, 1]


def test_benchmarks_say_what_they_vary_and_hold() -> None:
    varied = dict.fromkeys(("oneruler", "mlongrr", "m4le"), "length")
    varied |= {"mlneedle": "position", "lost_in_the_middle": "gold_index"}
    for name, factor in varied.items():
        own = load_benchmark(name)
        assert own.shown.designed[0] == factor and factor in own.columns and factor in own.asked
        # What cards hold can be filtered by; depth follows from these columns and the factor.
        lacking = {"depth"} if name == "lost_in_the_middle" else set()
        assert set(own.shown.card.held) - {"task", *own.columns} == lacking
