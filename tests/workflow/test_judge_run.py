"""A judge behind a server of known answers: its verdicts, its agreement, and what happens if it fails."""

from __future__ import annotations

import csv
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from http_server import OpenAIServer, Reply, completion, prompt_of, refusal
from needlework.planning.layout import ROOT
from needlework.results.stats import clopper_pearson
from needlework.scoring.judge import known_cases, prompt, read_templates
from runs import Workflow

pytestmark = [pytest.mark.xdist_group("judge"), pytest.mark.slow]

RESOURCES = ROOT / "resources/judge"
JUDGED = "results/judge/gpt"
# The second scorer is undecided whether this is the reference.
HEDGE = "It was either Odwin Tessaly or Marie.\nCORRECT"


class Run:
    """Runs of one folder in which a model and a judge are asked at a server."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url
        self.metric = ""
        self.workflow, self.results = Workflow(ROOT, folder / "run"), folder / "run/results"

    def arguments(self, judge: str | None, **changes: Any) -> list[str]:
        served = {
            **{"backend": "openai", "base_url": self.url, "key_env": None, "name": "made"},
            **{"tokenizer": "words", "context": 131072, "sampling": {"temperature": 0.5}},
        }
        benchmark = {
            **{"needle_languages": ["en"], "haystack_languages": ["en"], "questions": 3},
            **{"lengths": [512], "tasks": ["exact"]},
            **({"metric": self.metric} if self.metric else {}),
        }
        config = {
            "run": {"models": ["served", "lexical"], "benchmarks": ["mlneedle"]},
            "models": {"served": served, "gpt": served | {"name": "judge"} | changes},
            "benchmarks": {"mlneedle": benchmark},
            **({"judge": judge} if judge else {}),
        }
        file = self.folder / "config.yaml"
        file.write_text(yaml.safe_dump(config), encoding="utf-8")
        return ["--configfile", str(file)]

    def __call__(self, judge: str | None = "gpt", *targets: str, **changes: Any) -> str:
        arguments = [*targets, *self.arguments(judge, **changes)]
        done = self.workflow.run(*arguments, env=dict(os.environ))
        return done.stdout + done.stderr

    def table(self, name: str) -> list[dict[str, str]]:
        with (self.results / f"judge/gpt/{name}.csv").open(encoding="utf-8", newline="") as lines:
            return list(csv.DictReader(lines))

    def estimated(self) -> list[str]:
        """The judge's prompts as `estimate` prints them: all, and those left."""
        (line,) = re.findall(r"^gpt\n  judge +(\S+) +(\S+)", self("gpt", "estimate"), re.MULTILINE)
        return list(line)

    def others(self) -> dict[str, bytes]:
        """The files of all results but the judge's own and what shows it."""
        return {
            str(path.relative_to(self.results)): path.read_bytes()
            for path in sorted(self.results.rglob("*"))
            if path.is_file()
            and not path.is_relative_to(self.results / "judge")
            and path.name not in ("index.html", "summary.html", "provenance.json")
        }

    @property
    def page(self) -> str:
        return (self.results / "index.html").read_text(encoding="utf-8")


def replies_to_known() -> dict[str, str]:
    """What the server says of known answers: of every fourth the opposite, of every seventh nothing."""
    templates = read_templates(sorted(RESOURCES.glob("*.txt")))
    found = {}
    for number, case in enumerate(known_cases(RESOURCES / "known.csv")):
        right = case.right if number % 4 else not case.right
        said = "I cannot say." if number % 7 == 0 else "CORRECT" if right else "INCORRECT"
        found[prompt(case, templates[case.kind]).strip()] = said
    return found


def answering(known: dict[str, str], hedged: str = "INCORRECT") -> Any:
    """A server that answers as `HEDGE`, and judges as `known` says, others as `hedged`."""

    def reply(number: int, body: Any) -> Reply:
        if body["model"] != "judge":
            return completion(body, HEDGE)
        assert body["temperature"] == 0
        return completion(body, known.get(prompt_of(body).strip(), hedged))

    return reply


def of_judge(server: OpenAIServer) -> list[str]:
    return [prompt_of(one.body) for one in server.received if one.body["model"] == "judge"]


