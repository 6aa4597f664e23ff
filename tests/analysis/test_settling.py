"""How many runs decide what is open, held against Student's and Welch's formulas."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import t

from kfeat.analysis.cells import summarise
from kfeat.analysis.judgement import judge_experiment
from kfeat.analysis.settling import MOST, Price, prices
from kfeat.experiments.load import Experiment
from kfeat.experiments.paper import Claim
from kfeat.experiments.plan import Trial
from kfeat.experiments.store import Row
from kfeat.render.settling import settling

MakeRows = Callable[..., dict[str, Row]]


def priced(experiment: Experiment, trials: list[Trial], rows: dict[str, Row]) -> list[Price]:
    """The prices of the small experiment with these rows."""
    return prices([judge_experiment(experiment, summarise(experiment, trials, rows), {})])


def claiming(experiment: Experiment, above: float) -> Experiment:
    """The experiment with a claim on Tensor Sketch's accuracy, and nothing that is printed."""
    claim = Claim.model_validate(
        {"text": "It is high", "where": "Section 1", "of": "accuracy", "value": {"map": "tensor_sketch"}}
        | {"above": above}
    )
    experiment.claims[:] = [claim]
    assert experiment.reported
    experiment.reported.numbers[:] = []
    return experiment


@pytest.mark.parametrize("distance", [0.3, 0.8, 1.0])
def test_an_open_claim_needs_the_runs_that_students_interval_says(
    experiment: Experiment, trials: list[Trial], make_rows: MakeRows, distance: float
) -> None:
    scores = np.array([0.83, 0.84, 0.85, 0.86, 0.87])
    mean, n = 85.0, len(scores)

    def half(factor: int) -> float:
        copies = np.tile(100 * scores, factor)
        return float(t.ppf(0.975, len(copies) - 1) * copies.std(ddof=1) / np.sqrt(len(copies)))

    needed = n * next(factor for factor in range(1, 1000) if half(factor) < distance)
    (price,) = priced(claiming(experiment, mean - distance), trials, make_rows(scores))
    assert (price.runs, price.needed) == (n, needed)
    assert price.seconds == pytest.approx((needed - n) * 5 * 0.6)  # five phases of 0.6 s a run


def test_what_is_decided_has_no_price(
    experiment: Experiment, trials: list[Trial], make_rows: MakeRows
) -> None:
    assert not priced(claiming(experiment, 80.0), trials, make_rows([0.83, 0.84, 0.85]))
    assert settling([]) == "nothing is open"


def test_the_error_of_the_papers_own_runs_has_no_price(
    experiment: Experiment, trials: list[Trial], make_rows: MakeRows
) -> None:
    """It prints 85.0 ± 0.5 over five runs, so its mean is known to 0.6: ours, 84.5, may be off by 1.1."""
    (price,) = priced(experiment, trials, make_rows([0.825, 0.835, 0.845, 0.855, 0.865]))
    assert (price.verdict, price.needed) == ("too wide to tell", None)
    shown = settling([price])
    assert f"1 would stay as they are with {MOST} times the runs" in shown


def test_a_single_run_says_nothing_of_its_spread(
    experiment: Experiment, trials: list[Trial], make_rows: MakeRows
) -> None:
    (price,) = priced(claiming(experiment, 84.0), trials, make_rows([0.85]))
    assert (price.runs, price.needed, price.first) == (1, 3, True)
    assert "3 (first)" in settling([price])


def test_the_table_says_what_needs_an_idle_machine() -> None:
    dear = Price("a", "x", "open", 5, 10, 60.0, timed=True)
    cheap = Price("b", "y", "open", 5, 20, 1.0, timed=False)
    shown = settling([cheap, dear])
    assert shown.index("1.0 secs") < shown.index("1.0 mins")
    assert "10 (timed)" in shown
