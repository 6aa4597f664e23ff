"""Scores on the folds of a subsample along C or alpha, of linear models on features and of exact methods."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve
from sklearn import svm

from kfeat.data.matrix import Indices, Matrix
from kfeat.experiments.cost import GRAM_ROWS
from kfeat.kernels.base import Kernel
from kfeat.memory import check_memory
from kfeat.own.folds import at
from kfeat.own.scoring import Metric
from kfeat.solvers import Newton
from kfeat.solvers.base import TargetScale
from kfeat.solvers.cross_validation import path_scores
from kfeat.solvers.least_squares import FOLD_RESIDUAL, FOLD_STEPS
from kfeat.solvers.linear import scores as linear_values
from kfeat.solvers.moments import Moments, ridge_path, without_each
from kfeat.solvers.newton_system import cholesky, is_wide
from kfeat.solvers.sparse_system import ridge_path_of_sparse

# For Newton's method while candidates are compared; the final training may take more steps.
EPS, STEPS = 1e-2, 100
MOST_KEPT = 2**30  # bytes of the Hessians' factors of all folds; beyond it each C is trained separately
PATIENCE, ENOUGH_C = 2, 1.0  # a path over C ends after so many values without a better score, above this C
# Rows of more columns get the whole Gram matrix, made by a matrix product, up to twice GRAM_ROWS, since SVC's
# own dot products are slow there.
MANY_COLUMNS = 100
NATIVE = {"gaussian": "rbf", "polynomial": "poly"}  # SVC's names


def newton_scores(
    loss: Any, Z: Any, y: NDArray[Any], values: Sequence[float], splits: Any, options: dict[str, Any],
    metric: Metric, weights: Any = None,
) -> NDArray[np.float64]:  # fmt: skip
    """Return the score on each held-out fold for values of C in rising order, (folds, values tried).

    Each fold starts from its last solution. Once two values in a row, the last above 1, are no better than an
    earlier one, the larger values are left out, since they cost the most.
    """
    subproblems = 1 if metric.labels is None else len(metric.labels)
    keep = 8 * len(splits) * subproblems * Z.shape[1] ** 2 <= MOST_KEPT
    solver = Newton(loss=loss, eps=EPS, max_iter=STEPS, warm_start=True, **options)
    return path_scores(solver, Z, y, values, splits, metric.of, weights, keep=keep, stop=_no_better)


def _no_better(C: float, means: NDArray[np.float64]) -> bool:
    return C > ENOUGH_C and len(means) - 1 - int(means.argmax()) >= PATIENCE


def ridge_scores(
    Z: Any, y: NDArray[Any], values: Sequence[float], splits: Any, metric: Metric, weights: Any,
    scale: TargetScale,
) -> NDArray[np.float64]:  # fmt: skip
    """Return the score on each held-out fold for each alpha in rising order, (folds, values).

    An alpha whose system of wide sparse features is not solved in FOLD_STEPS has the score -inf.
    """
    scores, alphas = np.full((len(splits), len(values)), -np.inf), np.sort(np.asarray(values, float))
    paths = (sparse_paths if is_wide(Z) else moment_paths)(Z, scale.of(y), alphas, splits, weights)
    for fold, (path, (_, held_out)) in enumerate(zip(paths, splits, strict=True)):
        for k, w, b in path:
            predicted = linear_values(Z[held_out], w[None])[:, 0] + b
            scores[fold, k] = metric.of_values(scale.back(predicted), y[held_out], at(weights, held_out))
    return scores


def moment_paths(
    Z: Any, t: NDArray[Any], alphas: NDArray[Any], splits: Any, weights: Any
) -> Iterator[Iterator[tuple[int, NDArray[Any], float]]]:
    """Yield for each fold the ridge regressions by the position of their alpha: their w and b."""
    for seen in seen_moments(Z, t, splits, weights):
        yield ((k, w, float(seen.y_mean - seen.x_mean @ w)) for k, w in enumerate(ridge_path(seen, alphas)))


def sparse_paths(
    Z: Any, t: NDArray[Any], alphas: NDArray[Any], splits: Any, weights: Any
) -> Iterator[Iterator[tuple[int, NDArray[Any], float]]]:
    """Yield the same for a wide CSR matrix, without what was not solved."""
    for seen, _ in splits:
        W, b, solved, _ = ridge_path_of_sparse(
            Z[seen], t[seen], at(weights, seen), alphas, True, FOLD_RESIDUAL, FOLD_STEPS
        )
        yield ((int(k), W[k], float(b[k])) for k in np.flatnonzero(solved))


def seen_moments(Z: Any, y: NDArray[Any], splits: Any, weights: Any = None) -> Iterator[Moments]:
    """Yield the moments of each fold's training rows.

    Where the held-out rows of the folds are disjoint and all others train, those of the held-out rows are
    computed once and added, which is a single pass over the features.
    """

    def of(rows: Indices) -> Moments:
        return Moments.of(Z[rows], y[rows], at(weights, rows))

    held_out = np.concatenate([rows for _, rows in splits])
    rest = np.setdiff1d(np.arange(len(y)), held_out)
    if len(held_out) + len(rest) != len(y) or any(len(seen) + len(rows) != len(y) for seen, rows in splits):
        yield from (of(seen) for seen, _ in splits)
        return
    parts = [of(rows) for rows in (*(rows for _, rows in splits), rest) if len(rows)]
    yield from islice(without_each(parts), len(splits))


def kernel_ridge_scores(
    K: NDArray[np.float64], y: NDArray[Any], values: Sequence[float], splits: Any, metric: Metric,
    weights: Any, scale: TargetScale,
) -> NDArray[np.float64]:  # fmt: skip
    """Return the score on each held-out fold per alpha, (folds, values); -inf where K + alpha I is singular.

    K is the Gram matrix (n, n) of all rows; f(x) = mean(y) + sum_i a_i K(x_i, x), (K + alpha I) a = y - mean,
    on the scale of the targets; with weights c it is (K + alpha diag(1 / c)) a, and the weighted mean.
    """
    scores, t = np.full((len(splits), len(values)), -np.inf), scale.of(y)
    for fold, (seen, held_out) in enumerate(splits):
        w = at(weights, seen)
        mean = np.average(t[seen], weights=w)
        for k, alpha in enumerate(values):
            A = K[np.ix_(seen, seen)]
            A[np.diag_indices(len(seen))] += alpha if w is None else alpha / w
            with suppress(LinAlgError):
                predicted = mean + K[np.ix_(held_out, seen)] @ cho_solve(cholesky(A), t[seen] - mean)
                scores[fold, k] = metric.of_values(scale.back(predicted), y[held_out], at(weights, held_out))
    return scores


def exact_scores(
    kernel: Kernel, entry: dict[str, Any], X: Matrix, y: NDArray[Any], values: Sequence[float], splits: Any,
    metric: Metric, weights: Any, scale: TargetScale, class_weight: Any, threads: int,
) -> NDArray[np.float64]:  # fmt: skip
    """Return the scores of the exact method, (folds, values), from one Gram matrix where rows are few.

    `entry` is the kernel as a config has it, with its gamma as a number.
    """
    n, few = len(y), GRAM_ROWS if X.shape[1] <= MANY_COLUMNS else 2 * GRAM_ROWS
    if metric.labels is not None and n > few and entry["name"] in NATIVE:
        K, parameters = X, {name: value for name, value in entry.items() if name != "name"}
        parameters["kernel"] = NATIVE[entry["name"]]
    else:
        check_memory(f"the Gram matrix of {n:,} rows", 24 * n * n, "fewer rows")
        K, parameters = kernel(X.astype(np.float64)), {"kernel": "precomputed"}
    if metric.labels is None:
        return kernel_ridge_scores(K, y, values, splits, metric, weights, scale)
    classifier = svm.SVC(**parameters, cache_size=1000, class_weight=class_weight)
    return path_scores(classifier, K, y, values, splits, metric.of, weights, n_jobs=threads)
