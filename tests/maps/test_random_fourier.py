"""Random Fourier features: unbiased, with the exact variance; and point sets against slow oracles."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import chi2

from kfeat.errors import DataError, ParameterError
from kfeat.kernels import Gaussian, Matern
from kfeat.maps import ORF, SORF, RandomFourier
from kfeat.maps.random_fourier import write_waves
from kfeat.maps.sequences import leaped_halton, points, weight

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


RANDOM = {"halton": "random", "sobol": "published", "lattice": "published", "digital_net": "published"}


def draw(sequence, n, d, seed=0):
    return points(sequence, n, d, np.random.default_rng(seed), RANDOM[sequence])


def test_the_published_halton_is_that_of_matlab_and_stk():
    """MathWorks' page on haltonset (skip 1,000, leap 100, RR2), and STK's own test of coordinate 7."""
    printed = [[0.0928, 0.6950, 0.0029], [0.6958, 0.2958, 0.8269], [0.3013, 0.6497, 0.4141]]
    printed += [[0.9087, 0.7883, 0.2166]]
    np.testing.assert_allclose(leaped_halton(4, 3, skip=1000, stride=101), printed, atol=5e-5)
    later = leaped_halton(10, 3, skip=1000, stride=101)[[6, 9]]
    np.testing.assert_allclose(later, [[0.3843, 0.9840, 0.9878], [0.6831, 0.7357, 0.7923]], atol=5e-5)
    seventh = leaped_halton(3, 7, skip=1997, stride=1)[:, 6]
    np.testing.assert_allclose(seventh, [0.849786281294525, 0.085080398941584, 0.555668634235701], rtol=1e-13)


def test_coordinate_126_of_the_published_halton_is_all_but_constant_and_a_warning_says_so():
    U = leaped_halton(500, 126)
    assert np.ptp(U[:, 125]) < 1 / 701
    assert np.ptp(U[:, :125], axis=0).min() > 0.5
    rng = np.random.default_rng(0)
    with pytest.warns(UserWarning, match="constant in coordinate 126.*use scrambling='random'"):
        points("halton", 4, 126, rng, "published")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        points("halton", 4, 125, rng, "published")
        points("halton", 4, 126, rng, "random")


@pytest.mark.parametrize("sequence", RANDOM)
@pytest.mark.parametrize(("n", "d"), [(1, 1), (2, 3), (3, 1), (64, 5), (100, 21), (33, 70)])
def test_points_are_inside_the_cube_and_each_coordinate_is_even(sequence, n, d):
    U = draw(sequence, n, d)
    assert U.shape == (n, d)
    assert U.dtype == np.float64
    assert ((U > 0) & (U < 1)).all()
    # The star discrepancy of a coordinate: at most a few points in excess, where random ones have sqrt(n).
    excess = np.arange(1, n + 1)[:, None] - n * np.sort(U, axis=0)
    assert np.abs(excess).max() < 10
    np.testing.assert_array_equal(U, draw(sequence, n, d))
    assert not np.array_equal(U, draw(sequence, n, d, seed=1))


def test_sobol_beyond_scipys_table_is_refused():
    with pytest.raises(
        ParameterError, match=r"'sobol' has at most 21,201 coordinates.*21,202: use 'lattice'"
    ):
        draw("sobol", 2, 21_202)


def test_the_lattice_is_built_component_by_component():
    """Each element minimises mean_i prod_k (1 + gamma kernel[i, z_k]) over all, given those before it."""
    modulus, d = 31, 5
    z = np.round(modulus * np.diff(draw("lattice", 31, d)[:2], axis=0)[0]).astype(int) % modulus
    t = np.outer(np.arange(modulus), np.arange(modulus)) % modulus / modulus
    kernel = t * t - t + 1 / 6
    kernel[:, modulus - 1] = 9  # the same as the first coordinate, but for its sign

    def merit(vector):
        return np.prod(1 + weight(d + 1) * kernel[:, vector], axis=1).mean()

    chosen = [1, *z]
    for k in range(1, d + 2):
        best = min(merit([*chosen[: k - 1], z]) for z in range(1 + (k > 1), modulus))
        assert merit(chosen[:k]) == pytest.approx(best, rel=1e-13)


@pytest.mark.parametrize("m", [1, 2, 5, 10])
def test_a_whole_digital_net_has_one_point_in_each_interval_and_is_a_group(m):
    U = draw("digital_net", 2**m, 7)
    cells = np.floor(U * 2**m).astype(int)
    for column in cells.T:
        assert sorted(column) == list(range(2**m))
    net = cells ^ cells[0]
    for i, j in pairwise(range(0, 2**m, max(1, 2**m // 32))):
        np.testing.assert_array_equal(net[i] ^ net[j], net[i ^ j])
    np.testing.assert_array_equal(U[: 2**m // 2], draw("digital_net", 2**m - 1, 7)[: 2**m // 2])
