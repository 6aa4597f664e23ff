"""The uniform bound holds of random Fourier features, not of those with a wrong or a misprinted density."""

import numpy as np
import pytest
from scipy.integrate import quad

from kfeat.errors import ParameterError
from kfeat.experiments.measures.failure_rate import REACH, FailureRate, printed_frequencies
from kfeat.kernels import Gaussian, Laplacian
from kfeat.maps import Nystrom, RandomFourier
from tests.experiments.rows import measured

X = np.random.default_rng(0).random((60, 3)) - 0.5


def of(kernel, cls=RandomFourier, D=256, **parameters):
    measure = FailureRate(n_draws=20, **parameters)
    return measured(measure, cls(kernel, n_components=D, random_state=0), X)


@pytest.mark.parametrize("kernel", [Gaussian(gamma=2.0), Laplacian(gamma=0.5)], ids=str)
def test_the_bound_holds_and_its_factor_matters(kernel):
    assert of(kernel)["failure_rate"] == 0
    assert of(kernel, factor=0.2)["failure_rate"] == 1
    features = (RandomFourier(kernel, 64, random_state=[0, i]).fit_transform(X) for i in range(20))
    errors = [np.abs(Z @ Z.T - kernel(X)).max() for Z in features]
    found = of(kernel, D=64)["largest_error"]
    assert found == pytest.approx(np.mean(errors))
    assert 3 < found / of(kernel, D=1024)["largest_error"] < 5  # 4 by 1 / sqrt(D)


def test_features_from_the_printed_density_do_not_come_nearer_with_more_of_them():
    errors = [of(Laplacian(gamma=0.5), D=D, density="printed") for D in (1024, 4096)]
    assert errors[-1]["failure_rate"] == 1
    assert errors[1]["largest_error"] > 0.7 * errors[0]["largest_error"]


def characteristic(frequencies, t):
    """Return the mean of cos(w t), which is the kernel at the distance t."""
    return pytest.approx(np.cos(frequencies * t).mean(), abs=4 / np.sqrt(frequencies.size))


@pytest.mark.parametrize("gamma", [0.5, 2.0, 8.0])
def test_the_laplacians_printed_density_is_that_of_another_kernel(gamma):
    w = printed_frequencies(Laplacian(gamma=gamma), np.random.default_rng(0), (200_000,))
    mass, _ = quad(lambda w: 1 / (np.pi * (1 + w * w / (2 * gamma))), -np.inf, np.inf)
    assert mass == pytest.approx(np.sqrt(2 * gamma))  # 1, as a density has it, at gamma = 1 / 2 only
    for t in (0.1, 0.5):
        assert np.exp(-np.sqrt(2 * gamma) * t) == characteristic(w, t)
        assert (np.exp(-gamma * t) == characteristic(w, t)) == (gamma == 2)


def test_the_gaussians_printed_density_is_drawn_where_it_is_cut_off():
    gamma = 0.7
    w = printed_frequencies(Gaussian(gamma=gamma), np.random.default_rng(0), (200_000,))
    end = REACH * np.sqrt(2 * gamma)
    assert np.abs(w).max() <= end
    whole, _ = quad(lambda w: np.exp(w * w / (4 * gamma)), -end, end)
    for t in (0.3, 1.0):
        value, _ = quad(lambda w, t=t: np.exp(w * w / (4 * gamma)) * np.cos(w * t) / whole, -end, end)
        assert value == characteristic(w, t)
        assert np.exp(-gamma * t * t) != characteristic(w, t)


def test_maps_without_a_printed_density_are_refused():
    with pytest.raises(ParameterError, match="random_fourier with the gaussian or the laplacian"):
        of(Gaussian(gamma=1.0), Nystrom, D=20, density="printed")
