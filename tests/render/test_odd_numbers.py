"""Results that are odd but valid make reports and verdicts, never a traceback."""

import warnings
from pathlib import Path

import pytest

from kfeat.analysis.cells import summarise
from kfeat.analysis.standing import stand
from kfeat.experiments.load import Experiment
from kfeat.experiments.paper import Claim
from kfeat.experiments.plan import Trial
from kfeat.experiments.store import Row
from kfeat.render.files import write_report
from kfeat.render.overview import terminal
from kfeat.render.table import render
from kfeat.render.verdicts import scoreboard
from tests.cells import fake_row

CLAIMS = [
    Claim.model_validate({"text": "a", "where": "b", "above": 0, **form})
    for form in (
        {"ratio": [{"map": "exact"}, {"map": "tensor_sketch"}]},
        {"difference": [{"map": "exact"}, {"map": "tensor_sketch"}]},
        {"ratio": [{"map": "random_maclaurin"}, {"map": "tensor_sketch"}], "of": "spread"},
        {"ratio": [{"map": "exact"}, {"map": "tensor_sketch"}], "of": "fit"},
    )
]


def regression(row: Row, error: float) -> Row:
    """The same row with an error of a regression."""
    return {key: value for key, value in row.items() if key != "accuracy"} | {"relative_error": error}


@pytest.mark.parametrize("scores", [(0.0, 0.0), (1.0, 1.0), (0.0, 1.0)])
@pytest.mark.parametrize("seconds", [0.0, 5e-324, 1e300])
def test_any_score_and_any_time(
    experiment: Experiment, trials: list[Trial], tmp_path: Path, scores: tuple[float, float], seconds: float
) -> None:
    rows = {}
    for i, trial in enumerate(trials):
        row = fake_row(trial, scores[i % 2])
        row["seconds"] = {phase: {"cpu": seconds, "wall": seconds} for phase in row["seconds"]}
        rows[trial.id] = row
    reported(experiment, trials, rows, tmp_path)


@pytest.mark.parametrize(
    "errors", [(0.0, 0.0), (1e308, 1e308), (5e-324, 1e308), (1e300, -1e300), (1e12, 2e12)]
)
def test_any_error_of_a_regression(
    experiment: Experiment, trials: list[Trial], tmp_path: Path, errors: tuple[float, float]
) -> None:
    rows = {t.id: regression(fake_row(t, 0), errors[i % 2]) for i, t in enumerate(trials)}
    text = reported(experiment, trials, rows, tmp_path)
    assert max(map(len, text.split())) < 80  # 1e308 is not written with 308 digits


def reported(experiment: Experiment, trials: list[Trial], rows: dict[str, Row], folder: Path) -> str:
    object.__setattr__(experiment, "claims", CLAIMS)
    cells = summarise(experiment, trials, rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write_report(experiment, cells, folder)
    published = {key: row | {"predictions": "other"} for key, row in rows.items()}
    standing = stand(experiment, cells, published)
    terminal([standing], 80)
    return render(experiment, cells, "terminal") + scoreboard(standing, folder, published=True)
