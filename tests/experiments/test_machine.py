"""What a row says of the machine that made it."""

import platform
import sys

import numpy as np
import pytest

from kfeat.experiments.clock import environment, peak_memory_mb, reset_peak_memory


@pytest.fixture(autouse=True)
def asked_anew():
    environment.cache_clear()
    yield
    environment.cache_clear()


def test_machines_of_one_kind_are_told_apart_and_none_is_named(monkeypatch):
    found = []
    for name in ("node-17.example", "node-18.example"):
        monkeypatch.setattr(platform, "node", lambda name=name: name)
        environment.cache_clear()
        found.append(environment())
    one, other = found
    assert one["host"] != other["host"]
    assert {**one, "host": ""} == {**other, "host": ""}
    assert "node-1" not in str(found)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells the peak since a reset")
def test_what_a_trial_freed_is_not_counted_as_the_next_ones():
    reset_peak_memory()
    before = peak_memory_mb()
    blocks = [np.ones(1_000) for _ in range(25_000)]  # 200 MB, too small each to be mapped by itself
    full = peak_memory_mb()
    last = blocks.pop()  # it keeps the heap from shrinking by itself
    blocks.clear()
    reset_peak_memory()
    after = peak_memory_mb()
    assert before is not None
    assert full is not None
    assert after is not None
    assert full > before + 150
    assert after < before + 50
    assert last.sum() == 1_000
