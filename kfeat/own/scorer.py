"""Scoring the candidates of a search by cross-validation on subsamples, and on the test rows."""

from collections.abc import Callable, Sequence
from functools import cache, partial
from time import perf_counter
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from kfeat.data.access import Access
from kfeat.data.dataset import Dataset
from kfeat.data.loading import load_under
from kfeat.data.matrix import Indices, Matrix
from kfeat.data.preparation import Labels, learn_metric, transformer_of
from kfeat.data.protocol import Protocol
from kfeat.errors import DataError
from kfeat.experiments.adapters import rows_for
from kfeat.experiments.component import read_component
from kfeat.experiments.plan import Trial
from kfeat.kernels.base import Kernel
from kfeat.kernels.distances import MAX_ROWS
from kfeat.memory import check_memory
from kfeat.own.candidates import Candidate, boosting_model, model_of, options_of
from kfeat.own.facts import (
    MOST_GAMMA,
    SAMPLE,
    DataFacts,
    gammas_of,
    parted,
    scalings,
    steps_of,
    targets_of,
)
from kfeat.own.folds import MOST_FOLDS, Subsamples, at, enough_rows, folds_of, rarest_rows
from kfeat.own.model import KernelModel
from kfeat.own.paths import (
    exact_scores,
    newton_scores,
    ridge_scores,
)
from kfeat.own.report import held_out_answers
from kfeat.own.scoring import NO_SCORE, OF_SCORES, best_column, default_metric, metric_of, without_features
from kfeat.solvers.base import TargetScale
from kfeat.solvers.class_weights import weights_of_codes
from kfeat.text import counted
from kfeat.weights import by_weight

TIMED_ROWS = 1000
FEW_ROWS = 5_000  # up to so many, one thread of BLAS takes about as long as several
HELPS = 0.8  # of the time of one thread: several that take more do not help


