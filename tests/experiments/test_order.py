"""Which trial starts when: the longest first, and together what fits into memory together."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kfeat.cli.progress import Quiet
from kfeat.experiments.engines.local import Local
from kfeat.experiments.engines.packing import Packing
from kfeat.experiments.estimates import Estimate, estimates
from kfeat.experiments.order import arranged
from kfeat.experiments.pending import pending
from kfeat.experiments.plan import Trial
from kfeat.experiments.row import Row
from kfeat.experiments.run import run_trials
from kfeat.experiments.store import read_rows
from kfeat.experiments.trial import run_trial
from kfeat.experiments.worker import WorkerOptions
from tests.experiments.stand_ins import Quick, stand_ins

Write = Callable[..., Path]
OPTIONS = WorkerOptions(offline=True)


class Order(Quiet):
    """Keeps what began and ended."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[tuple[str, int]] = []

    def started(self, trial: Trial) -> None:
        super().started(trial)
        self.events.append(("began", trial.repeat))

    def finished(self, trial: Trial, row: Row) -> None:
        super().finished(trial, row)
        self.events.append((row["status"], trial.repeat))


def begun(packing: Packing) -> list[int]:
    """The repeats of the trials that start now."""
    found = []
    while (trial := packing.next()) is not None:
        found.append(trial.repeat)
    return found


def test_two_big_trials_never_run_together_and_small_ones_fill_what_they_leave(write: Write) -> None:
    trials = stand_ins(write, *(Quick() for _ in range(8)))
    needs = {t.id: 60 if t.repeat < 2 else 15 for t in trials}
    packing = Packing(trials, needs, memory=100)
    assert begun(packing) == [0, 2, 3]  # 60 + 15 + 15; the second big one does not fit
    packing.ended(trials[2])
    assert begun(packing) == [4]
    packing.ended(trials[0])
    assert begun(packing) == [1]  # it was first in line: no small one has taken its place
    packing.ended(trials[3])
    packing.ended(trials[1])
    assert begun(packing) == [5, 6, 7]
    assert not packing.waiting


def test_what_waits_for_memory_is_not_passed_for_ever(write: Write) -> None:
    """Small trials would otherwise go on taking the place of the big one as long as there are any."""
    trials = stand_ins(write, *(Quick() for _ in range(9)))
    needs = {t.id: 90 if t.repeat == 1 else 40 for t in trials}
    packing = Packing(trials, needs, memory=100)
    assert begun(packing) == [0]  # another of 40 would fit beside it, but not beside the one of 90
    packing.ended(trials[0])
    assert begun(packing) == [1]
    packing.ended(trials[1])
    assert begun(packing) == [2, 3]


def test_where_nothing_runs_the_first_starts_whatever_it_needs(write: Write) -> None:
    (trial,) = stand_ins(write, Quick())
    assert begun(Packing([trial], {trial.id: 10}, memory=1)) == [0]


@pytest.mark.parametrize(("jobs", "order"), [(1, [0, 1, 2, 3]), (2, [2, 0, 3, 1])])
def test_the_longest_come_first_where_several_run_at_a_time(
    write: Write, jobs: int, order: list[int]
) -> None:
    trials = stand_ins(write, *(Quick() for _ in range(4)))
    seconds = (2.0, None, 5.0, 1.0)
    expected = {t.id: Estimate(s, 10) for t, s in zip(trials, seconds, strict=True)}
    assert [t.repeat for t in arranged(trials, expected, Local(jobs), 100).trials] == order


def test_a_run_takes_the_longest_first_by_rows_of_the_past(write: Write, tmp_path: Path) -> None:
    short, long = stand_ins(write, Quick(0.0), Quick(0.0))
    long = replace(long, kernel=long.kernel.changed("degree", 3))
    made = run_trial(long, threads=1, alone=True, mirror=None, offline=True)
    past = {**made, "seconds": {"map_fit": {"cpu": 90.0, "wall": 90.0}}}
    expected = estimates([short, long], [past], memory=10**10)
    assert expected[long.id].seconds == 90.0
    order = arranged([short, long], expected, Local(2), 10**10)
    assert order.trials == [long, short]
    assert estimates([long], [past], 10**10, time_limit=30.0)[long.id].seconds == 30.0


def test_a_trial_too_big_for_the_memory_is_a_failed_row_before_anything_starts(
    write: Write, tmp_path: Path
) -> None:
    trials = stand_ins(write, Quick(0.0), Quick(0.0))
    need = estimates(trials, [], memory=10**9)[trials[0].id].memory
    assert need is not None
    seen = Order()
    rows = run_trials(trials, tmp_path, replace(OPTIONS, memory=10**8), seen)
    assert seen.events == [("failed", 0), ("failed", 1)]
    assert f"{need:,} bytes of memory, more than the 100,000,000 there are" in rows[0]["reason"]
    assert "--memory" in rows[0]["reason"]
    assert pending(trials, read_rows(tmp_path)) == trials

    rows = run_trials(trials, tmp_path, replace(OPTIONS, memory=10**9), seen)
    assert [row["status"] for row in rows] == ["done", "done"]
    assert pending(trials, read_rows(tmp_path)) == []


def test_trials_that_do_not_fit_together_run_one_after_another(write: Write, tmp_path: Path) -> None:
    trials = stand_ins(write, Quick(0.1), Quick(0.1))
    need = estimates(trials, [], memory=10**9)[trials[0].id].memory
    assert need is not None
    seen = Order()
    run_trials(trials, tmp_path, replace(OPTIONS, memory=int(1.5 * need)), seen, Local(2))
    assert [what for what, _ in seen.events] == ["began", "done", "began", "done"]
