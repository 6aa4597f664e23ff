import errno
import os
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from multiprocessing import active_children
from pathlib import Path

import pytest
from click.testing import CliRunner

from kfeat.cli import main
from kfeat.data import FileSource
from kfeat.errors import DataError, EngineError
from kfeat.experiments.engines.local import Local, physical_cores
from kfeat.experiments.engines.packing import Packing
from kfeat.experiments.worker import WorkerOptions
from tests.experiments.stand_ins import Quick, stand_ins

Write = Callable[..., Path]
OPTIONS = WorkerOptions(offline=True)


def test_so_many_trials_run_at_a_time_until_the_events_are_closed(write: Write) -> None:
    trials = stand_ins(write, *(Quick(0.01) for _ in range(3)), Quick(1e9))
    begun, ended, most = set(), [], 0
    with closing(Local(2).carried_out(Packing(trials), OPTIONS)) as events:
        while len(ended) < 3:
            trial, row = next(events)
            if row is None:
                begun.add(trial.id)
            else:
                begun.remove(trial.id)
                ended.append((row["id"] == trial.id, row["status"], row["timed"]))
            most = max(most, len(begun))
        assert active_children()
    assert (most, ended) == (2, [(True, "done", False)] * 3)
    assert not active_children()


def test_a_process_without_a_trial_ends_rather_than_hold_memory_that_another_needs(write: Write) -> None:
    *small, large = trials = stand_ins(write, Quick(0.01), Quick(0.01), Quick(0.3))
    packing = Packing(trials, {large.id: 2, **{trial.id: 1 for trial in small}}, memory=2)
    with closing(Local(2).carried_out(packing, OPTIONS)) as events:
        most = [(row is None, len(active_children())) for trial, row in events if trial is large]
    assert most[-1] == (False, 1)


def test_a_trial_that_nobody_wants_any_more_is_ended(write: Write) -> None:
    short, long = stand_ins(write, Quick(0.01), Quick(20.0))
    packing, came = Packing([long, short]), []
    for trial, row in Local(2).carried_out(packing, OPTIONS):
        if row is not None:
            came.append(trial.repeat)
            packing.drop({long.id})
    assert came == [short.repeat]
    assert not packing.running


def test_what_comes_next_begins_when_no_process_holds_memory(write: Write) -> None:
    first, second = stand_ins(write, Quick(0.01), Quick(0.01))
    coming, there = [second], []

    def more() -> bool:
        there.append(len(active_children()))
        if coming:
            packing.add([coming.pop()], {second.id: 0})
            return True
        return False

    packing = Packing([first], more=more)
    assert len(list(Local(1).carried_out(packing, OPTIONS))) == 4
    assert there == [0, 0]


def test_data_that_cannot_be_loaded_are_an_event_and_other_trials_run(write: Write) -> None:
    lacking, other = stand_ins(write, Quick(0.01), Quick(0.01))
    source = FileSource(path="gone.csv", target="kind", task="classification")
    lacking = replace(lacking, source=source, fingerprint="gone")
    came = {
        trial.repeat: row
        for trial, row in Local().carried_out(Packing([lacking, other]), OPTIONS)
        if row is not None
    }
    assert isinstance(came[0], DataError)
    assert "gone.csv" in str(came[0])
    assert isinstance(came[1], dict)
    assert came[1]["status"] == "done"


def test_where_no_process_can_be_started_a_sentence_says_so(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr("multiprocessing.process.BaseProcess.start", refused)
    with pytest.raises(EngineError, match=r"started \(Too many open files\); take fewer --jobs"):
        list(Local(2).carried_out(Packing(stand_ins(write, Quick())), OPTIONS))


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system has no affinity of processes")
def test_auto_is_the_physical_cores_that_this_process_may_use() -> None:
    allowed = os.sched_getaffinity(0)
    assert 1 <= physical_cores() <= len(allowed)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert physical_cores() == 1
    finally:
        os.sched_setaffinity(0, allowed)


@pytest.mark.parametrize("jobs", ["0", "-1", "many", "1.5", "9" * 40])
def test_jobs_are_a_number_or_auto(write: Write, jobs: str) -> None:
    refused = CliRunner().invoke(main, ["run", str(write()), "--dry-run", "--jobs", jobs])
    assert refused.exit_code == 2
    assert "or auto" in refused.stderr
    assert CliRunner().invoke(main, ["run", str(write()), "--dry-run", "--jobs", "auto"]).exit_code == 0
