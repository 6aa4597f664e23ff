"""How many runs decide what is open, held against Student's and Welch's formulas."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t

from kfeat.analysis.cells import Cell
from kfeat.analysis.judgement import judge_experiment
from kfeat.analysis.settling import MOST, Price, prices
from kfeat.experiments.config import Experiment, load_experiment
from kfeat.experiments.paper import Claim
from kfeat.experiments.plan import Trial
from kfeat.experiments.store import Row
from kfeat.render.settling import terminal
from tests.cells import cells_with, fake_row

Make = Callable[..., list[Cell]]


def priced(experiment: Experiment, cells: list[Cell]) -> list[Price]:
    """The prices of the small experiment with these cells."""
    return prices([judge_experiment(experiment, cells, {})])


def claim_on_sketches(above: float) -> Claim:
    """The claim that Tensor Sketch's accuracy is above a bound at every size."""
    about = {"text": "It is high", "where": "Section 1", "of": "accuracy", "value": {"map": "tensor_sketch"}}
    return Claim.model_validate(about | {"above": above})


def claiming(experiment: Experiment, above: float) -> Experiment:
    """The experiment with a claim on Tensor Sketch's accuracy, and nothing that is printed."""
    experiment.claims[:] = [claim_on_sketches(above)]
    assert experiment.reported
    experiment.reported.numbers[:] = []
    return experiment


@pytest.mark.parametrize("distance", [0.3, 0.8, 1.0])
def test_an_open_claim_needs_the_runs_that_students_interval_says(
    experiment: Experiment, make_cells: Make, distance: float
) -> None:
    scores = np.array([0.83, 0.84, 0.85, 0.86, 0.87])
    mean, n = 85.0, len(scores)

    def half(runs: int) -> float:
        return float(t.ppf(0.975, runs - 1) * 100 * scores.std(ddof=1) / np.sqrt(runs))

    least = next(runs for runs in range(2, 10_000) if half(runs) < distance)
    (price,) = priced(claiming(experiment, mean - distance), make_cells(scores, exact=None))
    assert price.runs == n
    assert price.needed is not None
    assert least <= price.needed <= least + n * n / (n - 1) + 1  # it is sought in multiples of n runs
    assert price.seconds == pytest.approx((price.needed - n) * 5 * 0.6)  # five phases of 0.6 s a run


def test_what_is_decided_has_no_price(experiment: Experiment, make_cells: Make) -> None:
    assert not priced(claiming(experiment, 80.0), make_cells([0.83, 0.84, 0.85], exact=None))
    assert terminal([]) == "nothing is open"


def test_the_error_of_the_papers_own_runs_has_no_price(experiment: Experiment, make_cells: Make) -> None:
    """It prints 85.0 ± 0.5 over five runs, so its mean is known to 0.6: ours, 84.5, may be off by 1.1."""
    (price,) = priced(experiment, make_cells([0.825, 0.835, 0.845, 0.855, 0.865], exact=None))
    assert (price.verdict, price.needed) == ("too wide to tell", None)
    shown = terminal([price])
    assert f"1 would stay as they are with {MOST} times the runs" in shown


def test_a_single_run_says_nothing_of_its_spread(experiment: Experiment, make_cells: Make) -> None:
    (price,) = priced(claiming(experiment, 84.0), make_cells([0.85], exact=None))
    assert (price.runs, price.needed, price.first) == (1, 3, True)
    assert "3 (first)" in terminal([price])


def test_the_table_says_what_needs_an_idle_machine() -> None:
    dear = Price("a", "x", "open", 5, 10, 60.0, timed=True)
    cheap = Price("b", "y", "open", 5, 20, 1.0, timed=False)
    shown = terminal([cheap, dear])
    assert shown.index("1.0 secs") < shown.index("1.0 mins")
    assert "10 (timed)" in shown


def test_a_case_that_fails_but_not_at_the_level_of_several_has_a_price(write: Callable[..., Path]) -> None:
    """With two cases, one that fails alone has to fail at 97.5 %: 0.30 below is within 0.36 of three runs."""
    path = write(**{"n_components: 64}\n  - {name: random": "n_components: [32, 64]}\n  - {name: random"})
    experiment = load_experiment(path, repeats=3)
    assert experiment.reported is None

    def row(trial: Trial) -> Row | None:
        if not trial.map or trial.map.name != "tensor_sketch":
            return None
        middle = 0.86 if trial.map.parameters["n_components"] == 32 else 0.847
        return fake_row(trial, middle + 0.001 * (trial.repeat - 1))

    experiment.claims[:] = [claim_on_sketches(85.0)]
    (price,) = priced(experiment, cells_with(experiment, row))
    assert (price.runs, price.needed) == (3, 9)


def test_runs_on_the_same_splits_stay_in_pairs(write: Callable[..., Path]) -> None:
    """The maps differ by 0, 0.5 and 1 points on splits that differ by 8: pairs tell, runs do not."""
    experiment = load_experiment(write(**{", seed: 0}}": "}}"}), repeats=3)
    scores = {"tensor_sketch": (0.80, 0.84, 0.88), "random_maclaurin": (0.795, 0.84, 0.87)}
    cells = cells_with(experiment, lambda t: fake_row(t, scores[t.map.name][t.repeat]) if t.map else None)
    about = {"text": "It is ahead", "where": "Section 1", "above": 0}
    sides = [{"map": "tensor_sketch"}, {"map": "random_maclaurin"}]
    experiment.claims[:] = [Claim.model_validate(about | {"difference": sides})]
    (price,) = priced(experiment, cells)
    assert (price.runs, price.needed) == (3, 9)
