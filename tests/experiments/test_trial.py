from dataclasses import replace
from itertools import count
from time import process_time

import pytest

from kfeat.data import Access, load
from kfeat.diagnostics import sampled_rows
from kfeat.errors import DataError
from kfeat.experiments import clock
from kfeat.experiments.clock import Watch
from kfeat.experiments.measures import kernel_error
from kfeat.experiments.selectors import quantity_named
from kfeat.experiments.trial import run_trial
from kfeat.kernels import Gaussian
from kfeat.learnt_metric import LearntMetric
from tests.cells import planned, run


@pytest.fixture
def trials(write):
    return planned(write())


def test_a_row_says_what_was_done_and_how_it_went(trials):
    row = run(trials[0])
    assert row["status"] == "done"
    assert 0.5 < row["accuracy"] < 1
    assert set(row["seconds"]) == {"map_fit", "map_train", "map_test", "train", "predict"}
    assert row["columns"]["live"] + row["columns"]["zero"] + row["columns"]["constant"] == 64
    assert row["solve"]["finished_by"].startswith("-s")
    assert row["solve"]["n_iter"] > 0
    assert row["peak_memory_mb"] is None or row["peak_memory_mb"] > 10


def test_the_same_trial_gives_the_same_predictions(trials):
    rows = [run(trials[1]) for _ in range(2)]
    assert rows[0]["predictions"] == rows[1]["predictions"]
    assert run(trials[3])["predictions"] != rows[0]["predictions"]  # another repeat


def test_data_that_are_not_the_ones_planned_with_are_refused(trials):
    with pytest.raises(
        DataError, match=r"differs from the data with which this run began: .*run the command again"
    ):
        run(replace(trials[0], fingerprint="0" * 64))


def test_a_split_that_cannot_be_learnt_from_fails_its_own_repeat_only(write, tmp_path):
    """One of 40 rows is of the second class: a quarter of the splits leave it out of the training rows."""
    rows = "".join(f"{a},{a % 3},{'ab'[a == 7]}\n" for a in range(40))
    (tmp_path / "rare.csv").write_text(f"x,y,class\n{rows}")
    trials = planned(
        write(),
        f"dataset={{path: {tmp_path / 'rare.csv'}, target: class}}",
        "protocol={split: {kind: fraction, train: 0.75}}",
        repeats=12,
        exact=False,
    )
    rows_made = [run(trial) for trial in trials]
    assert {row["status"] for row in rows_made} == {"done", "failed"}
    assert {row["reason"][:9] for row in rows_made if row["status"] == "failed"} == {"DataError"}
    (tmp_path / "rare.csv").unlink()  # as on a machine that does not have it: no split is at fault
    with pytest.raises(DataError, match=r"rare\.csv: no such file"):
        run(trials[0])


def test_a_row_is_timed_only_on_an_idle_machine(trials, monkeypatch):
    others = count(0.0, 10.0)  # ten seconds of other processes in every phase
    monkeypatch.setattr(clock, "process_time", lambda: 0.0)  # whatever threads this process has
    monkeypatch.setattr(Watch, "was_idle", lambda _: True)
    monkeypatch.setattr(clock, "busy_seconds", lambda: next(others))
    assert run(trials[0])["timed"] is False
    monkeypatch.setattr(clock, "busy_seconds", lambda: 0.0)
    assert run(trials[0])["timed"] is True
    assert run(trials[0], alone=False)["timed"] is False
    monkeypatch.setattr(Watch, "was_idle", lambda _: False)
    assert run(trials[0])["timed"] is False  # too short to tell by itself
    monkeypatch.setattr(clock, "perf_counter", count(0.0, 1.0).__next__)
    assert run(trials[0])["timed"] is True


def test_a_row_is_timed_only_if_its_cpu_seconds_fit_its_threads(trials, monkeypatch):
    monkeypatch.setattr(clock, "busy_seconds", lambda: 0.0)
    monkeypatch.setattr(clock, "perf_counter", count(0.0, 1.0).__next__)  # long enough to tell by itself
    monkeypatch.setattr(clock, "process_time", count(0.0, 1.8).__next__)  # as on two cores
    one, two = (run(trials[0], threads) for threads in (1, 2))
    assert (one["timed"], two["timed"]) == (False, True)


def test_a_width_is_the_same_for_the_map_and_the_exact_machine(write):
    kernel, maps = "{name: exponential, sigma: mean_distance}", "[{name: nystrom, n_components: 300}]"
    trials = planned(write(), f"kernel={kernel}", f"maps={maps}")
    mapped, exact = run(trials[0]), run(trials[-1])
    # All training rows are landmarks, so that the features are the kernel's own.
    assert abs(mapped["accuracy"] - exact["accuracy"]) < 0.05


def test_map_and_solver_draw_from_the_seeds_that_the_row_names(trials, monkeypatch):
    """Both repeats would otherwise be one draw, and their spread a rounding error."""
    assert trials[1].map is not None
    met = []
    for cls in (trials[1].map.cls, trials[1].solver.cls):
        fit = cls.fit

        def spy(self, *arguments, fit=fit):
            met.append(self.random_state)
            return fit(self, *arguments)

        monkeypatch.setattr(cls, "fit", spy)
    for trial in (trials[1], trials[3]):
        row = run(trial)
        assert met[-2:] == [row["seeds"]["map"], row["seeds"]["solver"]]
    assert len(set(met)) == 4


