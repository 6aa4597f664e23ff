"""What `kfeat plan` says with --missing and --to-settle."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from kfeat.cli import main
from kfeat.experiments.load import load_experiment
from kfeat.experiments.run import planned
from kfeat.experiments.store import Store
from kfeat.experiments.trial import run_trial

Write = Callable[..., Path]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def missing(path: Path) -> list[str]:
    result = CliRunner().invoke(main, ["plan", str(path), "--missing"])
    assert result.exit_code == 0, result.output
    return result.stdout.replace(f"missing: {path}: ", "").splitlines()


def test_it_tells_what_has_no_row_what_failed_what_was_stopped_and_what_was_not_timed(write: Write) -> None:
    path = write()
    assert missing(path) == ["5 trials without a row", "5 trials planned, 0 done, 5 are missing"]
    trials = planned(load_experiment(path))
    made = [run_trial(trial, threads=1, alone=False, mirror=None, offline=True) for trial in trials]
    stopped = {"status": "stopped", "reason": "too long", "limit_s": 9.0}
    with Store(Path("runs/small")) as store:
        for row, change in zip(made, ({}, {"status": "failed", "reason": "no luck"}, stopped), strict=False):
            store.append(row | change)
    assert missing(path) == [
        "2 trials without a row; 1 trial failed (no luck); 1 trial stopped (too long); "
        "no time that counts for 2 of 2 methods",
        "5 trials planned, 1 done, 4 are missing",
    ]
    with Store(Path("runs/small")) as store:
        for row in made:
            store.append(row | {"timed": True, "seconds": {"train": {"cpu": 1.0, "wall": 1.0}}})
    assert missing(path) == ["5 trials planned, 5 done, nothing is missing"]


def test_what_would_settle_open_verdicts_is_shown_in_the_place_of_trials(write: Write) -> None:
    result = CliRunner().invoke(main, ["plan", str(write()), "--to-settle"])
    assert (result.exit_code, result.stdout) == (0, "nothing is open\n")
