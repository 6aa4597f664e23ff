"""Stacked maps: the parts side by side, scaled, and what they refuse."""

import numpy as np
import pytest

from kfeat.errors import ParameterError, UnsupportedKernelError
from kfeat.kernels import Gaussian, Polynomial, Sum
from kfeat.maps import RandomFourier, Stacked, TensorSketch, maps_for

X = np.random.default_rng(0).random((30, 5)) / 2


def test_features_are_those_of_the_parts_times_the_roots_of_the_weights():
    kernel = Sum([Polynomial(2), Gaussian("median")], [4.0, 1.0])
    parts = [TensorSketch(n_components=10, random_state=1), RandomFourier(n_components=20, random_state=2)]
    Z = Stacked(kernel, parts).fit_transform(X)
    sketch = TensorSketch(Polynomial(2), 10, random_state=1).fit_transform(X)
    waves = RandomFourier(Gaussian("median"), 20, random_state=2).fit_transform(X)
    np.testing.assert_allclose(Z, np.hstack([2 * sketch, waves]), rtol=1e-12)
    assert parts[0].kernel is None


def test_parts_without_a_seed_draw_on_their_own():
    twice = Stacked(Sum([Polynomial(2)] * 2), [TensorSketch(), TensorSketch()], random_state=0)
    Z = twice.fit_transform(X)
    assert not np.array_equal(Z[:, :100], Z[:, 100:])


def test_what_does_not_match_is_refused():
    assert maps_for(Sum([Gaussian()])) == ["nystrom", "stacked"]
    with pytest.raises(ParameterError, match="one map per kernel, got 2 for 1 kernel"):
        Stacked(Sum([Gaussian()])).fit(X)
    with pytest.raises(UnsupportedKernelError, match="TensorSketch cannot approximate Gaussian"):
        Stacked(Sum([Gaussian()]), [TensorSketch()]).fit(X)
    for weights in ([1.0], [1.0, -1.0], [1.0, 0.0]):
        with pytest.raises(ParameterError, match="a weight above 0 for each, got 2 kernels"):
            Sum([Gaussian(), Polynomial()], weights)(X)


def test_parts_with_one_source_of_random_numbers_draw_from_it_in_turn():
    X = np.random.default_rng(0).random((10, 4))
    for source in (np.random.default_rng(0), np.random.RandomState(0)):
        parts = [RandomFourier(n_components=8, random_state=source) for _ in range(2)]
        stacked = Stacked(Sum([Gaussian(1.0), Gaussian(1.0)]), parts).fit(X)
        one, other = (part.frequencies_ for part in stacked.maps_)
        assert not np.allclose(one, other)
