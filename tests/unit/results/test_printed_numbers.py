"""The papers' numbers as one data set: no number is lost, and each says what it is."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from pathlib import Path

import eee_schema
import pandas as pd
import pytest

from needlework.errors import UserError
from needlework.results.printed.agreement import errata, marked
from needlework.results.printed.numbers import COLUMNS, labels, table
from needlework.results.printed.write import croissant, write_records, write_table

ROOT = Path(__file__).resolve().parents[3]
FILES = sorted((ROOT / "resources/published").glob("*.csv"))
LABELS = ROOT / "resources/printed_labels.yaml"
CARD = (ROOT / "docs/published.md").read_text("utf-8")


@pytest.fixture(scope="module")
def numbers() -> pd.DataFrame:
    found = table(FILES, labels(LABELS))
    return marked(found, errata(found))


def test_no_printed_number_is_lost_or_changed(numbers) -> None:
    """Its source line is its own."""
    read = [row for file in FILES for row in csv.DictReader(file.open(encoding="utf-8"))]
    same = ["paper", "table", "row", "column", "source", "note"]
    assert numbers[same].to_dict("records") == [{key: row[key] for key in same} for row in read]
    assert numbers["value"].tolist() == [float(row["value"]) for row in read]
    n = numbers["n"].astype("string").fillna("").tolist()
    assert n == [row["n"] for row in read]
    assert numbers["id"].is_unique and len(numbers) == 3732
    lines = {file.name: file.read_text("utf-8").splitlines() for file in FILES}
    for row, place in zip(read, numbers["source_line"], strict=True):
        path, _, line = place.rpartition(":")
        (found,) = csv.reader([lines[Path(path).name][int(line) - 1]])
        assert found[1:4] == [row["table"], row["row"], row["column"]]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "lost_in_the_middle/table6/GPT-3.5-Turbo/9/paper",
            {"length": 20, "length_unit": "documents", "precision": 0.001, "n_said": "inferred"},
        ),
        ("lost_in_the_middle/figure10/MPT-30B-Instruct/34/repository", {"n_said": "paper"}),
        ("lost_in_the_middle/table2/MPT-30B/oracle/stdev/paper", {"statistic": "stdev"}),
        (
            "m4le/table7/GPT-3.5-Turbo-16K/nq-open/1000/paper",
            {"metric": "accuracy", "lang": "en", "precision": 0.0001, "n_said": "inferred"},
        ),
        (
            "mlneedle/table2/Llama3-8B-Instruct/en/zh/paper",
            {"lang": "zh", "haystack_lang": "en", "errata": "mlneedle-table2-caption"},
        ),
        ("mlneedle/table1/Llama3-8B-Instruct/4096/paper", {"n_said": "paper", "length": 4096}),
        ("mlongrr/construction/GPT4o/Somali/2k/sentences_before_25/repository", {"depth": 0.25}),
        ("oneruler/figure6a/ko-en/64000/paper", {"instruction_lang": "ko", "lang": "en"}),
        ("oneruler/figure3/o3-mini-high/it/8000/repository", {"n_said": "", "precision": 0.01}),
    ],
)
def test_a_number_says_what_it_is(numbers, name: str, expected: dict[str, object]) -> None:
    row = numbers.set_index("id").loc[name]
    assert {key: row[key] for key in expected} == pytest.approx(expected)


def test_every_number_has_metric_unit_and_digits(numbers) -> None:
    for column in ("metric", "unit", "statistic", "dispersion", "address"):
        assert (numbers[column] != "").all(), column
    steps = numbers["value"] / numbers["precision"]
    assert ((steps - steps.round()).abs() < 1e-6 * steps.abs() + 1e-6).all()
    assert ((numbers["n_said"] == "") == numbers["n"].isna()).all()
    assert numbers["depth"].dropna().between(0, 1).all()


def test_a_model_of_two_papers_has_one_name(numbers) -> None:
    of = numbers.drop_duplicates(["paper", "model"]).set_index(["paper", "model"])["model_name"]
    assert of["m4le", "LongChat-13B-16K"] == of["lost_in_the_middle", "LongChat-13B (16K)"]
    unnamed = set(numbers[(numbers["model_name"] == "")]["model"])
    assert not unnamed & set(labels(LABELS)["models"])


def test_a_label_without_a_pattern_is_refused(tmp_path) -> None:
    text = (ROOT / "resources/published/oneruler.csv").read_text("utf-8")
    file = tmp_path / "oneruler.csv"
    file.write_text(text.replace("figure24,ta", "figure99,ta"), "utf-8")
    with pytest.raises(UserError, match="figure99"):
        table([file], labels(LABELS))


def test_the_card_counts_numbers_and_errata(numbers) -> None:
    counts = dict(re.findall(r"^\| `([\w-]+)` \| (\d+) \|", CARD, flags=re.M))
    found = errata(numbers)
    by_kind = found["erratum"].value_counts().to_dict()
    assert by_kind == {name: int(count) for name, count in counts.items()}
    assert found["id"].str.contains(r"m4le/table3/.+/[68]000/").sum() == 16
    # A corrected number is none.
    name = "mlneedle/table1/Mistral-7B-Instruct-v0.2/32768/paper"
    right = numbers.assign(value=numbers["value"].where(numbers["id"] != name, 0.398))
    assert name in set(found["id"]) and name not in set(errata(right)["id"])
    titles = {name: own["title"] for name, own in labels(LABELS)["papers"].items()}
    for name, count in numbers["paper"].value_counts().items():
        assert re.search(rf"{titles[name]} \({count:,}\b", CARD), name
    assert f"{len(numbers):,} numbers with {len(COLUMNS)} columns" in CARD
    assert f"{(numbers['source'] == 'repository').sum()} of them" in CARD


def test_both_files_of_the_table_are_equal_and_described(numbers, tmp_path) -> None:
    files = tmp_path / "n.csv", tmp_path / "n.parquet"
    write_table(numbers, *files)
    text, binary = (
        pd.read_csv(files[0], keep_default_na=False, na_values=[""]),
        pd.read_parquet(files[1]),
    )
    assert list(text) == list(binary) == list(COLUMNS)
    for name, (kind, _) in COLUMNS.items():
        empty = "" if kind == "string" else -1.0
        one, other = (
            part[name].astype("object").where(part[name].notna(), empty).tolist()
            for part in (text, binary)
        )
        assert one == other, name
    made = croissant(*files, labels(LABELS)["papers"])
    fields = made["recordSet"][0]["field"]
    assert [field["source"]["extract"]["column"] for field in fields] == list(COLUMNS)
    for part in made["distribution"]:
        content = (tmp_path / part["contentUrl"]).read_bytes()
        assert part["sha256"] == hashlib.sha256(content).hexdigest()
    assert made["license"] and made["datePublished"]


def test_records_of_the_table_hold_the_fields_schema(numbers, tmp_path) -> None:
    count = write_records(tmp_path, numbers, labels(LABELS)["papers"])
    records = [json.loads(path.read_text("utf-8")) for path in tmp_path.rglob("*.json")]
    assert len(records) == count
    assert sum(len(record["evaluation_results"]) for record in records) == len(numbers)
    if eee_schema.FOLDER.is_dir():
        # The schema takes a millisecond a number; those of a record are alike.
        few = [{**one, "evaluation_results": one["evaluation_results"][::20]} for one in records]
        assert not eee_schema.errors("eval", few)
