"""What a first call costs beyond later ones is paid before a trial's clock starts."""

from dataclasses import replace
from time import sleep

import numpy as np
import pytest

from kfeat.data import Access
from kfeat.experiments import trial as module
from kfeat.experiments.trial import WARM_UP, WARM_UP_ROWS, run_trial
from tests.cells import planned, run


@pytest.fixture(autouse=True)
def _cold(monkeypatch):
    """As in a process that has not run a trial yet."""
    monkeypatch.setattr(module, "_warm", set())


@pytest.fixture
def trial(write):
    return planned(write(**{"n_train: 300": "n_train: 900"}))[1]


@pytest.fixture
def fits(trial, monkeypatch):
    """The targets of each fit of the trial's map, and a list whose last function the next fit calls first."""
    calls, before, fit = [], [], trial.map.cls.fit

    def spied(self, X, y=None):
        calls.append(y)
        if before:
            before.pop()()
        return fit(self, X, y)

    monkeypatch.setattr(trial.map.cls, "fit", spied)
    return calls, before


def test_the_first_call_in_a_process_is_not_timed(trial, fits):
    _, before = fits
    before.append(lambda: sleep(0.2))
    assert run(trial)["seconds"]["map_fit"]["wall"] < 0.1
    before.append(lambda: sleep(0.2))
    assert run(trial)["seconds"]["map_fit"]["wall"] > 0.19  # the process is warm: this is the trial's own


def test_only_the_first_of_a_cell_and_only_alone_warms_up(trial, fits):
    calls, _ = fits
    numbers = [len(calls) for alone in (False, True, True) if run(trial, alone=alone)]
    assert numbers == [1, 3, 4]
    run(trial.at_repeat(1))
    assert len(calls) == 5


def test_the_warm_up_sees_few_rows_of_all_classes(trial, fits):
    calls, _ = fits
    run(trial)
    few, whole = calls
    assert len(few) <= WARM_UP_ROWS + 10 < len(whole)
    assert set(few) == set(whole) == set(range(10))


def test_a_class_of_a_single_row_is_among_the_few(trial, fits, monkeypatch):
    data = module.load_data(trial, access=Access(offline=True))
    y = np.zeros_like(data.y_train)
    y[7] = 1
    monkeypatch.setattr(module, "load_data", lambda *_, **__: replace(data, y_train=y))
    run(trial)
    assert set(fits[0][0]) == {0, 1}


def test_a_warm_up_changes_no_number(write):
    for trial in planned(write()):
        busy, alone = run(trial, alone=False), run(trial)
        for key in ("predictions", "accuracy", "columns", "learnt", "solve", "seeds", "id"):
            assert busy[key] == alone[key]


def test_a_warm_up_that_fails_leaves_the_trial_alone(trial, fits):
    _, before = fits

    def fails():
        raise MemoryError("out of luck")

    before.append(fails)
    assert run(trial)["status"] == "done"
    before.append(fails)
    assert run(trial)["reason"] == "MemoryError: out of luck"


def test_the_time_limit_holds_in_the_warm_up_with_a_second_more(write):
    told = []
    for trial in (planned(write())[0], planned(write())[-1]):
        run_trial(trial, threads=1, alone=True, access=Access(offline=True), announce=told.append)
    named = [(phase.name, phase.before) if phase else None for phase in told]
    assert named[:3] == [("map_fit", -WARM_UP), None, ("map_fit", 0.0)]
    assert named[named.index(("train", -WARM_UP)) :][1:3] == [None, ("train", 0.0)]


@pytest.fixture
def written(monkeypatch):
    """The sizes of the arrays of ones that are written."""
    sizes, ones = [], np.ones

    def spied(shape, *arguments, **options):
        sizes.append(shape)
        return ones(shape, *arguments, **options)

    monkeypatch.setattr(module.np, "ones", spied)
    return sizes


def test_memory_for_all_features_and_the_solver_is_written_to_first(trial, written):
    row = run(trial)
    features = row["n_train"] * sum(row["columns"].values())
    assert 4 * features + 16 * features in written  # in single precision, and as nodes of LIBLINEAR


def test_sparse_features_take_memory_by_their_non_zeros(write, written):
    maps = "{name: tensor_sketch, n_components: 64}\n  - {name: random_maclaurin, n_components: 64}"
    changes = {
        maps: "{name: random_binning, n_components: 64}",
        "polynomial, degree: 2, coef0: 1": "laplacian, gamma: 0.05",
    }
    row = run(planned(write(**changes))[0])
    stored = 64 * row["n_train"]
    values, nodes, starts = (4 + 4) * stored, 16 * stored, 8 * row["sparse"]["columns"]
    assert values + nodes + starts in written  # in single precision with indices, and as nodes of LIBLINEAR
