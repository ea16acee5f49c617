"""The address of a service, and the environment variable that holds its key."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator

from needlework.errors import UserError
from needlework.printable import SECRET
from needlework.services.endpoints import check_url
from needlework.settings.base import Text, wrong

# Variables that every environment has, or that programs use for something else than a key.
_NO_KEYS = re.compile(
    r"PATH|HOME|USER|USERNAME|LOGNAME|SHELL|PWD|OLDPWD|LANG|LANGUAGE|LC_.*|TERM|TZ|TMPDIR|TMP|TEMP|HOST"
    r"|HOSTNAME|DISPLAY|EDITOR|VISUAL|PAGER|MAIL|SHLVL|PS1|IFS|UID|EUID|_|.*_?PROXY|XDG_.*|SSH_.*|SLURM_.*"
    r"|CONDA_.*|VIRTUAL_ENV|PYTHON.*|LD_.*|DYLD_.*|CUDA_.*|OMP_.*|MKL_.*|HF_HOME|HF_ENDPOINT|HF_HUB_.*"
    r"|TIKTOKEN_.*|.*_PATH|.*_DIR|.*_HOME",
    re.IGNORECASE,
)


def url(given: str, key: str = "") -> str:
    """An address, which is a whole http(s) URL; of this key below a block, if it is no value of its own."""
    try:
        check_url(given, "")
    except UserError as error:
        raise wrong(key, str(error).strip()) from None
    return given


def _variable(name: str) -> str:
    if not name:
        return name
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,99}", name) or SECRET.search(name):
        # It may be the key itself, so it is not shown.
        raise wrong(
            "",
            "is not the name of an environment variable: put the key into a variable, and the variable's "
            "name here.",
        )
    if _NO_KEYS.fullmatch(name):
        raise wrong(
            "",
            f"is {name!r}, a variable that holds no key, and its value would be sent to the endpoint: put "
            "the key into a variable of its own, and that variable's name here.",
        )
    return name


Url = Annotated[Text, AfterValidator(url)]
KeyVariable = Annotated[Text, AfterValidator(_variable)]
