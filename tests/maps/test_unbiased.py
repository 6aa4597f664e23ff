"""Maps without bias pass kfeat's own z-tests of bias, and planted faults are found (DESIGN rule 10).

test_tensor_sketch.py proves sketches unbiased by an enumeration of all draws; their draws are pinned.
"""

import numpy as np
import pytest

from kfeat import maps
from kfeat.kernels import Exponential, Gaussian, Laplacian, Matern, Polynomial
from kfeat.testing import check_map


@pytest.fixture(autouse=True)
def _memory(monkeypatch):
    """Let a fit not ask the system for its memory, which takes half of the time of a small one."""
    monkeypatch.setattr("kfeat.memory.available_memory", lambda: 2**32)


def bias_of(feature_map):
    return check_map(feature_map, feature_map.kernel).checks[0]


FOURIER = [
    maps.RandomFourier(Gaussian(0.5), 101),
    maps.RandomFourier(Laplacian(0.4), 100),
    maps.Fastfood(Gaussian(0.5), 100),
    maps.ORF(Gaussian(0.5), 101),
]
MACLAURIN = maps.ComplexMaclaurin(Polynomial(2, coef0=2.0), 101, degree_law="proportional")
OPTIMISED = maps.OptimisedMaclaurin(Polynomial(2, coef0=1.0), 100)
SPREADS = [
    {"sequence": "halton", "scrambling": "random"},
    *({"sequence": sequence} for sequence in ("sobol", "lattice", "digital_net")),
]
EVEN = [
    maps.RandomFourier(Matern(0.5, nu=1.5), 65, features=features, **spread)
    for features in ("pairs", "offset")
    for spread in SPREADS
]
POSITIVE = [maps.PositiveFeatures(kernel, 101) for kernel in (Exponential(1.5), Gaussian(0.1))]


OTHERS = [*FOURIER[1:], MACLAURIN, OPTIMISED, *POSITIVE, *EVEN]


@pytest.mark.parametrize(
    "correct", [FOURIER[0], *(pytest.param(correct, marks=pytest.mark.slow) for correct in OTHERS)]
)
def test_a_map_without_bias_passes(correct):
    check = bias_of(correct)
    assert check.held, str(check)


def written(cls, change):
    """Return a map whose features are changed."""
    return type("Written", (cls,), {"transform": lambda self, X, out=None: change(cls.transform(self, X))})


def drawn(cls, change):
    """Return a map whose draws are changed."""

    def _draw(self, X, rng):
        width = cls._draw(self, X, rng)
        change(self, X, rng)
        return width

    return type("Drawn", (cls,), {"_draw": _draw})


def scaled(Z):
    return np.sqrt(1.05) * Z


def without_sines(Z):
    return np.sqrt(2) * Z[:, : Z.shape[1] // 2]


def half_conjugated(Z):
    Z[:, 2::2] *= -1  # half of the signs of a real part
    return Z[:, [0, *range(len(Z[0]) - 1, 0, -1)]] * np.where(np.arange(len(Z[0])) % 7 == 3, 0, 1)


def lengths_of_the_unpadded_dimension(m, X, rng):
    m.lengths_ = np.sqrt(rng.chisquare(X.shape[1], m.lengths_.shape))


def one_length(m, X, rng):
    m.frequencies_ *= np.sqrt(len(m.frequencies_)) / np.linalg.norm(m.frequencies_, axis=0)


def wide_bandwidth(cls):
    """Return a map that is fitted with another bandwidth than its kernel has."""

    def fit(self, X, y=None):
        kernel = self.kernel
        cls.fit(self.set_params(kernel=type(kernel)(1.05 * kernel.gamma)), X)
        return self.set_params(kernel=kernel)

    return type("Wide", (cls,), {"fit": fit})


RANDOM_FOURIER, FASTFOOD, ORF = FOURIER[:2], FOURIER[2], FOURIER[3]
FAULTS = [
    *((scaled, even) for even in EVEN),
    (scaled, OPTIMISED),
    *(
        (fault, FASTFOOD)
        for fault in (scaled, without_sines, lengths_of_the_unpadded_dimension, wide_bandwidth)
    ),
    *((fault, ORF) for fault in (scaled, one_length, wide_bandwidth)),
    *(
        (fault, fourier)
        for fault in (np.zeros_like, scaled, without_sines, wide_bandwidth)
        for fourier in RANDOM_FOURIER
    ),
    *((fault, MACLAURIN) for fault in (scaled, half_conjugated)),
    *((scaled, positive) for positive in POSITIVE),
]
CHANGES = {one_length: drawn, lengths_of_the_unpadded_dimension: drawn}


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "correct"), FAULTS)
def test_a_planted_fault_is_found(fault, correct):
    cls = type(correct)
    faulty = fault(cls) if fault is wide_bandwidth else CHANGES.get(fault, written)(cls, fault)
    check = bias_of(faulty(**correct.get_params(deep=False)))
    assert check.held is False, str(check)


@pytest.mark.slow
def test_the_published_halton_is_biased():
    check = check_map(
        maps.RandomFourier(Gaussian(0.5), 64, sequence="halton"), Gaussian(0.5), unbiased=True
    ).checks[0]
    assert check.held is False, str(check)
