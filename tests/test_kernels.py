"""Every kernel against its formula, written out pair by pair in plain Python."""

import math
import tracemalloc

import numpy as np
import pytest
from scipy import special
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import pairwise_kernels

from kfeat.errors import DataError, ParameterError, UnsupportedKernelError
from kfeat.kernels import (
    KERNELS,
    Compositional,
    DotProductKernel,
    EuclideanLaplacian,
    Exponential,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Sum,
    VovkInfinite,
    VovkReal,
)
from kfeat.maps import CompositionalMaclaurin, Nystrom, RandomMaclaurin
from kfeat.parameters import parameter_model
from kfeat.solvers import Libsvm


def dot(x, y):
    return math.fsum(a * b for a, b in zip(x, y, strict=True))


def matern(nu, s):
    """By the integral K_nu(s) = int_0^inf exp(-s cosh t) cosh(nu t) dt, whose trapezoids are exact."""
    if s == 0:
        return 1.0
    t = np.arange(0, math.acosh(750 / s), 1 / 64)
    waves = np.exp(-s * np.cosh(t)) * np.cosh(nu * t) / 64
    return 2 ** (1 - nu) / math.gamma(nu) * s**nu * (waves.sum() - waves[0] / 2)


def gaussian(x, y):
    return math.exp(-0.5 * math.dist(x, y) ** 2)


def manhattan(x, y):
    return math.fsum(abs(a - b) for a, b in zip(x, y, strict=True))


FORMULAS = {
    "linear": (Linear(), dot),
    "polynomial": (Polynomial(3, gamma=0.5, coef0=2.0), lambda x, y: (0.5 * dot(x, y) + 2) ** 3),
    "homogeneous": (Polynomial(6), lambda x, y: dot(x, y) ** 6),
    "exponential": (Exponential(sigma=2.0), lambda x, y: math.exp(dot(x, y) / 4)),
    "vovk_real": (VovkReal(5), lambda x, y: (1 - dot(x, y) ** 5) / (1 - dot(x, y))),
    "vovk_infinite": (VovkInfinite(), lambda x, y: 1 / (1 - dot(x, y))),
    "gaussian": (Gaussian(0.5), gaussian),
    "laplacian": (Laplacian(0.7), lambda x, y: math.exp(-0.7 * manhattan(x, y))),
    "euclidean_laplacian": (EuclideanLaplacian(0.7), lambda x, y: math.exp(-0.7 * math.dist(x, y))),
    "matern": (Matern(0.7, nu=1.2), lambda x, y: matern(1.2, 2 * math.sqrt(0.84) * math.dist(x, y))),
    "matern_half": (Matern(0.7, nu=0.5), lambda x, y: math.exp(-math.sqrt(1.4) * math.dist(x, y))),
    "matern_three_halves": (Matern(0.7), lambda x, y: matern(1.5, math.sqrt(4.2) * math.dist(x, y))),
    "matern_five_halves": (Matern(0.7, nu=2.5), lambda x, y: matern(2.5, math.sqrt(7) * math.dist(x, y))),
    "sum": (
        Sum([Polynomial(2), Gaussian(0.5)], [2.0, 1.0]),
        lambda x, y: 2 * dot(x, y) ** 2 + gaussian(x, y),
    ),
    "cube": (
        Compositional(Polynomial(3, 2.0, 1.0), Gaussian(0.5)),
        lambda x, y: (2 * gaussian(x, y) + 1) ** 3,
    ),
    "power": (Compositional(Exponential(2.0), Polynomial(2)), lambda x, y: math.exp(dot(x, y) ** 2 / 4)),
    "compositional": (Compositional(), lambda x, y: math.exp(math.exp(-(math.dist(x, y) ** 2)))),
}
DOT_PRODUCT = ("linear", "polynomial", "homogeneous", "exponential", "vovk_real", "vovk_infinite")


