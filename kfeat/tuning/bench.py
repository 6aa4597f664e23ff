"""The work of a search: candidates scored by cross-validation on subsamples of the training rows."""

from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold

from kfeat.data import load
from kfeat.data.dataset import Indices, Matrix
from kfeat.errors import DataError
from kfeat.experiments.component import read_component
from kfeat.kernels import Gaussian, Laplacian
from kfeat.kernels.base import squared_norms
from kfeat.kernels.operands import as_operand
from kfeat.solvers import SOLVERS, Newton, grid_scores
from kfeat.solvers.class_weights import weights_of_codes
from kfeat.solvers.ridge.estimator import ridge_path
from kfeat.solvers.ridge.moments import Moments, sum_of
from kfeat.tuning.candidates import Candidate, Entry, Facts, solver_of
from kfeat.tuning.first_choices import bandwidth_rule
from kfeat.tuning.halving import FOLDS

# Of Newton's method while candidates are compared; what is trained in the end may take more steps.
EPS, STEPS = 1e-2, 100
NO_SCORE = {"failed": "the score has no value, as R² of a single row"}
MOST_KEPT = 2**30  # bytes of the Hessians' factors of all folds; beyond it each C is trained by itself
PATIENCE, ENOUGH = 2, 1.0  # values of C that may be no better than the best before them; and above which


