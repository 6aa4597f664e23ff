"""Expectations of Random Maclaurin features: exact sums over the degrees and over all signs."""

from itertools import product

import numpy as np


def expected_gram(fitted, parts, X):
    """Return E[Z Z^T] for degrees n of these probabilities and weights, {n: (P(n), weight)}, over all signs.

    One map holds every choice of signs of every degree as a feature, scaled by the root of its probability
    times its weight, so that its Gram matrix is the sum.
    """
    d = X.shape[1]
    signs, scales = [], []
    for n, (probability, weight) in sorted(parts.items()):
        choices = [np.reshape(choice, (n, d)) for choice in product((-1, 1), repeat=n * d)]
        signs += choices
        scales += [np.sqrt(probability * weight / len(choices))] * len(choices)
    fitted.n_components = fitted._n_features_out = len(signs)
    fitted.degrees_ = fitted.n_factors_ = np.array([len(one) for one in signs])
    fitted.scales_ = np.array(scales)
    factors = [one[j] for j in range(max(parts)) for one in signs if len(one) > j]
    fitted.signs_ = np.array(factors, dtype=np.int8).reshape(-1, d)
    Z = fitted.transform(X)
    return Z @ Z.T


def series(kernel, t, last):
    """Return sum_{n <= last} a_n t^n."""
    return np.polynomial.polynomial.polyval(t, kernel.maclaurin(last + 1))
