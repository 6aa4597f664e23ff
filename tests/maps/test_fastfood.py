"""Fastfood: the matrix it stands for, its lengths, exact marginals, the kernel's mean and variance."""

import tracemalloc

import numpy as np
import pytest
from faults import CAUGHT, PASS, largest_z
from scipy.linalg import hadamard
from scipy.sparse import csr_array
from scipy.stats import chi, kstest, norm
from structured import GAMMA, block_means, correction, differences, fourier_variance, frequencies

from kfeat.errors import ParameterError, UnsupportedKernelError
from kfeat.kernels import Gaussian, Laplacian, Polynomial
from kfeat.maps import ORF, SORF, Fastfood
from kfeat.maps.hadamard import next_power_of_two

MAPS = pytest.mark.parametrize("cls", [Fastfood, ORF, SORF])


@pytest.mark.parametrize(("d", "D"), [(1, 1), (1, 9), (2, 8), (5, 3), (5, 41), (8, 64), (70, 20)])
def test_it_multiplies_by_the_matrix_of_the_formula(d, D):
    fitted = Fastfood(Gaussian(0.3), D, random_state=0).fit(np.zeros((2, d)))
    m = fitted.signs_.shape[1]
    H, rows = hadamard(m), []
    draws = zip(fitted.signs_, fitted.permutations_, fitted.normals_, fitted.lengths_, strict=True)
    for B, order, G, s in draws:
        product = H @ np.diag(G) @ np.eye(m)[order] @ H @ np.diag(B)
        rows.extend(np.diag(s / np.linalg.norm(G)) @ product[: len(s)] * np.sqrt(0.6 / m))
    n_frequencies = (D + 1) // 2
    np.testing.assert_allclose(frequencies(fitted), np.array(rows)[:n_frequencies, :d], atol=1e-12)


def test_frequencies_have_the_lengths_drawn_which_are_chi_of_the_padded_dimension():
    fitted = Fastfood(Gaussian(GAMMA), 2 * 4096, random_state=0).fit(np.zeros((2, 16)))
    lengths = np.linalg.norm(frequencies(fitted), axis=1)
    np.testing.assert_allclose(lengths, fitted.lengths_.ravel(), rtol=1e-12)
    padded = Fastfood(n_components=2 * 4096, random_state=0).fit(np.zeros((2, 13)))
    assert kstest(padded.lengths_.ravel(), chi(16).cdf).pvalue > 0.01
    assert kstest(padded.lengths_.ravel(), chi(13).cdf).pvalue < 1e-6


@pytest.mark.parametrize("d", [1, 3, 4])
def test_each_frequency_alone_is_gaussian(d):
    """Along a fixed direction: the j-th frequency of each of 4,000 independent blocks."""
    m = next_power_of_two(d)
    fitted = Fastfood(Gaussian(GAMMA), 2 * 4000 * m, random_state=1).fit(np.zeros((2, d)))
    along = frequencies(fitted) @ np.full(d, d**-0.5)
    for j in range(m):
        assert kstest(along[j::m], norm.cdf).pvalue > 0.001
        assert kstest(1.2 * along[j::m], norm.cdf).pvalue < 0.001


@pytest.mark.slow
@pytest.mark.parametrize("D", [400, 401])
def test_a_correct_map_passes_the_z_test(D):
    kernel = Gaussian(0.5)
    assert largest_z(lambda k, seed: Fastfood(k, D, random_state=seed), kernel=kernel) < PASS


class Scaled(Fastfood):
    def transform(self, X, out=None):
        return np.sqrt(1.05) * super().transform(X)


class LengthsOfTheUnpaddedDimension(Fastfood):
    def _draw(self, X, rng):
        width = super()._draw(X, rng)
        self.lengths_ = np.sqrt(rng.chisquare(X.shape[1], self.lengths_.shape))
        return width


class WithoutSines(Fastfood):
    def transform(self, X, out=None):
        return np.sqrt(2) * super().transform(X)[:, : self.n_components // 2]


class WideBandwidth(Fastfood):
    def _kernel_for(self, X, rng):
        return Gaussian(1.05 * self.kernel.gamma)


@pytest.mark.slow
@pytest.mark.parametrize("fault", [Scaled, LengthsOfTheUnpaddedDimension, WithoutSines, WideBandwidth])
def test_planted_faults_fail_the_z_test(fault):
    assert largest_z(lambda k, seed: fault(k, 400, random_state=seed), kernel=Gaussian(0.5)) > CAUGHT


def test_the_variance_is_the_formulas_to_first_order():
    V = differences(64, [1.0, 1.5, 2.0])
    kappa = (V**4).sum(axis=1) / (V**2).sum(axis=1) ** 2
    ratio = block_means(Fastfood, 64, V, 1000).var(axis=0) / fourier_variance(V)
    np.testing.assert_allclose(ratio, 1 + (1 - 2 * kappa) * correction(V), rtol=0.15)


def test_the_draws_are_pinned():
    fitted = Fastfood(n_components=8, random_state=0).fit(np.zeros((2, 3)))
    np.testing.assert_array_equal(fitted.signs_, [[-1, 1, 1, 1]])
    np.testing.assert_array_equal(fitted.permutations_, [[2, 0, 1, 3]])
    np.testing.assert_allclose(fitted.normals_, [[0.6404227, 0.1049001, -0.5356694, 0.3615951]], rtol=1e-6)
    np.testing.assert_allclose(fitted.lengths_, [[2.8215392, 1.3514665, 1.4032583, 0.4613254]], rtol=1e-6)


@MAPS
@pytest.mark.parametrize("d", [1, 3, 40])
@pytest.mark.parametrize("D", [1, 2, 7, 100])
def test_pairs_have_unit_norm_rows_whatever_the_shape(cls, d, D):
    X = np.random.default_rng(0).random((9, d))
    Z = cls(Gaussian(0.5), D, random_state=0).fit_transform(X)
    assert Z.shape == (9, D)
    if D % 2 == 0:
        np.testing.assert_allclose((Z**2).sum(axis=1), 1, rtol=1e-12)


@MAPS
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_the_memory_beyond_the_output_is_that_of_blocks(cls, form):
    X = form(np.random.default_rng(0).random((3000, 784), dtype=np.float32))
    fitted, out = cls(n_components=2000, random_state=0).fit(X), np.empty((3000, 2000), np.float32)
    tracemalloc.start()
    fitted.transform(X, out=out)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * 2**20  # the matrix of the phases alone has 12 MB


@MAPS
@pytest.mark.parametrize("kernel", [Laplacian(0.1), Polynomial(2)])
def test_other_kernels_are_refused(cls, kernel):
    with pytest.raises(UnsupportedKernelError, match=rf"{cls.__name__} cannot .* maps that can: .*nystrom"):
        cls(kernel).fit(np.ones((3, 2)))


@MAPS
def test_a_map_that_does_not_fit_in_memory_is_refused(cls, monkeypatch):
    monkeypatch.setattr("kfeat.memory.USABLE", 1e-6)
    with pytest.raises(ParameterError, match=r"frequencies takes [\d,]+ bytes, .* free: take fewer"):
        cls(n_components=2000).fit(np.ones((3, 1024)))
