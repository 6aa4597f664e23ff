import errno
import os
from dataclasses import replace
from multiprocessing import active_children

import pytest

from kfeat.data import Access, FileSource
from kfeat.errors import DataError, EngineError
from kfeat.experiments.engine import Local, physical_cores
from kfeat.experiments.worker import WorkerOptions
from tests.experiments.stand_ins import Quick, stand_ins

OPTIONS = WorkerOptions(access=Access(offline=True))


def test_so_many_trials_run_at_a_time_until_the_engine_is_closed(write):
    *short, endless = stand_ins(write, *(Quick(0.01) for _ in range(3)), Quick(1e9))
    with Local(OPTIONS, 2) as engine:
        engine.submit(endless)
        assert engine.has_room()
        for trial in short:
            engine.submit(trial)
            assert not engine.has_room()
            ((ended, row),) = engine.events()
            assert isinstance(row, dict)
            assert (ended.id, row["id"], row["status"], row["timed"]) == (trial.id, trial.id, "done", False)
        assert len(active_children()) == 2
    assert not active_children()


def test_a_process_is_used_again_and_ends_where_no_trial_can_start(write):
    """Rather than hold memory that another needs."""
    first, second, long = stand_ins(write, Quick(0.01), Quick(0.01), Quick(0.3))
    with Local(OPTIONS, 2) as engine:
        engine.submit(long)
        engine.submit(first)
        engine.events()
        before = {child.pid for child in active_children()}
        engine.submit(second)
        assert {child.pid for child in active_children()} == before
        engine.events()
        engine.events()
        assert len(active_children()) == 1


def test_a_trial_that_nobody_wants_any_more_is_ended(write):
    short, long = stand_ins(write, Quick(0.01), Quick(1e9))
    with Local(OPTIONS, 2) as engine:
        engine.submit(long)
        engine.submit(short)
        assert [trial.id for trial, _ in engine.events()] == [short.id]
        engine.cancel([long.id])
        assert engine.events() == []


def test_data_that_cannot_be_loaded_are_an_event_and_other_trials_run(write):
    lacking, other = stand_ins(write, Quick(0.01), Quick(0.01))
    source = FileSource(path="gone.csv", target="kind", task="classification")
    lacking = replace(lacking, source=source, fingerprint="gone")
    with Local(OPTIONS) as engine:
        engine.submit(lacking)
        ((_, error),) = engine.events()
        assert isinstance(error, DataError)
        assert "gone.csv" in str(error)
        engine.submit(other)
        ((_, row),) = engine.events()
        assert isinstance(row, dict)


def test_where_no_process_can_be_started_a_sentence_says_so(write, monkeypatch):
    def refused(*_):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr("multiprocessing.process.BaseProcess.start", refused)
    with (
        pytest.raises(EngineError, match=r"a process .*\(Too many open files\); use fewer --jobs"),
        Local(OPTIONS) as engine,
    ):
        engine.submit(*stand_ins(write, Quick()))


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system has no affinity of processes")
def test_auto_is_the_physical_cores_that_this_process_may_use():
    allowed = os.sched_getaffinity(0)
    assert 1 <= physical_cores() <= len(allowed)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert physical_cores() == 1
    finally:
        os.sched_setaffinity(0, allowed)
