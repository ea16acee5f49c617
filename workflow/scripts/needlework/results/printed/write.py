"""The data set's files: Parquet, CSV, Croissant metadata, and records of Every Eval Ever."""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from needlework import __version__
from needlework.results.exchange import VERSION
from needlework.results.printed.numbers import COLUMNS

if TYPE_CHECKING:
    import pandas as pd

NAME = "needlework_published_numbers"
DESCRIPTION = (
    "Every number that five papers on long contexts print, or their authors released: Lost in the Middle, "
    "M4LE, MLNeedle, mLongRR and ONERULER, with what each number is of, its n, its digits and contradictions."
)
LICENSE = "https://spdx.org/licenses/MIT.html"
_CONTEXT = {
    **{"@language": "en", "@vocab": "https://schema.org/", "sc": "https://schema.org/"},
    **{"cr": "http://mlcommons.org/croissant/", "dct": "http://purl.org/dc/terms/"},
    "conformsTo": "dct:conformsTo",
    **{name: f"cr:{name}" for name in ("column", "extract", "field", "fileObject", "recordSet")},
    **{name: f"cr:{name}" for name in ("source", "fileProperty", "fileSet", "format", "includes")},
    **{name: f"cr:{name}" for name in ("isLiveDataset", "jsonPath", "key", "md5", "parentField")},
    **{name: f"cr:{name}" for name in ("path", "references", "regex", "repeated", "replace")},
    **{name: f"cr:{name}" for name in ("samplingRate", "separator", "subField")},
    **{name: f"cr:{name}" for name in ("transform", "citeAs", "equivalentProperty")},
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
}
_TYPES = {"string": "sc:Text", "double": "sc:Float", "int64": "sc:Integer"}
_UNKNOWN = {"deployment_type": "unknown", "model_availability": "unknown"}


def write_table(numbers: pd.DataFrame, csv: str | Path, parquet: str | Path) -> None:
    """Write the table as CSV and Parquet."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    numbers.to_csv(csv, index=False, lineterminator="\n")
    columns = {
        name: pa.array([None if pd.isna(v) else v for v in numbers[name]], pa.type_for_alias(kind))
        for name, (kind, _) in COLUMNS.items()
    }
    pq.write_table(pa.table(columns), parquet)


def croissant(csv: str | Path, parquet: str | Path, papers: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of both files, in Croissant 1.0."""
    objects = [
        {
            **{"@type": "cr:FileObject", "@id": Path(path).name, "name": Path(path).name},
            **{"contentUrl": Path(path).name, "encodingFormat": form},
            "sha256": hashlib.sha256(Path(path).read_bytes()).hexdigest(),
        }
        for path, form in ((csv, "text/csv"), (parquet, "application/x-parquet"))
    ]
    fields = [
        {
            **{"@type": "cr:Field", "@id": f"numbers/{name}", "name": f"numbers/{name}"},
            **{"description": meaning, "dataType": _TYPES[kind]},
            "source": {"fileObject": {"@id": Path(csv).name}, "extract": {"column": name}},
        }
        for name, (kind, meaning) in COLUMNS.items()
    ]
    cited = "; ".join(f"{paper['title']}, {paper['address']}" for paper in papers.values())
    read = datetime.fromtimestamp(max(paper["read"] for paper in papers.values()), UTC)
    return {
        "@context": _CONTEXT,
        **{"@type": "sc:Dataset", "conformsTo": "http://mlcommons.org/croissant/1.0"},
        **{"name": NAME, "description": DESCRIPTION, "license": LICENSE},
        "version": __version__,
        "datePublished": read.date().isoformat(),
        "url": papers[next(iter(papers))]["address"],
        "citeAs": cited,
        "distribution": objects,
        "recordSet": [
            {"@type": "cr:RecordSet", "@id": "numbers", "name": "numbers", "field": fields}
        ],
    }


def write_records(folder: str | Path, numbers: pd.DataFrame, papers: Mapping[str, Any]) -> int:
    """Write a record per paper and model, and one per paper for other numbers; returns how many."""
    count = 0
    named = numbers.assign(model_name=numbers["model_name"].replace("", "paper/other-numbers"))
    for (paper, model), own in named.groupby(["paper", "model_name"], sort=False):
        target = Path(folder, "data", str(paper), *re.sub(r"[^\w./-]", "-", str(model)).split("/"))
        target.mkdir(parents=True, exist_ok=True)
        record = _record(str(paper), str(model), own.to_dict("records"), papers[paper])
        name = uuid.UUID(
            bytes=hashlib.sha256(record["evaluation_id"].encode()).digest()[:16], version=4
        )
        text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
        (target / f"{name}.json").write_text(text, encoding="utf-8")
        count += 1
    return count


def _record(
    paper: str, model: str, rows: Sequence[Mapping[Any, Any]], known: Mapping[str, Any]
) -> dict[str, Any]:
    """What a paper prints of a model, as documentation."""
    stamp = str(known["read"])
    source = {"dataset_name": known["title"], "source_type": "url", "url": [known["address"]]}
    results = []
    for row in rows:
        details = {
            name: str(row[name])
            for name in COLUMNS
            if name not in ("value", "paper", "address")
            and str(row[name]) not in ("", "nan", "<NA>")
        }
        results.append(
            {
                "evaluation_result_id": row["id"],
                "evaluation_name": f"{paper}/{row['table']}",
                "source_data": source,
                "metric_config": {
                    **{"metric_name": row["metric"], "lower_is_better": False},
                    **{"score_type": "continuous", "min_score": None, "max_score": None},
                },
                "score_details": {"score": row["value"], "details": details},
            }
        )
    return {
        "schema_version": VERSION,
        "evaluation_id": f"{paper}/{model}/{stamp}",
        "retrieved_timestamp": stamp,
        "source_metadata": {
            "source_type": "documentation",
            "source_name": f"The paper of {known['title']}",
            "source_organization_name": "the authors of the paper",
            "source_organization_url": known["address"],
            "evaluator_relationship": "third_party",
        },
        "eval_library": {"name": known["title"], "version": "unknown"},
        "model_info": {"name": model, "id": model, "additional_details": _UNKNOWN},
        "evaluation_results": results,
    }
