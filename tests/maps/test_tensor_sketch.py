"""Sketches of polynomials: proved unbiased, with their variances, by all draws; and their switches."""

from functools import partial
from itertools import combinations, permutations, product
from math import prod

import numpy as np
import pytest
from scipy.sparse import csr_array

from kfeat.errors import ParameterError
from kfeat.kernels import Linear, Polynomial
from kfeat.maps import ComplexTensorSketch, RecursiveSketch, TensorSketch, TensorSRHT
from kfeat.maps.count_sketch import universal_tables
from kfeat.maps.series import sampled_pairs

# The signs of SRHT do not matter to fewer than four features.
X4 = np.array([[0.7, -1.3, 0.2, 0.8], [0.4, 2.0, -1.1, 0.4], [-0.9, 0.3, 0.6, 0.5]])
X2 = X4[:, :2]


def moments(x, y):
    """Return a = <x, y>^2, n = ||x||^2 ||y||^2 and q = sum x_i^2 y_i^2."""
    return (x @ y) ** 2, (x @ x) * (y @ y), (x**2 * y**2).sum()


def tensor_sketch_variance(x, y, p, D):
    """Return Var <z(x), z(y)> for fully random hashes, by the fourth moments of the spectra.

    With b = n - q, c = a - q, e = 1 for odd D and 2 for even:
    D^2 (Var + a^p) = e (a+b+c)^p + (D-e) ((a+b)^p + (a+c)^p) + (D^2 - 2D + e) a^p.
    """
    a, n, q = moments(x, y)
    b, c, e = n - q, a - q, 2 - D % 2
    pairs = e * (a + b + c) ** p + (D - e) * ((a + b) ** p + (a + c) ** p)
    return (pairs + (D**2 - 2 * D + e) * a**p) / D**2 - a**p


def complex_variance(x, y, p, D):
    """Return the same for complex signs and an even D.

    With A_k = F_k(x) conj F_k(y) of one count sketch: E A_k conj A_l = a + b [k = l] and E A_k A_l = a + c
    [k = l], and Var Re T = (E |T|^2 + Re E T^2) / 2 - a^p for T = 2 / D sum_k prod A_k.
    """
    a, n, q = moments(x, y)
    return ((a + n - q) ** p + (2 * a - q) ** p - 2 * a**p) / D


