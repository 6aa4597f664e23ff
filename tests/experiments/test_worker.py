from collections.abc import Callable
from pathlib import Path

import pytest

from kfeat.experiments import worker as module
from kfeat.experiments.config import load_experiment
from kfeat.experiments.plan import plan
from kfeat.experiments.worker import Worker, WorkerOptions


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("idle", [True, False])
def test_a_stopped_trial_counts_only_alone_on_an_idle_machine(
    write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, alone: bool, idle: bool
) -> None:
    experiment = load_experiment(write())
    worker = Worker(WorkerOptions(alone=alone, time_limit=0.01))
    worker.start(plan(experiment, dict.fromkeys(experiment.datasets, "f"))[0])
    monkeypatch.setattr(module, "was_idle", lambda others, wall: idle)
    row = worker.stop()
    assert row["timed"] == (alone and idle)
    assert (row["status"], row["limit_s"]) == ("stopped", 0.01)
    assert worker.exit_code() == -9
