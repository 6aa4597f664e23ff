"""Orthogonal features: uniform rotations, no bias, less variance; SORF's bias as its docstring says."""

import numpy as np
import pytest
from faults import CAUGHT, PASS, largest_z
from scipy.linalg import hadamard
from scipy.stats import chi, kstest
from structured import GAMMA, block_means, correction, differences, fourier_variance, frequencies

from kfeat.kernels import Gaussian
from kfeat.maps import ORF, SORF
from kfeat.maps.orthogonal import random_rotation


@pytest.mark.parametrize(("d", "D"), [(1, 7), (5, 6), (5, 41), (64, 300)])
def test_blocks_are_orthogonal_and_lengths_are_chi(d, D):
    W = ORF(Gaussian(GAMMA), D, random_state=0).fit(np.zeros((2, d))).frequencies_
    assert W.shape == (d, (D + 1) // 2)
    for start in range(0, W.shape[1], d):
        gram = W[:, start : start + d].T @ W[:, start : start + d]
        np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-12 * d)


def test_lengths_are_chi_with_d_degrees_of_freedom():
    W = ORF(Gaussian(GAMMA), 8000, random_state=0).fit(np.zeros((2, 5))).frequencies_
    assert kstest(np.linalg.norm(W, axis=0), chi(5).cdf).pvalue > 0.01


def test_rotations_are_uniform_which_a_bare_qr_decomposition_is_not():
    rng = np.random.default_rng(0)
    fair = np.array([random_rotation(rng, 3, 3) for _ in range(2000)])
    bare = np.array([np.linalg.qr(rng.standard_normal((3, 3)))[0] for _ in range(2000)])
    z = np.abs(fair.mean(axis=0)) * np.sqrt(3 * len(fair))  # each entry has mean 0 and variance 1 / 3
    assert z.max() < PASS
    assert (np.abs(bare.mean(axis=0)) * np.sqrt(3 * len(bare))).max() > CAUGHT


class Scaled(ORF):
    def transform(self, X, out=None):
        return np.sqrt(1.05) * super().transform(X)


class OneLength(ORF):
    def _draw(self, X, rng):
        width = super()._draw(X, rng)
        d = len(self.frequencies_)
        self.frequencies_ *= np.sqrt(d) / np.linalg.norm(self.frequencies_, axis=0)
        return width


class WideBandwidth(ORF):
    def _kernel_for(self, X, rng):
        return Gaussian(1.05 * self.kernel.gamma)


@pytest.mark.slow
@pytest.mark.parametrize("D", [400, 401])
def test_a_correct_map_passes_the_z_test(D):
    assert largest_z(lambda k, seed: ORF(k, D, random_state=seed), kernel=Gaussian(0.5)) < PASS


@pytest.mark.slow
@pytest.mark.parametrize("fault", [Scaled, OneLength, WideBandwidth])
def test_planted_faults_fail_the_z_test(fault):
    assert largest_z(lambda k, seed: fault(k, 400, random_state=seed), kernel=Gaussian(0.5)) > CAUGHT


class Independent(ORF):
    def _draw_frequencies(self, rng, d, n_frequencies):
        self.frequencies_ = self.kernel_.sample_frequencies(rng, (d, n_frequencies))


@pytest.mark.parametrize("cls", [ORF, SORF])
def test_the_variance_is_below_that_of_independent_frequencies_as_the_formula_says(cls):
    V = differences(64, [1.0, 1.5, 2.0])
    ratio = block_means(cls, 64, V, 600).var(axis=0) / fourier_variance(V)
    np.testing.assert_allclose(ratio, 1 - correction(V), rtol=0.2, atol=0.03)


def test_independent_frequencies_fail_the_test_of_the_variance():
    V = differences(64, [1.0, 1.5, 2.0])
    ratio = block_means(Independent, 64, V, 600).var(axis=0) / fourier_variance(V)
    np.testing.assert_allclose(ratio, 1, rtol=0.2)
    assert (ratio > 1.2 * (1 - correction(V)) + 0.03).all()


@pytest.mark.parametrize("lengths", ["constant", "chi"])
@pytest.mark.parametrize(("d", "D"), [(1, 1), (2, 8), (5, 3), (5, 41), (8, 64), (70, 20)])
def test_sorf_multiplies_by_the_matrix_of_the_formula(d, D, lengths):
    fitted = SORF(Gaussian(0.3), D, lengths, random_state=0).fit(np.zeros((2, d)))
    m = fitted.signs_.shape[2]
    H, rows = hadamard(m), []
    for third, second, first, s in zip(*fitted.signs_, fitted.lengths_, strict=True):
        product = H @ np.diag(first) @ H @ np.diag(second) @ H @ np.diag(third)
        rows.extend(np.diag(s / np.sqrt(m)) @ product[: len(s)] * np.sqrt(0.6) / m)
    np.testing.assert_allclose(frequencies(fitted), np.array(rows)[: (D + 1) // 2, :d], atol=1e-12)


@pytest.mark.parametrize(("lengths", "term"), [("constant", 1), ("chi", 0)])
def test_sorf_has_the_bias_of_the_docstring_which_drawn_lengths_remove(lengths, term):
    V = differences(16, [1.0, 1.5, 2.0])
    means = block_means(
        lambda k, D, random_state: SORF(k, D, lengths, random_state=random_state), 16, V, 2000
    )
    a = GAMMA * (V**2).sum(axis=1)
    bias = means.mean(axis=0) - np.exp(-a)
    first_order = -(a**2) * np.exp(-a) / 16
    error = means.std(axis=0) / np.sqrt(len(means))
    assert (np.abs(bias - term * first_order) < PASS * error + 0.1 * np.abs(first_order)).all()
    assert (np.abs(bias - (1 - term) * first_order) > CAUGHT * error).all()


def test_the_draws_are_pinned():
    fitted = SORF(n_components=4, lengths="chi", random_state=0).fit(np.zeros((2, 3)))
    np.testing.assert_array_equal(fitted.signs_[:, 0], [[-1, 1, 1, 1], [1, 1, -1, 1], [-1, 1, 1, 1]])
    np.testing.assert_allclose(fitted.lengths_, [[2.296823, 1.4603822]], rtol=1e-6)
    orf = ORF(n_components=4, random_state=0).fit(np.zeros((2, 2)))
    np.testing.assert_allclose(orf.frequencies_, [[0.2858297, -2.5055531], [1.4559096, 0.4918998]], rtol=1e-6)
