"""A search finds a planted answer, goes on from what is kept, and keeps its budget."""

from contextlib import suppress
from dataclasses import replace
from math import inf

import numpy as np
import pytest

from kfeat.errors import ConfigError
from kfeat.experiments.config import load_experiment
from kfeat.own import budget as budget_module
from kfeat.own import search as module
from kfeat.own.cost import expected
from kfeat.own.facts import parted
from kfeat.own.record import study_of
from kfeat.own.search import Search
from kfeat.own.tune import setup_of
from kfeat.render.tuning import ended, sentences
from tests.own.asking import FACTS, Direct, config, product, small
from tests.own.simulated import BUDGET, Answers, Simulated, one_second


def stripes(n=240):
    """Two classes in 30 stripes: the bandwidth must be a thirtieth of the median distance."""
    x = np.random.default_rng(7).random((n, 1))
    return x, (np.floor(30 * x[:, 0]) % 2).astype(int)


def searched(setup, asked, folder, budget=1000.0):
    return Search(asked, folder / f"{setup.identity}.log", budget, 0).run(setup.kernels, setup.maps)


def found(path, folder, most, patch):
    patch.setattr(module, "MOST", most)
    setup = setup_of(load_experiment(path), 0)
    asked = Direct(**setup.scorer(0))
    return searched(setup, asked, folder), asked


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "gamma"), [(stripes, 10), (product, 0)])
def test_a_small_bandwidth_and_a_product_are_found(rows, gamma, tmp_path, monkeypatch):
    one, _ = found(config(tmp_path, "{name: linear}", *rows()), tmp_path / "tune", 24, monkeypatch)
    best = one.best.candidate
    assert one.best.score > one.before.score + 0.25  # 0.5 is chance
    assert one.tests[one.best]["score"] > 0.75  # of 48 rows
    assert one.exact.score > 0.85
    assert best.kernel["gamma"] > gamma * one.facts.gammas[parted(best.scale)[0]]["gaussian"]
    assert one.tests[one.quickest]["predict"] <= one.tests[one.best]["predict"]


def test_a_regression_is_tuned_too(tmp_path, monkeypatch):
    X, _ = product(150)
    y = X[:, 0] * X[:, 1] + 0.01 * np.random.default_rng(1).standard_normal(150)
    path = config(tmp_path, "{name: linear}", X, y, "{name: ridge}")
    one, _ = found(path, tmp_path / "tune", 10, monkeypatch)
    assert one.before.score < 0.2 < 0.9 < one.best.score  # R^2
    assert one.tests[one.best]["score"] > 0.9


class Answering(Direct):
    """Has another answer than the scorer to some questions of a kind."""

    def __init__(self, kind, answer, times=range(1), **arguments):
        super().__init__(**arguments)
        self.kind, self.answer, self.times = kind, answer, times

    def ask(self, method, deadline, limit=inf, **question):
        if method != self.kind or self.questions.count(method) not in self.times:
            return super().ask(method, deadline, limit, **question)
        self.questions.append(method)
        return self.answer


