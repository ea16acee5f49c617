"""The small print of a figure, made from what is drawn in it."""

from __future__ import annotations

from collections.abc import Iterable

from needlework.results.drawing.picture import Picture
from needlework.results.result import Heatmap


def small_print(picture: Picture) -> str:
    """How many prompts are behind a mark, which are missing, what bars, dashes and other looks mean."""
    spec, data = picture.spec, picture.data
    parts = [picture.say(spec.words), counted(picture), *intervals(picture)]
    if data["paper_value"].notna().any():
        paper = spec.paper
        where = paper if isinstance(paper, str) else paper(picture.frame, picture.run)
        parts.append(f"{spec.paper_look}: {where}.")
    if "n_exhausted" in data and (data["n_exhausted"] > 0).any():
        some = f"{spec.short_look}: some" if spec.short_look else "Some"
        parts.append(
            f"{some} prompts are shorter than the length, as vocabulary or text ran out before it."
        )
    if picture.incomplete:
        parts.append(
            f"{spec.incomplete_look}: more than 1% of the answers were skipped or failed"
            + ("." if isinstance(spec, Heatmap) else "; grey: from all wrong to all right.")
        )
    if (tinted := getattr(spec, "tinted", None)) and len(data.query(tinted[0])):
        parts.append(f"Orange: {tinted[1]}.")
    parts += [picture.note, picture.run.get("asked", "")]
    return " ".join(part for part in parts if part)


def counted(picture: Picture) -> str:
    """How many prompts are behind a mark, how many have no answer, and how many answers are none."""
    spec, data = picture.spec, picture.ours
    if data.empty:
        return ""
    if spec.counted:
        data = data.query(spec.counted, engine="python")
    # What has no answer has no mark.
    given = data[data[spec.n] > 0]
    words = f"n\u00a0=\u00a0{span_of(given[spec.n])} {spec.unit} a {spec.mark}"
    if "n_questions" in given:
        asked = span_of(given["n_questions"])
        words += f" ({asked} question{'' if asked == '1' else 's'})"
    words += "."
    if missing := sum(int(data[name].sum()) for name in ("n_skipped", "n_error") if name in data):
        words += f" {missing:,} answers skipped or failed."
    if dropped := int(data["n_dropped"].sum()) if "n_dropped" in data else 0:
        words += f" {dropped:,} answers that the limit cut before any text are left out."
    return words


def intervals(picture: Picture) -> list[str]:
    """What shows how certain the numbers are, where anything does."""
    spec, ours = picture.spec, picture.ours
    reach = spec.intervals and (ours["ci_high"] > ours["ci_low"]).any()
    return ["Error bars: 95% intervals over questions."] if reach else []


def span_of(counts: Iterable[float]) -> str:
    """The smallest and largest of these counts, as one number where they are the same."""
    found = sorted(set(counts)) or [0]
    low, high = int(found[0]), int(found[-1])
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
