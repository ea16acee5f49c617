"""A run as a Workflow Run RO-Crate: what a reviewer needs to check the tables and to build them again.

Profile: Workflow Run Crate 0.5 (https://w3id.org/ro/wfrun/workflow/0.5). The crate holds the workflow's
code, the configuration, the environments, the results and the journal's answers. From these, in a clone
of the same version, all tables come out again without a model.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from needlework.atomic import atomic_write
from needlework.data.published_files import load_registry
from needlework.folders import files_below
from needlework.journal import Journal, Record
from needlework.models.thoughts import without_reasoning
from needlework.records import ROOT, file_digest, read_table
from needlework.results.sealed.provenance import (
    Provenance,
    Spent,
    jobs_of_model,
    times,
    used_records,
)
from needlework.services.endpoints import published_url

PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": ("Process Run Crate", "0.5"),
    "https://w3id.org/ro/wfrun/workflow/0.5": ("Workflow Run Crate", "0.5"),
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": ("Workflow RO-Crate", "1.0"),
}
# What of the repository is the workflow.
CODE = ("Snakefile", "config.yaml", "workflow", "envs")
# Folders of results that hold texts of the corpora.
TEXTS = ("corpora", "documents", "instances", "explorer", "export")
# Licences, by the beginning of their names, under which texts may be passed on.
FREE = re.compile(r"(CC0|CC-BY|CC-BY-SA|MIT|Apache|BSD)(-[\d.]+)?", re.IGNORECASE)
_ADDRESS = re.compile(
    r"""(\bbase_url["']?\s*:\s*|[\w-]["']?\s*:\s+(?=["']?https?://))("[^"\n]*"|'[^'\n]*'|[^\s,{}#]+)"""
)
LICENCE = "https://spdx.org/licenses/MIT"


@dataclass(frozen=True)
class Job:
    """A rule's job: the rule, its name among Snakemake's benchmark files, and what it wrote."""

    rule: str
    name: str | None
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class RulePaths:
    """The patterns of a rule's outputs and of its benchmark file, with `{wildcards}`."""

    rule: str
    outputs: Sequence[str]
    benchmark: str | None = None

    def job_of(self, path: str) -> str | None:
        """The name of the job that wrote `path`, its benchmark file's path without folder and ending.

        "" where the rule has no benchmark file; None where the rule does not write `path`.
        """
        for pattern in self.outputs:
            if found := _regex(pattern).fullmatch(path):
                if not self.benchmark:
                    return ""

                def value(wildcard: re.Match[str], own: re.Match[str] = found) -> str:
                    return str(own[wildcard[1]])

                name = re.sub(r"\{(\w+)[^}]*\}", value, self.benchmark)
                return name.removeprefix("benchmarks/").removesuffix(".tsv")
        return None


def _regex(pattern: str) -> re.Pattern[str]:
    """A pattern of paths; a folder stands for all that it holds."""
    parts, seen = [], set()
    for text, name in re.findall(r"([^{]*)(?:\{(\w+)[^}]*\})?", pattern):
        parts.append(re.escape(text))
        if name:
            parts.append(f"(?P={name})" if name in seen else f"(?P<{name}>.+?)")
            seen.add(name)
    return re.compile("".join(parts) + "(?:/.*)?")


def jobs_of(paths: Iterable[str], rules: Sequence[RulePaths]) -> list[Job]:
    """The jobs that wrote `paths`. A file that no rule writes belongs to no job."""
    found: dict[tuple[str, str], list[str]] = {}
    for path in paths:
        for own in rules:
            name = own.job_of(path)
            if name is not None:
                found.setdefault((own.rule, name), []).append(path)
                break
    return [Job(rule, name or None, tuple(own)) for (rule, name), own in sorted(found.items())]


def withheld(provenance: Mapping[str, Any]) -> list[str]:
    """The sources whose licences do not clearly allow redistribution of their texts: source to licence.

    A user's own data has no known licence, so it is always withheld.
    """
    licences = {
        source["id"].split("/")[0]: source["licence"] for source in provenance.get("sources", ())
    }
    found = [
        f"{name} ({licence})" for name, licence in licences.items() if not FREE.fullmatch(licence)
    ]
    config = provenance.get("configuration", {})
    own = {f"corpora.{name}": True for name in config.get("corpora", {})}
    for section in ("sources", "benchmarks"):
        for name, entry in config.get(section, {}).items():
            own[f"{section}.{name}.folder"] = entry.get("folder")
    return found + [f"{key} (data of the user's own)" for key, given in own.items() if given]


