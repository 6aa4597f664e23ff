"""The variance of Tensor Sketch's estimate Z = <z(x), z(y)> of <x, y>^p, and bounds on its error.

The exact variance, with fully random hashes h_k and signs s_k: let F_k(f) = sum_i s_k(i) x_i w^(f h_k(i))
be the spectrum of x's k-th count sketch (w a primitive D-th root of 1), and G_k that of y's. By Parseval's
theorem Z = sum_f prod_k F_k(f) conj(G_k(f)) / D, so that E Z^2 = sum_{f, g} M(f, g)^p / D^2, with

    M(f, g) = E F(f) conj(G(f)) conj(F(g)) G(g) = a + b [f = g] + c [f = -g mod D],
    a = <x, y>^2,   b = ||x||^2 ||y||^2 - q,   c = <x, y>^2 - q,   q = sum_i x_i^2 y_i^2,

since only those terms of E s(i) s(j) s(k) s(l) x_i y_j x_k y_l are not 0 in which the indices are pairwise
equal: i = j and k = l (a), i = k and j = l (b), i = l and j = k (c). Let e be the number of f with f = -f mod
D: 1 for odd D and 2 for even D. Then

    D Var Z = (1 - e/D) ((a + b)^p + (a + c)^p - 2 a^p) + (e/D) ((a + b + c)^p - a^p).

For p = 1 this is Var Z = (b + c) / D, Lemma 2. Lemma 6 applies Lemma 2 to x^(p), which needs signs that are
4-wise independent; the signs of x^(p), products of p independent ones, are not.
"""

from collections.abc import Callable

import numpy as np

from kfeat.experiments.measures.pairs import Numbers, Pairs


def exact_variance(pairs: Pairs) -> Numbers:
    """Return Var Z of Tensor Sketch with fully random hashes, shape (m,), as derived above."""
    a, b, c = _terms(pairs)
    p, e = pairs.degree, (2 - pairs.D % 2) / pairs.D
    apart = (a + b) ** p + (a + c) ** p - 2 * a**p
    return ((1 - e) * apart + e * ((a + b + c) ** p - a**p)) / pairs.D


def _terms(pairs: Pairs) -> tuple[Numbers, Numbers, Numbers]:
    a, q = pairs.inner**2, pairs.overlap
    return a, pairs.norms - q, a - q


def lemma_6(pairs: Pairs) -> Numbers:
    """Return (<x, y>^2p + ||x||^2p ||y||^2p) / D, for p = 1 the bound of Lemma 3.

    For p >= 2 it is below the variance unless <x, y>^2 is small compared with ||x||^2 ||y||^2.
    """
    p = pairs.degree
    return (pairs.inner ** (2 * p) + pairs.norms**p) / pairs.D


def extended(pairs: Pairs) -> Numbers:
    """Return ((2 <x, y>^2 + ||x||^2 ||y||^2 - 2 q)^p - <x, y>^2p) / D, with q as above.

    It is cited from the authors' extended version (arXiv 2505.08146); its conditions are not known here.

    It is ((a + b + c)^p - a^p) / D: the variance itself for p = 1 or D <= 2. Otherwise it is a bound if
    c >= 0, since t^p is convex and so (a + b)^p + (a + c)^p <= a^p + (a + b + c)^p. If c < 0 < b, that is
    <x, y>^2 < q, the inequality is reversed, and the variance is larger.
    """
    a, b, c = _terms(pairs)
    return ((a + b + c) ** pairs.degree - a**pairs.degree) / pairs.D


def corrected(pairs: Pairs) -> Numbers:
    """Return ((a + b + |c|)^p - a^p) / D, which bounds the variance for all x and y.

    a + b + |c| = max(2 <x, y>^2 + ||x||^2 ||y||^2 - 2 q, ||x||^2 ||y||^2): the bound `extended` if
    <x, y>^2 >= q, else (||x||^2p ||y||^2p - <x, y>^2p) / D. It is at most (3^p - 1) ||x||^2p ||y||^2p / D.
    """
    a, b, c = _terms(pairs)
    return ((a + b + np.abs(c)) ** pairs.degree - a**pairs.degree) / pairs.D


VARIANCE_BOUNDS: dict[int | str, Callable[[Pairs], Numbers]] = {
    6: lemma_6,
    "extended": extended,
    "corrected": corrected,
}


def largest_product(pairs: Pairs) -> float:
    """Return R^2p with R the largest 1-norm of all points: Lemma 8's bound of |Z|."""
    return float(max(np.abs(each).sum(axis=1).max() for each in (pairs.x, pairs.y)) ** (2 * pairs.degree))


def lemma_7(pairs: Pairs, sketches: int) -> tuple[Numbers, Numbers]:
    """Return errors eps <x, y>^p and the bounds 2 / (D eps^2 cos^2p) of their probability, shape (k, m)."""
    eps = np.array([[0.25], [0.5], [1.0], [2.0]])
    cosine = pairs.inner**2 / pairs.norms
    return eps * np.abs(pairs.kernel), 2 / (pairs.D * eps**2 * cosine**pairs.degree)


def lemma_9(pairs: Pairs, sketches: int) -> tuple[Numbers, Numbers]:
    """Return errors eps and the bounds 2 exp(-t eps^2 / (2 R^4p)) for averages of t sketches, shape (k, m).

    The eps are 1/2, 1, 2 and 3 standard deviations of such an average, where errors occur.
    """
    deviation = np.sqrt(exact_variance(pairs) / sketches)
    eps = np.array([[0.5], [1.0], [2.0], [3.0]]) * deviation
    return eps, 2 * np.exp(-sketches * eps**2 / (2 * largest_product(pairs) ** 2))


def lemma_10(pairs: Pairs, sketches: int) -> tuple[Numbers, Numbers]:
    """Return errors eps ||x||^2p and the least 2 delta that Lemma 10 allows for y = x, shape (k, m).

    With u = log(1 / delta) its conditions D >= 72 u / eps^2 and max |x^(p)| / ||x^(p)|| <=
    eps / (18 sqrt(u (u + log D))) hold up to u = D eps^2 / 72 and up to the root of u^2 + u log D = (eps /
    (18 max |x^(p)| / ||x^(p)||))^2. It says nothing (2 delta >= 1) unless u > log 2, so never for D < 50.
    """
    eps = np.array([[0.25], [0.5], [0.75], [0.95]])
    norms = np.linalg.norm(pairs.x, axis=1)
    peak = (np.abs(pairs.x).max(axis=1) / norms) ** pairs.degree
    log_D = np.log(pairs.D)
    root = (np.sqrt(log_D**2 + 4 * (eps / (18 * peak)) ** 2) - log_D) / 2
    return eps * norms ** (2 * pairs.degree), 2 * np.exp(-np.minimum(pairs.D * eps**2 / 72, root))


TAIL_BOUNDS: dict[int | str, Callable[[Pairs, int], tuple[Numbers, Numbers]]] = {
    7: lemma_7,
    9: lemma_9,
    10: lemma_10,
}
