"""Files in Python packages: model weights from a package index.

A name `package:<distribution>/<path>` means the file or folder of that name among the files of an
installed distribution. None of its code is run.
"""

from __future__ import annotations

from pathlib import Path

from needlework.errors import UserError

PREFIX = "package:"


def is_packaged(name: str | None) -> bool:
    """Whether a name means a file of a package."""
    return name is not None and name.startswith(PREFIX)


def find(name: str) -> Path | None:
    """The file or folder that `package:<distribution>/<path>` means; None if it is not installed."""
    # Most jobs have no package to find, and importing this would be a tenth of a short one.
    from importlib.metadata import PackageNotFoundError, distribution

    package, _, path = name.removeprefix(PREFIX).partition("/")
    try:
        root = Path(str(distribution(package).locate_file("")))
    except PackageNotFoundError:
        return None
    found = (root / path).resolve()
    if not found.is_relative_to(root.resolve()) or not found.exists():
        return None
    return found


def local_name(name: str, where: str) -> str:
    """A name as loaders take it: that of a packaged file as its path, any other as it is.

    Raises UserError, with `where` in words, if the package or the file is not installed.
    """
    if not is_packaged(name):
        return name
    found = find(name)
    if found is None:
        raise UserError(
            f"{where}: {name} is not installed: run `make weights`, or name a file or folder of your own."
        )
    return str(found)
