"""Build prompts of 2 million tokens: seconds a prompt, and memory.

    python perf/long_contexts.py [--mirror FOLDER] [--tokens 2000000]

ONERULER's single needle in the released English book, again and again, and Lost in the Middle's pairs of
random UUIDs, in cl100k_base. Each benchmark in a process of its own, three prompts of one document; memory is
the whole process's, and what loading the code and the tokenizer takes of it is told apart.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / name) for name in ("perf", "tests", "workflow/scripts")]

import yaml  # noqa: E402

import machine  # noqa: E402
import oneruler  # noqa: E402
import oneruler_data  # noqa: E402
from needlework.benchmarks.contract import Built  # noqa: E402
from needlework.benchmarks.lost_in_the_middle import plan as pairs_plan  # noqa: E402
from needlework.benchmarks.lost_in_the_middle import prompts as pairs  # noqa: E402
from needlework.benchmarks.oneruler import plan  # noqa: E402
from needlework.benchmarks.oneruler import prompts as construct  # noqa: E402
from needlework.planning.config import validated  # noqa: E402
from needlework.prompts.tokenizers import Tokenizer  # noqa: E402

PROMPTS = 3
# A line with a pair of UUIDs has about so many tokens.
PAIR = 50


def of_oneruler(tokens: int, tokenizer: Tokenizer, mirror: Path) -> Built:
    """A needle in the book."""
    config = {**oneruler.CONFIG, "tasks": ["niah_single"], "examples": PROMPTS}
    slice_settings = plan.settings(config, "en-en", [tokens])
    return construct.build(
        slice_settings, oneruler_data.tables(mirror, plan.reads(slice_settings)), [], tokenizer
    )


def of_lost_in_the_middle(tokens: int, tokenizer: Tokenizer, mirror: Path) -> Built:
    """A pair among others, at the beginning, in the middle and at the end."""
    n = tokens // PAIR
    config = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    config["benchmarks"]["lost_in_the_middle"] = {
        **{"tasks": ["key_value"], "keys": ["uuid"], "source": "constructed", "examples": 1},
        **{"n_pairs": [{"n": n, "indices": [0, n // 2, n - 1]}], "query_aware_pairs": []},
    }
    own = validated(config)["benchmarks"]["lost_in_the_middle"]
    (name,) = pairs_plan.slices(own)
    return pairs.build(pairs_plan.settings(own, name, []), {}, templates(), tokenizer)


def templates() -> list[str]:
    """Lost in the Middle's templates."""
    return sorted(map(str, (ROOT / "resources/prompts/lost_in_the_middle").glob("*.txt")))


BUILDERS = {"oneruler": of_oneruler, "lost_in_the_middle": of_lost_in_the_middle}


def build(name: str, tokens: int, mirror: Path) -> dict[str, Any]:
    """Build three prompts; what that took beyond what loading takes, and the sums checked."""
    tokenizer = oneruler.cl100k()
    tokenizer.count("warm")
    loaded = machine.peak_memory_mib()
    with machine.measured() as took:
        built = BUILDERS[name](tokens, tokenizer, mirror)
    counted = built.instances["n_tokens"].to_pylist()
    return {
        "prompts": len(counted),
        "tokens_a_prompt": max(counted),
        "seconds_a_prompt": round(took["seconds"] / len(counted), 2),
        "cpu_seconds_a_prompt": round(took["cpu_seconds"] / len(counted), 2),
        "peak_mib": took["peak_mib"],
        "of_which_mib_code_and_tokenizer": loaded,
    }


def main() -> None:
    """Measure, and write perf/long_contexts.json."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mirror", type=Path, default=ROOT.parent / "shared/mirror")
    parser.add_argument("--tokens", type=int, default=2_000_000)
    parser.add_argument("--bare", choices=list(BUILDERS))
    args = parser.parse_args()
    if args.bare:
        print(json.dumps(build(args.bare, args.tokens, args.mirror)))
        return
    result: dict[str, Any] = {"machine": machine.describe(["tiktoken"])}
    with tempfile.TemporaryDirectory() as folder:
        kept = os.environ.get("TIKTOKEN_CACHE_DIR") or oneruler_data.tiktoken_cache(
            args.mirror, Path(folder)
        )
        for name in BUILDERS:
            bare = [sys.executable, __file__, "--bare", name, "--tokens", str(args.tokens)]
            made = subprocess.run(
                [*bare, "--mirror", str(args.mirror)],
                env={**os.environ, "TIKTOKEN_CACHE_DIR": kept},
                check=True,
                stdout=subprocess.PIPE,
            )
            result[name] = json.loads(made.stdout)
    # 200 MB.
    result["limits"] = {"peak_mib": 190.7}
    text = json.dumps(result, indent=1)
    if args.tokens == 2_000_000:
        (ROOT / "perf/long_contexts.json").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
