"""Chat templates come with models, so they are not trusted.

They are filled in a separate process first, and may add no words behind a prompt.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from threading import Lock

from needlework.models import template_process

# A tag or control token, of at most two words.
_TAG = re.compile(r"<[^<>\s]+(?: [^<>\s]+)?>|\[[^\[\]\s]+\]")
_WORD = re.compile(r"[^\W_]+")
# Names of roles, channels and attributes with which most templates introduce an answer. Others take at most
# so many words and letters.
_NAMES = set("assistant model message role response think thought analysis final".split())
_WORDS, _LETTERS = 3, 24
# A question and an answer that are in no template.
_ASKED, _ANSWERED = "needlework-asks-7f3a", "needlework-answers-7f3a"

_lock = Lock()
# By the process that started it: a fork must not read another's replies.
_running: dict[int, subprocess.Popen[str]] = {}


def fill_jinja(jinja: str, chat: Sequence[Mapping[str, str]], values: Mapping[str, object]) -> str:
    """A chat in a template, filled by a process of bounded memory and time.

    `values` are the template's other variables. Raises ValueError with the reason if it cannot be filled.
    """
    every = {"tools": None, "documents": None, **values, "messages": list(chat)}
    request = json.dumps({"jinja": jinja, "values": every}, default=str)
    with _lock:
        process = _running.get(os.getpid())
        if process is None or process.poll() is not None:
            process = _running[os.getpid()] = _start()
        assert process.stdin is not None and process.stdout is not None
        line = ""
        with suppress(BrokenPipeError):
            process.stdin.write(f"{request}\n")
            process.stdin.flush()
            line = process.stdout.readline()
    if not line:
        # The system has ended it.
        process.wait()
        raise ValueError(
            f"it takes more than {template_process.SECONDS} seconds, or too much memory"
        )
    reply = json.loads(line)
    if "error" in reply:
        raise ValueError(reply["error"])
    return str(reply["text"])


def _start() -> subprocess.Popen[str]:
    """The process; it ends with its standard input. Modules beside its file must not hide others."""
    return subprocess.Popen(
        [sys.executable, "-P", template_process.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
    )


def added_words(
    filled: str,
    prompt: str,
    jinja: str,
    before: Sequence[Mapping[str, str]],
    values: Mapping[str, object],
) -> str:
    """The text behind the prompt in a filled template, if some of it does not introduce an answer.

    Tags, and names of roles and the like, introduce an answer. So do at most three words that also stand
    between a question and its answer in an earlier turn. `before` are the messages before the prompt.
    `values` are as in `fill_jinja`.
    """
    tail = _behind(filled, prompt)
    words = _words(tail)
    if set(words) <= _NAMES:
        return ""
    if len(words) <= _WORDS and sum(map(len, words)) <= _LETTERS:
        usual = _introduction(jinja, json.dumps([list(before), dict(values)], default=str))
        if "".join(usual) == "".join(words):
            return ""
    return tail.strip()


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(_TAG.sub(" ", text))]


def _behind(filled: str, prompt: str) -> str:
    """What follows the prompt; without white space, if the template changes that of the prompt."""
    if prompt.strip() in filled:
        return filled.rpartition(prompt.strip())[2] if prompt.strip() else ""
    return "".join(filled.split()).rpartition("".join(prompt.split()))[2]


@lru_cache(maxsize=64)
def _introduction(jinja: str, form: str) -> list[str]:
    """The words between a question and the answer that was given to it; none if that cannot be filled."""
    before, values = json.loads(form)
    turns = {"user": _ASKED, "assistant": _ANSWERED}
    chat = [*before, *({"role": role, "content": text} for role, text in turns.items())]
    try:
        text = fill_jinja(jinja, chat, {**values, "add_generation_prompt": False})
    except ValueError:
        return []
    return _words(text.rpartition(_ANSWERED)[0].rpartition(_ASKED)[2])
