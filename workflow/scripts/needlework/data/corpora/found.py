"""The reading of a user's data set: the numbers of rows read and kept, and of omitted rows by reason.

Needs only the standard library, since Snakemake's own process imports it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from needlework.errors import UserError

# Of an example that is shown.
LONGEST = 100


@dataclass
class Found:
    """What was read of a data set."""

    # The place of the data set in the configuration.
    where: str
    # The number of rows that were read.
    rows: int = 0
    # Whether reading stopped at the number of rows under the key `rows`.
    limited: bool = False
    # The number of rows that were left out, by reason.
    left_out: dict[str, int] = field(default_factory=dict)
    # The first row that was left out, by reason.
    examples: dict[str, str] = field(default_factory=dict)

    @property
    def kept(self) -> int:
        """The rows that remain."""
        return self.rows - sum(self.left_out.values())

    def leave_out(self, reason: str, example: str) -> None:
        """Count a row that is left out; the first row of a reason is the reason's example."""
        self.left_out[reason] = self.left_out.get(reason, 0) + 1
        self.examples.setdefault(reason, example)

    def said(self) -> str:
        """The numbers of rows in one sentence, with each reason and its first example."""
        reasons = [
            f"{n:,} {reason} ({self.examples[reason]})" for reason, n in self.left_out.items()
        ]
        limit = ", as many as `rows` allows" if self.limited else ""
        said = f"{self.where}: {self.kept:,} of {self.rows:,} rows are used{limit}"
        return f"{said}; left out: {'; '.join(reasons)}." if reasons else f"{said}."

    @property
    def lost(self) -> bool:
        """Whether something was left out."""
        return bool(self.left_out)


def shortened(text: str) -> str:
    """A text on one line, cut if it is too long."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 3]}..."


def write_found(found: Found, path: str | Path) -> None:
    """Write the findings as JSON."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(json.dumps(asdict(found), indent=1, ensure_ascii=False), encoding="utf-8")


def read_found(path: str | Path) -> Found | None:
    """The findings in a file; None if the file is missing or cannot be read."""
    try:
        return Found(**json.loads(Path(path).read_text(encoding="utf-8")))
    except (OSError, TypeError, ValueError):
        return None


@contextmanager
def naming_left_out(found: Iterable[Found | None]) -> Iterator[None]:
    """Add the rows left out of the data to an error that may follow from them."""
    try:
        yield
    except UserError as error:
        raise with_left_out(error, found) from None


def with_left_out(error: UserError, found: Iterable[Found | None]) -> UserError:
    """An error that also names the rows left out of the data, since they may be its cause."""
    said = [one.said() for one in found if one is not None and one.lost]
    # A corpus of questions and the passages made of it are the same rows.
    return UserError(" ".join([str(error), *dict.fromkeys(said)]))
