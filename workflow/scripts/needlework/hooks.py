"""Hooks: functions by name, so that a description can be read without importing what it needs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any
from urllib.parse import parse_qsl


def load_hook(hook: str) -> Callable[..., Any]:
    """The function that "package.module:function" names; what follows a "?" are arguments ("a=b&c=d")."""
    place, _, arguments = hook.partition("?")
    module, _, name = place.partition(":")
    found = getattr(import_module(module), name)
    return partial(found, **dict(parse_qsl(arguments))) if arguments else found


def hook_file(hook: str) -> str:
    """The file of a hook's module, below workflow/scripts."""
    return hook.partition(":")[0].replace(".", "/") + ".py"
