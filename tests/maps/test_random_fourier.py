"""Random Fourier features: unbiased, with the exact variance, and pairs with an exact diagonal."""

import numpy as np
import pytest

from kfeat.errors import KernelError
from kfeat.kernels import Gaussian, Laplacian, Linear
from kfeat.maps import RandomFourier
from kfeat.maps.random_fourier import write_waves

X = np.random.default_rng(0).standard_normal((8, 3)) / 2


@pytest.mark.parametrize("kernel", [Gaussian(0.7), Laplacian(0.4)], ids=["gaussian", "laplacian"])
@pytest.mark.parametrize(("features", "D"), [("pairs", 2), ("pairs", 3), ("offset", 2)])
def test_the_mean_and_variance_over_draws_are_the_theorys(kernel, features, D):
    """One frequency w: Var cos<w, t> = (1 + k(2t)) / 2 - k(t)^2 for a pair, and 1/2 more with an offset."""
    grams = []
    for seed in range(4000):
        Z = RandomFourier(kernel, D, features=features, random_state=seed).fit_transform(X)
        grams.append(Z @ Z.T)
    K = kernel(X)
    error = (np.mean(grams, axis=0) - K) / (np.std(grams, axis=0) / np.sqrt(len(grams))).clip(1e-12)
    i, j = np.triu_indices(len(X), k=1)
    assert np.abs(error[i, j]).max() < 4.5  # 28 pairs: false alarm 2e-4
    pair = (1 + kernel(2 * X)) / 2 - K**2
    n_pairs = D // 2 if features == "pairs" else 0
    variance = (4 * n_pairs * pair + (D - 2 * n_pairs) * (pair + 0.5)) / D**2
    np.testing.assert_allclose(np.var(grams, axis=0)[i, j], variance[i, j], rtol=0.12)


def test_pairs_have_unit_norm_rows():
    Z = RandomFourier(Laplacian(0.4), 40, random_state=0).fit_transform(X)
    np.testing.assert_allclose((Z**2).sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize(("dtype", "eps"), [(np.float32, 2**-23), (np.float64, 2**-52)])
def test_waves_are_cosines_and_sines_to_a_few_eps(dtype, eps):
    turns = np.concatenate([np.linspace(-40, 40, 100_001), np.arange(-50, 50) * np.pi / 2])
    phases = turns.astype(dtype)[None]
    exact = np.cos(phases.astype(np.longdouble)), np.sin(phases.astype(np.longdouble))
    out = np.empty((2, *phases.shape), dtype)
    write_waves(phases.copy(), dtype(1), out[0], out[1])
    assert np.abs(out - np.array(exact)).max() <= 4 * eps


def test_a_fault_of_five_per_cent_in_the_frequencies_is_seen():
    wrong = Gaussian(0.7 * 1.05)
    grams = []
    for seed in range(300):
        Z = RandomFourier(wrong, 400, random_state=seed).fit_transform(X)
        grams.append(Z @ Z.T)
    i, j = np.triu_indices(len(X), k=1)
    z = (np.mean(grams, axis=0) - Gaussian(0.7)(X))[i, j] / (np.std(grams, axis=0)[i, j] / np.sqrt(300))
    assert np.abs(z).max() > 4.5 + 2.33


def test_kernels_without_a_spectrum_are_refused():
    with pytest.raises(KernelError, match=r"maps that can: nystrom, random_maclaurin, tensor_sketch$"):
        RandomFourier(Linear()).fit(X)
