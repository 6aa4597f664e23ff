"""Random Fourier features: unbiased, with the exact variance, and pairs with an exact diagonal."""

import numpy as np
import pytest
from faults import CAUGHT, PASS, largest_z

from kfeat.errors import UnsupportedKernelError
from kfeat.kernels import Gaussian, Laplacian, Linear
from kfeat.maps import RandomFourier
from kfeat.maps.random_fourier import write_waves

X = np.random.default_rng(0).standard_normal((8, 3)) / 2


KERNELS = pytest.mark.parametrize("kernel", [Gaussian(0.5), Laplacian(0.4)], ids=["gaussian", "laplacian"])


def make(kernel, seed, features="pairs", D=400):
    return RandomFourier(kernel, D, features=features, random_state=seed)


@pytest.mark.slow
@KERNELS
@pytest.mark.parametrize(("features", "D"), [("pairs", 400), ("pairs", 401), ("offset", 400)])
def test_a_correct_map_passes_the_z_test(kernel, features, D):
    assert largest_z(lambda kernel, seed: make(kernel, seed, features, D), kernel=kernel) < PASS


def scaled(Z):
    return np.sqrt(1.05) * Z


def without_sines(Z):
    return np.sqrt(2) * Z[:, : Z.shape[1] // 2]


@pytest.mark.slow
@KERNELS
@pytest.mark.parametrize("fault", [np.zeros_like, scaled, without_sines])
def test_planted_faults_fail_the_z_test(kernel, fault):
    class Faulty(RandomFourier):
        def transform(self, X, out=None):
            return fault(super().transform(X))

    assert largest_z(lambda kernel, seed: Faulty(kernel, 400, random_state=seed), kernel=kernel) > CAUGHT


@pytest.mark.slow
@KERNELS
def test_a_bandwidth_that_is_five_per_cent_off_fails_the_z_test(kernel):
    def wide(kernel, seed):
        return make(type(kernel)(1.05 * kernel.gamma), seed)

    assert largest_z(wide, kernel=kernel) > CAUGHT


@KERNELS
@pytest.mark.parametrize(("features", "D"), [("pairs", 2), ("pairs", 3), ("offset", 2)])
def test_the_variance_over_draws_is_the_theorys(kernel, features, D):
    """One frequency w: Var cos<w, t> = (1 + k(2t)) / 2 - k(t)^2 for a pair, and 1/2 more with an offset."""
    grams = []
    for seed in range(2000):
        Z = make(kernel, seed, features, D).fit(X).transform(X)
        grams.append(Z @ Z.T)
    i, j = np.triu_indices(len(X), k=1)
    pair = (1 + kernel(2 * X)) / 2 - kernel(X) ** 2
    n_pairs = D // 2 if features == "pairs" else 0
    variance = (4 * n_pairs * pair + (D - 2 * n_pairs) * (pair + 0.5)) / D**2
    np.testing.assert_allclose(np.var(grams, axis=0)[i, j], variance[i, j], rtol=0.15)


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


def test_kernels_without_a_spectrum_are_refused():
    with pytest.raises(
        UnsupportedKernelError, match=r"maps that can: .*nystrom, random_maclaurin, .*tensor_sketch"
    ):
        RandomFourier(Linear()).fit(X)
