"""What can be found wrong before any work starts, and is not the configuration's form."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from needlework.endpoints import api_key
from needlework.tokenizers import PACKAGES, load_tokenizer
from needlework.translators.base import check_translator


def check(config: Mapping[str, Any]) -> None:
    """Raise UserError where a tokenizer cannot be loaded, or a model or translator lacks its key.

    A tokenizer whose package is not installed here is left to the job's own environment.
    """
    check_translator(config["translators"][config["translation"]["translator"]])
    for name in config["run"]["models"]:
        model = config["models"][name]
        if model["backend"] == "openai" and model["key_env"]:
            api_key(model["key_env"], f"the model models.{name}")
    for name in {config["models"][model]["tokenizer"] for model in config["run"]["models"]}:
        tokenizer = config["tokenizers"][name]
        if all(map(find_spec, PACKAGES[tokenizer["kind"]])):
            load_tokenizer(name, tokenizer)