def test_a_measure_stands_in_the_place_of_a_solver(write):
    for measure, score, phases in (
        ("{name: kernel_error, n_rows: 50}", "kernel_error", {"fit", "sample"}),
        ("{name: map_time}", "mean_square", {"map_fit", "map_train"}),
    ):
        trials = planned(write(), f"measure={measure}", "solvers={}")
        assert len(trials) == 4
        row = run(trials[0])
        assert row["status"] == "done"
        assert score in row
        assert row["measure"]["name"] == measure[7:].partition(",")[0].rstrip("}")
        assert set(row["seconds"]) == phases
        assert "accuracy" not in row
    error = planned(write(), "measure={name: kernel_error}", "solvers={}")
    assert {trial.id for trial in error}.isdisjoint(trial.id for trial in trials)


def test_the_kernel_error_of_all_maps_is_taken_on_the_same_rows(write, monkeypatch):
    seen = []

    def recorded(X, n_rows, seed):
        rows, unseen = sampled_rows(X, n_rows, seed)
        seen.append(rows)
        return rows, unseen

    monkeypatch.setattr(kernel_error, "sampled_rows", recorded)
    trials = planned(write(), "measure={name: kernel_error, n_rows: 40}", "solvers={}")
    for trial in trials:
        assert run(trial)["status"] == "done"
    assert len({trial.map.name for trial in trials if trial.map}) == 2
    assert all((rows == seen[0]).all() for rows in seen)


BEHIND_A_METRIC = (
    "protocol.scale=[zscore, learnt_metric]", "maps=[{name: tensor_sketch, n_components: 16}]",
    "solvers={mapped: {name: ridge_classifier}}", "repeats=2",
)  # fmt: skip


@pytest.mark.filterwarnings("ignore:LearntMetric")
def test_a_row_has_the_weights_of_a_learnt_metric(write):
    trial, _ = planned(write(), *BEHIND_A_METRIC)
    learnt = run(trial)["learnt"]["protocol"]
    assert list(learnt) == [f"weight.{j}" for j in range(64)]
    assert learnt["weight.0"] == 0 < max(learnt.values())  # a pixel that is always 0


@pytest.mark.filterwarnings("ignore:LearntMetric")
def test_every_row_behind_a_metric_has_the_seconds_of_learning_it_and_they_count(write, monkeypatch):
    monkeypatch.setattr(LearntMetric, "_learn", lambda *_: use_the_processor(0.2))
    for row in map(run, planned(write(), *BEHIND_A_METRIC)):
        cpu = {phase: seconds["cpu"] for phase, seconds in row["seconds"].items()}
        assert list(cpu) == ["metric", "map_fit", "map_train", "map_test", "train", "predict"]
        assert 0.2 <= quantity_named("metric").read(row) == cpu["metric"] < 1
        whole = cpu["metric"] + cpu["map_fit"] + cpu["map_train"] + cpu["train"]
        assert quantity_named("fit").read(row) == pytest.approx(whole)


@pytest.mark.filterwarnings("ignore:LearntMetric")
def test_the_time_limit_holds_while_a_metric_is_learnt_and_what_it_took_is_gone(write, monkeypatch):
    monkeypatch.setattr(LearntMetric, "_learn", lambda *_: use_the_processor(0.1))
    told = []
    trial, _ = planned(write(), *BEHIND_A_METRIC)
    row = run_trial(trial, threads=1, alone=False, access=Access(offline=True), announce=told.append)
    first, _, second, *_ = told
    assert (first.name, first.before) == ("metric", 0.0)
    assert (second.name, second.before) == ("map_fit", row["seconds"]["metric"]["cpu"])


def use_the_processor(seconds):
    end = process_time() + seconds
    while process_time() < end:
        pass


def test_a_row_says_what_was_learnt_in_the_place_of_parameters(write):
    """The bandwidth from the data, C by cross-validation, LIBLINEAR's own tolerance; quantities read them."""
    trials = planned(
        write(),
        "kernel={name: gaussian, gamma: median}", "maps=[{name: random_fourier, n_components: 16}]",
        "solvers.mapped=[{name: newton_cv, folds: 2}, {name: liblinear}, {name: liblinear, eps: 0.5}]",
    )  # fmt: skip
    chosen, default, given = (run(trial) for trial in trials[:3])
    X = load("digits", trials[0].protocol, random_state=trials[0].seeds["data"]).X_train
    gamma = Gaussian("median").resolve(X, trials[0].seeds["data"]).gamma
    assert chosen["learnt"]["kernel"] == {"gamma": pytest.approx(gamma)}
    assert 2.0**-6 <= chosen["learnt"]["solver"]["C"] <= 2.0**6
    assert (default["learnt"]["solver"], "solver" in given["learnt"]) == ({"eps": 0.1}, False)
    assert quantity_named("kernel.gamma").read(chosen) == pytest.approx(gamma)
    assert [quantity_named("solver.eps").read(row) for row in (default, given)] == [0.1, 0.5]
