"""Rules that choose the landmarks of the Nystrom map."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.linalg import cholesky, eigvalsh, solve_triangular
from sklearn import cluster
from sklearn.utils import gen_batches

from kfeat.errors import DataError, ParameterError
from kfeat.kernels import Kernel
from kfeat.kernels.operands import Objects
from kfeat.maps.base import Array
from kfeat.memory import check_memory

Indices = NDArray[np.intp]
Rule = Callable[[Kernel, Any, int, Generator], Indices]
EPS = float(np.finfo(np.float64).eps)
ROWS = 1024  # rows of the data at a time, in products with the landmarks
PROPOSALS = 5  # landmarks per proposal of a block: measured best
LEAST_RIDGE = 1e-10  # relative to the largest eigenvalue; below it leverage scores are rounding errors


def uniform(kernel: Kernel, X: Any, c: int, rng: Generator) -> Indices:
    """Return c rows drawn uniformly without replacement."""
    return np.sort(rng.choice(X.shape[0], size=c, replace=False))


def k_means(kernel: Kernel, X: Any, c: int, rng: Generator) -> Indices:
    """Return up to c different rows by k-means++ (Arthur & Vassilvitskii 2007), independent of the kernel.

    Each row is drawn with a probability in proportion to its squared Euclidean distance from the nearest row
    drawn before; the best of 2 + log c such draws is taken, as in scikit-learn.
    """
    if isinstance(X, Objects):
        raise ParameterError("Nystrom: landmarks 'kmeans++' need vectors, not objects; take another rule")
    check_memory("a copy of the data in double precision", 8 * X.size, "take fewer rows", ParameterError)
    drawn = cluster.kmeans_plusplus(X.astype(np.float64), c, random_state=int(rng.integers(2**31 - 1)))[1]
    return np.unique(drawn)  # rows repeat if there are fewer than c different ones


def leverage(kernel: Kernel, X: Any, c: int, rng: Generator) -> Indices:
    """Return c rows drawn without replacement in proportion to approximate ridge leverage scores.

    Recursive sampling (Musco & Musco 2017, Algorithm 3, with a fixed number of rows): the rows are in random
    order; c rows of the first half, drawn by their scores, give the scores of all rows; c rows of the first
    quarter give those of the half, and so on. Rows with k(x, x) = 0 are left out.
    """
    blocks = (X[some].astype(np.float64) for some in gen_batches(X.shape[0], ROWS))
    order = np.flatnonzero(np.concatenate([kernel.diagonal(block) > 0 for block in blocks]))
    positive_total(np.ones(len(order)), kernel)
    rng.shuffle(order)
    sizes = [len(order)]
    while sizes[-1] > c:
        sizes.append((sizes[-1] + 1) // 2)
    *larger, least = sizes
    sample, weights = order[:least], np.ones(least)
    for size in reversed(larger):
        rows = order[:size]
        p = ridge_leverage_scores(kernel, X, X[sample], weights, rows=rows)
        p /= positive_total(p, kernel)
        drawn = rng.choice(size, size=min(c, int(np.count_nonzero(p))), replace=False, p=p)
        sample, weights = rows[drawn], 1 / np.sqrt(np.minimum(c * p[drawn], 1))
    return np.sort(sample)


def ridge_leverage_scores(
    kernel: Kernel,
    X: Any,
    sample: Any,
    weights: Array,
    ridge: float | None = None,
    rows: Indices | None = None,
) -> Array:
    """Return (K - K S (S^T K S + r I)^(-1) S^T K)_ii / r, which is (K (K + r I)^(-1))_ii if S is all rows.

    S selects the rows of `sample` with these weights (Musco & Musco 2017, Lemma 6). The default ridge r is
    sum_{i > k} s_i / k over the eigenvalues s_i of S^T K S, with k = c / (4 log c) for c rows: so there are
    4 log c rows for each of k directions. With `rows`, the scores are those of these rows of X.
    """
    sample = sample.astype(np.float64)
    W = kernel(sample) * np.outer(weights, weights)
    if ridge is None:
        eigenvalues = eigvalsh(W)[::-1].clip(min=0)
        k = max(round(len(W) / (4 * np.log(len(W) + 1))), 1)
        ridge = max(eigenvalues[k:].sum() / k, LEAST_RIDGE * eigenvalues[0], np.finfo(np.float64).tiny)
    L = cholesky(W + ridge * np.eye(len(W)), lower=True)
    scores = np.empty(X.shape[0] if rows is None else len(rows))
    for some in gen_batches(len(scores), ROWS):
        block = X[some if rows is None else rows[some]].astype(np.float64)
        B = solve_triangular(L, (kernel(block, sample) * weights).T, lower=True, overwrite_b=True)
        scores[some] = (kernel.diagonal(block) - np.einsum("ij,ij->j", B, B)) / ridge
    return scores.clip(min=0)


def pivots(kernel: Kernel, X: Any, c: int, rng: Generator) -> Indices:
    """Return up to c rows by randomly pivoted Cholesky (Chen, Epperly, Tropp & Webber 2022), sorted.

    They are the pivots of `pivoted_cholesky` with blocks of c / 5 proposals.
    """
    n = X.shape[0]
    check_memory(
        f"the Cholesky factor of {n:,} rows by {c:,} landmarks", 8 * n * c, "take fewer", ParameterError
    )
    return np.sort(pivoted_cholesky(kernel, X, c, rng, -(-c // PROPOSALS))[0])


def pivoted_cholesky(kernel: Kernel, X: Any, c: int, rng: Generator, block: int = 1) -> tuple[Indices, Array]:
    """Return up to c pivots in the order of their choice, and F (n, pivots) with F F^T = C W^+ C^T.

    Each row is drawn with a probability in proportion to the diagonal of the residual K - F F^T of the rows
    before it (Chen, Epperly, Tropp & Webber 2022, Algorithm 1). `block` > 1 proposes so many rows at a time
    by the present residual, and rejects each with the share that its residual has lost since (Epperly, Tropp
    & Webber 2024, Algorithm 3): the distribution is the same, but the work is in matrix products. There are
    fewer than c pivots if the residual is 0 in double precision before.
    """
    n = X.shape[0]
    F, chosen = np.empty((n, c)), np.empty(c, dtype=np.intp)
    batches = list(gen_batches(n, ROWS))
    residual = np.concatenate([kernel.diagonal(X[rows].astype(np.float64)) for rows in batches])
    positive_total(residual, kernel)
    rounding, m = 16 * c * EPS * residual, 0
    while m < c and (total := residual.cumsum())[-1] > 0:
        proposed = np.searchsorted(total, rng.random(block) * total[-1], side="right")
        proposed = np.minimum(proposed, np.flatnonzero(residual)[-1])
        candidates = X[proposed].astype(np.float64)
        H = kernel(candidates) - F[proposed, :m] @ F[proposed, :m].T
        accepted = accepted_proposals(H, rng.random(block), rounding[proposed])[: c - m]
        new, landmarks = proposed[accepted], candidates[accepted]
        L = cholesky(H[np.ix_(accepted, accepted)], lower=True)
        columns, known = slice(m, m + len(new)), F[new, :m].T
        for rows in batches:
            G = kernel(X[rows].astype(np.float64), landmarks) - F[rows, :m] @ known
            F[rows, columns] = solve_triangular(L, G.T, lower=True, overwrite_b=True).T
            residual[rows] -= np.einsum("ij,ij->i", F[rows, columns], F[rows, columns])
        residual[residual <= rounding] = 0
        residual[new] = 0
        chosen[columns] = new
        m = columns.stop
    return chosen[:m], F[:, :m]


def accepted_proposals(H: Array, u: Array, rounding: Array) -> list[int]:
    """Return which proposals, with the residual Gram matrix H, become pivots; u is uniform on [0, 1).

    Proposal i is accepted with the probability h_i / H_ii, where h_i is its residual after those accepted
    before. It was proposed in proportion to H_ii, so it is chosen in proportion to h_i. The first is always
    accepted.
    """
    left, accepted = H.copy(), [0]
    for i in range(1, len(H)):
        last = accepted[-1]
        if last == i - 1:
            column = left[:, last] / np.sqrt(left[last, last])
            left -= np.outer(column, column)
        if left[i, i] > rounding[i] and u[i] * H[i, i] < left[i, i]:
            accepted.append(i)
    return accepted


def positive_total(weights: Array, kernel: Kernel) -> float:
    """Return the sum of the weights by which rows are drawn; raises DataError if all are 0."""
    total = float(weights.sum())
    if not total > 0:
        raise DataError(f"Nystrom: {kernel!r} is 0 on all rows, so landmarks cannot be chosen by it")
    return total


RULES: dict[str, Rule] = {
    "uniform": uniform,
    "kmeans++": k_means,
    "leverage": leverage,
    "rpcholesky": pivots,
}
