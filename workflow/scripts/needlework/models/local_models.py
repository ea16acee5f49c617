"""Shared by the backends that load a model's weights: prompts as tokens, tokens as answers."""

from __future__ import annotations

import logging
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from needlework.answer_states import DATED
from needlework.errors import UserError, reason
from needlework.folders import entries
from needlework.models import chat_templates
from needlework.models.backends.base import Answer, Request
from needlework.models.control_tokens import control_texts, pieces
from needlework.models.thoughts import marks_of, part
from needlework.prompts.spans import messages
from needlework.records import file_digest

if TYPE_CHECKING:
    from needlework.settings.models import Local, Prompted, Reasoning, Variable

    # The key `template` of an entry.
    Variables = Mapping[str, Variable | None]

# What identifies a model's weights: a revision on the hub, or the content of local files.

# The files that a loader reads. A folder's README or licence does not change its model.
_READ = {
    *(".json", ".txt", ".jinja", ".model", ".tiktoken", ".py"),
    *(".safetensors", ".bin", ".pt", ".gguf", ".xml"),
}


def weights_identity(name: str, revision: str | None) -> dict[str, object]:
    """JSON values that change with the weights, the tokenizer and the configuration of a model.

    For a local file or folder, they are the digest of each file that a loader reads, without paths, so a copy
    elsewhere is the same model. Reading 16 GB of weights takes some ten seconds, in threads. A file that has
    not changed is not read again.
    """
    path = Path(name)
    if path.is_dir():
        # No loader reads hidden files, but answers in journals are of digests with them.
        files = [p for p in entries(path, hidden=True) if p.suffix in _READ and p.is_file()]
    elif path.is_file():
        files = [path]
    else:
        return {"name": name, "revision": revision}
    with ThreadPoolExecutor() as pool:
        digests = pool.map(_digest, files, [file.stat().st_mtime_ns for file in files])
        return {"files": {file.name: digest for file, digest in zip(files, digests, strict=True)}}


@lru_cache(None)
def _digest(file: Path, mtime_ns: int) -> str:
    return file_digest(file)


USUAL_END = "</think>"

logger = logging.getLogger("needlework")


def read_chat_template(path: str | None, where: str) -> str | None:
    """The chat template in a file; None is the tokenizer's own. `where` is the model's place in words."""
    try:
        return path and Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"{where}.chat_template: {path} cannot be read ({error}): correct the path."
        ) from None


def regime(config: Prompted) -> dict[str, object]:
    """The keys of a model's entry for texts around prompts and for ends of answers, and the key `variant`.

    They are part of the identity. Older records lack these keys, and so does an entry that sets none of them.
    """
    return _set(system=config.system, stop=list(config.stop), variant=config.variant)


def local_regime(config: Local) -> dict[str, object]:
    """The keys of `regime`, and the keys of models that run here."""
    return _set(
        system=config.system,
        answer_prefix=config.answer_prefix,
        stop=list(config.stop),
        repeatable=config.repeatable,
        template=dict(config.template),
        variant=config.variant,
    )


def _set(**keys: object) -> dict[str, object]:
    return {key: value for key, value in keys.items() if value}


def encode(
    tokenizer: Any, prompt: str, config: Local, template: str | None, where: str
) -> list[int]:
    """The prompt's tokens as the model of an entry gets them. A chat template brings its own first token.

    `where` is the entry's place in the configuration.
    """
    prefix = config.answer_prefix or ""
    quoted = any(name in prompt for name in _controls(tokenizer))
    if not config.chat:
        if quoted:
            return _plain(tokenizer, prompt + prefix, prompt, chat=False)
        return list(tokenizer.encode(prompt + prefix))
    jinja = template_text(tokenizer, template)
    fixed = with_fixed_date(config.template, jinja, where)

    # Other templates, such as mistral-common's, are code that keeps what it is given.
    check = jinja and check_template(
        config, prompt, fixed, getattr(tokenizer, "special_tokens_map", {}), where
    )

    def fill(tokenize: bool) -> Any:
        return tokenizer.apply_chat_template(
            messages(prompt, config.system),
            chat_template=fixed if fixed != jinja else template,
            add_generation_prompt=True,
            tokenize=tokenize,
            return_dict=False,
            **template_variables(config.template),
        )

    filled = fill(tokenize=False)
    if check:
        check(filled)
    if not quoted and not prefix:
        return list(fill(tokenize=True))
    if quoted:
        return _plain(tokenizer, filled + prefix, prompt, chat=True)
    return list(tokenizer.encode(filled + prefix, add_special_tokens=False))


# The date of templates that write one, if the key `template` has none. It is part of prompts, so it stays.
DATE = "2026-01-01"
_NOW = "strftime_now"


