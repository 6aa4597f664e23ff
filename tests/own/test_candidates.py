"""The candidates of a search: the map that the study advises, random binning, learnt metrics."""

from dataclasses import replace

from kfeat.own.candidates import (
    BINNING,
    Candidate,
    advised,
    at_first_size,
    binnings,
    larger_maps,
    solver_of,
    with_metric,
)
from kfeat.own.facts import DataFacts
from tests.own.asking import FACTS
from tests.survey.planted import plant


def test_the_advised_map_is_a_candidate_where_it_fits(monkeypatch):
    plant(monkeypatch)
    facts = DataFacts("classification", 16_000, 1_000, 10, 400, {"own": {"gaussian": 0.5}})
    (found,) = advised(facts, 5.0)
    assert (found.scale, found.kernel) == ("own", {"name": "gaussian", "gamma": 0.5})
    assert found.map == {"name": "nystrom", "n_components": 256}
    assert advised(facts, 0.05) == []  # a linear model is another candidate
    assert advised(DataFacts(**{**vars(facts), "gammas": {"own": {}}}), 5.0) == []


def test_random_binnings_and_candidates_behind_a_metric_have_kernels_as_wide_as_their_scaling_asks():
    gammas = {"zscore": {"gaussian": 0.1, "laplacian": 0.2}, "own": {"gaussian": 0.001, "laplacian": 0.01}}
    facts = replace(FACTS, n_features=8, gammas=gammas)
    first = binnings(facts, "zscore")
    assert [(one.kernel["gamma"], one.D, one.kind) for one in first] == [
        (0.4, 64, "binning"),
        (1.6, 64, "binning"),
    ]
    assert binnings(replace(facts, gammas={"none": {"gaussian": 1.0}}), "none") == []
    plain = Candidate(
        "own", {"name": "gaussian", "gamma": 0.002}, {"name": "orf", "n_components": 999}, "squares"
    )
    behind = with_metric(plain, "zscore", facts)
    assert [(one.scale, one.kernel["gamma"]) for one in behind] == [
        ("zscore, learnt_metric", 0.2),
        ("zscore, learnt_rotation", 0.2),
    ]
    assert with_metric(plain, "zscore", replace(facts, n_features=200)) == behind[:1]
    assert with_metric(plain, "zscore", replace(facts, n_features=1)) == []
    assert [at_first_size(one).D for one in (*behind[:1], first[0], replace(plain, map=None))] == [256, 64, 0]
    larger = [
        one.D for one in larger_maps(replace(first[0], map={**first[0].map, "n_components": 512}), facts)
    ]
    assert larger == [1024]


def test_ridge_regression_of_random_binning_ends_where_its_folds_did():
    solver = solver_of(
        Candidate("own", {"name": "laplacian", "gamma": 1.0}, {"name": BINNING}, "squares"), 0.5, {}
    )
    assert solver == {"name": "ridge", "alpha": 0.5, "tol": 1e-3, "max_iter": 300}