def test_who_took_too_long_is_tried_again_with_a_longer_budget(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MOST", 1)
    setup = small(tmp_path)
    arguments, failed, first = setup.scorer(0), [], ""
    slow = Answering("score", None, **arguments)
    for asked, budget in ((slow, 1000.0), (Direct(**arguments), 500.0), (Direct(**arguments), 2000.0)):
        scored = searched(setup, asked, tmp_path / "tune", budget).scored
        first = first or next(one.candidate.key for one in scored if one.reason)
        own = [one for one in scored if one.candidate.key == first]
        failed.append([one.reason for one in own])
        assert {ended(one) for one in own if one.reason} <= {"too long"}
    assert failed == [["it took longer than 250 s"], ["it took longer than 250 s"], [""]]
    assert ended(replace(own[0], reason="ValueError: no")) == "failed"


def test_why_there_is_no_score_is_told_and_the_next_call_tries_again(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MOST", 1)
    setup = small(tmp_path)
    arguments = setup.scorer(0)
    asked = (Answering("test", {"failed": "no memory"}, **arguments), Direct(**arguments))
    said = [" ".join(sentences(searched(setup, one, tmp_path / "tune"))) for one in asked]
    assert "the best has no score yet: no memory." in said[0]
    assert "no memory" not in said[1]
    assert "the best scores" in said[1]


def test_without_time_there_is_a_linear_model_and_candidates_that_all_fail_are_told(tmp_path, monkeypatch):
    setup = small(tmp_path)
    asked = Direct(**setup.scorer(0))
    hurried = searched(setup, asked, tmp_path / "tune", 1e-6)
    assert hurried.best.candidate.linear
    assert asked.questions.count("score") == 1
    monkeypatch.setattr(module, "MOST", 1)
    failing = Answering("score", {"failed": "one class only"}, range(99), **setup.scorer(0))
    with pytest.raises(ConfigError, match=r"^no candidate could be scored: one class only$"):
        Search(failing, tmp_path / "failing.log", 1000.0, 0).run()
    assert [trial.state.name for trial in study_of(tmp_path / "failing.log", 0).trials].count("FAIL") == 1


class Scripted:
    """Gives every candidate a score by its number."""

    def __init__(self, gain):
        self.gain, self.asked = gain, 0

    def ask(self, method, deadline, limit=inf, **question):
        if method == "facts":
            return vars(replace(FACTS, n_train=500, n_test=0, rarest=200))
        self.asked += 1
        return {"score": 0.5 + self.gain * self.asked, "sd": 0.0, "value": 1.0, "seconds": 1e-3}


def test_a_search_ends_once_nothing_gets_better_and_goes_on_while_something_does(monkeypatch):
    monkeypatch.setattr(module, "MOST", 40)
    monkeypatch.setattr(module, "STALE", 5)
    asked = []
    for gain in (0.0, 1e-3):
        asker = Scripted(gain)
        Search(asker, None, 1000.0, 0).run()
        asked.append(asker.asked)
    assert asked[0] < 30 < module.MOST <= asked[1]


def test_another_kind_of_map_than_the_best_gets_more_features_too(monkeypatch):
    """On many rows four times the random features are better than landmarks, and sooner."""

    def seconds(candidate, n):
        if not candidate.map:
            return 1e-6
        landmarks = replace(candidate, map={"name": "nystrom", "n_components": 1024})
        took = expected(replace(one_second(landmarks, 9_000), seconds=8.0), n, candidate)
        return took if candidate.map["name"] == "nystrom" else took / 1e4

    def score(candidate, n):
        kinds = {"nystrom": 0.9, "orf": 0.8 + candidate.D / 1e5}
        return kinds.get((candidate.map or {}).get("name"), 0.5) + n / 1e6

    result = Search(Answers(monkeypatch, score, seconds, n_train=9_000), None, BUDGET, 0).run()
    assert result.best.candidate.map["name"] == "nystrom"
    maps = [one.candidate for one in result.scored if one.candidate.map]
    largest = {name: max(one.D for one in maps if one.map["name"] == name) for name in ("nystrom", "orf")}
    assert largest == {"nystrom": 1024, "orf": 4096}


def test_no_map_has_more_landmarks_than_rows(monkeypatch):
    """The best has 3,000 rows, since on more a candidate takes too long."""

    def score(candidate, n):
        return 1 - 1 / (2 + candidate.D)

    answers = Answers(monkeypatch, score, lambda candidate, n: 1e-6 if n <= 3_000 else inf, n_train=27_000)
    result = Search(answers, None, BUDGET, 0).run()
    landmarks = {one.candidate.D for one in result.scored if one.candidate.D}
    assert max(landmarks) == 2000  # not four times 1,000
    assert all(one.n >= one.candidate.D for one in result.scored)


def test_a_small_map_is_tried_where_there_is_no_time_for_a_larger_one(monkeypatch):
    at, told = Simulated(monkeypatch, 1.0, True), Simulated.training
    at.capped = False
    at.training = lambda candidate, n: told(at, candidate, n) * (5 if candidate.D else 1)
    Search(at, None, 20.0, 0).run()
    sizes = {one.D for _, one, _ in at.asked if one and one.map and one.map["name"] == "orf"}
    assert 256 in sizes
    assert max(sizes) < 1024


def test_times_on_few_rows_that_are_mostly_overhead_do_not_end_a_search(monkeypatch):
    at = Simulated(monkeypatch, 1.0, True, n_train=9_600)
    at.training = lambda candidate, n: 0.05 + n**2 / 1e9 if candidate.exact else 0.5
    Search(at, None, 60.0, 0).run()
    assert sum(method == "score" for method, *_ in at.asked) > 10


def test_the_next_call_goes_on_where_the_last_one_was_interrupted(tmp_path, monkeypatch):
    """Also from a file whose last line is incomplete; nothing is asked twice."""
    monkeypatch.setattr(module, "MOST", 6)
    asked = [Simulated(monkeypatch, 1.0, True) for _ in range(4)]
    asked[1].most = 5

    def search(k, name):
        monkeypatch.setattr(budget_module, "monotonic", lambda: asked[k].now)
        return Search(asked[k], tmp_path / name, 1000.0, 0).run()

    whole = search(0, "whole")
    with pytest.raises(KeyboardInterrupt):
        search(1, "parts")
    with (tmp_path / "parts").open("ab") as file:
        file.write(b'{"op_code": 2, "cut')
    parts = search(2, "parts")
    assert parts.n_kept == 4
    assert parts.best == whole.best
    assert not set(asked[1].asked[1:]) & set(asked[2].asked)
    assert search(3, "parts").tests == parts.tests
    assert {method for method, *_ in asked[3].asked} == {"facts", "constant"}


@pytest.mark.parametrize("most", [inf, 9, 12])
@pytest.mark.parametrize("capped", [True, False])
@pytest.mark.parametrize("load", [1.0, 20.0])
def test_a_call_with_a_budget_too_small_ends_with_the_best_of_the_record(
    most, capped, load, tmp_path, monkeypatch
):
    """Also if the earlier call was interrupted, and if the machine is busier now."""
    first = Simulated(monkeypatch, 1.0, True)
    first.most, first.capped = most, capped
    before = None
    with suppress(KeyboardInterrupt):
        before = Search(first, tmp_path / "log", 60.0, 0).run()
    second = Simulated(monkeypatch, load, True)
    second.capped = capped
    after = Search(second, tmp_path / "log", 0.5, 0).run()
    assert not after.best.candidate.linear
    assert "LINEAR MODEL" not in " ".join(sentences(after))
    assert after.trained == after.best
    if before:
        assert (after.best, after.trained) == (before.best, before.trained)
        assert after.rows.get(after.best) == before.rows.get(before.best)
        assert after.tests[after.best] == before.tests[before.best]


def test_binning_is_among_the_first_and_the_best_of_two_kinds_are_tried_behind_metrics(monkeypatch):
    """A rotation helps most: the search ends with it."""
    gammas = {"gaussian": 0.1, "polynomial": 0.1, "laplacian": 0.1}
    gains = {"learnt_metric": 0.1, "learnt_rotation": 0.2}

    def score(candidate, n):
        return 0.5 + gains.get(parted(candidate.scale)[1], 0.0) - 1 / (10 + candidate.D) - 10 / n

    facts = {"n_train": 27_000, "gammas": {"zscore": gammas, "own": gammas}}
    answers = Answers(monkeypatch, score, lambda candidate, n: 1e-7 * n, **facts)
    scored = Search(answers, None, BUDGET, 0).run().scored
    assert [one.candidate.kind for one in scored[:5]].count("binning") == 2
    behind = [one for one in scored if parted(one.candidate.scale)[1]]
    assert behind[0].n == 3_000  # on few rows, to learn its time
    assert {parted(one.candidate.scale)[1] for one in behind if one.n == 27_000} == set(gains)
    assert len({one.candidate.kind for one in behind if one.n == 27_000}) >= 2
    assert parted(max(scored, key=lambda one: one.score).candidate.scale)[1] == "learnt_rotation"
