"""A search finds a planted answer, goes on from what is kept, and keeps its budget."""

from contextlib import suppress
from dataclasses import replace
from math import inf
from multiprocessing import active_children
from time import monotonic

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from kfeat.errors import ConfigError
from kfeat.experiments.config import load_experiment
from kfeat.own import bench as bench_module
from kfeat.own import search as module
from kfeat.own.bench import LocalScorer, Scorer, ScorerProcess, helpful_threads, rarest_rows
from kfeat.own.candidates import Candidate, DataFacts, draw, maps_of, neighbours, study_of
from kfeat.own.search import (
    Scored,
    Search,
    SearchResult,
    expected,
    like,
    next_up,
    path_time,
    rungs,
    training,
    winner,
)
from kfeat.own.training import only_trial, setup_of, train, tuned_config
from kfeat.render.tuning import ended, sentences
from kfeat.render.tuning import tests as table_of_tests
from tests.own.asking import Direct, config


def stripes(n=240):
    """Two classes in 30 stripes: the bandwidth must be a thirtieth of the median distance."""
    x = np.random.default_rng(7).random((n, 1))
    return x, (np.floor(30 * x[:, 0]) % 2).astype(int)


def product(n=240):
    """The sign of x_1 x_2, which no linear function of x tells."""
    X = np.random.default_rng(7).uniform(-1, 1, (n, 6))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


def small(folder):
    return setup_of(load_experiment(config(folder, "{name: linear}", *product(120))), 0)


def searched(setup, asked, folder, budget=1000.0):
    return Search(asked, folder / f"{setup.identity}.log", budget, 0).run(setup.kernels, setup.maps)


def found(path, folder, most, patch):
    patch.setattr(module, "MOST", most)
    setup = setup_of(load_experiment(path), 0)
    asked = Direct(**setup.bench(0))
    return searched(setup, asked, folder), asked


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "gamma"), [(stripes, 10), (product, 0)])
def test_a_small_bandwidth_and_a_product_are_found(rows, gamma, tmp_path, monkeypatch):
    one, _ = found(config(tmp_path, "{name: linear}", *rows()), tmp_path / "tune", 24, monkeypatch)
    best = one.best.candidate
    assert one.best.score > one.before.score + 0.25  # 0.5 is chance
    assert one.tests[one.best]["score"] > 0.75  # of 48 rows
    assert one.exact.score > 0.85
    assert best.kernel["gamma"] > gamma * one.facts.gammas[best.scale]["gaussian"]
    assert one.tests[one.quickest]["predict"] <= one.tests[one.best]["predict"]


def test_a_regression_is_tuned_too(tmp_path, monkeypatch):
    X, _ = product(150)
    y = X[:, 0] * X[:, 1] + 0.01 * np.random.default_rng(1).standard_normal(150)
    path = config(tmp_path, "{name: linear}", X, y, "{name: ridge}")
    one, _ = found(path, tmp_path / "tune", 10, monkeypatch)
    assert one.before.score < 0.2 < 0.9 < one.best.score  # R^2
    assert one.tests[one.best]["score"] > 0.9


class Answering(Direct):
    """Has another answer than the bench to some questions of a kind."""

    def __init__(self, kind, answer, times=range(1), **bench):
        super().__init__(**bench)
        self.kind, self.answer, self.times = kind, answer, times

    def ask(self, method, deadline, limit=inf, **question):
        if method != self.kind or self.questions.count(method) not in self.times:
            return super().ask(method, deadline, limit, **question)
        self.questions.append(method)
        return self.answer


def test_other_data_are_another_search(tmp_path):
    larger = load_experiment(config(tmp_path, "{name: linear}", *product(130)))
    others = {setup_of(larger, seed).identity for seed in (0, 1)}
    assert len(others | {small(tmp_path).identity}) == 3