def srht_variance(x, y, p, D):
    """Return the same for sampled coordinates of x and y padded to m numbers.

    With A_i = (H D x)_i (H D y)_i: E A_i A_l = a + g(i xor l), where g(0) = g and the g(w) of all w sum to 0,
    so that it is a - g / (N - 1) on average over the coordinates that a row other than the first can take.
    """
    a, n, q = moments(x, y)
    g, m = n + a - 2 * q, padded(len(x))
    N = m * -(-D // m)
    rest = (a - g / (N - 1)) ** p if D > 1 else 0
    return ((a + g) ** p - a**p) / D - (1 - 1 / D) * (a**p - rest)


def padded(width):
    return 1 << (width - 1).bit_length()


def recursive_variance(x, y, degree, D):
    """Return the same for a tree of sketches, by the moments of its nodes from below."""
    leaf = moments(x, y)

    def of_node(p):
        if p == 1:
            return leaf
        return sketched([of_node(p // 2), of_node(p - p // 2)], D)

    return (of_node(degree) if degree > 1 else sketched([leaf], D))[0] - (x @ y) ** (2 * degree)


def sketched(factors, D):
    """Return the three moments of a Tensor Sketch of independent vectors with these moments.

    A factor's fourth moment of spectra is b, c, c, q, with b = n - q and c = a - q, for the three ways to
    pair its four signs and for all equal, each where the frequencies add up to 0 in that way; then
    frequencies are counted.
    """
    e = 2 - D % 2
    n2, n3 = D * D - 2 * D + e, D**3 - 3 * D * D + 3 * D - e

    def over_factors(term):
        return prod(term(n - q, a - q, q) for a, n, q in factors)

    every = over_factors(lambda b, c, q: b + 2 * c + q)
    bc, cc = over_factors(lambda b, c, q: b + c + q), over_factors(lambda b, c, q: 2 * c + q)
    b_, c_, q_ = (over_factors(f) for f in (lambda b, c, q: b + q, lambda b, c, q: c + q, lambda b, c, q: q))
    return (
        (e * every + (D - e) * (bc + cc) + n2 * c_) / D**2,
        (e * every + 2 * (D - e) * bc + n2 * b_) / D**2,
        (e * every + (D - e) * (2 * bc + cc) + n2 * (b_ + 2 * c_) + n3 * q_) / D**3,
    )


def tables(p, d, n_buckets, n_signs, n_first=1):
    """Yield all buckets and exponents of signs of d features in p tables, (p, d) each.

    The first features of tables have `n_first` signs: one alone where the sign of a sketch does not matter.
    """
    first, others = (list(product(range(n_buckets), range(n))) for n in (n_first, n_signs))
    for numbers in product(*([first] + [others] * (d - 1)) * p):
        yield np.moveaxis(np.reshape(numbers, (p, d, 2)), 2, 0)


def hashes_and_signs(fitted, d):
    """Set all buckets and signs of the first d features in turn, and those of the nodes of a tree."""
    p, D = len(fitted.buckets_), fitted.n_components
    n_nodes = max(p - 2, 0) if isinstance(fitted, RecursiveSketch) else 0
    nodes = list(tables(n_nodes, D, D, 2))
    for buckets, signs in tables(p, d, D, 2):
        fitted.buckets_[:, :d], fitted.signs_[:, :d] = buckets, (-1) ** signs
        for inner_buckets, inner_signs in nodes:
            fitted.inner_buckets_, fitted.inner_signs_ = inner_buckets, (-1) ** inner_signs
            yield


def hashes_and_complex_signs(fitted, d):
    p, D = len(fitted.buckets_), fitted.n_components
    for buckets, exponents in tables(p, d, -(-D // 2), 4, 4 if D % 2 else 1):
        fitted.buckets_[:, :d], fitted.exponents_[:, :d] = buckets, exponents
        yield


def signs_and_coordinates(fitted, d):
    """Set all signs, and all samples of coordinates without replacement from equally many copies of each."""
    (p, width), D = fitted.signs_.shape, fitted.n_components
    copies = [*range(padded(width))] * -(-D // padded(width))
    samples = sorted({order[:D] for order in permutations(copies)})  # all are equally likely
    for _, signs in tables(p, width, 1, 2):
        fitted.signs_ = (-1) ** signs
        for sample in product(samples, repeat=p):
            fitted.coordinates_ = np.array(sample)
            yield


def gram(fitted, X=X2):
    Z = np.empty((3, fitted.n_components))
    fitted._block_mapper(Z.dtype)(X, Z)  # `transform` checks rows too, which takes ten times as long
    return Z @ Z.T


FORMULAS = {
    TensorSketch: (hashes_and_signs, tensor_sketch_variance),
    ComplexTensorSketch: (hashes_and_complex_signs, complex_variance),
    RecursiveSketch: (hashes_and_signs, recursive_variance),
    TensorSRHT: (signs_and_coordinates, srht_variance),
}
EVERY = {  # degree, D, coef0 unless it is 0, and the number of features unless there are two
    TensorSketch: [(1, 2), (1, 3), (2, 1), (2, 3), (3, 2), (1, 3, 1.5), (2, 2, 1.5)],
    ComplexTensorSketch: [(1, 2), (2, 4), (3, 2), (1, 4, 1.5), (1, 3, 1.5), (2, 1)],
    partial(ComplexTensorSketch, domain="frequency"): [(1, 3, 1.5)],  # even D keep what the real domain has
    RecursiveSketch: [(1, 2), (1, 3), (2, 2), (3, 1), (4, 1)],
    TensorSRHT: [(1, 3), (2, 3), (1, 2, 1.5), (2, 1, 1.5), (2, 1, 0, 4), *((1, D, 0, 4) for D in (1, 2, 3))],
}


@pytest.mark.parametrize(("make", "case"), [(make, case) for make, cases in EVERY.items() for case in cases])
def test_the_mean_and_the_variance_over_all_draws_are_the_kernel_and_the_formula(make, case):
    degree, D, coef0, d = (*case, *(0, 2)[len(case) - 2 :])
    kernel, rows = Polynomial(degree, gamma=0.6, coef0=coef0), X4[:, :d]
    fitted = make(kernel, D, random_state=0).fit(rows)
    X = np.hstack([0.6**0.5 * rows, np.full((3, int(coef0 > 0)), coef0**0.5)])  # is drawn as a feature
    draws, variance = FORMULAS[type(fitted)]
    grams = [gram(fitted, rows) for _ in draws(fitted, X.shape[1])]
    np.testing.assert_allclose(np.mean(grams, axis=0), kernel(rows), rtol=1e-12)
    if type(fitted) is not ComplexTensorSketch or D % 2 == 0:
        expected = [[variance(x, y, degree, D) for y in X] for x in X]
        np.testing.assert_allclose(np.var(grams, axis=0), expected, rtol=1e-9, atol=1e-12)


def test_a_node_of_a_tree_is_unbiased_whatever_lies_below_it():
    fitted = RecursiveSketch(Polynomial(3), 2, random_state=1).fit(X2)
    leaf, below = (TensorSketch(Polynomial(p), 2, random_state=0).fit(X2) for p in (1, 2))
    for part, rows in ((leaf, slice(1)), (below, slice(1, 3))):
        part.buckets_, part.signs_ = fitted.buckets_[rows], fitted.signs_[rows]
    grams = []
    for fitted.inner_buckets_, signs in tables(1, 2, 2, 2):
        fitted.inner_signs_ = (-1) ** signs
        grams.append(gram(fitted))
    np.testing.assert_allclose(np.mean(grams, axis=0), gram(leaf) * gram(below), rtol=1e-12)


def test_a_tree_of_degree_two_is_tensor_sketch_and_one_of_degree_one_a_count_sketch():
    X = np.random.default_rng(0).standard_normal((4, 30))
    for kernel in (Polynomial(2, coef0=1.0), Polynomial(1), Linear()):
        sketch, tree = (cls(kernel, 9, random_state=0).fit(X) for cls in (TensorSketch, RecursiveSketch))
        np.testing.assert_array_equal(tree.buckets_, sketch.buckets_)
        np.testing.assert_allclose(tree.transform(X), sketch.transform(X), atol=1e-12)


@pytest.mark.parametrize("D", [32, 64])
def test_srht_of_degree_one_keeps_all_inner_products_where_every_coordinate_is_sampled(D):
    X = np.random.default_rng(0).standard_normal((4, 30))
    for kernel in (Polynomial(1), Linear()):
        Z = TensorSRHT(kernel, D, random_state=0).fit_transform(X)
        np.testing.assert_allclose(Z @ Z.T, X @ X.T, rtol=1e-12)


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("D", [1, 2, 3, 10])
def test_the_variance_that_chooses_coefficients_is_that_of_tensor_sketch(degree, D):
    pairs = sampled_pairs(Polynomial(degree), X2, 3, np.random.default_rng(0))
    expected = [tensor_sketch_variance(X2[i], X2[j], degree, D) for i, j in ((0, 1), (0, 2), (1, 2))]
    actual = pairs.sizes ** (2 * degree) * pairs.tensor_sketch_variance(degree, D)
    np.testing.assert_allclose(actual, expected, atol=1e-12)


def test_universal_hashes_are_two_wise_independent_and_uniform():
    n, d, D = 4000, 3, 5
    buckets, signs = universal_tables(np.random.default_rng(0), n, d, D)
    cells = buckets + D * (signs > 0)
    for i, j in combinations(range(d), 2):
        counts = np.histogram2d(cells[:, i], cells[:, j], 2 * D)[0]
        expected = n / (2 * D) ** 2
        chi2 = ((counts - expected) ** 2 / expected).sum()
        assert abs(chi2 - 99) < 4 * np.sqrt(2 * 99)  # chi-squared, 99 degrees of freedom
    sketch = TensorSketch(Polynomial(3), D, hashing="universal", random_state=0).fit(X2)
    assert sketch.buckets_.shape == sketch.signs_.shape == (3, 3)


@pytest.mark.parametrize("cls", [TensorSketch, ComplexTensorSketch])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("D", [1, 2, 3, 16, 45, 97, 500])  # even and odd, a prime among them
@pytest.mark.parametrize("domain", ["real", "frequency"])
def test_products_with_roots_of_unity_and_both_libraries_give_the_same_features(
    cls, domain, D, dtype, monkeypatch
):
    X = np.random.default_rng(D).standard_normal((70, 9)).astype(dtype)
    make = partial(cls, Polynomial(3, coef0=0.5), D, domain, random_state=1)
    by_product = make().fit_transform(X)
    assert by_product.dtype == dtype
    atol = 50 * np.finfo(dtype).eps * np.abs(by_product).max()
    np.testing.assert_allclose(make().fit_transform(csr_array(X)), by_product, rtol=0, atol=atol)
    monkeypatch.setattr("kfeat.maps.count_sketch.FEW_FEATURES", 0)
    for fft, rows in product(("scipy", "ducc0"), (X, csr_array(X))):
        Z = make(fft=fft).fit_transform(rows)
        np.testing.assert_allclose(Z, by_product, rtol=0, atol=atol)
    assert not np.array_equal(Z, by_product) or D <= 3  # so it was another way


def test_a_library_that_is_not_installed_is_told_before_anything_is_mapped(monkeypatch):
    monkeypatch.setattr("kfeat.maps.count_sketch.find_spec", lambda name: None)
    for cls in (TensorSketch, ComplexTensorSketch):
        with pytest.raises(ParameterError, match="ducc0 is not installed; `pip install ducc0`"):
            cls(fft="ducc0").fit(X2)
        assert cls().fit(X2).transform(X2).shape == (3, 100)  # SciPy's needs nothing
    with pytest.raises(ParameterError, match="fft"):
        TensorSketch(fft="fftw").fit(X2)


@pytest.mark.parametrize(
    ("cls", "sizes"), [(TensorSketch, (1, 2, 9, 10)), (ComplexTensorSketch, (2, 10, 12))]
)
def test_the_frequency_domain_keeps_inner_products(cls, sizes):
    X = np.random.default_rng(0).random((20, 7))
    for D in sizes:
        make = partial(cls, Polynomial(3, coef0=0.5), D, random_state=3)
        real, frequency = (make(domain=domain).fit_transform(X) for domain in ("real", "frequency"))
        assert real.shape == frequency.shape == (20, D)
        np.testing.assert_allclose(frequency @ frequency.T, real @ real.T, rtol=1e-10)