class Scorer:
    """The data of a search under each scaling, and the scores of candidates; only `test` uses test rows.

    What is learnt without labels (scaling, landmarks, directions) is learnt once, on all rows of a subsample,
    not in each fold. A metric is learnt in each fold, from its training rows.
    """

    def __init__(
        self, data: Callable[..., Dataset], seed: int, threads: int, options: dict[str, Any] | None = None,
        metric: str | None = None, cv: Any = None, capped: bool = True,
    ) -> None:  # fmt: skip
        self._under, self._capped = cache(data), capped
        own = data("own")
        self._seed, self._threads = seed, threads
        self._n, self._classes = len(own.y_train), own.task == "classification"
        if not enough_rows(own.y_train, self._classes):
            raise DataError(
                f"{own.name}: cross-validation in {MOST_FOLDS} folds needs {MOST_FOLDS} training rows of "
                "some class, but all have fewer; `kfeat fit` needs no cross-validation"
            )
        self._options = dict(options or {})
        if weights := self._options.get("class_weight"):
            self._options["class_weight"] = weights_of_codes(weights, own.label_names)
        metric = metric or default_metric(own.y_train, self._classes)[0]
        self._metric = metric_of(metric, own.y_train, self._classes)
        chosen = None if cv is None else folds_of(cv, own.y_train, own.by, self._classes, seed)
        self.subsamples = Subsamples(own.y_train, self._classes, seed, chosen)
        self._metrics: dict[Any, Any] = {}
        self._models: dict[tuple[Candidate | None, float, int | None], KernelModel] = {}

    def threads_for(self, n: int | None) -> threadpool_limits:
        """Return a context in which linear algebra on n rows (None: all of them) has the threads that help.

        Threads of BLAS wait for each other in a loop, so where other programs run, they take many times as
        long as one.
        """
        few = (n or self._n) <= FEW_ROWS
        return threadpool_limits(1 if few else helpful_threads(self._threads))

    @property
    def _class_weights(self) -> tuple[Any, ...]:
        """The weights of classes that candidates may have, the first one first."""
        if not self._classes or self._metric.name == "accuracy" or "class_weight" in self._options:
            return (None,)
        return (None, "balanced") if self._metric.name.startswith(OF_SCORES) else ("balanced", None)

    def facts(self) -> DataFacts:
        """Return the facts about the data on which candidates depend."""
        own = self._under("own")
        gammas = {}
        for scale in (*scalings(self._under("none").X_train), "own"):
            scales = gammas_of(self._under(scale).X_train[self.subsamples.order[:SAMPLE]])
            if scale == "own" or scales["gaussian"] < MOST_GAMMA:
                gammas[scale] = scales
        rarest = rarest_rows(own.y_train) if self._classes else self._n
        n, d = own.X_train.shape
        sizes = n, own.X_test.shape[0], d, rarest
        targets = ("none",) if self._classes else targets_of(own.y_train)
        return DataFacts(
            own.task, *sizes, gammas, self._metric.name, self._class_weights, targets, self._capped
        )

    def score(self, candidate: Candidate, n: int, values: Sequence[float]) -> dict[str, Any]:
        """Return a candidate's scores on the folds at the best of these values of C (or alpha).

        The seconds are those of the values, and `learning` is the time that its metric took when it was new.
        """
        rows, splits = self.subsamples.folds(n)
        base, metric = parted(candidate.scale)
        data = self._under(base)
        y, weights, values = data.y_train[rows], at(data.weights, rows), sorted(values)
        parts, learning = [(data.X_train[rows], splits)], {}
        if metric:
            turned, seconds = self._turned(base, metric, rows, splits)
            parts, learning = [*zip(turned, ([f] for f in splits), strict=True)], {"learning": seconds}
        start = perf_counter()
        scores = [self._path(candidate, X, y, weights, values, folds) for X, folds in parts]
        tried = min(part.shape[1] for part in scores)  # a path may end early
        together = np.concatenate([part[:, :tried] for part in scores])
        return best_column(together, values) | {"seconds": perf_counter() - start} | learning

    def _turned(self, base: str, metric: Any, rows: Indices, splits: Any) -> tuple[list[Matrix], float]:
        """Return a subsample for each fold, under a metric learnt on its training rows, and the seconds."""
        key, data = (base, metric, len(rows)), self._under(base)

        def learn(seen: Indices) -> Any:
            labels, weights = Labels(data.y_train[seen], data.task), at(data.weights, seen)
            return learn_metric(
                transformer_of(metric), iter([data.X_train[seen].astype(np.float64)]), labels, weights
            )

        if key not in self._metrics:
            start, jobs = perf_counter(), [delayed(learn)(rows[seen]) for seen, _ in splits]
            with threadpool_limits(1):
                metrics = Parallel(self._threads, prefer="threads")(jobs)
            self._metrics[key] = metrics, perf_counter() - start
        X, (metrics, seconds) = data.X_train[rows], self._metrics[key]
        if not any(metric.round_ for metric in metrics):
            raise DataError("no metric predicts better than none")
        return [transformer.transform(X).astype(X.dtype) for transformer in metrics], seconds

    def _path(
        self, candidate: Candidate, X: Matrix, y: Any, weights: Any, values: Sequence[float], splits: Any
    ) -> NDArray[np.float64]:
        """Return the scores on the held-out rows of folds of X (n, d), (folds, values tried)."""
        scale = TargetScale.learn(candidate.target, y, weights)
        options = options_of(candidate, self._options)
        if candidate.exact:
            kernel, class_weight = self._kernel(candidate, X, weights), options.get("class_weight")
            more = self._metric, weights, scale, class_weight, self._threads
            return exact_scores(kernel, candidate.kernel, X, y, values, splits, *more)
        Z = X if candidate.linear else self._features(candidate, X, weights)
        if candidate.loss == "squares":
            return ridge_scores(Z, y, values, splits, self._metric, weights, scale)
        return newton_scores(candidate.loss, Z, y, values, splits, options, self._metric, weights)

    def _kernel(self, candidate: Candidate, X: Matrix, weights: Any) -> Kernel:
        """Return the kernel of a candidate with the bandwidth that rows and their weights give."""
        kernel: Kernel = read_component(candidate.kernel, "kernel").build()
        return kernel.resolve(by_weight(X, weights, MAX_ROWS), self._seed)

    def _features(self, candidate: Candidate, X: Matrix, weights: Any) -> Any:
        """Return the features (n, D) of rows under a map that is fitted to them."""
        assert candidate.map is not None
        n, D = X.shape[0], candidate.D
        what = f"{counted(D, 'features')} of {counted(n, 'rows')}"
        check_memory(what, 3 * 4 * n * max(D, 1), "a smaller map")
        kernel = self._kernel(candidate, X, weights)
        component = read_component(candidate.map, "map")
        feature_map = component.build(kernel=kernel, random_state=self._seed, n_jobs=1)  # BLAS has all
        return feature_map.fit_transform(X)

    def test(
        self, candidate: Candidate | None, value: float = 0.0, rows: int | None = None
    ) -> dict[str, Any]:
        """Return the score on the test rows after training on all training rows or so many, and the seconds.

        Without a candidate it is boosting.
        """
        data, start = self._data(candidate, rows), perf_counter()
        model = self._trained(candidate, value, rows)
        train = perf_counter() - start
        score = self._metric(partial(model.predict_prepared, data.X_test), data.y_test, data.weights_test)
        start = perf_counter()
        model.predict_prepared(data.X_train[:TIMED_ROWS])
        seconds = (perf_counter() - start) * TIMED_ROWS / min(TIMED_ROWS, self._n)
        return {"score": score, "train": train, "predict": seconds} if np.isfinite(score) else dict(NO_SCORE)

    def held_out_answers(
        self, candidate: Candidate | None, value: float, rows: int | None, seconds: float
    ) -> dict[str, Any]:
        """Return what a trained method answers on the test rows, in about so many seconds."""
        model = self._trained(candidate, value, rows)
        return vars(held_out_answers(model, self._under("none"), self._metric, seconds, self._seed))

    def _data(self, candidate: Candidate | None, rows: int | None) -> Dataset:
        """Return what trains a candidate: all training rows or so many, scaled by what these have."""
        return self._under(candidate.scale if candidate else "none", *([] if rows is None else [rows]))

    def _trained(self, candidate: Candidate | None, value: float, rows: int | None) -> KernelModel:
        """Return a model that is trained on all training rows or on so many; it is kept."""
        if (candidate, value, rows) not in self._models:
            data = self._data(candidate, rows)
            assert data.preparation is not None
            if candidate is None:
                model = self._boosting()
            else:
                model = model_of(candidate, value, self._options, self._seed)
            model.fit_prepared(data.preparation, data.X_train, data.y_train, sample_weight=data.weights)
            self._models[candidate, value, rows] = model
        return self._models[candidate, value, rows]

    def _boosting(self) -> KernelModel:
        weight = self._options.get("class_weight", self._class_weights[0])
        return boosting_model(self._under("own").task, weight, self._seed)

    def constant(self, n: int) -> dict[str, Any]:
        """Return the score of always the most frequent class, or of the mean, on the folds of n rows."""
        scores = self._fold_scores(without_features(self._classes), np.zeros((self._n, 1)), n)
        return {"score": float(np.mean(scores))}

    def boosting(self, n: int) -> dict[str, Any]:
        """Return the scores of HistGradientBoosting on the folds of n rows, and as `test` returns them."""
        data, model = self._under("none"), self._boosting().solver
        scores = self._fold_scores(model, rows_for(model, data.X_train), n)
        tested = self.test(None) if data.X_test.shape[0] else {}
        return {**best_column(np.array(scores)[:, None], [0.0]), "test": tested}

    def _fold_scores(self, model: Any, X: Any, n: int) -> list[float]:
        """Return the scores of an estimator on the folds of n of all training rows X."""
        (rows, splits), y, w = (
            self.subsamples.folds(n),
            self._under("own").y_train,
            self._under("own").weights,
        )
        folds = [(rows[seen], rows[held]) for seen, held in splits]
        return [
            self._metric.of(model.fit(X[seen], y[seen], at(w, seen)), X[held], y[held], at(w, held))
            for seen, held in folds
        ]


@cache
def helpful_threads(threads: int) -> int:
    """Return these threads if they multiply matrices in clearly less time than one thread does, else 1."""
    A = np.ones((2_000, 1_000))

    def seconds(limit: int) -> float:
        times = []
        with threadpool_limits(limit):
            for _ in range(3):
                start = perf_counter()
                A.T @ A
                times.append(perf_counter() - start)
        return min(times)

    return threads if threads > 1 and seconds(threads) < HELPS * seconds(1) else 1


def data_under(scale: str, rows: int | None = None, *, trial: Trial, n_train: int, access: Access) -> Dataset:
    """Return the data of a trial under another protocol, that of `protocol_under`."""
    protocol = protocol_under(trial.protocol, scale, rows, n_train)
    return load_under(trial.source, protocol, access, trial.seeds["data"])


def protocol_under(protocol: Protocol, scale: str, rows: int | None, n_train: int) -> Protocol:
    """Return a protocol with a scaling, or its "own", and with so many of its n_train training rows."""
    if rows is not None:
        protocol = protocol.model_copy(update={"split": protocol.split.with_rows(rows, n_train)})
    return Protocol.model_validate(protocol.given() | {"scale": steps_of(scale, protocol.scale)})