def write_artifact(
    target: str | Path,
    provenance_file: str | Path,
    rules: Sequence[RulePaths],
    *,
    registry: str | Path,
    journal: str | Path,
) -> dict[str, int]:
    """Write the crate as a ZIP file; returns the numbers of files and jobs that it describes.

    It contains the files that the provenance seals. Texts of corpora are included only if all licences
    allow it.
    """
    from rocrate.rocrate import ROCrate

    provenance: Provenance = json.loads(Path(provenance_file).read_text(encoding="utf-8"))
    crate = ROCrate(version="1.1")
    crate.metadata.extra_terms["sha256"] = "http://schema.org/sha256"
    held_back = withheld(provenance)
    _describe(crate, provenance, held_back)
    with tempfile.TemporaryDirectory() as folder:
        workflow = _add_code(crate, provenance, Path(folder))
        inputs = [_add_configuration(crate, workflow, provenance, Path(folder))]
        inputs += _add_sources(crate, provenance, registry)
        inputs += _add_models(crate, provenance)
        made = _add_results(crate, provenance, texts=not held_back)
        shown = Path(folder) / "provenance.json"
        shown.write_text(
            json.dumps(_quoted(provenance, held_back), indent=2, ensure_ascii=False) + "\n",
            encoding="utf-8",
        )
        seal = "What the results were made from; the seal."
        made[str(provenance_file)] = _add_file(crate, shown, str(provenance_file), seal)
        for path, file in _journal_files(provenance, journal, Path(folder), held_back):
            inputs.append(_add_file(crate, file, path, "Answers as they arrived."))
        jobs = jobs_of(made, rules)
        spent = times("benchmarks")
        for job in jobs:
            _add_job(crate, job, made, spent)
        crate.add_action(
            workflow,
            identifier="#run",
            object=inputs,
            result=list(made.values()),
            properties={
                "name": "The run of the whole workflow",
                "endTime": _time(provenance_file),
            },
        )
        with atomic_write(target) as part:
            crate.write_zip(part.with_suffix(".zip"))
            part.with_suffix(".zip").replace(part)
    return {"files": len(made), "jobs": len(jobs)}


def _add_configuration(crate: Any, workflow: Any, provenance: Provenance, made: Path) -> Any:
    """The configuration, written into the folder `made`, as the workflow's parameter; its entity."""
    file = made / "configuration.yaml"
    file.write_text(_yaml(provenance["configuration"]), encoding="utf-8")
    entity = _add_file(crate, file, "configuration.yaml", "The configuration.")
    parameter = crate.add_formal_parameter("configuration", "File", identifier="#configuration")
    parameter["workExample"] = entity
    entity["exampleOfWork"] = parameter
    workflow["input"] = parameter
    return entity


def _describe(crate: Any, provenance: Provenance, held_back: Sequence[str]) -> None:
    """The crate as a whole."""
    run = provenance["configuration"]["run"]
    crate.name = f"needlework: {', '.join(run['models'])} on {', '.join(run['benchmarks'])}"
    said = (
        "Texts of the corpora, prompts and the explorer are left out, because licences do not plainly "
        f"allow them to be passed on: {'; '.join(held_back)}. The workflow builds them again from the "
        "sources."
        if held_back
        else "Prompts and the texts that they are made of are included."
    )
    crate.description = (
        "Published evaluations of multilingual long-context language models, with all answers, scores, "
        f"tables and figures. {said}"
    )
    crate.license = LICENCE
    profiles = [
        crate.add_jsonld({"@id": url, "@type": "CreativeWork", "name": name, "version": version})
        for url, (name, version) in PROFILES.items()
    ]
    crate.root_dataset["conformsTo"] = profiles


def _add_code(crate: Any, provenance: Provenance, made: Path) -> Any:
    """The workflow's own files, its configuration without private addresses; its entity.

    What is written anew lies in the folder `made`.
    """
    own_version = provenance["workflow"]
    version = own_version["commit"] or own_version["version"]
    workflow = crate.add_workflow(
        ROOT / "Snakefile",
        "code/Snakefile",
        main=True,
        lang="snakemake",
        lang_version=provenance["software"]["packages"].get("snakemake"),
        properties={
            "name": "needlework",
            "version": version + (" (modified)" if own_version["modified"] else ""),
            "license": LICENCE,
            "sha256": file_digest(ROOT / "Snakefile"),
        },
    )
    for name in CODE:
        folder = ROOT / name
        for file in files_below(folder) if folder.is_dir() else [folder]:
            own = file.relative_to(ROOT).as_posix()
            if file.is_file() and "__pycache__" not in own and own != "Snakefile":
                shown = _without_addresses(file, made) if own == "config.yaml" else file
                _add_file(crate, shown, f"code/{own}")
    return workflow


def _without_addresses(file: Path, folder: Path) -> Path:
    """A configuration file whose addresses are all public; a copy of it in `folder` where some are not."""
    text = file.read_text(encoding="utf-8")
    shown = _ADDRESS.sub(lambda found: found[1] + published_url(found[2].strip("\"'")), text)
    if shown == text:
        return file
    copy = folder / "code" / file.name
    copy.parent.mkdir()
    copy.write_text(shown, encoding="utf-8")
    return copy