def template_text(tokenizer: Any, template: str | None) -> str:
    """The Jinja source of a chat template: the file's or the tokenizer's own; "" if it has none."""
    own = template or getattr(tokenizer, "chat_template", None) or ""
    return str(own.get("default", "")) if isinstance(own, dict) else str(own)


def template_variables(given: Variables) -> dict[str, object]:
    """The variables of a model's `template` for its chat template, without its date."""
    return {name: value for name, value in dict(given).items() if name != "date"}


def with_fixed_date(given: Variables, jinja: str, where: str) -> str:
    """A chat template with a fixed date: calls with a constant format are replaced by their result.

    `given` is the key `template` of the model at `where`. Raises UserError if a call is left.
    """
    call = re.compile(_NOW + r"\(\s*(['\"])(.*?)\1\s*\)")
    if _NOW not in jinja:
        return jinja
    fixed = call.sub(lambda found: repr(_fixed_day(given).strftime(found[2])), jinja)
    if re.search(_NOW + r"\s*\(", fixed):
        raise UserError(
            f"{where}: the chat template writes today's date in a way that cannot be fixed: "
            "give `chat_template` with a date in its place."
        )
    _warn_of_date(where, _fixed_day(given).date().isoformat())
    return fixed


@cache
def _warn_of_date(where: str, day: str) -> None:
    logger.warning(
        "%s: the chat template writes a date. In all prompts it is %s (`template: {date: ...}`).",
        where,
        day,
    )


def template_date(given: Variables, jinja: str) -> str:
    """The fixed date that a chat template writes with a model's `template`; "" if it writes no date."""
    named = "date_string" in given
    return "" if named or _NOW not in jinja else _fixed_day(given).date().isoformat()


def _date_sent(tokenizer: Any, config: Local) -> str:
    """The fixed date in the prompts of a model; "" if there is none."""
    if not config.chat:
        return ""
    file = _read_once(config.chat_template)
    return template_date(config.template, template_text(tokenizer, file))


@lru_cache(maxsize=8)
def _read_once(path: str | None) -> str | None:
    return read_chat_template(path, "models")


def _fixed_day(given: Variables) -> datetime:
    return datetime.fromisoformat(str(dict(given).get("date", DATE)))


def check_template(
    config: Local, prompt: str, jinja: str, special: Mapping[str, object], where: str
) -> Callable[[str], None]:
    """Fill a chat template in a separate process; return a check of the text that the engine makes of it.

    `special` are the tokenizer's special tokens by name, which templates use. Raises UserError if the
    template cannot be filled within bounds of memory and time. The check raises UserError if a text lacks the
    prompt or the system text, white space aside, or has words behind the prompt.
    """
    chat = messages(prompt, config.system)
    values = {**special, **template_variables(config.template), "add_generation_prompt": True}
    name = config.name or "the tokenizer"
    try:
        chat_templates.fill_jinja(jinja, chat, values)
    except ValueError as error:
        raise _unfilled(where, name, error) from None

    def check(filled: str) -> None:
        for key, text in (("the prompt", prompt), ("the system text", config.system or "")):
            if text.strip() in filled or "".join(text.split()) in "".join(filled.split()):
                continue
            remedy = "leave out `system`, or give" if key == "the system text" else "give"
            raise UserError(
                f"{where}: the chat template of {name} loses {key}: {remedy} a `chat_template` that keeps it "
                "as text."
            )
        if added := chat_templates.added_words(filled, prompt, jinja, chat[:-1], values):
            raise UserError(
                f"{where}: the chat template of {name} adds words behind the prompt ({added[-80:]!r}): "
                "give a `chat_template` that ends where the answer begins (`answer_prefix` can begin it)."
            )

    return check


@lru_cache(maxsize=8)
def _controls(tokenizer: Any) -> tuple[str, ...]:
    """The control tokens of a transformers tokenizer, as texts."""
    return control_texts([*tokenizer.get_added_vocab(), *tokenizer.all_special_tokens])


def _plain(tokenizer: Any, text: str, prompt: str, *, chat: bool) -> list[int]:
    """The tokens of a text in which the prompt's own words are no control tokens."""
    parts = pieces(text, prompt, _controls(tokenizer))
    if parts is None:
        warn_of_template()
        return list(tokenizer.encode(text, add_special_tokens=not chat))
    tokens = [t for part in parts for t in tokenizer.encode(part, add_special_tokens=False)]
    if chat:
        return tokens
    # What the tokenizer puts around any text.
    bare, around = tokenizer.encode("a", add_special_tokens=False), tokenizer.encode("a")
    before = next(n for n in range(len(around)) if around[n : n + len(bare)] == bare)
    return [*around[:before], *tokens, *around[before + len(bare) :]]