def test_a_judge_decides_and_its_agreement_is_told(tmp_path, server) -> None:
    known, run = replies_to_known(), Run(tmp_path, server.url)
    server.reply = answering(known)
    # 200 known answers, and one in twenty of the model's twelve.
    assert run.estimated() == ["201", "201"] and not server.received
    run()
    asked = of_judge(server)
    assert len(asked) == len(set(asked)) and set(known) < {text.strip() for text in asked}
    # Never the haystack: the sample's passages have hundreds of words.
    hedged = [text for text in asked if text.strip() not in known]
    assert hedged and all("> It was either" in text and "\n> CORRECT" in text for text in hedged)
    assert max(len(text.split()) for text in hedged) < 250

    (row,) = run.table("judged")
    n, undecided = int(row["n"]), int(row["undecided"])
    assert 0 < undecided <= n and int(row["wrong"]) == undecided
    assert (row["model"], row["right"], row["left"], row["no_reply"]) == ("served", "0", "0", "0")
    assert float(row["judged"]) < float(row["careful"])

    every = run.table("agreement")[0]
    decided = [i for i in range(200) if i % 7]
    agreed = [i for i in decided if i % 4]
    assert (every["n"], every["replies"]) == ("200", "200")
    assert (int(every["decided"]), int(every["agreed"])) == (len(decided), len(agreed))
    share = len(agreed) / len(decided)
    assert [float(every[key]) for key in ("agreement", "ci_low", "ci_high")] == pytest.approx(
        [share, *clopper_pearson(share, len(decided))], abs=1e-5
    )
    langs = {
        each["level"]: int(each["n"]) for each in run.table("agreement") if each["by"] == "lang"
    }
    assert len(langs) == 10 and min(langs.values()) >= 10
    low, high = (100 * end for end in clopper_pearson(share, len(decided)))
    told = f"agreed on {100 * share:.0f}% [{low:.0f}, {high:.0f}]"
    assert told in run.page and f"decided {len(decided)} of 200" in run.page
    assert "is missing" not in run.page

    # Nothing is asked again: by the same command, or from the journal alone.
    n_asked = len(server.received)
    assert run.estimated() == [str(200 + undecided), "0"]
    run()
    for file in (run.results / "judge/gpt").iterdir():
        file.unlink()
    run()
    assert len(server.received) == n_asked
    assert run.table("judged") == [row]


def test_a_judge_that_agrees_by_chance_decides_nothing(tmp_path, server) -> None:
    """Also where no other metric than the second scorer's is in the scores."""
    run = Run(tmp_path, server.url)
    server.reply = answering({}, "CORRECT")
    run.metric = "careful"
    said = run()
    why = "judge gpt are not used: it agreed with 50% [43, 57] of the known verdicts"
    assert why in run.page and why in " ".join(said.split())
    (row,) = run.table("judged")
    assert (row["right"], row["wrong"], row["left"]) == ("0", "0", row["undecided"])
    assert row["judged"] == row["careful"] and row["paper"] == row["metric"] == ""
    given = [each["verdict"] for each in run.table("verdicts")]
    assert set(given) == {"right"} and len(given) == 200 + int(row["undecided"])


def without_requests(page: str) -> str:
    """A page without the line of what was sent now and what before."""
    return re.sub(r"Requests: .*", "", page)


def test_a_judge_that_fails_stops_no_other_result(tmp_path, server) -> None:
    known, run = replies_to_known(), Run(tmp_path, server.url)
    server.reply = answering(known)
    run(None)
    without, pages = run.others(), run.page
    assert not (run.results / "judge").exists() and not of_judge(server)
    assert "judge" not in json.dumps(run.workflow.would_run(*run.arguments(None)))

    def refuses(number: int, body: Any) -> Reply:
        return refusal(401, "no such key", "invalid_api_key")

    server.reply = refuses
    said = run()
    assert run.others() == without
    assert "The judge is missing: " in run.page and "401" in run.page
    assert "gpt, judge: the job failed" in said
    (row,) = run.table("judged")
    assert (row["judged"], row["no_reply"]) == ("", row["undecided"])
    assert run.table("agreement")[0]["replies"] == "0"

    # A key that does not exist, too.
    said = run(key_env="NO_SUCH_KEY_OF_A_JUDGE")
    assert "Warning: the judge will be missing: the model models.gpt needs an API key" in said
    assert "NO_SUCH_KEY_OF_A_JUDGE" in run.page and run.others() == without

    # The same command asks it again, and a server that ends in between loses no reply.
    half = len(of_judge(server))

    def ends(number: int, body: Any) -> Reply:
        return answering(known)(number, body) if number < half + 60 else refuses(number, body)

    server.reply = ends
    run()
    told = int(run.table("agreement")[0]["replies"])
    assert 0 < told < 200 and "The judge is missing: " in run.page
    paid = {text.strip() for text in of_judge(server)[half:]}
    server.reply, before = answering(known), len(server.received)
    run()
    assert run.table("agreement")[0]["replies"] == "200" and "is missing" not in run.page
    assert len(server.received) - before < 200 and len(paid) < 200

    # Without the judge the page is as it was.
    run(None, "--force", "overview")
    assert without_requests(run.page) == without_requests(pages)
