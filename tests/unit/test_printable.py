"""Text of servers and logs, as a terminal and log files show it."""

from __future__ import annotations

import logging
import sys
from types import SimpleNamespace

import pytest

from needlework.jobs.job import running
from needlework.models.accounts import Account, account_of, read_account, write_account
from needlework.printable import printable

EVIL = "boom \x1b[2J\x1b]0;title\x07 \u202egnp.exe sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"
SIGNS = ("\x1b", "\x07", "\u202e", "sk-proj")


def test_escapes_marks_and_keys_are_harmless():
    """Ordinary text stays; line ends are escaped in one line."""
    assert printable(EVIL) == r"boom \x1b[2J\x1b]0;title\x07 \u202egnp.exe ***"
    for text in ("plain", "zwei\nZeilen\tund mehr", "你好 नमस्ते", ""):
        assert printable(text) == text
    assert printable("a\nb", lines=False) == r"a\nb"


def test_accounts_keep_harmless_text(tmp_path):
    row = {"outcome": "failed", "remarks": [f"other_model: {EVIL}"], "error": EVIL}
    own = account_of([row], "m", "mlneedle")
    own.failed = f"the first: {EVIL}"
    write_account(own, tmp_path / "account.json")
    read = read_account(tmp_path / "account.json")
    assert isinstance(read, Account)
    shown = f"{read.failed} {read.examples} {(tmp_path / 'account.json').read_text('utf-8')}"
    assert not any(sign in shown for sign in SIGNS) and "***" in shown


def test_a_jobs_log_is_harmless(tmp_path, capfd):
    job = SimpleNamespace(rule="r", log=[str(tmp_path / "job.log")], output=[])
    with pytest.raises(SystemExit), running(job):
        logging.getLogger("needlework").warning("a server says %s", EVIL)
        raise ValueError(EVIL)
    sys.stderr.flush()
    shown = (tmp_path / "job.log").read_text("utf-8") + capfd.readouterr().err
    assert "a server says boom" in shown and "ValueError" in shown
    assert not any(sign in shown for sign in SIGNS)
