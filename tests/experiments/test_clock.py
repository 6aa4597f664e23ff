"""Telling a busy machine from an idle one, over the little time that a short trial takes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from time import process_time, sleep

import psutil
import pytest

from kfeat.experiments import clock
from kfeat.experiments.clock import ENOUGH, Watch, _Look

HERE, ABOVE = 1, 2
SPIN = "import time\nwhile time.process_time() < 0.4: pass"


def watched(monkeypatch: pytest.MonkeyPatch, *looks: _Look) -> list[bool]:
    """Return what a watch says at each of the looks after the first, at which it begins."""
    each: Iterator[_Look] = iter(looks)
    monkeypatch.setattr(Watch, "_look", lambda _: next(each))
    monkeypatch.setattr(clock, "sleep", lambda _: None)
    watch = Watch()
    found = []
    with suppress(StopIteration):
        while True:
            found.append(watch.was_idle())
    return found


@pytest.mark.parametrize(("cores", "expected"), [(0.0, True), (0.08, True), (0.3, False), (1.0, False)])
def test_a_trial_of_a_hundredth_of_a_second_is_judged_by_what_was_before_it(
    monkeypatch: pytest.MonkeyPatch, cores: float, expected: bool
) -> None:
    start = _Look(0.0, 0.0, {HERE: 0.0})
    first = _Look(2.0, 2.0 * cores + 1.9, {HERE: 1.9})  # the libraries are imported
    short = [_Look(2.0 + t, first.busy + t * (1 + cores), {HERE: 1.9 + t}) for t in (0.01, 0.02)]
    assert watched(monkeypatch, start, first, *short) == [expected] * 3


def test_what_was_long_enough_ago_is_forgotten_once_there_is_a_later_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = [_Look(at, busy, {}) for at, busy in ((0.0, 0.0), (1.0, 1.0), (1.4, 1.0), (1 + ENOUGH, 1.0))]
    assert watched(monkeypatch, *looks) == [False, False, True]


@pytest.mark.parametrize(("cores", "expected"), [(0.0, True), (1.0, False)])
def test_after_a_long_time_without_a_look_it_is_looked_again(
    monkeypatch: pytest.MonkeyPatch, cores: float, expected: bool
) -> None:
    """An hour in which little was done would hide that a core is busy since."""
    hour = 3600.0
    looks = [_Look(at, busy, {}) for at, busy in ((0.0, 0.0), (hour, 0.0), (hour + ENOUGH, cores * ENOUGH))]
    assert watched(monkeypatch, *looks) == [expected]
    later = _Look(hour + 1.0, cores, {})
    assert watched(monkeypatch, *looks, later) == [expected] * 2


def test_processes_that_nobody_may_see_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Linux where /proc is mounted with hidepid=1."""

    def hidden(_: psutil.Process) -> psutil.Process:
        raise psutil.AccessDenied(1)

    monkeypatch.setattr(psutil.Process, "parent", hidden)
    assert Watch()._look().ours.keys() == {os.getpid()}


def test_what_our_own_processes_do_is_no_other_work_and_one_that_ended_counts_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    both = [_Look(0.0, 0.0, {HERE: 0.0, ABOVE: 7.0}), _Look(2.0, 3.0, {HERE: 1.6, ABOVE: 8.4})]
    assert watched(monkeypatch, *both) == [True]
    one = [both[0], _Look(2.0, 1.6, {HERE: 1.6})]
    assert watched(monkeypatch, *one) == [True]
    assert watched(monkeypatch, both[0], _Look(2.0, 3.0, {HERE: 1.6})) == [False]


def test_a_program_beside_is_seen() -> None:
    watch = Watch()
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as beside:
        while psutil.Process(beside.pid).cpu_times().user < 0.4:
            sleep(0.05)
        seen = not watch.was_idle()
        beside.kill()
    assert seen


def test_this_process_and_what_it_started_and_its_parent_are_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def used() -> float:
        times = os.times()
        return times.user + times.system + times.children_user + times.children_system

    monkeypatch.setattr(clock, "busy_seconds", used)  # as on a machine without other programs
    watch = Watch()
    subprocess.run([sys.executable, "-c", SPIN], check=True)
    until = process_time() + 0.4
    while process_time() < until:
        pass
    assert watch.was_idle()
    assert {os.getpid(), os.getppid()} <= watch._look().ours.keys()
