"""The recursive sketch: unbiased by enumeration, and its variance by a recursion over the tree."""

from itertools import product
from math import prod

import numpy as np
import pytest
from scipy.sparse import csr_array

from kfeat.kernels import Linear, Polynomial
from kfeat.maps import RecursiveSketch, TensorSketch

X2 = np.array([[0.7, -1.3], [0.4, 2.0], [-0.9, 0.3]])


def sketched(moments, D):
    """Return E (<z, z'>^2, ||z||^2 ||z'||^2, sum z_t^2 z'_t^2) of a Tensor Sketch of one or more vectors.

    `moments` has the same three numbers (a, n, q) of each pair of vectors, which are independent. A factor's
    fourth moment of spectra is b, c, c, q, with b = n - q and c = a - q, for the three ways to pair its four
    signs and for all equal, each where the frequencies add up to 0 in that way; then frequencies are counted.
    """
    e = 2 - D % 2
    n2, n3 = D * D - 2 * D + e, D**3 - 3 * D * D + 3 * D - e

    def over_factors(term):
        return prod(term(n - q, a - q, q) for a, n, q in moments)

    every = over_factors(lambda b, c, q: b + 2 * c + q)
    bc, cc = over_factors(lambda b, c, q: b + c + q), over_factors(lambda b, c, q: 2 * c + q)
    b_, c_, q_ = (over_factors(f) for f in (lambda b, c, q: b + q, lambda b, c, q: c + q, lambda b, c, q: q))
    return (
        (e * every + (D - e) * (bc + cc) + n2 * c_) / D**2,
        (e * every + 2 * (D - e) * bc + n2 * b_) / D**2,
        (e * every + (D - e) * (2 * bc + cc) + n2 * (b_ + 2 * c_) + n3 * q_) / D**3,
    )


def exact_variance(x, y, degree, D, base="none"):
    """Return Var <z(x), z(y)> of the map of this degree, by the moments of its nodes from below."""
    leaf = ((x @ y) ** 2, (x @ x) * (y @ y), (x**2 * y**2).sum())

    def moments(p):
        if p == 1:
            return sketched([leaf], D) if base == "count_sketch" else leaf
        return sketched([moments(p // 2), moments(p - p // 2)], D)

    return (moments(degree) if degree > 1 else sketched([leaf], D))[0] - (x @ y) ** (2 * degree)


def every_gram(fitted, D):
    """Return Z Z^T for every combination of hashes and signs of leaves of two features and of nodes."""
    tables = [(fitted.buckets_[:, :2], fitted.signs_[:, :2]), (fitted.inner_buckets_, fitted.inner_signs_)]
    cells = sum(buckets.size for buckets, _ in tables)
    grams, Z = [], np.empty((len(X2), D))
    for draw in product(product(range(D), (-1, 1)), repeat=cells):
        numbers = np.array(draw).reshape(-1, 2)
        for buckets, signs in tables:
            taken, numbers = numbers[: buckets.size], numbers[buckets.size :]
            buckets[:], signs[:] = (column.reshape(buckets.shape) for column in taken.T)
        fitted._block_mapper(Z.dtype)(X2, Z)
        grams.append(Z @ Z.T)
    return np.array(grams)


@pytest.mark.parametrize(("degree", "D"), [(1, 2), (1, 3), (2, 2), (3, 1), (4, 1)])
def test_the_mean_and_the_variance_over_all_draws_are_the_formulas(degree, D):
    kernel = Polynomial(degree, gamma=0.6)
    grams = every_gram(RecursiveSketch(kernel, D, random_state=0).fit(X2), D)
    X = X2 * 0.6**0.5
    expected = [[exact_variance(x, y, degree, D) for y in X] for x in X]
    np.testing.assert_allclose(grams.mean(axis=0), kernel(X2), rtol=1e-12)
    np.testing.assert_allclose(grams.var(axis=0), expected, rtol=1e-9)


def test_the_sketch_of_a_node_is_unbiased_whatever_lies_below_it():
    """Degree 3 in two buckets, all leaves fixed: the root's sketch of its lower node takes all its values."""
    fitted = RecursiveSketch(Polynomial(3), 2, random_state=1).fit(X2)
    leaves = [leaf @ leaf.T for leaf in leaf_sketches(fitted)]
    below = TensorSketch(Polynomial(2), 2, random_state=0).fit(X2)
    below.buckets_, below.signs_ = fitted.buckets_[1:], fitted.signs_[1:]
    node = below.transform(X2)
    Z, grams = np.empty((3, 2)), []
    for buckets in product(range(2), repeat=2):
        for signs in product((-1, 1), repeat=2):
            fitted.inner_buckets_[0], fitted.inner_signs_[0] = buckets, signs
            fitted._block_mapper(Z.dtype)(X2, Z)
            grams.append(Z @ Z.T)
    np.testing.assert_allclose(np.mean(grams, axis=0), leaves[0] * (node @ node.T), rtol=1e-12)


def leaf_sketches(fitted):
    """Return the count sketches of X2 by the leaves of a fitted map without constant feature."""
    sketches = np.zeros((len(fitted.buckets_), len(X2), fitted.n_components))
    for k, (buckets, signs) in enumerate(zip(fitted.buckets_, fitted.signs_, strict=True)):
        for i in range(X2.shape[1]):
            sketches[k, :, buckets[i]] += signs[i] * X2[:, i]
    return sketches


def test_degree_two_is_tensor_sketch_and_degree_one_a_count_sketch():
    X = np.random.default_rng(0).standard_normal((4, 30))
    for kernel in (Polynomial(2, coef0=1.0), Polynomial(1), Linear()):
        sketch, recursive = (cls(kernel, 9, random_state=0).fit(X) for cls in (TensorSketch, RecursiveSketch))
        np.testing.assert_array_equal(recursive.buckets_, sketch.buckets_)
        for rows in (X, csr_array(X)):
            np.testing.assert_allclose(recursive.transform(rows), sketch.transform(rows), atol=1e-12)
