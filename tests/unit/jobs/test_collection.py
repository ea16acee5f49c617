"""The collector is off for a while."""

from __future__ import annotations

import gc

import pytest

from needlework.jobs.job import no_collection


def test_the_collector_is_off_inside_alone() -> None:
    with pytest.raises(ValueError), no_collection():
        assert not gc.isenabled()
        raise ValueError
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with no_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
