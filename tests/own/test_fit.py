"""How long a training will take is told before it begins."""

from kfeat.experiments.config import load_experiment
from kfeat.own.fit import only_trial, train
from tests.own.asking import config, product


def test_the_time_of_a_large_map_is_told_from_rows_enough_for_its_landmarks(tmp_path, monkeypatch):
    monkeypatch.setattr("kfeat.own.fit.LONG", 100)
    path = config(tmp_path, "{name: gaussian, gamma: 1}", *product(240))
    told = []
    train(only_trial(load_experiment(path, ["maps=[{name: nystrom, n_components: 30}]"])), say=told.append)
    assert len(told) == 1
