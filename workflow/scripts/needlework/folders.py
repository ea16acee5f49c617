"""Lists folders and reads files that may be absent, and tells absent from unreadable.

If this user may not read a folder, `Path.glob`, `is_file` and `exists` call it empty; a loop of links they
call absent. The files in it would then be made, or paid for, a second time.

Hidden files and folders are left out: Jupyter keeps older copies in `.ipynb_checkpoints`, macOS attributes in
`._<name>`.
"""

from __future__ import annotations

import errno
import os
import stat
from fnmatch import fnmatchcase
from pathlib import Path

from needlework.errors import UserError

_REMEDIES = {
    errno.EACCES: "let its owner run `chmod -R a+rX` on it, or use a folder of your own",
    errno.EPERM: "let its owner run `chmod -R a+rX` on it, or use a folder of your own",
    errno.ELOOP: "its links lead in a circle: remove the link",
    errno.ENAMETOOLONG: "its name is too long: take a shorter one",
    errno.ENOTDIR: "it is not a folder: move it away, or correct the path",
}


def entries(folder: str | Path, suffix: str = "", *, hidden: bool = False) -> list[Path]:
    """The paths in a folder whose names end with `suffix`, sorted; none if the folder is absent.

    With `hidden`, names that begin with a dot are included. Raises UserError if the folder exists but cannot
    be listed.
    """
    folder = Path(folder)
    try:
        names = [path.name for path in folder.iterdir()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise unreadable(folder, error) from None
    shown = (name for name in names if hidden or not name.startswith("."))
    return sorted(folder / name for name in shown if name.endswith(suffix))


def sibling_folders(folder: Path) -> list[Path]:
    """The other folders in the parent of a folder, sorted."""
    return [path for path in entries(folder.parent) if path.is_dir() and path != folder]


def matching(folder: str | Path, pattern: str) -> list[Path]:
    """The paths below a folder that match a pattern, as of `Path.glob` without `**`, sorted.

    Raises UserError as `entries` does.
    """
    found = [Path(folder)]
    for part in Path(pattern).parts:
        if any(sign in part for sign in "*?["):
            inside = [
                path
                for each in found
                if stat.S_ISDIR(mode(each) or 0)
                for path in entries(each, hidden=part.startswith("."))
            ]
            found = [path for path in inside if fnmatchcase(path.name, part)]
        else:
            found = [each / part for each in found if mode(each / part) is not None]
    return sorted(found)


def files_below(folder: str | Path) -> list[Path]:
    """All regular files below a folder, sorted, without those in hidden folders; none if it is absent.

    Raises UserError as `entries` does.
    """

    def fail(error: OSError) -> None:
        if error.errno != errno.ENOENT:
            raise unreadable(error.filename or folder, error) from None

    found = []
    for base, inside, names in os.walk(folder, onerror=fail):
        inside[:] = [name for name in inside if not name.startswith(".")]
        shown = (Path(base, name) for name in names if not name.startswith("."))
        found += [path for path in shown if path.is_file()]
    return sorted(found)


def mode(path: Path) -> int | None:
    """The mode of a path (`stat`); None if it is absent. Raises UserError as `content` does."""
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise unreadable(path, error) from None


def content(path: str | Path) -> bytes | None:
    """The bytes of a file; None if it, or its folder, is absent.

    Raises UserError if it is there and cannot be read.
    """
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unreadable(path, error) from None


def unreadable(path: str | Path, error: OSError) -> UserError:
    """The error to raise if a path exists but cannot be read. A long path is shown by its ends."""
    shown = str(path)
    if len(shown) > 200:
        shown = f"{shown[:100]}[...]{shown[-90:]}"
    remedy = _REMEDIES.get(error.errno or 0, "correct its permissions, or the disk")
    return UserError(
        f"{shown} cannot be read ({error.strerror or error}): {remedy}; then run again."
    )
