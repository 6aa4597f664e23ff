"""Telling a busy machine from an idle one, over the little time that a short trial takes."""

import os
import subprocess
import sys
from time import process_time, sleep

import psutil

from kfeat.experiments import clock
from kfeat.experiments.clock import Watch

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
    assert {os.getpid(), os.getppid()} <= watch._look().ours.keys()
