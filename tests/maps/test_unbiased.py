"""z-tests of unbiasedness over fixed seeds, and the planted faults that they must catch (DESIGN rule 10)."""

from functools import partial

import numpy as np
import pytest
from faults import CAUGHT, PASS, largest_z

from kfeat.kernels import Gaussian, Laplacian, Matern, Polynomial
from kfeat.maps import (
    ORF,
    ComplexMaclaurin,
    ComplexTensorSketch,
    Fastfood,
    RandomFourier,
    RecursiveSketch,
    TensorSketch,
    TensorSRHT,
)

slow = pytest.mark.slow
GAUSSIAN, LAPLACIAN, MATERN = Gaussian(0.5), Laplacian(0.4), Matern(0.5, nu=1.5)
EVEN = [
    {"sequence": "halton", "scrambling": "random"},
    {"sequence": "sobol"},
    {"sequence": "lattice"},
    {"sequence": "digital_net"},
]
MACLAURIN = {"kernel": Polynomial(2, coef0=2.0), "degree_law": "proportional"}


def z_of(cls, D, kernel=None, seeds=400, d=20, **parameters):
    def make(kernel, seed):
        return cls(kernel, D, random_state=seed, **parameters)

    return largest_z(make, seeds=seeds, d=d, kernel=kernel)


CORRECT = [
    *(
        pytest.param(TensorSketch, 512, {"kernel": Polynomial(degree), "hashing": hashing}, marks=slow)
        for degree in (1, 2, 3)
        for hashing in ("table", "universal")
    ),
    *((ComplexTensorSketch, D, {}) for D in (511, 512)),
    *((RecursiveSketch, 1024, {"kernel": Polynomial(3), "base": base}) for base in ("none", "count_sketch")),
    (TensorSRHT, 512, {}),
    *(pytest.param(cls, D, {"kernel": GAUSSIAN}, marks=slow) for cls in (Fastfood, ORF) for D in (400, 401)),
    *(
        pytest.param(RandomFourier, D, {"kernel": kernel, "features": features}, marks=slow)
        for kernel in (GAUSSIAN, LAPLACIAN)
        for features, D in (("pairs", 400), ("pairs", 401), ("offset", 400))
    ),
    *(
        (RandomFourier, 65, {"kernel": MATERN, "features": features, "seeds": 100, "d": 3, **spread})
        for features in ("pairs", "offset")
        for spread in EVEN
    ),
    *(pytest.param(ComplexMaclaurin, D, MACLAURIN, marks=slow) for D in (64, 65)),
]  # fmt: skip


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


def one_draw_for_all_factors(m, X, rng):
    for name in {"buckets_", "signs_", "exponents_", "coordinates_"} & vars(m).keys():
        draws = getattr(m, name)
        draws[:] = draws[0]


def signs_dropped(m, X, rng):
    m.signs_ = np.abs(m.signs_)
    if isinstance(m, TensorSRHT):  # whose coordinates alone would leave it unbiased
        m.coordinates_[:] = m.coordinates_[0]


def real_signs_alone(m, X, rng):
    m.exponents_ %= 2


def lengths_of_the_unpadded_dimension(m, X, rng):
    m.lengths_ = np.sqrt(rng.chisquare(X.shape[1], m.lengths_.shape))


def one_length(m, X, rng):
    m.frequencies_ *= np.sqrt(len(m.frequencies_)) / np.linalg.norm(m.frequencies_, axis=0)


def wide_bandwidth(cls):
    def _kernel_for(self, X, rng):
        return type(self.kernel)(1.05 * self.kernel.gamma)

    return type("Wide", (cls,), {"_kernel_for": _kernel_for})


gaussian, cubic = {"kernel": GAUSSIAN}, {"kernel": Polynomial(3)}
FAULTS = [
    *(
        pytest.param(fault, TensorSketch, 512, {}, marks=slow)
        for fault in (np.zeros_like, scaled, one_draw_for_all_factors, signs_dropped)
    ),
    *((f, ComplexTensorSketch, 512, {}) for f in (scaled, one_draw_for_all_factors, real_signs_alone)),
    *((f, RecursiveSketch, 1024, cubic) for f in (scaled, one_draw_for_all_factors, signs_dropped)),
    *((f, TensorSRHT, 512, {}) for f in (scaled, one_draw_for_all_factors, signs_dropped)),
    *(
        pytest.param(fault, Fastfood, 400, gaussian, marks=slow)
        for fault in (scaled, without_sines, lengths_of_the_unpadded_dimension, wide_bandwidth)
    ),
    *(pytest.param(f, ORF, 400, gaussian, marks=slow) for f in (scaled, one_length, wide_bandwidth)),
    *(
        pytest.param(fault, RandomFourier, 400, {"kernel": kernel}, marks=slow)
        for fault in (np.zeros_like, scaled, without_sines, wide_bandwidth)
        for kernel in (GAUSSIAN, LAPLACIAN)
    ),
    *((scaled, cls, D, parameters) for cls, D, parameters in CORRECT[-10:-2]),
]
CHANGES = {one_draw_for_all_factors: drawn, signs_dropped: drawn, real_signs_alone: drawn, one_length: drawn,
           lengths_of_the_unpadded_dimension: drawn}  # fmt: skip


def faulty(cls, fault):
    return fault(cls) if fault is wide_bandwidth else CHANGES.get(fault, written)(cls, fault)


@pytest.mark.parametrize(("fault", "cls", "D", "parameters"), FAULTS)
def test_a_planted_fault_is_caught(fault, cls, D, parameters):
    assert z_of(faulty(cls, fault), D, **parameters) > CAUGHT


@pytest.mark.slow
@pytest.mark.parametrize("fault", [scaled, half_conjugated])
@pytest.mark.parametrize("D", [64, 65])
def test_faults_of_complex_products_are_seen(D, fault):
    assert z_of(faulty(ComplexMaclaurin, fault), D, **MACLAURIN) > PASS


def test_the_published_halton_is_biased():
    assert z_of(partial(RandomFourier, sequence="halton"), 64, GAUSSIAN, seeds=5, d=3) > CAUGHT