def rows(n, d=6, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, d))
    X[np.random.default_rng(seed + 1).random((n, d)) < 0.4] = 0
    return 0.9 * X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1)


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("forms", ["dense-dense", "csr-csr", "dense-csr", "csr-dense"])
def test_gram_block_is_the_formula(name, forms):
    kernel, formula = FORMULAS[name]
    X, Y = rows(9), rows(7, seed=5)
    expected = [[formula(x, y) for y in Y] for x in X]
    A, B = (csr_array(M) if form == "csr" else M for M, form in zip((X, Y), forms.split("-"), strict=True))
    np.testing.assert_allclose(kernel(A, B), expected, rtol=1e-12)


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gram_matrix_is_symmetric_with_the_diagonal_of_the_formula(name, dtype, monkeypatch):
    monkeypatch.setattr("kfeat.kernels.base.TILE", 64)
    kernel, formula = FORMULAS[name]
    X = rows(100).astype(dtype)
    K = kernel(X)
    assert K.dtype == dtype
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(np.diagonal(K), kernel.diagonal(X))
    for i, j in [(3, 3), (0, 1), (5, 71), (71, 73), (65, 2)]:
        assert K[i, j] == pytest.approx(formula(X[i].astype(float), X[j].astype(float)), rel=2e-5)
    np.testing.assert_allclose(K, kernel(X, X.copy()), rtol=1e-4 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("name", DOT_PRODUCT)
def test_maclaurin_series_sums_to_the_kernel(name):
    kernel, formula = FORMULAS[name]
    a = kernel.maclaurin(400)
    x = np.array([0.6, -0.2, 0.3])
    for y in (x, -x, np.array([0.1, 0.9, 0.0])):
        assert np.polynomial.polynomial.polyval(dot(x, y), a) == pytest.approx(formula(x, y), rel=1e-12)
    if kernel.last_degree is not None:
        assert a[kernel.last_degree] > 0
        assert not a[kernel.last_degree + 1 :].any()
    np.testing.assert_array_equal(kernel.maclaurin(2), a[:2])


SPECTRA = pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(0.8),
        Laplacian(0.3),
        Matern(0.4, nu=0.5),
        Matern(0.4),
        Matern(0.4, nu=7.3),
        EuclideanLaplacian(0.9),
        EuclideanLaplacian(bandwidth=2.0),
        Gaussian(bandwidth=0.8),
    ],
    ids=str,
)


def largest_z_of_the_spectrum(frequencies, kernel):
    z = []
    for x in ([0.5, 0.2], [1.0, -1.0], [0.0, 1.5]):
        cosines = np.cos(np.array(x) @ frequencies)
        error = cosines.mean() - kernel([x], [[0.0, 0.0]])[0, 0]
        z.append(abs(error) / cosines.std() * np.sqrt(cosines.size))
    return max(z)


@SPECTRA
def test_the_spectrum_is_the_kernels_fourier_transform(kernel):
    rng = np.random.default_rng(0)
    uniforms = rng.random((200_000, kernel.n_uniforms(2)))
    for frequencies in (kernel.sample_frequencies(rng, (2, 200_000)), kernel.frequencies_at(uniforms)):
        assert frequencies.shape == (2, 200_000)
        assert largest_z_of_the_spectrum(frequencies, kernel) < 4
        assert largest_z_of_the_spectrum(1.05 * frequencies, kernel) > 6.33


@SPECTRA
def test_frequencies_are_quantiles_that_rise_with_each_coordinate(kernel):
    u = np.linspace(0.001, 0.999, 999)
    U = np.full((999, kernel.n_uniforms(1)), 0.3)
    U[:, 0] = u
    frequencies = kernel.frequencies_at(U)[0]
    assert (np.diff(frequencies) > 0).all()
    np.testing.assert_allclose(frequencies, -frequencies[::-1], atol=1e-11)
    edges = kernel.frequencies_at(np.full((2, U.shape[1]), [[2.0**-53], [1 - 2.0**-53]]))
    assert np.isfinite(edges).all()


@pytest.mark.parametrize("nu", [0.25, 0.5, 1.0, 1.5, 2.0, 2.0001, 2.5, 3.7, 20.0, 100.0])
def test_matern_is_stable_at_all_distances(nu):
    r = np.concatenate([[0], np.logspace(-200, 5, 500), [1e15, 1e50, 1e150]])[:, None]
    with np.errstate(all="raise", under="ignore"):
        k = Matern(0.5, nu)(r[:1], r)[0]
    assert k[0] == 1
    assert (k[-4:] == 0).all()
    assert (np.diff(k) <= 1e-12).all()  # the rounding of logarithms
    np.testing.assert_allclose(k[r[:, 0] < 1e-40], 1, rtol=1e-12)
    some = (r[:, 0] > 1e-3) & (r[:, 0] < 30)
    if nu <= 20:
        by_integral = [matern(nu, math.sqrt(2 * nu) * float(x)) for x in r[some, 0]]
        np.testing.assert_allclose(k[some], by_integral, rtol=2e-11, atol=1e-300)


