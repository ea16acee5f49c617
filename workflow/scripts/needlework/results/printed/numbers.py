"""All printed numbers in one table: what each is of, how many answers it has, and how it was printed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from needlework.errors import UserError
from needlework.prompts.spans import Documents, span_text
from needlework.records import read_table
from needlework.results.published import load
from needlework.safe_yaml import read

if TYPE_CHECKING:
    import pandas as pd

# What a benchmark's prompts hold constant, and what varies with the factor that is asked about.

FACTOR_COLUMNS = (
    "benchmark",
    "prompts",
    "tokens_vary",
    "needle_characters",
    "needles_vary",
    "overlap",
)
# Prompts of one nominal length whose tokens vary by less are of one length.
CONTROLLED = 0.02
_WORD = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]|[^\W\d_]+")


def factors(
    benchmark: str, instances: Sequence[str], corpora: Sequence[str], documents: Sequence[str]
) -> dict[str, Any]:
    """How much the prompts of a benchmark vary.

    Columns: the number of prompts; the coefficients of variation of tokens within a nominal length, and of
    the needles' characters; the median needle in characters; the mean share of a question's words in its
    needles.
    """
    import pandas as pd

    texts = Documents.of(benchmark, corpora, documents)
    read = [read_table(path) for path in instances]
    # pandas would make floats of the ends of spans.
    rows = pd.concat(
        [
            part.drop_columns("prompt").to_pandas().assign(prompt=part["prompt"].to_pylist())
            for part in read
        ],
        ignore_index=True,
    )
    nominal = "n_documents" if "n_documents" in rows else "length"
    asked = rows[rows[nominal].fillna(0) > 0]
    groups = asked.groupby(["task", nominal] if nominal != "length" else [nominal])["n_tokens"]
    needles, overlaps = [], []
    for prompt in asked["prompt"]:
        own = [span_text(span, texts) for span in prompt if span["role"] == "needle"]
        question = "".join(span_text(span, texts) for span in prompt if span["role"] == "question")
        words = set(_WORD.findall(question.casefold()))
        needles += [len(text) for text in own]
        if own and words:
            held = set(_WORD.findall(" ".join(own).casefold()))
            overlaps.append(len(words & held) / len(words))
    length = pd.Series(needles, dtype="float64")
    return {
        **{"benchmark": benchmark, "prompts": len(asked)},
        "tokens_vary": float((groups.std(ddof=0) / groups.mean()).mean()),
        "needle_characters": float(length.median()),
        "needles_vary": float(length.std(ddof=0) / length.mean()),
        "overlap": float(pd.Series(overlaps, dtype="float64").mean()),
    }


def table_of(found: pd.DataFrame) -> str:
    """A table of Markdown: what is controlled, and how much the rest varies."""
    lines = [
        "| benchmark | tokens within a length vary by | needle, characters | needles vary by | question's "
        "words in the needle |",
        "|---|---|---|---|---|",
    ]
    for row in found.itertuples():
        vary = f"{row.tokens_vary:.4f}"
        kind = "controlled" if row.tokens_vary < CONTROLLED else "not controlled"
        needle = ("-", "-", "-")
        if row.needle_characters == row.needle_characters:
            overlap = f"{row.overlap:.0%}" if row.overlap == row.overlap else "-"
            needle = (f"{row.needle_characters:.0f}", f"{row.needles_vary:.2f}", overlap)
        lines.append(f"| {row.benchmark} | {vary} ({kind}) | {' | '.join(needle)} |")
    return "\n".join(lines)


# The columns, their types in Arrow and Croissant, and what they mean.
COLUMNS: dict[str, tuple[str, str]] = {
    "id": ("string", "paper, table, row, column and source: unique"),
    "paper": ("string", "the benchmark"),
    "address": ("string", "the paper's address"),
    "table": ("string", "table, figure, section or released file"),
    "row": ("string", "the label of the row, levels parted by /"),
    "column": ("string", "the label of the column, levels parted by /"),
    "value": ("double", "the number; percent are shares"),
    "model": ("string", "the model as printed"),
    "model_name": ("string", "the model's name on the hub, or its maker's and its own"),
    "lang": ("string", "the language of needle, question or text, as an ISO 639 code"),
    "haystack_lang": ("string", "the haystack's language, where it is not lang"),
    "instruction_lang": ("string", "the instruction's language, where it is not lang"),
    "length": ("int64", "the nominal length, in length_unit"),
    "length_unit": ("string", "tokens, words, documents or pairs"),
    "depth": ("double", "the needle's place: 0 is first, 1 is last"),
    "needles": ("int64", "how many needles"),
    "task": ("string", "the task, as the table names it"),
    "metric": ("string", "what was measured"),
    "unit": ("string", "the unit of value"),
    "statistic": ("string", "mean, difference, max, stdev, rank, a bound or a test's number"),
    "dispersion": ("string", "what is printed of the spread: none, or the table's own rows of it"),
    "n": ("int64", "the answers, questions or prompts behind the number"),
    "n_said": (
        "string",
        "paper: the paper says n; inferred: this project derives it; empty: unknown",
    ),
    "precision": ("double", "the unit of the last digit that is printed"),
    "source": ("string", "paper: as printed; repository: the authors' released results"),
    "source_line": ("string", "file and line of this project's resources, read from the paper"),
    "note": ("string", "what a reader must know, with the place in paper or repository"),
    "errata": ("string", "identifiers of errata.csv that concern the number, parted by spaces"),
}
_LANGUAGES = {
    **{"English": "en", "Vietnamese": "vi", "Indonesian": "id", "Swahili": "sw", "Somali": "so"},
    **{"Azeri": "az", "Average": "mean", "english": "en", "high": "high resource"},
}
_SPREAD = "standard deviation of prompts, in rows of its own"
# Where each number is a sentence's own, its digits are, too.
_SENTENCES = ("text", "abstract")


def labels(path: str | Path) -> Mapping[str, Any]:
    """`resources/printed_labels.yaml`: papers, models, and the patterns of their labels."""
    return read(path)


def table(files: Sequence[str | Path], known: Mapping[str, Any]) -> pd.DataFrame:
    """The numbers of all `files` (`resources/published/<paper>.csv`), a row each, without errata."""
    import pandas as pd

    return pd.concat([_paper(Path(file), known) for file in files], ignore_index=True)


def _paper(path: Path, known: Mapping[str, Any]) -> pd.DataFrame:
    import pandas as pd

    printed = pd.read_csv(path, dtype=str, keep_default_na=False)["value"]
    numbers = load(path)
    name = path.stem
    paper = known["papers"][name]
    made = []
    for at, (number, text) in enumerate(zip(numbers.to_dict("records"), printed, strict=True)):
        fields = _fields(number, known["patterns"][name], path)
        n = None if pd.isna(number["n"]) else int(number["n"])
        said = "" if n is None else "paper" if n in paper["n_paper"] else "inferred"
        keys = ("paper", "table", "row", "column", "source")
        made.append(
            {
                **fields,
                **number,
                "id": "/".join(str(number[key]) for key in keys),
                "address": paper["address"],
                "model_name": known["models"].get(fields["model"], ""),
                "n": n,
                "n_said": said,
                "decimals": fields.get("decimals", len(text.partition(".")[2])),
                "source_line": f"resources/published/{path.name}:{at + 2}",
                "errata": "",
            }
        )
    frame = pd.DataFrame(made)
    same = ["table", "metric", "statistic", "source", "unit"]
    most = frame.groupby(same)["decimals"].transform("max")
    alone = frame["table"].isin(_SENTENCES)
    frame["precision"] = 10.0 ** -most.where(~alone, frame["decimals"]).astype(float)
    spread = frame[frame["statistic"] == "stdev"]["table"].unique()
    frame["dispersion"] = frame["table"].map(lambda own: _SPREAD if own in spread else "none")
    types = {key: kind.replace("int64", "Int64") for key, (kind, _) in COLUMNS.items()}
    types = {key: kind.replace("double", "float64") for key, kind in types.items()}
    return frame[list(COLUMNS)].astype(types)


def _fields(
    number: Mapping[str, Any], patterns: Sequence[Mapping[str, Any]], path: Path
) -> dict[str, Any]:
    """What the labels of a number say, by the first pattern that they match."""
    texts: dict[str, Any] = dict.fromkeys(
        (key for key, (kind, _) in COLUMNS.items() if kind == "string"), ""
    )
    for pattern in patterns:
        parts = ("table", "row", "column", "note")
        found = [re.fullmatch(pattern.get(part, ".*"), number[part]) for part in parts]
        if all(found):
            groups = {k: v for match in found if match for k, v in match.groupdict().items()}
            return texts | _typed({"statistic": "mean", **pattern["fields"], **groups})
    place = " | ".join(number[part] for part in ("table", "row", "column"))
    raise UserError(
        f"{path}: no pattern of resources/printed_labels.yaml reads {place!r}; add one."
    )


def _typed(fields: dict[str, Any]) -> dict[str, Any]:
    """Lengths and places as numbers, languages as codes."""
    length = str(fields.get("length", "")).replace("k", "000")
    fields["length"] = int(length) if length else None
    fields["needles"] = int(fields["needles"]) if "needles" in fields else None
    fields["depth"] = None
    if "position" in fields:
        fields["depth"] = int(fields.pop("position")) / (fields["length"] - 1)
    if "percent" in fields:
        fields["depth"] = int(fields.pop("percent")) / 100
    lang = fields.get("lang", "")
    fields["lang"] = _LANGUAGES.get(lang, lang.lower())
    return fields
