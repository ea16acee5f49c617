"""What the doctor asks."""

from __future__ import annotations

from needlework.settings.base import Distinct, Settings, Text, key


class Doctor(Settings):
    """What `snakemake doctor` asks the models in `run.doctor`."""

    questions: int | None = key(None, ge=2, le=1_000_000_000)
    """The number of questions per benchmark, drawn by seed, each with all of its prompts. Null asks
    all. A larger number includes all questions of a smaller one, so a larger checkup continues the
    smaller one."""
    again: int = key(100, ge=2, le=1_000_000_000)
    """The number of these questions that each model answers a second time, in reverse order and in
    other batches. The two answers show how often texts differ without any change of settings."""
    by: Distinct[Text] | None = key(None)
    """The factors by which differences are shown, such as `[length, position]`. Null is all factors
    that tell prompts apart. Fewer cells have narrower intervals. Choose the factors before the first
    answers come."""
