"""The models that are asked, and all that their answers depend on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from needlework.benchmarks.benchmark import load_benchmark
from needlework.models.accounts import read_account
from needlework.models.engine_arguments import answer_arguments
from needlework.models.selection import READERS
from needlework.models.thoughts import MARK_FILES
from needlework.planning.affects import affecting
from needlework.planning.chosen import asked_of, lengths_of, models_of
from needlework.planning.inputs.base import Inputs
from needlework.planning.inputs.checkups import Checkups
from needlework.planning.inputs.prompts import Prompts
from needlework.planning.job_resources import job_gpus
from needlework.planning.layout import resource

if TYPE_CHECKING:
    from needlework.planning.configuration import Configuration


class Answers(Inputs):
    """The models that are asked, and all that their answers depend on."""

    def __init__(self, config: Configuration, prompts: Prompts, checkups: Checkups) -> None:
        super().__init__(config)
        self.prompts = prompts
        self.checkups = checkups

    def model_settings(self, model: str) -> dict[str, Any]:
        """The settings that a model's answers depend on."""
        own = affecting("models", self.config.models[model], "answers")
        return own | {"engine": answer_arguments(own["engine"])}

    def answer_shards(self, model: str) -> list[str]:
        """The names of the parts into which a model's requests are cut."""
        n = self.config.models[model].shards
        return [f"{i}-of-{n}" for i in range(n)]

    def lengths(self, model: str, benchmark: str) -> list[int]:
        """The lengths of the prompts that a model is asked."""
        return lengths_of(self.config, model, benchmark)

    def only(self, model: str, benchmark: str) -> dict[str, list[object]]:
        """The part of a benchmark's prompts that a model is asked; empty if it is asked all."""
        return asked_of(self.config, model, benchmark)

    def model_files(self, model: str) -> dict[str, Any]:
        """The user's answers and chat template of a model, and the marks around reasoning and answers."""
        # In a block, each model has the keys of all backends.
        entry: Any = self.config.models[model]
        return {
            "answers": entry["answers"] or [],
            "chat_template": entry.chat_template or [],
            "marks": [resource(file) for file in MARK_FILES],
        }

    def request_state(self, account: str) -> str:
        """A parameter of a job. It changes if the job's account says that requests were left unanswered.

        "" at first.
        """
        found = read_account(account)
        return found.state(self.config.generation.again) if found else ""

    def judge_state(self, account: str) -> str:
        """The `request_state` of a judge.

        If the judge failed, the state changes too, so that it is asked again.
        """
        found = read_account(account)
        return found.name if found and found.failed else self.request_state(account)

    def host_memory(self, model: str) -> int:
        """The memory of a model's job in MB.

        A GPU's share of the weights passes through the host's memory.
        """
        return 8000 + 24000 * job_gpus(self.config.models[model])

    @property
    def judges(self) -> list[str]:
        """The judge, if there is one."""
        return [self.config.judge] if self.config.judge else []

    def judge_files(self) -> dict[str, Any]:
        """The files for the judge's prompts: the answers of known verdict, and a text for each kind."""
        kinds = ("answer", "list", "yes_or_no", "none")
        return {
            "known": resource("judge/known.csv"),
            "templates": [resource(f"judge/{kind}.txt") for kind in kinds],
        }

    def generation_files(self) -> dict[str, dict[str, str]]:
        """The answers of the run, by model and benchmark."""
        return {
            model: {name: f"results/generations/{model}/{name}.parquet" for name in self.benchmarks}
            for model in self.models
        }

    def readers(self) -> dict[str, str]:
        """The backends of the run's built-in readers, by name."""
        return {n: model.backend for n, model in models_of(self.config) if model.backend in READERS}

    def card_models(self) -> list[str]:
        """The models that have a report card: all but built-in readers."""
        readers = self.readers()
        return [name for name in self.models if name not in readers]

    def estimated(self) -> dict[str, Any]:
        """The parameters of `estimate`: the run's prompts, and the prompts that each model is asked."""
        benchmarks, models = self.benchmarks, self.models
        return {
            "files": {name: self.prompts.prompts_of_models(name) for name in benchmarks},
            "lengths": {m: {name: self.lengths(m, name) for name in benchmarks} for m in models},
            "only": {m: {name: self.only(m, name) for name in benchmarks} for m in models},
            "factors": {
                name: ["task", "example_id", *load_benchmark(name).columns] for name in benchmarks
            },
            "gpus": {m: job_gpus(self.config.models[m]) for m in (*models, *self.judges)},
            "readers": list(self.readers()),
            "judge": self.judge_files(),
            "checked": self.checkups.asked_models(),
            "checkup_questions": {t: self.checkups.questions(t) for t in ("first", "again")},
        }
