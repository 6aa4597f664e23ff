"""The setup of a search for a config, and the config that it writes."""

import pytest

from kfeat.errors import ConfigError
from kfeat.experiments.config import load_experiment
from kfeat.own.candidates import Candidate
from kfeat.own.fit import only_trial, train
from kfeat.own.result import Scored, SearchResult
from kfeat.own.tune import setup_of, tuned_config
from kfeat.render.tuning import sentences
from kfeat.render.tuning import tests as table_of_tests
from tests.own.asking import Direct, config, product, small


def test_other_data_are_another_search(tmp_path):
    larger = load_experiment(config(tmp_path, "{name: linear}", *product(130)))
    others = {setup_of(larger, seed).identity for seed in (0, 1)}
    assert len(others | {small(tmp_path).identity}) == 3


OPTIONS = ("", ", bias: 1.0", ", class_weight: balanced, bias: 1.0")


def test_a_search_keeps_the_weights_of_classes_and_knows_the_task(tmp_path):
    """Candidates are trained as the config asks, the config that is found says so, and rows do not mix."""
    X, y = product(300)
    y = (X[:, 0] > 0.9).astype(int)  # one row in twenty
    plain, biased, weighted = (
        setup_of(load_experiment(config(tmp_path, "{name: linear}", X, y, solver)), 0, "accuracy")
        for solver in (f"{{name: newton{more}}}" for more in OPTIONS)
    )
    assert plain.options == {}
    assert weighted.options == {"class_weight": "balanced", "bias": 1.0}
    assert len({plain.identity, biased.identity, weighted.identity}) == 3
    candidate = Candidate("own", {"name": "linear"}, {"name": "nystrom", "n_components": 6}, "squared_hinge")
    for setup, all_of_one_class in ((biased, True), (weighted, False)):
        scorer = Direct(**setup.scorer(0)).scorer
        given = {"candidate": candidate, "n": 240, "values": [0.001]}
        assert (scorer.score(**given)["score"] > 0.93) == all_of_one_class
    path = config(tmp_path, "{name: linear}", X, y, "{name: liblinear, solver_type: 11, bias: 1.0}")
    path.write_text(path.read_text().replace("npz}", "npz, task: regression}"))
    regression = setup_of(load_experiment(path), 0)
    assert regression.identity != plain.identity
    assert regression.options == {}  # ridge regression, which a search trains, has neither


def test_rows_that_cannot_choose_a_method_are_refused(tmp_path):
    path = config(tmp_path, "{name: linear}", *product(120))
    with pytest.raises(ConfigError, match="the test rows would choose the method"):
        setup_of(load_experiment(path, ["protocol.split=all"]), 0)
    with pytest.raises(ConfigError, match=r"one dataset .* got 2"):
        setup_of(load_experiment(path, ["dataset=[digits, adult]"]), 0)


@pytest.mark.parametrize("split", ["{kind: fraction, train: 0.8}", "{kind: stratified, train: 0.8}"])
@pytest.mark.parametrize("rows", [60, None])
def test_the_config_of_a_best_on_some_rows_trains_what_was_tested(rows, split, tmp_path):
    path = config(tmp_path, "{name: linear}", *product(240))
    setup = setup_of(load_experiment(path, [f"protocol.split={split}"]), 0)
    scorer = Direct(**setup.scorer(0)).scorer
    kernel = {"name": "gaussian", "gamma": 0.2}
    best = Scored(Candidate("zscore", kernel, None, "squared_hinge"), 60, 0.9, 0.01, 10.0, 0.1)
    tested = scorer.test(best.candidate, best.value, rows)
    some = {} if rows is None else {best: rows}
    result = SearchResult(scorer.facts(), [best], best, tests={best: tested}, rows=some)
    text = " ".join(sentences(result))
    assert ("so it is trained on 60 random ones" in text) == bool(rows)
    assert (", on 60 rows" in str(table_of_tests(result).lines)) == bool(rows)
    tuned = tmp_path / "tuned.yaml"
    tuned.write_text(tuned_config(setup, result, "accuracy", [text]))
    about = train(only_trial(load_experiment(tuned))).about_
    assert about["n_train"] == rows or 192
    assert about["scores"]["accuracy"] == tested["score"]
