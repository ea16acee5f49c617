"""What Snakemake itself must load to plan a run: no more than a bare Snakemake has.

With --use-conda the packages are in the rules' environments, not in Snakemake's own.
"""

from __future__ import annotations

import subprocess
import sys

PLANNING = """
import sys
for missing in ("httpx", "numpy", "openai", "pandas", "pyarrow", "tiktoken", "torch", "tqdm", "transformers"):
    sys.modules[missing] = None
sys.path.append("workflow/scripts")
import yaml
from needlework.codedigest import code_digest
from needlework.planning.config import validated
from needlework.planning.rule_inputs import RuleInputs
from needlework.planning.preflight.used import Used
from needlework.planning.preflight.checks import check
config = validated(yaml.safe_load(open("config.yaml")))
files = RuleInputs(config)
assert sum(len(files.results.filled(name)) for name in config["run"]["benchmarks"]) > 30
for language in ("en", "hi"):
    assert files.corpora.sources("mmarco", language)
    assert files.prompts.slice_tables("mlneedle", "words", f"{language}-en")
check(files.config, Used({*files.models}, {"words"}, translating=True))
assert code_digest("generate_answers.py", "needlework/models/backends/lexical.py")
"""


def test_a_bare_snakemake_can_plan(root) -> None:
    command = [sys.executable, "-c", PLANNING]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
