"""A judge's verdicts on answers that the second scorer leaves undecided, and how often they are right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import pyarrow as pa

from needlework.answer_states import LENGTH, UNANSWERED
from needlework.atomic import inert
from needlework.records import read_notes, read_table
from needlework.results import stats
from needlework.scoring.judge import RIGHT, WRONG, Case, verdict
from needlework.scoring.metric import CAREFUL, UNDECIDED

if TYPE_CHECKING:
    import pandas as pd

# A language with fewer known answers has no share of its own.
FEWEST = 10
ALL, KNOWN_AS = "all", "known_as"
# The least share of known verdicts that a judge agrees with, if its verdicts are used. Plain containment
# agrees with 42% of them, and with 22% of what the second scorer leaves undecided in tests/data/verdicts.
LEAST = 0.7
# Half of the known answers are right.
CHANCE = 0.5
# The judge gave no reply: it failed, or the prompt does not fit into its context.
NO_REPLY = "no_reply"
_KEYS = ["judged_benchmark", "model", "judged", "judged_sample"]


def verdicts(prompts: pa.Table, replies: pa.Table) -> pd.DataFrame:
    """A row for each answer that was put to the judge: benchmark, model, instance_id, sample, verdict, reply.

    Of a known answer, `model` is empty and `instance_id` its place in the file. The verdict is RIGHT, WRONG,
    UNDECIDED or NO_REPLY. The reply is `inert`, as a cell of CSV.
    """
    asked = prompts.select(["instance_id", *_KEYS]).to_pandas()
    given = replies.select(["instance_id", "text", "finish_reason"]).to_pandas()
    found = asked.merge(given, on="instance_id", how="left").drop(columns="instance_id")
    silent = found["finish_reason"].isna() | found["finish_reason"].isin(UNANSWERED)
    found["reply"] = found["text"].fillna("").mask(silent, "")
    # What a cut reply would have ended with is unknown.
    found["verdict"] = found["reply"].mask(found["finish_reason"] == LENGTH, "").map(verdict)
    found["verdict"] = found["verdict"].mask(silent, NO_REPLY)
    found["reply"] = found["reply"].map(inert)
    names = {"judged_benchmark": "benchmark", "judged": "instance_id", "judged_sample": "sample"}
    order = ["benchmark", "model", "instance_id", "sample", "verdict", "reply"]
    return found.rename(columns=names)[order]


def known_agreement(known: Sequence[Case], found: pd.DataFrame) -> pd.DataFrame:
    """How often the judge agrees with known verdicts: over all, by verdict, by benchmark and by language.

    Columns: by, level, n (known answers), replies, decided, agreed, and the share `agreement` of the decided
    with Clopper and Pearson's 95% interval. A language with fewer than FEWEST answers is in `all` alone.
    """
    import pandas as pd

    own = found[found["model"] == ""].set_index("instance_id")["verdict"]
    given = [str(own.get(case.instance_id, NO_REPLY)) for case in known]
    langs = [case.lang for case in known]
    groups = [(ALL, "", list(range(len(known))))]
    for by, levels in (
        (KNOWN_AS, [RIGHT if case.right else WRONG for case in known]),
        ("benchmark", [case.benchmark for case in known]),
        ("lang", langs),
    ):
        for level in sorted(set(levels)):
            places = [i for i, value in enumerate(levels) if value == level]
            if by != "lang" or len(places) >= FEWEST:
                groups.append((by, level, places))
    rows = []
    for by, level, places in groups:
        decided = [i for i in places if given[i] in (RIGHT, WRONG)]
        agreed = sum((given[i] == RIGHT) == known[i].right for i in decided)
        share = agreed / len(decided) if decided else float("nan")
        low, high = stats.clopper_pearson(share, len(decided))
        replies = sum(given[i] != NO_REPLY for i in places)
        rows.append(
            {
                **{"by": by, "level": level, "n": len(places), "replies": replies},
                **{"decided": len(decided), "agreed": agreed, "agreement": share},
                **{"ci_low": low, "ci_high": high},
            }
        )
    return pd.DataFrame(rows)


def distrust(agreed: pd.DataFrame) -> str:
    """Why a judge's verdicts are not used, by the result of `known_agreement`; "" if they are used.

    Of the known verdicts that it decides, it must agree with a share of LEAST. It must also agree above
    chance with right answers alone and with wrong answers alone: a judge that always says the same is right
    about one of the two.
    """
    every = agreed[agreed["by"] == ALL].iloc[0]
    if not every["decided"]:
        return f"it decided none of {every['n']} answers of known verdict"
    if every["agreement"] < LEAST:
        needed = f"at least {100 * LEAST:.0f}% is needed"
        return f"it agreed with {_share(every)} of the known verdicts, and {needed}"
    for _, row in agreed[agreed["by"] == KNOWN_AS].iterrows():
        if not row["ci_low"] > CHANCE:
            share = f" and agreed on {_share(row)}" if row["decided"] else ""
            known = f"of {row['n']} answers that are known to be {row['level']}"
            return f"{known} it decided {row['decided']}{share}, which is not above chance"
    return ""


def unused(found: pd.DataFrame) -> pd.DataFrame:
    """The result of `verdicts` for a judge whose verdicts are not used: it leaves all undecided."""
    return found.assign(
        verdict=found["verdict"].mask(found["verdict"].isin([RIGHT, WRONG]), UNDECIDED)
    )


def judged_answers(scores: Mapping[str, Sequence[str | Path]], found: pd.DataFrame) -> pd.DataFrame:
    """The judge's verdicts on each model's undecided answers, by benchmark and task.

    `scores` are the files by benchmark. The columns are: benchmark, model, task, metric (the paper's), n
    (answers that the second scorer reads), undecided, right, wrong, left (undecided by the judge too),
    no_reply; and means over the n answers. The mean `paper` is by the paper's metric. In `careful`, an
    undecided answer has the paper's value; in `judged`, it has the judge's value if the judge decides.
    `judged` has a 95% interval over questions.

    If an undecided answer has no reply, `judged` is empty. If the scores have no other metric, `metric` and
    `paper` are empty.
    """
    import pandas as pd

    rows = []
    for benchmark, files in scores.items():
        for file in files:
            rows += _of_model(benchmark, read_table(file).to_pandas(), found)
    return pd.DataFrame(rows, columns=_COLUMNS)


_COLUMNS = [
    *("benchmark", "model", "task", "metric", "n", "undecided", RIGHT, WRONG, "left", NO_REPLY),
    *("paper", "careful", "judged", "ci_low", "ci_high"),
]


def _of_model(benchmark: str, scores: pd.DataFrame, found: pd.DataFrame) -> list[dict[str, object]]:
    """The rows of one model, one a task that the second scorer reads."""
    keys = ["instance_id", "sample"]
    given = scores[~scores["finish_reason"].isin(UNANSWERED)]
    second = given[given["metric"] == CAREFUL].set_index(keys)
    first = given[given["metric"] != CAREFUL].drop_duplicates(keys).set_index(keys)
    rows: list[dict[str, object]] = []
    for task, own in second.groupby("task", sort=False):
        # With `metric: careful` there is no other.
        model, papers = str(own["model"].iloc[0]), first.reindex(own.index)
        mine = found[(found["benchmark"] == benchmark) & (found["model"] == model)]
        said = mine.set_index(keys)["verdict"].reindex(own.index)
        undecided = own["verdict"].str.startswith(UNDECIDED)
        said = said.where(undecided).fillna(NO_REPLY).where(undecided)
        value = own["value"].mask(said == RIGHT, 1.0).mask(said == WRONG, 0.0)
        row: dict[str, object] = {"benchmark": benchmark, "model": model, "task": str(task)}
        row |= {"metric": papers["metric"].iloc[0], "n": len(own)}
        row |= {"undecided": int(undecided.sum()), "left": int((said == UNDECIDED).sum())}
        row |= {kind: int((said == kind).sum()) for kind in (RIGHT, WRONG, NO_REPLY)}
        row |= {"paper": papers["value"].mean(), "careful": own["value"].mean()}
        if not row[NO_REPLY]:
            mean = stats.estimate(value.to_numpy(), own["example_id"].to_numpy())
            row |= {"judged": mean.value, "ci_low": mean.ci_low, "ci_high": mean.ci_high}
        rows.append(row)
    return rows


class Judged(TypedDict):
    """What the page says of a judge."""

    # Its name.
    judge: str
    # Why it is missing, or is not used; "" if neither.
    missing: str
    unused: str
    said: list[str]


def summary(files: Sequence[str]) -> Judged:
    """The page's summary of the judge of a run.

    `files` are the CSV files of `judged_answers`, `known_agreement` and `verdicts`, and the file of replies,
    in the judge's folder.
    """
    import pandas as pd

    shown, agreed = (pd.read_csv(file) for file in files[:2])
    model, failed = Path(files[0]).parent.name, read_notes(files[-1])["failed"].rstrip(".")
    known = agreed.iloc[0]
    said: list[str] = []
    if known["replies"]:
        by_language = agreed[(agreed["by"] == "lang") & (agreed["decided"] > 0)]
        said.append(
            f"It decided {known['decided']} of {known['n']} answers of known verdict"
            + (f" and agreed on {_share(known)} of these." if known["decided"] else ".")
        )
        if len(by_language):
            parts = (f"{row['level']} {_share(row)}" for _, row in by_language.iterrows())
            said.append(f"By language: {', '.join(parts)}.")
    counts = {
        name: int(shown[name].sum()) for name in ("undecided", RIGHT, WRONG, "left", NO_REPLY)
    }
    why = distrust(agreed) if known["replies"] else ""
    if not why and counts["undecided"] > counts[NO_REPLY]:
        said.append(
            f"Of {counts['undecided']:,} answers that the second scorer leaves undecided, it calls "
            f"{counts[RIGHT]:,} right and {counts[WRONG]:,} wrong, and leaves {counts['left']:,} undecided."
        )
    silent = counts[NO_REPLY] + int(known["n"] - known["replies"])
    if silent and not failed:
        failed = f"{silent:,} of its requests have no reply"
    not_used = why and f"The verdicts of the judge {model} are not used: {why}."
    return {"judge": model, "missing": failed, "unused": not_used, "said": said}


def _share(row: Any) -> str:
    """A share with its interval, in per cent."""
    low, high = (100 * row[name] for name in ("ci_low", "ci_high"))
    return f"{100 * row['agreement']:.0f}% [{low:.0f}, {high:.0f}]"
