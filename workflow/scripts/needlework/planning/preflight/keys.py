"""Whether the services of models and translators can be reached and accept the key.

Every service is asked once, before any job needs it. Only the standard library is used, since Snakemake's own
environment may lack the clients.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from needlework.data.packaged import is_installed
from needlework.errors import UserError
from needlework.folders import entries
from needlework.models.answer_folders import may_have_answers
from needlework.planning.preflight.certificates import check_authorities, trouble_at
from needlework.planning.preflight.first_request import inspect_refusal, refusal, translator_refusal
from needlework.services.endpoints import api_key, check_provider_key, local_proxy, shown_url

if TYPE_CHECKING:
    from needlework.models.backends.inspect.settings import Inspect
    from needlework.models.settings import AnyModel
    from needlework.planning.configuration import Configuration


def check_service(config: Configuration, name: str, local: bool, planning: bool) -> list[str]:
    """A sentence if nothing answers at a model's address, if a proxy may, or if the model is refused.

    Raises UserError if the model's key or certificates are missing. Raises it also if the journal has no
    answers and either nothing answers at the address or the answer is a refusal. If it is only `planning`,
    nothing is asked, and a server that does not answer may be started later. Models on this machine need no
    check.
    """
    model = config.models[name]
    if model.backend == "inspect":
        check_provider_key(model.name, model.args, f"the model models.{name}")
        return _check_provider(config, name, model, local and not planning)
    if model.backend != "openai":
        return []
    if model.key_env:
        api_key(model.key_env, f"the model models.{name}")
    if model.base_url.startswith("https:"):
        check_authorities(f"models.{name}")
    where = f"models.{name}: {shown_url(model.base_url)}"
    # On a cluster, another address may be of the node where the job runs.
    asked = not planning and (local or model.base_url.startswith("https:"))
    if local and (unreachable := trouble_at(model.base_url)):
        trouble, remedy, may_pass = unreachable
        said = f"{where} cannot be reached ({trouble})"
    elif asked and (refused := refusal(model, config.tokenizers[model.tokenizer].kind)):
        (trouble, remedy), may_pass = refused, False
        said = f"{where}: {trouble}"
    else:
        return proxy_warnings(f"models.{name}", model.base_url)
    none = _unanswered(config, model, None if may_pass else name)
    return _told(said, remedy, none, "answers", may_pass=planning and may_pass)


def _unanswered(config: Configuration, model: AnyModel, name: str | None) -> str:
    """That the journal has no answers of a model; "" if it may have some."""
    if may_be_answered(config, model, name):
        return ""
    return f"{answers_folder(config)} has none of its answers"


def _told(said: str, remedy: str, none: str, kept: str, *, may_pass: bool = False) -> list[str]:
    """The sentence on a service that cannot be used: a warning if the journal may have what is asked for.

    none: that the journal has nothing of it; "" if it may. kept: what the journal keeps, in the plural.
    Raises UserError if it has nothing, unless the trouble `may_pass` before the run.
    """
    if none and not may_pass:
        raise UserError(f"{said}, and {none}: {remedy}.")
    only = "" if none else f"only {kept} in the journal can be used: "
    return [f"Warning: {said}: {only}{remedy}."]


def _check_provider(config: Configuration, name: str, model: Inspect, ask: bool) -> list[str]:
    """As `check_service`, of a model of `backend: inspect` whose key is there.

    It is asked only if this Python has inspect_ai: with conda, only the jobs have it.
    """
    refused = inspect_refusal(model) if ask and is_installed("inspect_ai") else None
    if not refused:
        return proxy_warnings(f"models.{name}", model.args.get("base_url"))
    trouble, remedy = refused
    said = f"models.{name}: {model.name}: {trouble}"
    return _told(said, remedy, _unanswered(config, model, name), "answers")


def check_translation_service(
    config: Configuration, name: str, local: bool, planning: bool
) -> list[str]:
    """As `check_service`, for a translator; [] if it has no address.

    Its key is in the environment.
    """
    translator = config.translators[name]
    if translator.kind not in ("google", "llm"):
        return []
    where, url = f"translators.{name}", translator.base_url
    asked = not planning and (local or url.startswith("https:"))
    if unreachable := trouble_at(url) if local else None:
        trouble, remedy, _ = unreachable
        trouble = f"it cannot be reached ({trouble})"
    elif asked and (refused := translator_refusal(translator)):
        trouble, remedy = refused
    else:
        return proxy_warnings(where, url)
    journal = Path(config.journal).absolute() / "translations"
    none = "" if entries(journal) else f"{journal} has no translation"
    said = f"{where}: {shown_url(url)}: {trouble}"
    later = planning and unreachable is not None
    return _told(said, remedy, none, "translations", may_pass=later)


def judge_warnings(
    config: Configuration, judges: Iterable[str], local: bool, planning: bool
) -> list[str]:
    """Sentences on judges that cannot be asked. All other results are made without a judge."""
    found = []
    for name in sorted(judges):
        try:
            found += check_service(config, name, local, planning)
        except UserError as error:
            found.append(f"Warning: the judge will be missing: {error}")
    return found


def proxy_warnings(where: str, url: str | None) -> list[str]:
    """A sentence if the environment sends requests for a local address through a proxy."""
    said = local_proxy(url) if url else ""
    return [f"Warning: {where}: {said}."] if said else []


def may_be_answered(config: Configuration, model: AnyModel, name: str | None = None) -> bool:
    """Whether the journal has answers of a model; the name as of `may_have_answers`."""
    return may_have_answers(answers_folder(config), dict(model), name)


def answers_folder(config: Configuration) -> Path:
    """The folder of the models' answers in the journal."""
    return Path(config.journal).absolute() / "generations"
