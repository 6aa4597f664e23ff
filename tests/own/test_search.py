"""A search finds a planted answer, goes on from what is kept, and keeps its budget."""

import json
from dataclasses import replace
from math import inf
from multiprocessing import active_children
from time import monotonic, sleep

import numpy as np
import pytest

from kfeat.errors import ConfigError
from kfeat.experiments.config import load_experiment
from kfeat.own import search as module
from kfeat.own.bench import ScorerProcess
from kfeat.own.candidates import Candidate, Facts, Proposals, maps_of, neighbours
from kfeat.own.search import Scored, ScoreLog, Search, SearchResult, grown, next_up, rungs, winner
from kfeat.own.training import setup_of
from kfeat.render.tuning import ended, sentences
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
    journal = ScoreLog(folder / f"{setup.identity}.jsonl")
    return Search(asked, journal, budget, 0).run(setup.kernels, setup.maps)


def found(path, folder, most, patch):
    patch.setattr(module, "MOST", most)
    setup = setup_of(load_experiment(path), 0)
    asked = Direct(**setup.bench(0, {}))
    return searched(setup, asked, folder), asked


@pytest.mark.slow
def test_a_much_smaller_bandwidth_is_found(tmp_path, monkeypatch):
    path = config(tmp_path, "{name: gaussian, gamma: median}", *stripes())
    one, _ = found(path, tmp_path / "tune", 24, monkeypatch)
    assert one.best.score > one.before.score + 0.25  # 0.5 is chance
    assert one.tests[one.best]["score"] > 0.85
    assert one.best.candidate.kernel["gamma"] > 10 * one.facts.gammas[one.best.candidate.scale]["gaussian"]


@pytest.mark.slow
def test_a_degree_of_two_is_found(tmp_path, monkeypatch):
    path = config(tmp_path, "{name: linear}", *product())
    one, _ = found(path, tmp_path / "tune", 12, monkeypatch)
    assert one.best.score > one.before.score + 0.25
    assert one.exact.score > 0.85
    assert one.tests[one.quickest]["predict"] <= one.tests[one.best]["predict"]


def test_a_regression_is_tuned_too(tmp_path, monkeypatch):
    X, _ = product()
    y = X[:, 0] * X[:, 1] + 0.01 * np.random.default_rng(1).standard_normal(240)
    path = config(tmp_path, "{name: linear}", X, y, "{name: ridge}")
    one, _ = found(path, tmp_path / "tune", 12, monkeypatch)
    assert one.before.score < 0.2 < 0.9 < one.best.score  # R^2
    assert one.tests[one.best]["score"] > 0.9
    assert one.exact.score > 0.9


def test_a_second_call_goes_on_and_a_torn_line_does_not_matter(tmp_path, monkeypatch):
    path, folder = config(tmp_path, "{name: linear}", *product(120)), tmp_path / "tune"
    first, asked = found(path, folder, 1, monkeypatch)
    assert (
        asked.questions.count("score") == 6
    )  # linear, a reflex, the advised, its own, two maps of the reflex
    (kept,) = folder.iterdir()
    with kept.open("ab") as file:
        file.write(b'{"key": "cut')
    second, asked = found(path, folder, 2, monkeypatch)
    assert 0 < asked.questions.count("score") < 6
    assert second.n_kept >= len(first.scored)
    assert {one.candidate.key for one in first.scored} < {one.candidate.key for one in second.scored}
    _, asked = found(path, folder, 2, monkeypatch)
    keys = [json.loads(line)["key"] for line in kept.read_text().splitlines() if line.endswith("}")]
    assert len(keys) == len(set(keys))  # nothing is asked twice


def test_other_data_are_another_search(tmp_path):
    larger = load_experiment(config(tmp_path, "{name: linear}", *product(130)))
    others = {setup_of(larger, seed).identity for seed in (0, 1)}
    assert len(others | {small(tmp_path).identity}) == 3


class Answering(Direct):
    """Has another answer than the bench to the first questions of a kind."""

    def __init__(self, kind, answer, times=1, **bench):
        super().__init__(**bench)
        self.kind, self.answer, self.times = kind, answer, times

    def ask(self, method, deadline, limit=inf, **question):
        if method == self.kind and self.questions.count(method) < self.times:
            self.questions.append(method)
            return self.answer
        return super().ask(method, deadline, limit, **question)