@pytest.mark.parametrize("nu", [0.3, 0.5])
def test_rough_kernels_are_exact_for_close_rows_far_from_the_origin(nu):
    X = np.random.default_rng(0).random((30, 4)) + 1000
    Y = X.copy()
    Y[10:, 0] += 2.0**-20  # an exact difference
    for A, B in ((X, Y), (csr_array(X), csr_array(Y)), (csr_array(X), Y), (X, csr_array(Y))):
        K = Matern(0.5, nu)(A, B)
        s = math.sqrt(2 * nu) * 2.0**-20
        np.testing.assert_array_equal(np.diagonal(K)[:10], 1)
        np.testing.assert_allclose(1 - np.diagonal(K)[10:], 1 - matern(nu, s), rtol=1e-7)


def test_float32_distances_are_exact_enough_far_from_the_origin():
    X = np.random.default_rng(0).random((40, 5))
    kernel = Gaussian(2.0)
    for far in (X + 1000, X * 100 + 50):
        single = far.astype(np.float32)
        np.testing.assert_allclose(kernel(single), kernel(single.astype(float)), atol=1e-4)


def test_bandwidth_heuristics_are_the_mean_and_the_median_distance():
    X = rows(30)
    pairs = [(x, y) for i, x in enumerate(X) for y in X[i + 1 :]]
    euclidean = [math.dist(x, y) for x, y in pairs]
    manhattan = [np.abs(x - y).sum() for x, y in pairs]
    for rule, statistic in (("mean_distance", np.mean), ("median", np.median)):
        sigma = statistic(euclidean)
        assert Exponential(rule).resolve(X).sigma == pytest.approx(sigma)
        assert Gaussian(rule).resolve(csr_array(X)).gamma == pytest.approx(1 / (2 * sigma**2))
        assert Matern(rule).resolve(X).gamma == pytest.approx(1 / (2 * sigma**2))
        assert EuclideanLaplacian(rule).resolve(X).gamma == pytest.approx(1 / sigma)
        assert Laplacian(rule).resolve(X).gamma == pytest.approx(1 / statistic(manhattan))
    many = np.random.default_rng(0).random((5000, 3))
    first, again = (Gaussian("median").resolve(many, 7).gamma for _ in range(2))
    assert first == again != Gaussian("median").resolve(many, 8).gamma
    kernel = Gaussian(0.5)
    assert kernel.resolve(X) is kernel


@pytest.mark.parametrize(
    ("kernel", "gamma"),
    [
        (Gaussian(bandwidth=2.0), 0.125), (Matern(bandwidth=2.0, nu=2.5), 0.125),
        (Laplacian(bandwidth=2.0), 0.5), (EuclideanLaplacian(bandwidth=2.0), 0.5),
    ],
    ids=str,
)  # fmt: skip
def test_a_bandwidth_stands_in_the_place_of_gamma(kernel, gamma):
    X = rows(20)
    by_gamma = kernel.__class__(**{**kernel.get_params(), "bandwidth": None, "gamma": gamma})
    assert kernel.resolve(X).get_params() == by_gamma.get_params()
    for made in (lambda k: k(X), lambda k: k.against(X)(X), lambda k: k(csr_array(X))):
        np.testing.assert_array_equal(made(kernel), made(by_gamma))
    with pytest.raises(ParameterError, match="gamma and bandwidth: expected one of them, got both in"):
        kernel.__class__(gamma="median", bandwidth=2.0)(X)


def test_bandwidth_heuristics_that_are_not_numbers_say_what_to_do():
    with pytest.raises(UnsupportedKernelError, match=r"call kernel.resolve\(X\) first"):
        Gaussian("median")(rows(3))
    with pytest.raises(DataError, match="all rows are equal"):
        Gaussian("median").resolve(np.ones((4, 2)))


def test_data_outside_the_radius_of_convergence_are_refused():
    with pytest.raises(DataError, match=r"needs \|<x, y>\| < 1, got 1.44"):
        VovkInfinite()([[1.2, 0.0]])


def test_rows_of_other_shapes_and_kinds_are_refused():
    with pytest.raises(DataError, match="X has 1 feature and Y has 2"):
        Gaussian(1)(np.ones((2, 1)), np.ones((2, 2)))
    with pytest.raises(DataError, match="X has 3 features and Y has 2"):
        Linear()(np.ones((2, 3)), np.ones((2, 2)))
    for bad in (np.ones(3), np.ones((2, 2)) * 1j, [["a", "b"]]):
        with pytest.raises(DataError, match=r"expected rows of real numbers, shape \(n, d\), got"):
            Linear()(bad)


