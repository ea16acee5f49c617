"""Which answers are asked again."""

from __future__ import annotations

from typing import Literal

from needlework.settings.base import Distinct, Settings, key


class Generation(Settings):
    """Which answers are asked again."""

    again: Distinct[Literal["cut", "empty"]] = key(())
    """Paid answers to ask again: `empty` answers, and answers to prompts that the server `cut`. Each
    run asks them again and pays again, until the answers are better. Both answers stay in the journal.
    Refused and failed requests are always asked again."""
