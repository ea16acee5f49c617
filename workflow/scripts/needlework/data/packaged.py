"""Files in Python packages: model weights from a package index.

A name `package:<distribution>/<path>` means the file or folder with this path among the files of an installed
distribution. The distribution's code is not run.
"""

from __future__ import annotations

import difflib
from importlib.util import find_spec
from pathlib import Path

from needlework.errors import UserError
from needlework.installed import weights_command

PREFIX = "package:"


def is_packaged(name: str | None) -> bool:
    """Whether a name means a file of a package."""
    return name is not None and name.startswith(PREFIX)


def is_installed(package: str) -> bool:
    """Whether this Python finds a package. The package is not imported, only its parent packages are."""
    try:
        return find_spec(package) is not None
    except ImportError:
        return False


def packaged_is_installed(name: str) -> bool:
    """Whether the package in `package:<distribution>/<path>` is installed. The path is ignored."""
    return _root(name) is not None


def _root(name: str) -> Path | None:
    """The folder of the installed packages, if that of a name is among them."""
    # Most jobs have no package to find, and importing this would be a tenth of a short one.
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        return Path(str(distribution(_package(name)).locate_file(""))).resolve()
    except PackageNotFoundError:
        return None


def _package(name: str) -> str:
    return name.removeprefix(PREFIX).partition("/")[0]


def find(name: str) -> Path | None:
    """The file or folder that `package:<distribution>/<path>` means; None if it is not installed."""
    if (root := _root(name)) is None:
        return None
    found = (root / name.partition("/")[2]).resolve()
    return found if found.is_relative_to(root) and found.exists() else None


def local_name(name: str, where: str) -> str:
    """A name for loaders: the path of a packaged file; any other name is unchanged.

    Raises UserError, which begins with `where`, if the package or the file is not installed.
    """
    if not is_packaged(name):
        return name
    found = find(name)
    if found is not None:
        return str(found)
    if not packaged_is_installed(name):
        raise UserError(
            f"{where}: {name} is not installed: run `{weights_command()}`, or name a file or folder "
            "of your own."
        )
    from importlib.metadata import files

    ending = Path(name).suffix
    known = [f"{PREFIX}{_package(name)}/{file}" for file in files(_package(name)) or ()]
    same = [file for file in known if ending and file.endswith(ending)]
    near = difflib.get_close_matches(name, same, n=1, cutoff=0)
    hint = f"did you mean {near[0]}?" if near else "correct the path behind the package's name."
    raise UserError(
        f"{where}: the package {_package(name)} has no file or folder of {name}: {hint}"
    )