@pytest.mark.parametrize("name", KERNELS)
def test_two_rows_have_a_number_so_that_scikit_learn_takes_a_kernel_as_a_function(name):
    kernel, X = KERNELS[name](), np.random.default_rng(0).random((6, 3)) / 3
    assert np.isscalar(kernel(X[0], X[1]))
    np.testing.assert_allclose(pairwise_kernels(X, X[:2], metric=kernel), kernel(X, X[:2]), rtol=1e-12)
    Z = Nystroem(kernel=kernel, n_components=6, random_state=0).fit_transform(X)
    np.testing.assert_allclose(Z @ Z.T, kernel(X), atol=1e-6)
    with pytest.raises(DataError, match="X has 3 features and Y has 2"):
        kernel(X[0], X[1, :2])


def test_kernels_are_estimators_and_have_a_yaml_form():
    for cls in KERNELS.values():
        kernel = clone(cls())
        assert kernel.get_params() == cls().get_params()
        parameter_model(cls).model_validate(kernel.get_params())
    assert parameter_model(Gaussian).model_validate({"gamma": "median"}).gamma == "median"


def test_a_gram_block_needs_a_tile_beyond_itself():
    X = np.random.default_rng(0).random((3000, 20))
    for kernel, data in (
        (Polynomial(5, coef0=1.0), csr_array(X)),
        (Gaussian(), X),
        (Laplacian(), csr_array(X)),
        (Matern(), X),
    ):
        tracemalloc.start()
        K = kernel(data, data)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < K.nbytes + 48 * 2**20


@pytest.mark.parametrize(
    ("kernel", "formula"),
    [
        (Linear(), "<x, y>"),
        (Polynomial(degree=4), "<x, y>^4"),
        (Polynomial(degree=4, coef0=1), "(1 + <x, y>)^4"),
        (Polynomial(degree=1, gamma=4, coef0=1), "1 + 4 <x, y>"),
        (Polynomial(degree=2, gamma=0.5), "(0.5 <x, y>)^2"),
        (Exponential(sigma="mean_distance"), "exp(<x, y> / sigma^2), sigma = mean distance"),
        (VovkReal(degree=3), "(1 - <x, y>^3) / (1 - <x, y>)"),
        (VovkInfinite(), "1 / (1 - <x, y>)"),
        (Gaussian(gamma=0.25), "exp(-gamma ||x - y||^2), gamma = 0.25"),
        (Matern(gamma="median", nu=2.5), "Matern(||x - y||), nu = 2.5, gamma = median"),
        (Laplacian(gamma="median"), "exp(-gamma ||x - y||_1), gamma = median"),
        (Laplacian(bandwidth=2.5), "exp(-||x - y||_1 / sigma), sigma = 2.5"),
        (Gaussian(bandwidth=2.5), "exp(-||x - y||^2 / (2 sigma^2)), sigma = 2.5"),
    ],
)
def test_a_kernel_says_its_formula(kernel, formula):
    assert kernel.formula == formula


def test_whole_numbers_as_scale_do_not_wrap_around():
    exact = Polynomial(degree=10, gamma=100.0).maclaurin(11)
    np.testing.assert_array_equal(Polynomial(degree=10, gamma=100).maclaurin(11), exact)
    assert exact[10] == 1e20


@pytest.mark.parametrize("make", [np.asarray, csr_array])
@pytest.mark.parametrize("kernel", [Gaussian, Laplacian, Matern])
def test_where_most_rows_are_the_same_the_median_distance_is_zero(kernel, make):
    X = np.random.default_rng(0).random((200, 5))
    X[:160] = X[0]
    with pytest.raises(
        DataError, match="the median distance is 0, since at least half of the pairs of rows are equal"
    ):
        kernel("median").resolve(make(X))
    assert kernel("mean_distance").resolve(make(X)).gamma > 0


def test_a_bandwidth_of_values_that_overflow_is_refused_as_that():
    told = "not a number: squares of the rows' values overflow; scale the rows"
    with np.errstate(all="ignore"), pytest.raises(DataError, match=told):
        Gaussian("mean_distance").resolve(np.array([[1e200, 0], [0, 1e200], [3e200, 1]]))


def test_coefficients_of_high_degrees_are_finite_where_a_factor_of_them_is_not():
    p = 1100  # C(1100, 550) is 1e329
    assert np.array_equal(Polynomial(p).maclaurin(p + 5), np.arange(p + 5) == p)
    halves = Polynomial(p, gamma=0.5, coef0=0.5).maclaurin(p + 1)
    exact = [math.comb(p, n) / 2**p for n in range(p + 1)]
    np.testing.assert_allclose(halves, exact, rtol=1e-11, atol=1e-280)
    assert np.isinf(Polynomial(p, coef0=1.0).maclaurin(p + 1)[550])