def test_who_took_too_long_is_tried_again_with_a_longer_budget(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MOST", 1)
    setup = small(tmp_path)
    bench, failed, first = setup.bench(0, {}), [], ""
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
    bench = setup.bench(0, {})
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
        bench = Direct(**setup.bench(0, {})).bench
        given = {"candidate": candidate, "n": 240, "values": [0.001]}
        assert (bench.score(**given)["score"] > 0.93) == all_of_one_class
    path = config(tmp_path, "{name: linear}", X, y, "{name: liblinear, solver_type: 11, bias: 1.0}")
    path.write_text(path.read_text().replace("npz}", "npz, task: regression}"))
    regression = setup_of(load_experiment(path), 0)
    assert regression.identity != plain.identity
    assert regression.options == {}  # ridge regression, which a search trains, has neither


def test_without_time_there_is_a_linear_model_and_candidates_that_all_fail_are_told(tmp_path, monkeypatch):
    setup = small(tmp_path)
    asked = Direct(**setup.bench(0, {}))
    hurried = searched(setup, asked, tmp_path / "tune", 1e-6)
    assert hurried.linear.score > 0
    assert asked.questions.count("score") == 2  # the linear model, and the config's own
    monkeypatch.setattr(module, "MOST", 1)
    failing = Answering("score", {"failed": "one class only"}, 99, **setup.bench(0, {}))
    with pytest.raises(ConfigError, match=r"^no candidate could be scored: one class only$"):
        searched(setup, failing, tmp_path / "other")


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("protocol.split=all", "the test rows would choose the method"),
        ("dataset=[digits, adult]", r"one dataset .* got 2"),
    ],
)
def test_rows_that_cannot_choose_a_method_are_refused(tmp_path, override, message):
    path = config(tmp_path, "{name: linear}", *product(120))
    with pytest.raises(ConfigError, match=message):
        setup_of(load_experiment(path, [override]), 0)


def test_a_process_answers_fails_and_is_ended_at_a_deadline(tmp_path):
    setup = small(tmp_path)
    assistant = ScorerProcess(1, **setup.bench(0, {}))
    try:
        facts = assistant.ask("facts", monotonic() + 100)
        assert facts["n_train"] == 96
        wrong = Candidate("own", {"name": "linear"}, {"name": "orf"}, "squared_hinge")
        answer = assistant.ask("score", monotonic() + 100, candidate=wrong, n=90, values=[1.0])
        assert "orf" in answer["failed"].lower()
        for child in active_children():
            child.kill()  # as the system does where memory runs out
        assert "memory ran out" in assistant.ask("facts", monotonic() + 100)["failed"]
        assert assistant.ask("facts", monotonic() + 100) == facts
        slow = Candidate("own", {"name": "linear"}, {"name": "nystrom", "n_components": 90}, "logistic")
        began = monotonic()
        values = [2.0**k for k in range(1000)]
        assert assistant.ask("score", began + 0.002, candidate=slow, n=96, values=values) is None
        assert monotonic() - began < 10
    finally:
        assistant.end()


