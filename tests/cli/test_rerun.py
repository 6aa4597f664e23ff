"""Which published trials run again within a budget."""

from kfeat.cli.rerun import choose
from kfeat.experiments.config import load_experiment
from kfeat.experiments.plan import plan


def test_a_budget_is_kept_and_spread_over_maps(write):
    experiment = load_experiment(write(), ["maps.0.n_components=[16, 32, 64]"])
    seconds = {"tensor_sketch": 1.0, "random_maclaurin": 5.0, "exact": 60.0}
    pairs = [
        (trial, {"seconds": {"train": {"wall": seconds[trial.describe()["map"]]}}})
        for trial in plan(experiment, dict.fromkeys(experiment.datasets, "f"))
    ]
    assert {t.map.name for t in choose(pairs, 6.0) if t.map} == {"tensor_sketch", "random_maclaurin"}
    assert len(choose(pairs, 8.0)) == 4  # three sizes of the sketch and one Random Maclaurin
    assert len(choose(pairs, 1000.0)) == 5  # one trial per cell, the exact machine too
    assert choose(pairs, 0.5) == []