def _add_file(crate: Any, source: str | Path, path: str, description: str | None = None) -> Any:
    """A file of the crate, with its sha256 and size."""
    properties = {
        "name": Path(path).name,
        "sha256": file_digest(source),
        "contentSize": str(Path(source).stat().st_size),
    }
    if description:
        properties["description"] = description
    return crate.add_file(source, path, properties=properties)


def _add_sources(crate: Any, provenance: Provenance, registry: str | Path) -> list[Any]:
    """The downloaded inputs as they were published, whatever mirror they came from; their bytes stay out."""
    published = {
        file.id: file.url for own in load_registry(registry).values() for file in own.files
    }
    return [
        crate.add_file(
            published[source["id"]],
            properties={
                "name": source["id"],
                "sha256": source["sha256"],
                "license": source["licence"],
                "version": source["revision"],
            },
        )
        for source in provenance["sources"]
    ]


def _add_models(crate: Any, provenance: Provenance) -> list[Any]:
    """The models, by what their answers depend on."""
    return [
        crate.add_jsonld(
            {
                "@id": f"#model/{name}",
                "@type": "PropertyValue",
                "name": name,
                "value": json.dumps(own.get("identity"), sort_keys=True, ensure_ascii=False),
                "description": "A model's identity: all that its answers depend on but the prompt.",
            }
        )
        for name, own in provenance["models"].items()
    ]


def _add_results(crate: Any, provenance: Provenance, *, texts: bool) -> dict[str, Any]:
    """The sealed files and, where licences allow it, the folders that hold texts; entities by path."""
    paths = list(provenance["seal"]["files"])
    if texts:
        paths += sorted(str(f) for name in TEXTS for f in files_below(Path("results") / name))
    return {path: _add_file(crate, path, path) for path in paths}


def _without_address(record: Record) -> Record:
    """A record of an answer without the address of its endpoint, which may be private."""
    if "://" not in record.get("origin", ""):
        return record
    return {**record, "origin": published_url(record["origin"])}


def _quoted(value: Any, held_back: Sequence[str]) -> Any:
    """A record without the text of its first prompt, where texts are held back."""
    if not held_back or not isinstance(value, Mapping):
        return value
    own = {key: _quoted(item, held_back) for key, item in value.items()}
    if isinstance(own.get("first_prompt"), Mapping):
        own["first_prompt"] = {**own["first_prompt"], "text": None}
    return own


def _journal_files(
    provenance: Provenance, journal: str | Path, folder: Path, held_back: Sequence[str]
) -> Iterator[tuple[str, Path]]:
    """The records that were used, written below `folder`: (path in the crate, file)."""
    journal = Path(journal)
    sealed = provenance["seal"]["files"]
    kinds: dict[str, Iterable[Record]] = {}
    for model, own in provenance["models"].items():
        files = [name for name in sealed if name.startswith(f"results/generations/{model}/")]
        used = used_records(journal / "generations" / model, files)
        kinds[f"generations/{model}"] = map(_without_address, used)
        # A list: a generator would compare all models' records with the last model's identity.
        kinds[f"jobs/{model}"] = [
            _quoted(record, held_back)
            for record in jobs_of_model(journal, model)
            if record["identity"] == own.get("identity")
        ]
    # A translator's key is not kept with the text, so other languages' equal texts come along.
    translated = {
        text
        for name in sealed
        if name.startswith("results/translations/")
        for text in read_table(name, ["text"])["text"].to_pylist()
    }
    kinds["translations"] = (
        record
        for record in Journal(journal / "translations").records()
        if not translated.isdisjoint({record["text"], without_reasoning(record["text"])})
    )
    for name, records in kinds.items():
        file = folder / "journal" / name / "artifact.jsonl"
        file.parent.mkdir(parents=True)
        with file.open("w", encoding="utf-8", errors="surrogatepass") as lines:
            count = sum(
                bool(lines.write(json.dumps(record, ensure_ascii=False) + "\n"))
                for record in records
            )
        if count:
            yield f"journal/{name}/artifact.jsonl", file


def _add_job(crate: Any, job: Job, made: Mapping[str, object], spent: Mapping[str, Spent]) -> None:
    """The job that wrote some results, and how long it took."""
    tool = f"#rule/{job.rule}"
    instrument = crate.get(tool) or crate.add_jsonld(
        {"@id": tool, "@type": "SoftwareApplication", "name": f"the rule {job.rule}"}
    )
    properties = {"name": job.name or job.rule}
    if own := spent.get(job.name or ""):
        properties["description"] = f"{own['seconds']} seconds, at most {own['memory_mib']} MiB"
    crate.add_action(
        instrument,
        identifier=f"#job/{job.name or job.rule}",
        result=[made[path] for path in job.outputs],
        properties=properties,
    )


def _time(file: str | Path) -> str:
    """When a file was written, in UTC."""
    return datetime.fromtimestamp(int(Path(file).stat().st_mtime), UTC).isoformat()


def _yaml(value: object) -> str:
    import yaml

    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True)
