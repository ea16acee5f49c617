"""perf/doctor_trial.py: which diagnoses it makes, what they share, and its tables."""

from __future__ import annotations

import argparse
from pathlib import Path

from doctor_trial import PAIRS, cases, copied, key, page, sound_habits
from planted_faults import planted


def options(**changes: object) -> argparse.Namespace:
    given = {"readers": ["retriever", "smollm2"], "faults": None, "ways": ["alone", "against"]}
    return argparse.Namespace(**given | {"sound": 20, "seed": 0, "no_usage": False} | changes)


def test_every_fault_is_tried_alone_and_against() -> None:
    made = list(cases(options()))
    names = [key(case) for case in made]
    assert len({*map(tuple, names)}) == len(names)
    for name, fault in planted(1).items():
        for reader in fault.readers:
            assert [reader, name, "alone"] in names and [reader, name, "against"] in names
    assert sum("pair" in case for case in made) == 20 + len(PAIRS) + 1
    assert all(len(case["sides"]) == 1 + (case["way"] == "against") for case in made)
    assert [key(case) for case in cases(options(faults=["template"], ways=["alone"]))] == [
        ["retriever", "template", "alone"],
        ["smollm2", "template", "alone"],
    ]


def test_a_sound_pair_differs_in_nothing_that_counts() -> None:
    pairs = [sound_habits(seed) for seed in range(100)]
    for served, other in pairs:
        assert (served.skill, served.noise, served.usage) == (other.skill, other.noise, other.usage)
        assert served.seed != other.seed
    assert {served.usage for served, _ in pairs} == {True, False}
    assert len({served.skill for served, _ in pairs}) == 4


def test_a_copied_diagnosis_has_prompts_and_no_answers(tmp_path: Path) -> None:
    source = tmp_path / "source"
    stay = (
        "doctor.yaml",
        "results/instances/a.parquet",
        "results/answers/served/b/prompts.parquet",
    )
    go = (
        "doctor.json",
        "index.html",
        "journal/generations/x",
        "results/doctor/served/doctor.json",
        "results/answers/served/b/generations.parquet",
        "results/scores/served/c.parquet",
        "logs/generate/d.log",
    )
    for name in (*stay, *go):
        file = source / "doctor" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    copied(source, tmp_path / "target")
    files = (p for p in (tmp_path / "target/doctor").rglob("*") if p.is_file())
    assert {str(p.relative_to(tmp_path / "target/doctor")) for p in files} == {*stay}


def test_tables_name_faults_and_count_sound_pairs() -> None:
    row = {"reader": "retriever", "way": "alone"}
    found = {"outcomes": "fault", "lengths": "fault", "languages": "sound"}
    rows = [
        row
        | {"fault": "thoughts", "verdict": "fault", "checks": found, "exit_status": 1, "status": 1},
        row | {"fault": "language", "verdict": "none", "status": 0},
        *(
            row | {"pair": str(n), "way": "against", "verdict": "sound", "checks": {}}
            for n in range(3)
        ),
        row | {"pair": "4", "way": "against", "verdict": "cannot tell", "checks": {}},
    ]
    table = page(rows)
    assert "| thoughts use up the answer | `outcomes`, (`lengths`) |  |  |" in table
    assert "| answers in English | none (exit status 0) |  |  |" in table
    assert "| 4 of the retriever | 3 | 1 | 0 | 0 |" in table
