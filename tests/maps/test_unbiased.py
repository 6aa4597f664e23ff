"""z-tests of unbiasedness over fixed seeds, and the planted faults that they must catch (DESIGN rule 10).

Sketches are proved unbiased by an enumeration of all draws (test_sketches.py), and their draws are pinned.
"""

import numpy as np
import pytest

from kfeat import maps
from kfeat.kernels import Exponential, Gaussian, Laplacian, Matern, Polynomial

PAIRS = 10
# Ten two-sided t-tests, 99 degrees of freedom: a correct map fails one with probability 1e-3 over seeds.
# A fault whose largest |z| is beyond 4 + 2.33 is caught with probability 0.99.
PASS, CAUGHT = 4.0, 6.33


def z_of(cls, n_components, kernel, seeds=100, d=20, **parameters):
    """Return the largest |mean error| / standard error over PAIRS fixed pairs of rows and `seeds` draws."""
    x, y = np.abs(np.random.default_rng(1).standard_normal((2, PAIRS, d)))
    X = np.vstack([x, x + 0.5 * y])
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    exact = np.diagonal(kernel(X[:PAIRS], X[PAIRS:]))
    products = []
    for seed in range(seeds):
        Z = cls(kernel, n_components, random_state=seed, **parameters).fit(X).transform(X)
        products.append((Z[:PAIRS] * Z[PAIRS:]).sum(axis=1))
    deviation = np.std(products, axis=0, ddof=1) / np.sqrt(seeds)
    bias = np.abs(np.mean(products, axis=0) - exact)
    with np.errstate(divide="ignore"):
        return float(np.where(bias > 0, bias / deviation, 0).max())


GAUSSIAN, LAPLACIAN = {"kernel": Gaussian(0.5)}, {"kernel": Laplacian(0.4)}
MACLAURIN = {"kernel": Polynomial(2, coef0=2.0), "degree_law": "proportional"}
OPTIMISED = {"kernel": Polynomial(2, coef0=1.0), "d": 12}
SPREADS = [
    {"sequence": "halton", "scrambling": "random"},
    *({"sequence": sequence} for sequence in ("sobol", "lattice", "digital_net")),
]
EVEN = [
    (maps.RandomFourier, 257, {"kernel": Matern(0.5, nu=1.5), "features": f, "seeds": 25, "d": 3, **spread})
    for f in ("pairs", "offset")
    for spread in SPREADS
]
POSITIVE = [
    (maps.PositiveFeatures, 801, {"kernel": kernel, "features": features})
    for kernel in (Exponential(1.5), Gaussian(0.1))
    for features in ("pairs", "single")
]
CORRECT = [
    *((maps.RandomFourier, 1601, kernel) for kernel in (GAUSSIAN, LAPLACIAN)),
    (maps.Fastfood, 1600, GAUSSIAN),
    (maps.ORF, 801, GAUSSIAN),
    (maps.ComplexMaclaurin, 257, MACLAURIN),
    (maps.OptimisedMaclaurin, 256, OPTIMISED),
    *POSITIVE,
    *EVEN,
]


@pytest.mark.parametrize(("cls", "D", "parameters"), CORRECT)
def test_a_correct_map_passes(cls, D, parameters):
    assert z_of(cls, D, **parameters) < PASS


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
    def _kernel_for(self, X, rng):
        return type(self.kernel)(1.05 * self.kernel.gamma)

    return type("Wide", (cls,), {"_kernel_for": _kernel_for})


FAULTS = [
    *((scaled, *case) for case in EVEN),
    (scaled, maps.OptimisedMaclaurin, 256, OPTIMISED),
]
SLOW = [
    *(
        (fault, maps.Fastfood, 1600, GAUSSIAN)
        for fault in (scaled, without_sines, lengths_of_the_unpadded_dimension, wide_bandwidth)
    ),
    *((fault, maps.ORF, 1600, GAUSSIAN) for fault in (scaled, one_length, wide_bandwidth)),
    *(
        (fault, maps.RandomFourier, 1600, kernel)
        for fault in (np.zeros_like, scaled, without_sines, wide_bandwidth)
        for kernel in (GAUSSIAN, LAPLACIAN)
    ),
    *(
        (fault, maps.ComplexMaclaurin, D, MACLAURIN)
        for fault in (scaled, half_conjugated)
        for D in (256, 257)
    ),
    *((scaled, *case) for case in POSITIVE),
]
CHANGES = {one_length: drawn, lengths_of_the_unpadded_dimension: drawn}


def faulty(cls, fault):
    return fault(cls) if fault is wide_bandwidth else CHANGES.get(fault, written)(cls, fault)


@pytest.mark.parametrize(
    ("fault", "cls", "D", "parameters"),
    [*FAULTS, *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW)],
)
def test_a_planted_fault_is_caught(fault, cls, D, parameters):
    assert z_of(faulty(cls, fault), D, **parameters) > CAUGHT


def test_the_published_halton_is_biased():
    assert z_of(maps.RandomFourier, 64, **GAUSSIAN, seeds=5, d=3, sequence="halton") > CAUGHT
