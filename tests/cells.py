"""Cells made of rows with given scores, without running anything."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from kfeat.analysis.cells import Cell, summarise
from kfeat.data import Access
from kfeat.experiments.config import Experiment, load_experiment
from kfeat.experiments.plan import Trial, plan
from kfeat.experiments.row import Row
from kfeat.experiments.run import planned as plan_on_data
from kfeat.experiments.trial import header, run_trial

REPORTED = """
reported:
  source: A Paper
  runs: 5
  numbers:
    - {for: {map: exact}, mean: 90.0, time: 1 hour, where: Table 1}
    - {for: {map: tensor_sketch}, mean: 85.0, sd: 0.5, where: Table 1}
"""


def planned(path: Path, *overrides: str, **choices: Any) -> list[Trial]:
    """Return the trials of a config whose data need no download."""
    return plan_on_data(load_experiment(path, overrides, **choices), Access(offline=True))


def run(trial: Trial, threads: int = 1, alone: bool = True) -> Row:
    """Return the row of a trial that runs in this process."""
    return run_trial(trial, threads=threads, alone=alone, access=Access(offline=True))


def cells_with(experiment: Experiment, row: Callable[[Trial], Row | None]) -> list[Cell]:
    """Return the experiment's cells with the rows that `row` makes of its trials."""
    trials = plan(experiment, {source: str(source) for source in experiment.datasets})
    rows = {trial.id: found for trial in trials if (found := row(trial)) is not None}
    return summarise(experiment, trials, rows)


def fake_row(trial: Trial, accuracy: float, **more: Any) -> Row:
    """A row with this accuracy on 1,000 test rows."""
    phases = (
        ("train", "predict")
        if trial.map is None
        else ("map_fit", "map_train", "map_test", "train", "predict")
    )
    return {
        **header(trial),
        "accuracy": accuracy,
        "predictions": f"{trial.id}{accuracy}",
        "verified": True,
        "n_train": 4000,
        "n_test": 1000,
        "n_features": 64,
        "peak_memory_mb": None,
        "learnt": {},
        "threads": 1,
        "timed": True,
        "seconds": {phase: {"cpu": 0.5, "wall": 0.6} for phase in phases},
        "columns": {"live": 60, "zero": 4, "constant": 0} if trial.map else None,
        **more,
    }


@pytest.fixture
def load_text(tmp_path: Path) -> Callable[..., Experiment]:
    """Load a config of this text."""

    def loader(text: str, *overrides: str, name: str = "own.yaml", **choices: Any) -> Experiment:
        (tmp_path / name).write_text(text)
        return load_experiment(tmp_path / name, overrides, **choices)

    return loader


@pytest.fixture
def experiment(write: Callable[..., Path]) -> Experiment:
    """The small experiment with five repeats and a paper's numbers."""
    return load_experiment(write(REPORTED), repeats=5)


@pytest.fixture
def trials(experiment: Experiment) -> list[Trial]:
    """Its plan."""
    return plan(experiment, dict.fromkeys(experiment.datasets, "f"))


@pytest.fixture
def make_rows(trials: list[Trial]) -> Callable[..., dict[str, Row]]:
    """Rows with these accuracies for Tensor Sketch's repeats, and one for the exact machine."""

    def maker(sketch: Sequence[float], exact: float | None = 0.9, **more: Any) -> dict[str, Row]:
        chosen = [t for t in trials if t.map and t.map.name == "tensor_sketch"]
        rows = [fake_row(trial, value, **more) for trial, value in zip(chosen, sketch, strict=False)]
        if exact is not None:
            rows.append(fake_row(trials[-1], exact, **more))
        return {row["id"]: row for row in rows}

    return maker


@pytest.fixture
def make_cells(
    experiment: Experiment, trials: list[Trial], make_rows: Callable[..., dict[str, Row]]
) -> Callable[..., list[Cell]]:
    """The cells of such rows."""

    def maker(*scores: Any, **more: Any) -> list[Cell]:
        return summarise(experiment, trials, make_rows(*scores, **more))

    return maker


@pytest.fixture
def figures_of_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write scores in the place of a figure, which takes most of a second: tests/render draws figures."""

    def draw(experiment: Experiment, cells: Sequence[Cell], paths: Sequence[Path]) -> None:
        for path in paths:
            path.write_text("\n".join(f"{cell.trial.id} {cell.score}" for cell in cells))

    monkeypatch.setattr("kfeat.render.figures.figure.draw", draw)
