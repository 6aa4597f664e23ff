"""Telling a busy machine from an idle one in little time, and what a row says of the machine that made it."""

import os
import platform
import subprocess
import sys
from time import process_time, sleep

import numpy as np
import psutil
import pytest

from kfeat.experiments import clock
from kfeat.experiments.clock import Watch, environment, peak_memory_mb, reset_peak_memory

SPIN = "import time\nwhile time.process_time() < 0.4: pass"


def test_processes_that_nobody_may_see_do_not_matter(monkeypatch):
    """As on Linux where /proc is mounted with hidepid=1."""

    def hidden(_):
        raise psutil.AccessDenied(1)

    monkeypatch.setattr(psutil.Process, "parent", hidden)
    assert Watch().was_idle() in (True, False)


def test_a_program_beside_is_seen():
    watch = Watch()
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as beside:
        while psutil.Process(beside.pid).cpu_times().user < 0.4:
            sleep(0.05)
        seen = not watch.was_idle()
        beside.kill()
    assert seen


def test_this_process_and_what_it_started_and_its_parent_are_our_own(monkeypatch):
    def used():
        times = os.times()
        return times.user + times.system + times.children_user + times.children_system

    monkeypatch.setattr(clock, "busy_seconds", used)  # as on a machine without other programs
    watch = Watch()
    subprocess.run([sys.executable, "-c", SPIN], check=True)
    until = process_time() + 0.4
    while process_time() < until:
        pass
    assert watch.was_idle()

    spent, times = [0.0], psutil.Process.cpu_times

    def of_parent(self):
        return times(self)._replace(user=spent[0]) if self.pid == os.getppid() else times(self)

    monkeypatch.setattr(psutil.Process, "cpu_times", of_parent)
    monkeypatch.setattr(clock, "busy_seconds", lambda: used() + spent[0])
    watch = Watch()
    spent[0] = 10.0
    assert watch.was_idle()


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
