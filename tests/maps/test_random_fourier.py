"""Random Fourier features: unbiased, with the exact variance, and pairs with an exact diagonal."""

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import chi2

from kfeat.errors import DataError, ParameterError
from kfeat.kernels import Gaussian, Matern
from kfeat.maps import ORF, SORF, RandomFourier
from kfeat.maps.random_fourier import write_waves
from kfeat.maps.sequences import leaped_halton

X = np.random.default_rng(0).standard_normal((8, 3)) / 2


@pytest.mark.parametrize(("dtype", "eps"), [(np.float32, 2**-23), (np.float64, 2**-52)])
@pytest.mark.parametrize("vector_tangent", [True, False])
def test_waves_are_cosines_and_sines_to_a_few_eps(vector_tangent, dtype, eps, monkeypatch):
    monkeypatch.setattr("kfeat.maps.random_fourier.tangent_is_vector_code", lambda: vector_tangent)
    turns = np.concatenate([np.linspace(-40, 40, 100_001), np.arange(-50, 50) * np.pi / 2])
    phases = turns.astype(dtype)[None]
    exact = np.cos(phases.astype(np.longdouble)), np.sin(phases.astype(np.longdouble))
    out = np.empty((2, *phases.shape), dtype)
    write_waves(phases.copy(), np.ones(phases.shape[1], dtype), out[0], out[1])
    assert np.abs(out - np.array(exact)).max() <= 4 * eps
    n_sines = phases.shape[1] // 2
    for scales in (np.full(phases.shape[1], 0.5, dtype), np.array([0.5], dtype)):
        sines = np.empty((1, n_sines), dtype)
        write_waves(phases.copy(), scales, out[0], sines)
        assert np.abs(out[0] - exact[0] / 2).max() <= 2 * eps
        assert np.abs(sines - exact[1][:, :n_sines] / 2).max() <= 2 * eps


def test_halton_frequencies_are_normal_quantiles_of_the_published_points():
    U = leaped_halton(21, 4)
    pairs = RandomFourier(Gaussian(2.0), 40, sequence="halton").fit(X)
    np.testing.assert_allclose(pairs.frequencies_, 2 * ndtri(U[:20, :3]).T, rtol=1e-14)
    assert pairs.offsets_.size == 0
    odd = RandomFourier(Gaussian(2.0), 41, sequence="halton", random_state=7).fit(X)
    np.testing.assert_allclose(odd.frequencies_, 2 * ndtri(U[:, :3]).T, rtol=1e-14)
    np.testing.assert_allclose(odd.offsets_, 2 * np.pi * U[20:, 3], rtol=1e-14)
    offset = RandomFourier(Matern(0.5, nu=2), 21, features="offset", sequence="halton").fit(X)
    U = leaped_halton(21, 5)
    t = ndtri(U[:, :3]) / np.sqrt(chi2.ppf(U[:, 3:4], 4) / 4)  # a t with four degrees of freedom
    np.testing.assert_allclose(offset.frequencies_, t.T, rtol=1e-12)
    np.testing.assert_allclose(offset.offsets_, 2 * np.pi * U[:, 4], rtol=1e-14)


def test_sequences_that_are_not_known_are_refused():
    with pytest.raises(ParameterError, match=r"sequence: expected 'mc', 'halton'.*'Sobol'.*mean 'sobol'"):
        RandomFourier(sequence="Sobol").fit(X)
    with pytest.raises(ParameterError, match="RandomFourier: scrambling"):
        RandomFourier(scrambling="none").fit(X)


@pytest.mark.parametrize("cls", [RandomFourier, ORF, SORF])
def test_entries_whose_squares_overflow_are_refused(cls):
    X = np.full((3, 2), 1e200)
    with pytest.raises(DataError, match="scale them down"):
        cls(Gaussian(), n_components=8, random_state=0).fit(X).transform(X)
