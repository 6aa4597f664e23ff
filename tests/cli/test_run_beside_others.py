"""Runs that meet what others did: at the same time, before a change of the config, by another clock."""

import os
import signal
from pathlib import Path

import pytest
from filelock import FileLock

from kfeat.experiments.store import LOCK, ROWS, read_rows, write_rows
from tests.cells import fake_row, planned
from tests.cli.commands import kfeat, succeed, when_told


@pytest.fixture
def small(write):
    return write()


@pytest.fixture
def other(tmp_path):
    """Hold the lock of the small config's folder, as another run does."""
    folder = tmp_path / "runs" / "small"
    folder.mkdir(parents=True)
    with FileLock(folder / LOCK, thread_local=False) as lock:
        yield lock


def save_all(path):
    write_rows(Path("runs/small"), [fake_row(trial, 0.5 + i / 10) for i, trial in enumerate(planned(path))])


def test_a_second_run_waits_and_finds_done_what_the_first_did(small, other):
    def end():
        save_all(small)
        other.release()

    with when_told(end) as said:
        second = succeed("run", small)
    waiting = "runs/small: another kfeat is running this experiment; waiting"
    assert [message[: len(waiting)] for message in said] == [waiting]
    assert "5 trials, 5 done before, 0 to run" in second.stderr


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_ends_the_waiting(small, other):
    with when_told(lambda: os.kill(os.getpid(), signal.SIGINT)) as said:
        result = kfeat("run", small)
    assert result.exit_code == 130
    assert len(said) == 1
    assert "interrupted; finished trials are kept" in result.stderr
    assert not Path("runs/small", ROWS).exists()
    other.release()
    save_all(small)
    succeed("run", small, "-q")


def test_what_only_reads_rows_does_not_wait(small, other):
    save_all(small)
    for command in ("check", "report", "publish", "rows", "plan"):
        succeed(command, small)


def test_a_config_that_changes_between_two_runs_keeps_the_rows_of_before(small, write):
    save_all(small)
    before = read_rows(Path("runs/small"))
    write(**{"tensor_sketch, n_components: 64": "tensor_sketch, n_components: 8"})
    changed = kfeat("run", small, "--dry-run").stdout
    assert "5 trials, 3 done" in changed
    assert changed.count("to run") == 2
    assert "2 of 5 planned trials are not done" in kfeat("publish", small).stderr
    write()
    assert "5 trials, 5 done before, 0 to run" in kfeat("run", small).stderr
    assert read_rows(Path("runs/small")) == before
