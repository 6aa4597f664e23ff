"""Exact methods that are drawn: the usual ones first, then near the best."""

import numpy as np

from kfeat.own.candidates import maps_of, neighbours
from kfeat.own.draws import draw
from kfeat.own.record import study_of
from tests.own.asking import FACTS


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
