"""How often the second scorer (metric "careful") is right, and what each of its rules changes.

    python perf/second_scorer.py MIRROR ANSWERS... [--ablation] [--out perf/second_scorer.json]

MIRROR is a folder with XQuAD (xquad/xquad.<language>.json). ANSWERS are files of JSON lines with a human's
verdict (tests/data/verdicts/*.jsonl, and others in their format). Of XQuAD, the sentence that holds the
annotated answer is right as an answer; another sentence of the same passage is wrong.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(ROOT / "workflow/scripts"), str(ROOT / "tests")]

from needlework.benchmarks.mlneedle.scores import exact_verdict as exact  # noqa: E402
from needlework.scoring import careful  # noqa: E402, F401
from needlework.scoring.careful import mentions, statements, verdicts  # noqa: E402
from verdict_cases import cases, verdict  # noqa: E402

LANGUAGES = "ar de en es hi vi zh".split()
_ENDS = re.compile(r"(?<=[^\d\s.][^\s.])[.!?。！？।؟]+(?:\[\d+\])?(?=\s|$)\s*|[。！？]")
_SENTENCES = 500
# Each rule: where its function is, its name, and what it returns when it finds nothing.
RULES: tuple[tuple[Any, str, Any], ...] = (
    *(
        (statements.Statement, name, False)
        for name in (
            "_asked",
            "_denied",
            "_doubted",
            "_hedged",
            "_listed",
            "_led",
            "_superseded",
            "_refused",
            "_contrasts",
            "_closes",
        )
    ),
    (statements.Statement, "_concludes", None),
    *((mentions, name, []) for name in ("_in_other_order", "_by_family_name")),
    (mentions, "_of_another_name", False),
    (mentions, "_inflected", None),
    (mentions, "_date", None),
    (verdicts, "partly", False),
    *(
        (verdicts, name, [])
        for name in ("_concluded", "_largest", "_settled", "_compared", "_behind_but")
    ),
    (verdicts, "_dismissed", False),
    (verdicts, "_unspelled", False),
    (verdicts, "_follows", False),
)


def sentences(folder: Path, lang: str) -> Iterator[tuple[str, str, bool]]:
    """(reference, sentence, whether it holds the reference) of passages of XQuAD."""
    data = json.loads((folder / f"xquad.{lang}.json").read_text(encoding="utf-8"))["data"]
    asked = [
        (p["context"], q["answers"][0]) for d in data for p in d["paragraphs"] for q in p["qas"]
    ]
    draw = random.Random(1)
    draw.shuffle(asked)
    for context, answer in asked[:_SENTENCES]:
        text, start = answer["text"], answer["answer_start"]
        cuts = [0, *(m.end() for m in _ENDS.finditer(context)), len(context)]
        parts = [(a, b) for a, b in itertools.pairwise(cuts) if a < b]
        for a, b in parts:
            if a <= start and start + len(text) <= b:
                yield text, context[a:b].strip(), True
                break
        rest = [context[a:b].strip() for a, b in parts if text.lower() not in context[a:b].lower()]
        if rest:
            yield text, draw.choice(rest), False


def measure(folder: Path, files: list[Path]) -> dict[str, Any]:
    """Counts by language of XQuAD's sentences and by file of answers."""
    found: dict[str, Any] = {"xquad": {}, "answers": {}}
    for lang in LANGUAGES:
        counts: Counter[str] = Counter()
        for reference, sentence, holds in sentences(folder, lang):
            value, _ = exact(sentence, None, [reference], [lang])
            side = "sentences" if holds else "others"
            counts[side] += 1
            counts[f"{side} {_word(value)}"] += 1
        found["xquad"][lang] = dict(sorted(counts.items()))
    for file in files:
        counts = Counter()
        for case in cases(file):
            value, _ = verdict(case)
            counts["answers"] += 1
            counts["decided"] += value is not None
            counts["agree"] += value is not None and bool(value) == case["right"]
            counts["falsely right"] += bool(value) and not case["right"]
        found["answers"][f"{file.parent.name}/{file.name}"] = dict(counts)
    return found


def _word(value: float | None) -> str:
    return "undecided" if value is None else "right" if value else "wrong"


@contextmanager
def without(owner: Any, name: str, nothing: Any) -> Iterator[None]:
    """The second scorer without a rule, wherever its function is imported."""
    former = getattr(owner, name)

    def idle(*args: Any, **kwargs: Any) -> Any:
        return nothing

    places = [owner, *(m for m in sys.modules.values() if getattr(m, name, None) is former)]
    for place in places:
        setattr(place, name, idle)
    try:
        yield
    finally:
        for place in places:
            setattr(place, name, former)


def summary(found: dict[str, Any]) -> dict[str, int]:
    """The sums that a rule may change."""
    sums: Counter[str] = Counter()
    for counts in found["xquad"].values():
        sums.update({k: v for k, v in counts.items() if k not in ("sentences", "others")})
    for name, counts in found["answers"].items():
        kind = "tests" if name.startswith("verdicts/") and "answers" not in name else "given"
        sums.update({f"{kind} {key}": n for key, n in counts.items()})
    return dict(sums)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("mirror", type=Path)
    parser.add_argument("answers", type=Path, nargs="+")
    parser.add_argument("--ablation", action="store_true")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    folder = args.mirror / "xquad"
    found = measure(folder, args.answers)
    if args.ablation:
        full = summary(found)
        found["without"] = {}
        for owner, name, nothing in RULES:
            with without(owner, name, nothing):
                less = summary(measure(folder, args.answers))
            found["without"][name] = {
                k: less.get(k, 0) - n for k, n in full.items() if less.get(k, 0) != n
            }
            print(name, found["without"][name], flush=True)
    print(
        json.dumps({k: v for k, v in found.items() if k != "without"}, indent=1, ensure_ascii=False)
    )
    if args.out:
        args.out.write_text(
            json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
