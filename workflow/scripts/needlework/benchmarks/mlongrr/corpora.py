"""The corpora of mLongRR."""

from __future__ import annotations

from needlework.data.corpora.corpus import Corpus

READER = "benchmarks.mlongrr.corpus"

# Needles, cities and prompts, and what a user's folder adds.
NEEDLES = ("needles.csv", "cities.csv", "prompts.csv")
CUT_BY = ("mlongrr/needles.csv", "mlongrr/english_punkt.txt")
IN_FOLDER = tuple(f"mlongrr/{name}" for name in NEEDLES)

CORPORA = {
    "mlongrr_articles": Corpus(
        *(READER, "mlongrr", "one_needle"),
        serves=("haystacks",),
        files=("{lang}/*.txt",),
        resources=CUT_BY,
    ),
    "mlongrr_released_one": Corpus(READER, "mlongrr", "one_needle", resources=CUT_BY),
    "mlongrr_released_three": Corpus(READER, "mlongrr", "three_needles", resources=CUT_BY),
    "paul_graham_essays": Corpus(
        *(READER, "paul-graham-essays", "essays"), serves=("haystacks",), resources=CUT_BY
    ),
    "mlongrr_needles": Corpus(
        *(READER, "mlongrr"),
        files=NEEDLES,
        languages=("en", "vi", "id", "sw", "so", "az"),
        resources=IN_FOLDER,
    ),
    "sample_needles": Corpus(
        READER, files=IN_FOLDER, languages=("en", "sw", "zh"), resources=IN_FOLDER
    ),
}