class Bench:
    """The data of a search under its protocol, and what can be asked about them; test rows for `test` only.

    A subsample of n rows is the first n of one order of the training rows, in which every beginning has
    nearly the classes' shares of all; so a smaller one is part of a larger one. Whatever is learnt without
    labels (scaling, landmarks, directions) is learnt once, on all rows of the subsample, and not anew for
    each fold.
    """

    def __init__(
        self, source: Any, protocol: Any, random_state: int, seed: int, threads: int, access: Any,
        options: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self._data = load(source, protocol, random_state=random_state, **access)
        if (most := self._counts().max()) < FOLDS:
            raise DataError(
                f"{self._data.name}: cross-validation in {FOLDS} folds takes {FOLDS} training rows of some "
                f"class, and there are {most} at most; `kfeat fit` needs none"
            )
        self._random_state, self._seed, self._threads = random_state, seed, threads
        self._options = dict(options or {})
        if "class_weight" in self._options:
            weights = weights_of_codes(self._options["class_weight"], self._data.label_names)
            self._options["class_weight"] = weights
        self._order = spread_order(self._data.y_train, self._data.task == "classification", seed)

    def _counts(self) -> Any:
        """Return the number of training rows of each class; of all in a regression."""
        y = self._data.y_train
        return np.unique(np.zeros(len(y)) if self._data.task == "regression" else y, return_counts=True)[1]

    def facts(self) -> Facts:
        """Return what draws of candidates depend on."""
        data, sample = self._data, self._data.X_train[self._order[:2000]]

        def gamma(kernel: type[Gaussian | Laplacian]) -> float:
            return float(kernel(bandwidth_rule(kernel, sample)).resolve(sample, self._seed).gamma)

        square = float(squared_norms(as_operand(sample)).mean())
        n, d = data.X_train.shape
        rarest = int(self._counts().min())
        return Facts(
            data.task, n, data.X_test.shape[0], d, self._is_sparse,
            gamma(Gaussian), 1.0 if self._is_sparse else gamma(Laplacian), max(square, 1e-12), rarest,
        )  # fmt: skip

    @property
    def _is_sparse(self) -> bool:
        return not isinstance(self._data.X_train, np.ndarray)

    def score(self, candidate: Candidate, n: int, values: Sequence[float]) -> dict[str, Any]:
        """Return a candidate's scores on the folds at the best of these values of C (or alpha)."""
        start = perf_counter()
        X, y = self._subsample(n)
        Z = self._map(candidate, X).fit_transform(X)
        if candidate.loss == "squares":
            scores = ridge_scores(Z, y, values, self._seed)
        else:
            scores = newton_scores(candidate.loss, Z, y, sorted(values), self._seed, self._options)
        return best_column(scores, sorted(values)) | {"seconds": perf_counter() - start}

    def exact(self, kernel: Entry, n: int, value: float) -> dict[str, Any]:
        """Return the same of the exact machine on the kernel with one value of C (or alpha)."""
        start = perf_counter()
        X, y = self._subsample(n)
        name, parameter = ("kernel_ridge", "alpha") if self._data.task == "regression" else ("libsvm", "C")
        weights = {key: value for key, value in self._options.items() if key == "class_weight"}
        solver: Any = SOLVERS[name](kernel=self._kernel(kernel), **weights)
        scores = grid_scores(solver, X, y, parameter, [value], FOLDS, self._seed)
        return best_column(scores, [value]) | {"seconds": perf_counter() - start}

    def test(self, candidate: Candidate, value: float) -> dict[str, Any]:
        """Return the score on the test rows after training on all training rows."""
        start = perf_counter()
        data = self._data
        feature_map = self._map(candidate, data.X_train)
        Z = feature_map.fit_transform(data.X_train)
        solver: Any = read_component(solver_of(candidate.loss, value, self._options), "solver").build()
        solver.fit(Z, data.y_train)
        fitted = perf_counter() - start
        score = solver.score(feature_map.transform(data.X_test), data.y_test)
        return {"score": float(score), "seconds": fitted} if np.isfinite(score) else dict(NO_SCORE)

    def _subsample(self, n: int) -> tuple[Matrix, NDArray[Any]]:
        rows = np.sort(self._order[:n])
        return self._data.X_train[rows], self._data.y_train[rows]

    def _kernel(self, entry: Entry) -> Any:
        return read_component(entry, "kernel").build().resolve(self._data.X_train, self._random_state)

    def _map(self, candidate: Candidate, X: Matrix) -> Any:
        component = read_component(candidate.map, "map")
        kernel = self._kernel(candidate.kernel)
        return component.build(kernel=kernel, random_state=self._seed, n_jobs=self._threads)


def spread_order(y: NDArray[Any], classes: bool, seed: int) -> Indices:
    """Return a random order of the rows; with `classes` each beginning has nearly their shares of all rows.

    A row's place is (rank in its class + a uniform number) / size of its class.
    """
    rng = np.random.default_rng([seed, len(y)])
    uniform = rng.random(len(y))
    if not classes:
        return np.argsort(uniform, kind="stable")
    place = np.empty(len(y))
    for kind in np.unique(y):
        rows = np.flatnonzero(y == kind)
        rank = np.argsort(np.argsort(uniform[rows], kind="stable"), kind="stable")
        place[rows] = (rank + rng.random(len(rows))) / len(rows)
    return np.argsort(place, kind="stable")


def newton_scores(
    loss: Any, Z: Any, y: NDArray[Any], values: Sequence[float], seed: int, options: dict[str, Any]
) -> NDArray[np.float64]:
    """Return the accuracy on each held-out fold for values of C in rising order, (folds, values tried).

    All folds take a value before the next one comes, each from its last solution. Once two values in a row,
    the last above 1, are no better than one before, the larger ones, which cost the most, are left out.
    """
    splits = list(StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(np.zeros(len(y)), y))
    folds = [(Z[seen], y[seen], Z[held_out], y[held_out]) for seen, held_out in splits]
    factors = 8 * FOLDS * len(np.unique(y)) * Z.shape[1] ** 2

    def path(X: Any, y: NDArray[Any]) -> Iterator[Newton]:
        solver = Newton(loss=loss, eps=EPS, max_iter=STEPS, warm_start=True, **options)
        if factors <= MOST_KEPT:
            return solver.path(X, y, values)
        return (solver.set_params(C=C).fit(X, y) for C in values)

    paths = [path(Z_seen, y_seen) for Z_seen, y_seen, _, _ in folds]
    columns: list[list[float]] = []
    for C, *trained in zip(values, *paths, strict=True):
        columns.append([one.score(*fold[2:]) for one, fold in zip(trained, folds, strict=True)])
        means = np.mean(columns, axis=1)
        if C > ENOUGH and len(means) - 1 - int(means.argmax()) >= PATIENCE:
            break
    return np.array(columns).T


def ridge_scores(Z: Any, y: NDArray[Any], values: Sequence[float], seed: int) -> NDArray[np.float64]:
    """Return R^2 on each held-out fold for each alpha in rising order, (folds, values), from moments."""
    splits = KFold(FOLDS, shuffle=True, random_state=seed).split(Z)
    parts = [Moments.of(Z[held_out], y[held_out]) for _, held_out in splits]
    scores = np.empty((FOLDS, len(values)))
    for fold, held_out in enumerate(parts):
        seen = sum_of(part for part in parts if part is not held_out)
        for k, w in enumerate(ridge_path(seen, np.sort(np.asarray(values, float)))):
            error = held_out.squared_error(w, float(seen.y_mean - seen.x_mean @ w))
            scores[fold, k] = 1 - error / held_out.yy if held_out.yy > 0 else 0.0
    return scores


def best_column(scores: NDArray[np.float64], values: Sequence[float]) -> dict[str, Any]:
    """Return the column of the best mean with its value, mean and standard deviation over the folds."""
    best = int(np.argmax(scores.mean(axis=0)))
    column = scores[:, best]
    if not np.isfinite(column).all():
        return dict(NO_SCORE)
    return {
        "value": float(values[best]),
        "score": float(column.mean()),
        "sd": float(column.std(ddof=1)),
        "folds": [float(one) for one in column],
    }