def test_who_took_too_long_is_tried_again_with_a_longer_budget(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MOST", 1)
    setup = small(tmp_path)
    bench, failed, first = setup.bench(0), [], ""
    slow = Answering("score", None, **bench)
    for asked, budget in ((slow, 1000.0), (Direct(**bench), 500.0), (Direct(**bench), 2000.0)):
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
    bench = setup.bench(0)
    asked = (Answering("test", {"failed": "no memory"}, **bench), Direct(**bench))
    said = [" ".join(sentences(searched(setup, one, tmp_path / "tune"))) for one in asked]
    assert "the best has no score yet: no memory." in said[0]
    assert "no memory" not in said[1]
    assert "the best scores" in said[1]


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
        bench = Direct(**setup.bench(0)).bench
        given = {"candidate": candidate, "n": 240, "values": [0.001]}
        assert (bench.score(**given)["score"] > 0.93) == all_of_one_class
    path = config(tmp_path, "{name: linear}", X, y, "{name: liblinear, solver_type: 11, bias: 1.0}")
    path.write_text(path.read_text().replace("npz}", "npz, task: regression}"))
    regression = setup_of(load_experiment(path), 0)
    assert regression.identity != plain.identity
    assert regression.options == {}  # ridge regression, which a search trains, has neither


def test_without_time_there_is_a_linear_model_and_candidates_that_all_fail_are_told(tmp_path, monkeypatch):
    setup = small(tmp_path)
    asked = Direct(**setup.bench(0))
    hurried = searched(setup, asked, tmp_path / "tune", 1e-6)
    assert hurried.best.candidate.linear
    assert asked.questions.count("score") == 1
    monkeypatch.setattr(module, "MOST", 1)
    failing = Answering("score", {"failed": "one class only"}, range(99), **setup.bench(0))
    with pytest.raises(ConfigError, match=r"^no candidate could be scored: one class only$"):
        Search(failing, tmp_path / "failing.log", 1000.0, 0).run()
    assert [trial.state.name for trial in study_of(tmp_path / "failing.log", 0).trials].count("FAIL") == 1


def test_rows_that_cannot_choose_a_method_are_refused(tmp_path):
    path = config(tmp_path, "{name: linear}", *product(120))
    with pytest.raises(ConfigError, match="the test rows would choose the method"):
        setup_of(load_experiment(path, ["protocol.split=all"]), 0)
    with pytest.raises(ConfigError, match=r"one dataset .* got 2"):
        setup_of(load_experiment(path, ["dataset=[digits, adult]"]), 0)


def test_a_process_answers_fails_and_is_ended_at_a_deadline(tmp_path):
    setup = small(tmp_path)
    assistant = ScorerProcess(1, **setup.bench(0))
    try:
        facts = assistant.ask("facts", monotonic() + 100)
        assert facts["n_train"] == 96
        wrong = Candidate("own", {"name": "linear"}, {"name": "orf"}, "squared_hinge")
        answer = assistant.ask("score", monotonic() + 100, candidate=wrong, n=90, values=[1.0])
        assert "orf" in answer["failed"].lower()
        for child in active_children():
            child.kill()  # as the system does where memory runs out
        assert "memory ran out" in assistant.ask("facts", monotonic() + 100)["failed"]
        assert repr(assistant.ask("facts", monotonic() + 100)) == repr(facts)  # NaN is not equal to itself
        slow = Candidate("own", {"name": "linear"}, {"name": "nystrom", "n_components": 90}, "logistic")
        began = monotonic()
        values = [2.0**k for k in range(1000)]
        assert assistant.ask("score", began + 0.002, candidate=slow, n=96, values=values) is None
        assert monotonic() - began < 10
    finally:
        assistant.end()


FACTS = DataFacts(
    "classification", 30_000, 100, 20, 9_000,
    {"own": {"gaussian": 0.1, "polynomial": 0.1}, "zscore": {"gaussian": 0.05, "polynomial": 0.05}},
)  # fmt: skip


def scored(n, score, gamma, exact=True):
    feature_map = None if exact else {"name": "orf", "n_components": 64}
    kernel = {"name": "gaussian", "gamma": gamma}
    return Scored(Candidate("own", kernel, feature_map, "squared_hinge"), n, score, 0.01, 1.0, 0.1)


def test_rungs_have_a_third_of_the_rows_each_and_rows_of_the_rarest_class():
    assert rungs(30_000, 30_000) == [1_111, 3_333, 10_000, 30_000]
    assert rungs(30_000, 30) == [10_000, 30_000]  # six rows of it on each rung
    assert rungs(500, 500) == [500]


def test_the_best_third_of_each_kind_goes_up():
    exact = [scored(100, 0.5 + i / 100, 1.0 + i) for i in range(4)]
    maps = [scored(100, 0.3 + i / 100, 1.0 + i, exact=False) for i in range(3)]
    done, order = [], []
    while (up := next_up([*exact, *maps, *done], [100, 300], lambda one, n, best: True)) is not None:
        order.append((up[0].exact, up[0].kernel["gamma"]))
        done.append(replace(up[2], n=300))
    assert order == [(True, 4.0), (True, 3.0), (False, 3.0)]  # two of four exact methods, one of three maps
    assert next_up([*exact, *maps], [100, 300], lambda one, n, best: False) is None
    slow = next_up([*exact, *maps, *done[:1]], [100, 300], lambda one, n, best: best)
    assert slow is not None  # of what takes long only the best of each kind: the second exact one stays
    assert (slow[0].exact, slow[0].kernel["gamma"]) == (False, 3.0)
    second = next_up(exact, [100, 300], lambda one, n, best: best and one.candidate.kernel["gamma"] < 4)
    assert second[0].kernel["gamma"] == 3.0  # since there is no time for the best


def test_the_winner_is_the_best_but_on_few_rows_only_by_more_than_its_spread():
    many, third, few = scored(900, 0.8, 1.0), scored(300, 0.805, 2.0), scored(100, 0.809, 3.0)
    assert winner([few, many, replace(many, seconds=9.0)]) == many
    assert winner([few, third, many]) == third
    assert winner([replace(few, score=0.816), third, many]).n == 100
    assert winner([replace(many, reason="no")]) is None
    linear = replace(many, candidate=Candidate("own", {"name": "linear"}, None, "logistic"))
    assert winner([few, linear]) == few  # a linear model on more rows hid what was better


def test_the_usual_come_first_on_each_scaling_then_on_the_best_and_every_step_is_a_neighbour():
    study, first = study_of(None, 0), []
    for score in (0.7, 0.8, 0.1, 0.1, 0.1, 0.1):
        draw(study, FACTS, lambda candidate, score=score: first.append(candidate) or {"score": score})
    assert [one.scale for one in first] == ["own", "zscore"] + 4 * ["zscore"]
    assert first[1].kernel == {"name": "gaussian", "gamma": 0.05}  # 1 / d
    assert [one.kernel["gamma"] for one in first[2:5]] == [0.2, 0.0125, 0.8]
    assert first[5].kernel["degree"] == 3
    assert all(one.exact for one in first)
    (orf, nystrom) = maps_of(first[1], FACTS, 30_000)
    assert (orf.D, nystrom.D) == (1024, 1024)
    assert maps_of(first[1], FACTS, 300)[0].D == 100
    steps = list(neighbours(orf, FACTS))
    assert [one.D for one in steps] == [4096, 2048, 1024, 1024, 1024]
    assert [one.kernel["gamma"] for one in steps[2:4]] == [0.1, 0.025]
    assert steps[4].loss == "logistic"


def test_draws_are_the_same_for_a_seed_and_learn_from_scores():
    """Of 50 draws those after the first 25 are nearer to a planted bandwidth."""

    def distances(seed):
        study, found = study_of(None, seed), []

        def score(one):
            gamma = one.kernel["gamma"] / FACTS.gammas[one.scale][one.kernel["name"]]
            found.append(abs(np.log10(gamma / 30)) if one.kernel["name"] == "gaussian" else 3.0)
            return {"score": -found[-1]}

        for _ in range(50):
            draw(study, FACTS, score)
        return found

    one = distances(3)
    assert one[:30] == distances(3)[:30]
    assert np.median(one[25:]) < 0.5 < np.median(one[:20])


def test_the_quickest_is_near_the_best_on_its_rows_whatever_its_kind():
    best, near, far, few = (
        scored(*one) for one in ((300, 0.900, 1.0), (300, 0.896, 2.0), (300, 0.89, 3.0), (100, 0.9, 4.0))
    )
    seconds = {best: 4.0, near: 3.0, far: 2.0, few: 1.0}
    tests = {one: {"score": 0.9, "train": 1.0, "predict": seconds[one]} for one in seconds}
    found = SearchResult(FACTS, [best, near, far, few], best, tests=tests)
    assert found.quickest == near


def test_the_time_of_a_candidate_is_told_from_few_rows_and_columns():
    exact, mapped = scored(100, 0.9, 1.0), scored(100, 0.9, 1.0, exact=False)  # in 0.1 s
    assert expected(exact, 300) == pytest.approx(0.1 * 3**1.5)
    assert expected(exact, 50_000) / expected(exact, 5_000) == pytest.approx(10**2.1)
    ridge = replace(exact, candidate=replace(exact.candidate, loss="squares"))
    assert expected(ridge, 300) == pytest.approx(0.1 * 3**2.3)
    assert expected(mapped, 10**7) / expected(mapped, 10**6) == pytest.approx(10, rel=0.01)
    wide = replace(mapped.candidate, map={"name": "orf", "n_components": 6400})
    assert like(mapped, wide).seconds == expected(mapped, 100, wide) > 0.1 * 100**2
    assert training(replace(mapped, folds=(0.9, 0.9)), 200) == pytest.approx(expected(mapped, 300) / 2)
    assert (path_time(mapped.candidate, 3), path_time(ridge.candidate, 3)) == (2.0, 2.0)
    assert path_time(replace(mapped.candidate, loss="squares"), 10) == 1.0  # one decomposition


def test_the_time_of_a_large_map_is_told_from_rows_enough_for_its_landmarks(tmp_path, monkeypatch):
    monkeypatch.setattr("kfeat.own.training.LONG", 100)
    path = config(tmp_path, "{name: gaussian, gamma: 1}", *product(240))
    told = []
    train(only_trial(load_experiment(path, ["maps=[{name: nystrom, n_components: 30}]"])), say=told.append)
    assert len(told) == 1


@pytest.mark.parametrize("split", ["{kind: fraction, train: 0.8}", "{kind: stratified, train: 0.8}"])
@pytest.mark.parametrize("rows", [60, None])
def test_the_config_of_a_best_on_some_rows_trains_what_was_tested(rows, split, tmp_path):
    path = config(tmp_path, "{name: linear}", *product(240))
    setup = setup_of(load_experiment(path, [f"protocol.split={split}"]), 0)
    bench = Direct(**setup.bench(0)).bench
    kernel = {"name": "gaussian", "gamma": 0.2}
    best = Scored(Candidate("zscore", kernel, None, "squared_hinge"), 60, 0.9, 0.01, 10.0, 0.1)
    tested = bench.test(best.candidate, best.value, rows)
    some = {} if rows is None else {best: rows}
    result = SearchResult(bench.facts(), [best], best, tests={best: tested}, rows=some)
    text = " ".join(sentences(result))
    assert ("so it is trained on 60 random ones" in text) == bool(rows)
    assert (", on 60 rows" in str(table_of_tests(result).lines)) == bool(rows)
    tuned = tmp_path / "tuned.yaml"
    tuned.write_text(tuned_config(setup, result, "accuracy", [text]))
    about = train(only_trial(load_experiment(tuned))).about_
    assert about["n_train"] == rows or 192
    assert about["scores"]["accuracy"] == tested["score"]


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


def test_gamma_is_one_over_the_number_of_columns_after_z_scores_and_no_offset_changes_it(tmp_path):
    X, y = product(1200)
    found = []
    for offset in (0.0, 100.0):
        setup = setup_of(load_experiment(config(tmp_path, "{name: linear}", X + offset, y)), 0)
        found.append(Direct(**setup.bench(0)).bench.facts().gammas)
    for gammas in found:
        assert gammas["zscore"]["gaussian"] == pytest.approx(1 / 6, rel=0.05)
        assert gammas["own"]["gaussian"] == pytest.approx(1 / (6 / 3), rel=0.05)  # of U(-1, 1)


class Simulated:
    """A clock, and a scorer that takes seconds of it by rows and features, times the load of the machine.

    More rows and more features score better. Only a process can be ended in time.
    """

    def __init__(self, monkeypatch, load, process, n_train=40_000):
        self.now, self.load, self.process, self.n_train, self.longest = 0.0, load, process, n_train, 0.0
        self.asked, self.most, self.ended, self.capped = [], inf, False, True
        monkeypatch.setattr(module, "monotonic", lambda: self.now)

    def training(self, candidate, n):
        return self.load * (n**2 / 2e7 if candidate.exact else n * max(candidate.D, 50) ** 2 / 4e10)

    def ask(self, method, deadline, limit=inf, *, candidate=None, n=0, values=(), value=0.0, rows=None):
        if len(self.asked) == self.most:
            raise KeyboardInterrupt
        self.asked.append((method, candidate, rows if method == "test" else n))
        if self.ended:  # a new process starts
            self.now, self.ended = self.now + self.load, False
        if method == "facts":
            self.now += self.load
            sizes = {"n_train": self.n_train, "n_test": 100 * self.process}
            return vars(replace(FACTS, **sizes, capped=self.capped))
        folds = 1 if n > 30_000 else 3
        seconds = self.load * (0.5 if method == "boosting" else 0.02)
        if method == "score":
            seconds = folds * len(values) * self.training(candidate, 2 * n / 3)
        if method == "test":
            seconds = self.training(candidate, rows or self.n_train) + self.load * bool(rows)  # to read them
        most = min(deadline - self.now, limit) if self.process else inf
        self.now += min(seconds, most)
        if method == "score":
            self.longest = max(self.longest, min(seconds, most))
        if seconds > most:
            self.ended = True
            return None
        score = 0.8 - 2 / (n + 1) ** 0.5
        if candidate and not candidate.exact:
            score -= 10 / max(candidate.D, 50)
        scores = {"score": score, "sd": 0.0, "value": 1.0, "folds": [score] * folds, "seconds": seconds}
        return scores | ({"train": seconds, "predict": 0.1} if method == "test" else {})


@pytest.mark.parametrize("process", [True, False])
@pytest.mark.parametrize("budget", [10.0, 60.0])
@pytest.mark.parametrize("load", [1.0, 4.0])
def test_a_budget_holds_at_any_load_with_the_training_of_the_best(load, budget, process, monkeypatch):
    asked = Simulated(monkeypatch, load, process)
    result = Search(asked, None, budget, 0).run()
    if process:
        assert "score" in result.tests[result.best]
    else:
        asked.now += asked.training(result.best.candidate, result.rows.get(result.best, asked.n_train))
    assert 0.5 * budget < asked.now <= 1.05 * budget
    assert asked.longest <= 0.26 * budget
    if (load, budget, process) == (1.0, 60.0, True):
        assert result.best.candidate.D >= 4096


def test_a_winner_that_takes_longer_than_the_budget_gives_way(monkeypatch):
    """On 900 rows exact methods are the best by far; on all rows they would take 80 s."""
    best = Search(Simulated(monkeypatch, 1.0, False), None, 60.0, 0).run().best
    assert not best.candidate.exact
    assert Search(Simulated(monkeypatch, 1.0, False, 2_000), None, 60.0, 0).run().best.candidate.exact


@pytest.mark.parametrize("process", [True, False])
@pytest.mark.parametrize("capped", [True, False])
def test_on_many_rows_a_large_map_is_trained_on_some_of_them(capped, process, monkeypatch):
    at = Simulated(monkeypatch, 1.0, process, n_train=2_000_000)
    at.capped = capped
    result = Search(at, None, 60.0, 0).run()
    one = result.best
    assert (one.candidate.D >= 1024) == capped
    assert (one.n <= result.rows.get(one, at.n_train) < at.n_train) == capped
    if process:
        tested = [rows for method, _, rows in at.asked if method == "test"]
        assert (result.rows[one] if capped else None) in tested
        assert "score" in result.tests[one]
        assert at.now <= 63


def test_a_map_with_a_hundred_rows_for_each_feature_does_not_go_up():
    one = scored(6_400, 0.9, 1.0, exact=False)
    above = [6_400, 19_200]
    assert next_up([one], above, lambda *_: True) is None
    assert next_up([replace(one, n=6_399)], [6_399, 19_200], lambda *_: True) is not None
    assert next_up([scored(6_400, 0.9, 1.0)], above, lambda *_: True) is not None  # exact


class Answers:
    """A scorer that answers at once, with the scores and the seconds of one value that functions give.

    The clock stands still, so that all times are those that it tells.
    """

    def __init__(self, monkeypatch, score, seconds, **facts):
        self.facts, self.score, self.seconds = replace(FACTS, **facts), score, seconds
        monkeypatch.setattr(module, "monotonic", lambda: 0.0)

    def ask(self, method, deadline, limit=inf, *, candidate=None, n=0, values=(), **question):
        if method == "facts":
            return vars(self.facts)
        if candidate is None:
            return {"score": 0.1}
        n = n or self.facts.n_train
        seconds = self.seconds(candidate, n) * path_time(candidate, len(values))
        if seconds == inf:
            return None
        scores = {"score": self.score(candidate, n), "sd": 0.0, "value": 1.0, "seconds": seconds}
        return scores | {"train": seconds, "predict": 0.1}


BUDGET = 60.0
LEFT = BUDGET - module.CLOSING  # for the training of the best, once all is scored


def one_second(candidate, n):
    """A candidate that takes a second for a value of C or alpha on so many rows."""
    return Scored(candidate, n, 0.5, 0.0, 1.0, 1.0)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_classifier_needs_time_for_its_probabilities_too(task, monkeypatch):
    def seconds(candidate, n):
        trained = module.LONGER * training(one_second(candidate, n), n)
        return 0.9 * LEFT / trained if candidate.map else 1e-6

    def score(candidate, n):
        return 0.9 if candidate.map else 0.5

    answers = Answers(monkeypatch, score, seconds, task=task, n_train=500, n_test=0, rarest=500)
    result = Search(answers, None, BUDGET, 0).run()
    assert any(one.candidate.map for one in result.scored)
    assert bool(result.best.candidate.map) == (task == "regression")


def test_the_time_on_the_most_rows_tells_and_more_rows_need_time_to_spare(monkeypatch):
    """On all rows it takes ten times what fewer rows tell, and there is just the time to train it."""
    time_of_training = LEFT / 1.01 / module.LONGER

    def seconds(candidate, n):
        one = one_second(candidate, 9_000)
        whole = replace(one, seconds=time_of_training / training(one, 9_000))
        return whole.seconds if n == 9_000 else expected(whole, n) / 10

    answers = Answers(monkeypatch, lambda candidate, n: 0.5, seconds, n_train=9_000)
    result = Search(answers, None, BUDGET, 0).run()
    many = next(one for one in result.scored if one.n == 9_000 and one.candidate.exact)
    few = next(one for one in result.scored if one.n == 3_000 and one.candidate == many.candidate)
    assert many not in result.rows  # all rows train it
    assert 3_000 <= result.rows[few] < 9_000


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


def test_a_candidate_that_takes_far_longer_than_told_does_not_cost_the_best(monkeypatch):
    """Where it cannot be ended, the linear model was handed over, since it alone trains in no time."""
    at, told = Simulated(monkeypatch, 1.0, False), Simulated.training
    at.training = lambda candidate, n: told(at, candidate, n) * (20 if candidate.D >= 2048 else 1)
    best = Search(at, None, 60.0, 0).run().best
    assert at.now > 60
    assert best.candidate.D >= 1024


def test_the_best_is_tested_after_a_candidate_that_was_ended(monkeypatch):
    """The start of a new process once took all the time that was kept for the tests."""
    at, told = Simulated(monkeypatch, 1.5, True), Simulated.training
    at.training = lambda candidate, n: told(at, candidate, n) * (9 if candidate.D in (512, 1000) else 1)
    own = {"name": "orf", "n_components": 1000}
    for budget in (12.0, 25.0):
        at.now = 0.0
        result = Search(at, None, budget, 0).run([{"name": "gaussian", "gamma": 0.3}], [own])
        assert "score" in result.tests[result.best]
        assert at.now <= 1.05 * budget


@pytest.mark.parametrize("slow_from", [3.0, 4.0, 5.0, 6.0])
def test_the_start_of_a_new_process_is_kept_for_a_short_search(slow_from, monkeypatch):
    at, told = Simulated(monkeypatch, 1.5, True), Simulated.training

    def training(candidate, n):
        tested = isinstance(n, int)  # a fold has two thirds of the rows
        return told(at, candidate, n) * (99 if at.now > slow_from and not tested else 1)

    at.training = training
    result = Search(at, None, 10.0, 0).run()
    assert "score" in result.tests[result.best]


def test_a_small_map_is_tried_where_there_is_no_time_for_a_larger_one(monkeypatch):
    at, told = Simulated(monkeypatch, 1.0, True), Simulated.training
    at.capped = False
    at.training = lambda candidate, n: told(at, candidate, n) * (5 if candidate.D else 1)
    Search(at, None, 10.0, 0).run()
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
        monkeypatch.setattr(module, "monotonic", lambda: asked[k].now)
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


def test_a_linear_model_is_ahead_only_of_what_has_a_score():
    linear = Scored(Candidate("own", {"name": "linear"}, None, "logistic"), 9_000, 0.8, 0.0, 1.0, 0.1)
    worse, better, lucky = (scored(n, score, 1.0) for n, score in [(9_000, 0.7), (9_000, 0.9), (900, 0.805)])

    def told(*others):
        return sentences(SearchResult(FACTS, [linear, *others], linear))[0]

    assert told(worse).startswith("A LINEAR MODEL IS AHEAD: no kernel method scored better.")
    assert told().startswith("ONLY A LINEAR MODEL HAS A SCORE")
    assert told(replace(worse, reason="no memory")).startswith("ONLY A LINEAR MODEL HAS A SCORE")
    untrained = told(worse, better)
    assert untrained.startswith("A LINEAR MODEL WAS TAKEN: exact, ")
    assert "scored better, 90.00 % on 9,000 rows, but there is no time to train it" in untrained
    assert "80.50 % on 900 rows, by less than its spread over the folds" in told(worse, lucky)
    constant = SearchResult(FACTS, [linear, better], linear, constant=0.8)
    assert not any("NOTHING IS BETTER" in line for line in sentences(constant))


def test_few_rows_take_one_thread_of_blas_and_more_rows_those_that_help(tmp_path, monkeypatch):
    bench = Direct(2, **small(tmp_path).bench(0)).bench

    def threads(n):
        with bench.threads_for(n):
            return threads_now()

    assert threads(None) == threads(5_000) == {1}
    for share, helpful in ((0.0, 1), (inf, 2)):
        monkeypatch.setattr(bench_module, "HELPS", share)
        helpful_threads.cache_clear()
        assert threads(5_001) == {helpful}
    helpful_threads.cache_clear()
    monkeypatch.setattr(Scorer, "facts", lambda self: {"threads": threads_now()})
    assert LocalScorer(bench).ask("facts", inf)["threads"] == {1}


def threads_now():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_a_class_of_one_row_does_not_keep_all_candidates_on_all_rows():
    y = np.repeat([0, 1, 2, 3], [3_000, 30, 3, 1])
    assert rarest_rows(y) == 30
    assert rarest_rows(np.repeat([0, 1], [3_000, 3])) == 3  # each fold needs two classes
