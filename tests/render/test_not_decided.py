"""How many runs decide what is open, held against Student's and Welch's formulas."""

from math import ceil

import numpy as np
import pytest
from scipy.stats import t

from kfeat.analysis.judgement import judge_experiment
from kfeat.analysis.statistics import welch_half_width
from kfeat.experiments.config import load_experiment
from kfeat.experiments.paper import Claim
from kfeat.render.overview import MOST, Undecided, undecided, undecided_terminal
from tests.cells import cells_with, fake_row


def undecided_of(experiment, cells):
    """What the small experiment with these cells leaves open."""
    return undecided([judge_experiment(experiment, cells, {})])


def claim_on_sketches(above):
    """The claim that Tensor Sketch's accuracy is above a bound at every size."""
    about = {"text": "It is high", "where": "Section 1", "of": "accuracy", "value": {"map": "tensor_sketch"}}
    return Claim.model_validate(about | {"above": above})


def claiming(experiment, above):
    """The experiment with a claim on Tensor Sketch's accuracy, and nothing that is printed."""
    experiment.claims[:] = [claim_on_sketches(above)]
    experiment.reported.numbers[:] = []
    return experiment


@pytest.mark.parametrize("distance", [0.3, 0.8, 1.0])
def test_an_open_claim_needs_the_runs_that_students_interval_says(experiment, make_cells, distance):
    scores = np.array([0.83, 0.84, 0.85, 0.86, 0.87])
    mean, n = 85.0, len(scores)

    def half(runs):
        return float(t.ppf(0.975, runs - 1) * 100 * scores.std(ddof=1) / np.sqrt(runs))

    least = next(runs for runs in range(2, 10_000) if half(runs) < distance)
    (item,) = undecided_of(claiming(experiment, mean - distance), make_cells(scores, exact=None))
    assert (item.runs, item.needed) == (n, ceil(n * (half(n) / distance) ** 2))
    assert least <= item.needed <= 2 * least  # Student's quantile falls with the runs
    assert item.seconds == pytest.approx((item.needed - n) * 5 * 0.6)  # five phases of 0.6 s a run


def test_what_is_decided_needs_nothing(experiment, make_cells):
    assert not undecided_of(claiming(experiment, 80.0), make_cells([0.83, 0.84, 0.85], exact=None))
    assert undecided_terminal([]) == "nothing is open"


def test_no_runs_help_against_the_error_of_the_papers_own(experiment, make_cells):
    """It prints 85.0 ± 0.5 over five runs, so its mean is known to 0.6: ours, 84.5, may be off by 1.1."""
    (item,) = undecided_of(experiment, make_cells([0.825, 0.835, 0.845, 0.855, 0.865], exact=None))
    assert (item.verdict, item.needed) == ("compatible", None)
    shown = undecided_terminal([item])
    assert f"{MOST} times the runs would not decide 1 of" in shown


@pytest.mark.parametrize("middle", [0.851, 0.869, 0.831])
def test_a_printed_number_needs_the_runs_that_welchs_interval_says(experiment, make_cells, middle):
    """Ours is 0.1 or 1.9 off, 0.9 from the slack of 1.0: it is decided once its interval is within 0.9."""
    scores = middle + np.array([-0.02, -0.01, 0, 0.01, 0.02])
    (item,) = undecided_of(experiment, make_cells(scores, exact=None))

    def half(runs):
        ours = 100 * scores.std(ddof=1) / np.sqrt(runs), runs - 1
        return welch_half_width(ours, papers) + 0.05  # the paper prints 85.0

    papers = 0.5 / np.sqrt(5), 4
    part = welch_half_width(papers) + 0.05
    assert item.needed == ceil(5 * (half(5) ** 2 - part**2) / (0.9**2 - part**2))
    assert half(item.needed) < 0.9


def test_a_single_run_says_nothing_of_its_spread(experiment, make_cells):
    (item,) = undecided_of(claiming(experiment, 84.0), make_cells([0.85], exact=None))
    assert (item.runs, item.needed, item.first) == (1, 3, True)
    assert "3 (first)" in undecided_terminal([item])


def test_the_table_says_what_needs_an_idle_machine():
    dear = Undecided("a", "x", "open", 5, 10, 60.0, timed=True)
    cheap = Undecided("b", "y", "open", 5, 20, 1.0, timed=False)
    shown = undecided_terminal([cheap, dear])
    assert shown.index("1.0 secs") < shown.index("1.0 mins")
    assert "10 (timed)" in shown


def test_a_case_that_fails_but_not_at_the_level_of_several_is_undecided(write):
    """With two cases, one that fails alone has to fail at 97.5 %: 0.30 below is within 0.36 of three runs."""
    path = write(**{"n_components: 64}\n  - {name: random": "n_components: [32, 64]}\n  - {name: random"})
    experiment = load_experiment(path, repeats=3)
    assert experiment.reported is None

    def row(trial):
        if not trial.map or trial.map.name != "tensor_sketch":
            return None
        middle = 0.86 if trial.map.parameters["n_components"] == 32 else 0.847
        return fake_row(trial, middle + 0.001 * (trial.repeat - 1))

    experiment.claims[:] = [claim_on_sketches(85.0)]
    (item,) = undecided_of(experiment, cells_with(experiment, row))
    assert (item.runs, item.needed) == (3, 5)


def test_runs_on_the_same_splits_stay_in_pairs(write):
    """The maps differ by 0, 0.5 and 1 points on splits that differ by 8: pairs tell, runs do not."""
    experiment = load_experiment(write(**{", seed: 0}}": "}}"}), repeats=3)
    scores = {"tensor_sketch": (0.80, 0.84, 0.88), "random_maclaurin": (0.795, 0.84, 0.87)}
    cells = cells_with(experiment, lambda t: fake_row(t, scores[t.map.name][t.repeat]) if t.map else None)
    about = {"text": "It is ahead", "where": "Section 1", "above": 0}
    sides = [{"map": "tensor_sketch"}, {"map": "random_maclaurin"}]
    experiment.claims[:] = [Claim.model_validate(about | {"difference": sides})]
    (item,) = undecided_of(experiment, cells)
    assert (item.runs, item.needed) == (3, 19)  # 3 (4.303 * 0.5 / sqrt(3) / 0.5)^2
