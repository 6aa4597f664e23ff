"""Dependent frequencies: their matrices, lengths and marginals, no bias but SORF's, and their variances."""

import numpy as np
import pytest
from scipy.linalg import hadamard
from scipy.stats import chi, kstest, norm

from kfeat.kernels import Gaussian
from kfeat.maps import ORF, SORF, Fastfood, RandomFourier
from kfeat.maps.orthogonal import random_rotation
from kfeat.maps.tensor_srht import next_power_of_two, walsh_hadamard

# Bounds of the largest |z| of nine entries. A uniform rotation is below the first with probability 0.9994.
# What is beyond the second on average is above the first with probability 0.99.
PASS, CAUGHT = 4.0, 6.33
GAMMA = 0.5  # so that a single frequency is N(0, I)


def frequencies(fitted):
    """Return the matrix by which the map multiplies, one frequency in each row.

    Features tell the phases only up to whole turns, and the last one of an odd D only up to its sign.
    """
    return fitted._phases(np.dtype(float))(np.eye(fitted.n_features_in_)).T


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


@pytest.mark.parametrize(("d", "D"), [(1, 1), (2, 8), (5, 3), (5, 41), (8, 64), (70, 20)])
def test_sorf_multiplies_by_the_matrix_of_the_formula(d, D):
    fitted = SORF(Gaussian(0.3), D, random_state=0).fit(np.zeros((2, d)))
    _, n_blocks, m = fitted.signs_.shape
    width = -(-((D + 1) // 2) // n_blocks)
    H, rows = hadamard(m), []
    for third, second, first in zip(*fitted.signs_, strict=True):
        product = H @ np.diag(first) @ H @ np.diag(second) @ H @ np.diag(third)
        rows.extend(product[:width] * np.sqrt(0.6) / m)
    np.testing.assert_allclose(frequencies(fitted), np.array(rows)[: (D + 1) // 2, :d], atol=1e-12)


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


@pytest.mark.parametrize("cls", [Fastfood, ORF, SORF, RandomFourier])
@pytest.mark.parametrize("d", [1, 3, 40])
@pytest.mark.parametrize("D", [1, 2, 7, 100])
def test_pairs_have_unit_norm_rows_whatever_the_shape(cls, d, D):
    X = np.random.default_rng(0).random((9, d))
    Z = cls(Gaussian(0.5), D, random_state=0).fit_transform(X)
    assert Z.shape == (9, D)
    if D % 2 == 0:
        np.testing.assert_allclose((Z**2).sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("m", [1, 2, 4, 8, 64, 512])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_transform_is_the_product_with_the_hadamard_matrix(m, dtype):
    X = np.random.default_rng(0).integers(-3, 4, (5, m)).astype(dtype)
    transformed = walsh_hadamard(X)
    assert transformed.dtype == dtype
    np.testing.assert_array_equal(transformed, X @ hadamard(m))
    np.testing.assert_array_equal(walsh_hadamard(transformed), m * X)