@cache
def warn_of_template() -> None:
    """Warn once that the model reads quoted control tokens as tokens, since the template changes prompts."""
    logger.warning(
        "A prompt quotes the text of a control token, and the chat template changes the prompt: the model "
        "reads the text as that token."
    )


def form(config: Local) -> str:
    """The form in which the model of an entry gets a prompt, in words."""
    begun = ", with the answer begun" if config.answer_prefix else ""
    if not config.chat:
        return f"as raw text{begun}"
    system = ", after a system prompt" if config.system else ""
    return f"in the chat template of {config.chat_template or 'the tokenizer'}{system}{begun}"


def thoughts(reasoning: Reasoning | None) -> int:
    """The most tokens that a model may use for reasoning."""
    return reasoning.max_tokens if reasoning else 0


def new_tokens(reasoning: Reasoning | None, request: Request) -> int:
    """How many tokens a model may generate: for its answer and its reasoning."""
    return request.max_new_tokens + thoughts(reasoning)


def without_stop(text: str, stops: Sequence[str]) -> str:
    """An answer up to the first of the strings that end it."""
    return text[: min((text.find(stop) for stop in stops if stop in text), default=len(text))]


def with_thoughts(tokenizer: Any, tokens: Sequence[int], answer: Answer, config: Local) -> Answer:
    """The answer in `tokens`, with all that is needed to separate it from the reasoning later.

    Marks around reasoning may be special tokens. These are not in `text`, but in `whole`.

    For a model with `reasoning`, `text` is without reasoning already. The tokens of the reasoning are
    counted, and `mark` is the mark that ended it.
    """
    if date := _date_sent(tokenizer, config):
        answer = replace(answer, remarks=(f"{DATED}: {date}",))
    whole = without_stop(tokenizer.decode(tokens, skip_special_tokens=False), config.stop)
    special = tuple(sorted(_special(tokenizer, tokens))) if whole != answer.text else ()
    if not config.reasoning:
        return replace(answer, whole=whole, special=special) if special else answer
    cut = answer.finish_reason == "length"
    found = part(whole, marks_of(config.thoughts, config.reasoning), cut=cut, opened=True)
    answer = replace(answer, whole=whole, special=special)
    if found is None:
        return replace(answer, reasoning_tokens=0)
    if found.mark is None:
        return replace(answer, text="", reasoning_tokens=len(tokens))
    mark = found.mark
    count = bisect_left(
        range(len(tokens)),
        True,
        key=lambda n: mark in tokenizer.decode(tokens[:n], skip_special_tokens=False),
    )
    text = tokenizer.decode(tokens[count:], skip_special_tokens=True).lstrip()
    return replace(answer, text=text, reasoning_tokens=count, mark=mark)


def _special(tokenizer: Any, tokens: Sequence[int]) -> set[str]:
    """The special tokens among `tokens`, as texts."""
    shown = {
        token: tokenizer.decode([token], skip_special_tokens=False)
        for token in set(tokens)
        if not tokenizer.decode([token], skip_special_tokens=True)
    }
    return {text for text in shown.values() if text}


def reasoning_identity(reasoning: Reasoning | None) -> dict[str, object]:
    """The part of `reasoning` on which answers depend: the limit, not the mark at its end."""
    if not reasoning:
        return {}
    # The mark was part of it once: with the usual one, records stay what they are.
    return {"reasoning": {**dict(reasoning), "end": USUAL_END}}


def former_identity(
    reasoning: Reasoning | None, identity: Mapping[str, object]
) -> dict[str, object] | None:
    """The identity of older records, which held the mark at the end of reasoning; None if it is the same."""
    if not reasoning or reasoning.end == USUAL_END:
        return None
    return {**identity, "reasoning": dict(reasoning)}


def warn_if_unpinned(where: str, name: str, revision: str | None) -> None:
    """Warn if a model of the hub is not pinned: another day's answers may be of other weights."""
    if revision is None and not Path(name).is_dir():
        logger.warning(
            "%s.revision is not set: the hub's current main branch is used.",
            where,
        )


@contextmanager
def template_check(where: str, name: str) -> Iterator[None]:
    """Wraps the code that puts a prompt into the chat template of the model `name`.

    Raises UserError if the template fails.
    """
    try:
        yield
    except UserError:
        raise
    except Exception as error:  # the template's own
        raise _unfilled(where, name, error) from error


def _unfilled(where: str, name: str, error: Exception) -> UserError:
    return UserError(
        f"{where}: a prompt cannot be put into the chat template of {name}: {reason(error)}. Set "
        "`chat: false` for a base model, or give `chat_template`."
    )
