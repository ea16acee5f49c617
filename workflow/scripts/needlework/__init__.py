"""needlework: build, run and score long-context evaluations.

One package a stage, in the order in which data passes: `data`, `retrieval`, `prompts`, `models`, `scoring`,
`results`. `benchmarks` describes what is evaluated, `planning` is what Snakemake imports, `jobs` and
`services` serve all stages. At the top lies only what every package uses. No package imports a later one.
"""

__version__ = "0.2.0"