FACTS = Facts(
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
    done = []
    order = []
    while (up := next_up([*exact, *maps, *done], [100, 300], lambda one, n, best: True)) is not None:
        order.append((up[0].exact, up[0].kernel["gamma"]))
        done.append(replace(up[2], n=300))
    assert order == [(True, 4.0), (True, 3.0), (False, 3.0)]  # two of four exact methods, one of three maps
    assert next_up([*exact, *maps], [100, 300], lambda one, n, best: False) is None
    slow = next_up([*exact, *maps, *done[:1]], [100, 300], lambda one, n, best: best)
    assert slow is not None  # of what takes long only the best of each kind: the second exact one stays
    assert (slow[0].exact, slow[0].kernel["gamma"]) == (False, 3.0)


def test_the_winner_is_the_best_on_the_most_rows_or_on_a_third_of_them():
    many, third, few = scored(900, 0.8, 1.0), scored(300, 0.85, 2.0), scored(100, 0.9, 3.0)
    assert winner([few, many, replace(many, seconds=9.0)]) == many
    assert winner([few, third, many]) == third
    assert winner([replace(many, reason="no")]) is None


def test_reflexes_come_first_on_each_scaling_then_on_the_best_and_every_step_is_a_neighbour():
    proposals, first = Proposals(FACTS, 0), []
    for score in (0.7, 0.8, 0.1, 0.1, 0.1, 0.1):
        trial, candidate = proposals.ask()
        first.append(candidate)
        proposals.tell(trial, score)
    assert [one.scale for one in first] == ["own", "zscore"] + 4 * ["zscore"]
    assert first[1].kernel == {"name": "gaussian", "gamma": 0.05}  # 1 / d
    assert [one.kernel["gamma"] for one in first[2:5]] == [0.2, 0.0125, 0.8]
    assert first[5].kernel["degree"] == 3
    assert all(one.exact for one in first)
    del first[0]
    (orf, nystrom) = maps_of(first[0], FACTS, 30_000)
    assert (orf.size, nystrom.size) == (1024, 1024)
    assert maps_of(first[0], FACTS, 300)[0].size == 100
    steps = list(neighbours(orf, FACTS))
    assert [one.size for one in steps] == [4096, 2048, 1024, 1024, 1024]
    assert [one.kernel["gamma"] for one in steps[2:4]] == [0.1, 0.025]
    assert steps[4].loss == "logistic"


def test_draws_are_the_same_for_a_seed_and_learn_from_scores():
    """Of 60 draws those after the first 20 are nearer to a planted bandwidth."""

    def distances(seed):
        proposals, found = Proposals(FACTS, seed), []
        for _ in range(60):
            trial, one = proposals.ask()
            gamma = one.kernel["gamma"] / FACTS.gammas[one.scale][one.kernel["name"]]
            found.append(abs(np.log10(gamma / 30)) if one.kernel["name"] == "gaussian" else 3.0)
            proposals.tell(trial, -found[-1])
        return found

    one = distances(3)
    assert one == distances(3)
    assert np.median(one[30:]) < 0.5 < np.median(one[:20])


def test_the_quickest_is_near_the_best_on_its_rows_whatever_its_kind():
    best, near, far, few = (
        scored(*one) for one in ((300, 0.900, 1.0), (300, 0.896, 2.0), (300, 0.89, 3.0), (100, 0.9, 4.0))
    )
    seconds = {best: 4.0, near: 3.0, far: 2.0, few: 1.0}
    tests = {one: {"score": 0.9, "train": 1.0, "predict": seconds[one]} for one in seconds}
    found = SearchResult(FACTS, [best, near, far, few], best, tests=tests)
    assert found.quickest == near


def test_an_exact_method_takes_ten_times_as_long_on_three_times_the_rows():
    assert grown(scored(100, 0.9, 1.0), 300) == pytest.approx(10.0)
    assert grown(scored(100, 0.9, 1.0, exact=False), 900) == pytest.approx(3.5**2)
    assert grown(scored(300, 0.9, 1.0), 100) == 1.0


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
    monkeypatch.setattr(module, "MOST", 80)
    asked = []
    for gain in (0.0, 1e-3):
        asker = Scripted(gain)
        Search(asker, ScoreLog(None), 1000.0, 0).run()
        asked.append(asker.asked)
    assert asked[0] < 4 * module.STALE < 80 <= asked[1]


def test_gamma_is_one_over_the_number_of_columns_after_z_scores_and_no_offset_changes_it(tmp_path):
    X, y = product(1200)
    found = []
    for offset in (0.0, 100.0):
        setup = setup_of(load_experiment(config(tmp_path, "{name: linear}", X + offset, y)), 0)
        found.append(Direct(**setup.bench(0, {})).bench.facts().gammas)
    for gammas in found:
        assert gammas["zscore"]["gaussian"] == pytest.approx(1 / 6, rel=0.05)
        assert gammas["own"]["gaussian"] == pytest.approx(1 / (6 / 3), rel=0.05)  # of U(-1, 1)


def test_the_best_that_has_no_time_gives_way_to_the_next():
    """On a tenth of the rows a slow candidate was the best, and none went up a rung."""
    found = [scored(100, 0.5 + i / 100, 1.0 + i) for i in range(4)]
    step = next_up(found, [100, 300], lambda one, n, best: best and one.candidate.kernel["gamma"] < 4)
    assert step[0].kernel["gamma"] == 3.0


class Slow(Scripted):
    """The first candidate is the best by far, and one value of its C takes a third of `seconds`."""

    def __init__(self, seconds):
        super().__init__(0.0)
        self.seconds = seconds

    def ask(self, method, deadline, limit=inf, **question):
        answer = super().ask(method, deadline, limit, **question)
        if method == "score" and self.asked == 1:
            return answer | {"score": 0.9, "seconds": self.seconds}
        return answer


@pytest.mark.parametrize(("seconds", "score"), [(1800.0, 0.9), (6000.0, 0.5)])
def test_a_winner_that_takes_long_stays_where_no_quick_one_is_near_unless_it_takes_the_whole_budget(
    seconds, score
):
    assert Search(Slow(seconds), ScoreLog(None), 1000.0, 0).run().best.score == score


class Restarting(Scripted):
    """Ended the last candidate, so that a new process starts with the next question."""

    ended = True

    def ask(self, method, deadline, limit=inf, **question):
        if method in ("facts", "score"):
            sleep(0.02)
            found = super().ask(method, deadline, limit, **question)
            return found | {"n_test": 5} if method == "facts" else found
        sleep(0.5 * self.ended)
        self.ended = False
        return {"score": 0.7, "train": 0.1, "predict": 0.1} if monotonic() < deadline else None


def test_the_start_of_a_new_process_leaves_the_time_to_train_the_best():
    found = Search(Restarting(1e-3), ScoreLog(None), 0.4, 0).run()
    assert found.tests[found.best]["score"] == 0.7
