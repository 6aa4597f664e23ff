from kfeat.analysis.cells import summarise
from kfeat.analysis.comparisons import comparisons
from kfeat.cli.check import choose
from kfeat.data import fingerprint
from kfeat.experiments.config import load_experiment
from kfeat.experiments.plan import plan
from kfeat.experiments.trial import run_trial
from kfeat.maps import TensorSketch


def candidates(write, cost):
    experiment = load_experiment(write(), ["maps.0.n_components=[16, 32, 64]"])
    trials = plan(experiment, dict.fromkeys(experiment.datasets, "f"))
    return [(trial, {"seconds": {"train": {"wall": cost(trial)}}}) for trial in trials]


def test_a_budget_is_kept_and_spread_over_maps(write):
    def cost(trial):
        return {"tensor_sketch": 1.0, "random_maclaurin": 5.0}[trial.map.name] if trial.map else 60.0

    pairs = candidates(write, cost)
    assert {t.map.name for t in choose(pairs, 6.0) if t.map} == {"tensor_sketch", "random_maclaurin"}
    assert len(choose(pairs, 8.0)) == 4  # three sizes of the sketch and one Random Maclaurin
    assert len(choose(pairs, 1000.0)) == 5  # one trial per cell, the exact machine too
    assert choose(pairs, 0.5) == []


def test_a_planted_bug_in_a_map_turns_red(write, monkeypatch):
    experiment = load_experiment(write())
    trials = plan(experiment, {source: fingerprint(source) or "" for source in experiment.datasets})[:2]
    how = {"threads": 1, "alone": True, "mirror": None, "offline": True}
    published = {trial.id: run_trial(trial, **how) for trial in trials}

    draw = TensorSketch._draw

    def without_signs(self, X, rng):
        width = draw(self, X, rng)
        self.signs_ = abs(self.signs_)
        return width

    monkeypatch.setattr(TensorSketch, "_draw", without_signs)
    rows = {trial.id: run_trial(trial, **how) for trial in trials}
    found = comparisons(summarise(experiment, trials, rows), published)
    assert {item.cell.trial.map.name: item.verdict for item in found if item.cell.trial.map} == {
        "tensor_sketch": "regressed",
        "random_maclaurin": "same",
    }