@pytest.mark.parametrize("outliers", [1, 3])
def test_rows_far_outside_do_not_blur_the_distances_between_all_others(outliers):
    rows = np.random.default_rng(0).random((12, 3))
    expected = Gaussian(2.0)(rows[outliers:])
    rows[:outliers, 0] = 1e10 * np.arange(1, outliers + 1)
    for K in (Gaussian(2.0)(rows), Gaussian(2.0).against(rows)(rows), Gaussian(2.0)(csr_array(rows))):
        np.testing.assert_allclose(K[outliers:, outliers:], expected, rtol=1e-12)
    many = np.vstack([rows[:1], np.random.default_rng(1).random((400, 3))])
    found = Gaussian("median").resolve(many).gamma
    assert abs(found / Gaussian("median").resolve(many[1:]).gamma - 1) < 0.02


def test_the_inner_bandwidth_is_learnt_and_the_outer_one_is_a_number():
    kernel = Compositional(Polynomial(2), Laplacian("median")).resolve(rows(40))
    assert kernel.inner.gamma == Laplacian("median").resolve(rows(40)).gamma
    with pytest.raises(ParameterError, match="outer: expected a kernel whose bandwidth is a number"):
        Compositional(Exponential("median")).resolve(rows(40))


def test_what_has_no_value_is_refused():
    with pytest.raises(DataError, match=r"VovkInfinite\(\) needs values below 1, got 1 of Gaussian"):
        Compositional(VovkInfinite(), Gaussian())(rows(40))
    with pytest.raises(ParameterError, match="Compositional: outer: "):
        Compositional(Gaussian())(rows(40))
    with pytest.raises(ParameterError, match="Compositional: inner: "):
        Compositional(inner="gaussian")(rows(40))
    with pytest.raises(ParameterError, match="Polynomial: degree"):
        Compositional(Polynomial(0))(rows(40))
    with pytest.raises(ParameterError, match="Gaussian: gamma"):
        Compositional(inner=Gaussian(-1.0))(rows(40))
    with pytest.raises(DataError, match="not finite"):
        Compositional(Exponential(), Linear())(100 * rows(40))


class Sine(DotProductKernel):
    """sin(scale <x, y>), whose coefficient of degree 3 is negative; `scale` may be a heuristic's name."""

    learns = "scale"
    formula = "sin(<x, y>)"

    def __init__(self, scale=1.0):
        self.scale = scale

    def _learnt(self, X, rule, random_state):
        return 1.0

    def maclaurin(self, n_terms):
        n = np.arange(n_terms)
        signs = np.where(n % 2, 2 - n % 4, 0)
        return signs * np.exp(n * np.log(self.scale) - special.gammaln(n + 1))

    def _f(self, t):
        return np.sin(self.scale * t)


@pytest.mark.parametrize("sine", [Sine(), Sine("median")], ids=str)
@pytest.mark.parametrize(
    "use",
    [
        lambda sine, X: sine.resolve(X)(X),
        lambda sine, X: sine.resolve(X).diagonal(X),
        lambda sine, X: sine.resolve(X).against(X),
        lambda sine, X: Sum([Gaussian(), sine]).resolve(X)(X),
        lambda sine, X: Compositional(inner=sine).resolve(X)(X),
        lambda sine, X: Compositional(sine.resolve(X))(X),
        lambda sine, X: RandomMaclaurin(sine, 1, random_state=0).fit(X),  # no degree that it draws is 3
        lambda sine, X: CompositionalMaclaurin(Compositional(sine.resolve(X)), random_state=0).fit(X),
        lambda sine, X: Nystrom(sine, 5).fit(X),
        lambda sine, X: Libsvm(sine).fit(X, np.arange(len(X)) % 2),
    ],
)
def test_a_negative_coefficient_is_refused_and_named(sine, use):
    """Kar & Karnick 2012, Theorem 1: sin(<x, y>) is no kernel, as the two rows (1/2) and (1) show."""
    assert np.linalg.eigvalsh(np.sin(np.outer([0.5, 1], [0.5, 1])))[0] < 0
    X = rows(40)
    with pytest.raises(UnsupportedKernelError, match=r"negative Maclaurin coefficient a_3 = -0\.166667, so"):
        use(sine, X)


@pytest.mark.parametrize(
    ("gamma", "got"), [(-1, "-1"), (np.float64(-1), "-1.0"), ([np.int64(1)], r"\[1\]"), ("mean", "'mean'")]
)
def test_a_bandwidth_that_is_refused_has_one_sentence(gamma, got):
    expected = "a number" if isinstance(gamma, str | list) else "more than 0"
    message = rf"^Gaussian: gamma: expected {expected}, or 'mean_distance' or 'median' \(got {got}\)"
    with pytest.raises(ParameterError, match=message):
        Gaussian(gamma=gamma)(np.ones((2, 2)))
