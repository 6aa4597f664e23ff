"""Generated data: the same numbers for the same specification, and labels that mean what they say."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import PolynomialFeatures

from kfeat.data.generators import Dense, Normal, Quadric, UnitBall, generate, generator_fingerprint

SPECS = [
    UnitBall(name="unit_ball", n=400, d=5),
    Dense(name="dense", n=400, d=5),
    Normal(name="normal", n=400, d=5),
    Quadric(name="quadric", n=400, d=5),
]


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_the_same_specification_gives_the_same_numbers(spec):
    a, b = generate(spec).parts["train"], generate(spec).parts["train"]
    assert np.array_equal(a.X, b.X)
    assert np.array_equal(a.y, b.y)
    other = generate(spec.model_copy(update={"seed": 1})).parts["train"]
    assert not np.array_equal(a.X, other.X)
    others = [spec.model_copy(update=change) for change in ({}, {"seed": 1}, {"n": 401}, {"d": 6})]
    assert len({generator_fingerprint(one) for one in others}) == 4


def test_fingerprints_of_published_data_stay():
    assert generator_fingerprint(Dense(name="dense", n=10000, d=500)).startswith("c7b0df2f224e9f2e")


@pytest.mark.parametrize("spec", SPECS[:3], ids=lambda spec: spec.name)
def test_a_linear_machine_learns_linear_labels(spec):
    part = generate(spec).parts["train"]
    assert LogisticRegression(C=1e6, max_iter=1000).fit(part.X, part.y).score(part.X, part.y) > 0.98


def test_a_quadric_needs_degree_two():
    part = generate(Quadric(name="quadric", n=4000, d=5, noise=0.0)).parts["train"]
    machine = LogisticRegression(C=1e6, max_iter=1000)
    squares = PolynomialFeatures(2).fit_transform(part.X)
    assert machine.fit(part.X, part.y).score(part.X, part.y) < 0.6
    assert machine.fit(squares, part.y).score(squares, part.y) > 0.98


def test_a_share_of_the_labels_of_a_quadric_is_wrong():
    true, noisy = (
        generate(Quadric(name="quadric", n=4000, d=5, noise=noise)).parts["train"] for noise in (0.0, 0.1)
    )
    assert np.array_equal(true.X, noisy.X)
    assert abs(np.mean(true.y != noisy.y) - 0.1) < 4 * np.sqrt(0.09 / 4000)
