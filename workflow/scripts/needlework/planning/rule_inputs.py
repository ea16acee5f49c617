"""The inputs of all rules and the parameters of their scripts, by concern."""

from __future__ import annotations

from typing import Any

from needlework.given import Block, given
from needlework.planning.inputs.answers import Answers
from needlework.planning.inputs.base import Inputs
from needlework.planning.inputs.checkups import Checkups
from needlework.planning.inputs.corpora import Corpora
from needlework.planning.inputs.explorer import Explorer
from needlework.planning.inputs.facts import Facts
from needlework.planning.inputs.pages import Pages
from needlework.planning.inputs.prompts import Prompts
from needlework.planning.inputs.results import Results
from needlework.planning.inputs.retrieval import RetrievalInputs
from needlework.planning.inputs.scores import Scores
from needlework.planning.inputs.sharing import Sharing


class RuleInputs(Inputs):
    """The inputs of the rules for a validated configuration.

    If a pattern of wildcards cannot name a rule's inputs, the rule names a function of this class. Nested
    mappings keep the files of a benchmark, model or tokenizer together for the script; `layout.paths` lists
    them for `input:`.
    """

    def __init__(self, values: Any) -> None:
        config: Any = values if isinstance(values, Block) else given(values)
        super().__init__(config)
        self.corpora = Corpora(config)
        self.retrieval = RetrievalInputs(config)
        self.prompts = Prompts(config, self.corpora)
        self.checkups = Checkups(config, self.prompts)
        self.answers = Answers(config, self.prompts, self.checkups)
        self.scores = Scores(config, self.prompts)
        self.facts = Facts(config, self.scores)
        self.results = Results(config, self.prompts, self.scores, self.facts)
        self.pages = Pages(
            config, self.prompts, self.answers, self.scores, self.results, self.facts
        )
        self.explorer = Explorer(config, self.prompts, self.answers, self.scores)
        self.sharing = Sharing(config, self.prompts)
