"""Scoring the candidates of a search by cross-validation on subsamples, here or in a child process."""

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from inspect import signature
from math import inf
from multiprocessing.connection import Connection
from time import monotonic, perf_counter
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve
from sklearn import linear_model, svm
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    TimeSeriesSplit,
    check_cv,
    cross_val_predict,
)
from threadpoolctl import threadpool_limits

from kfeat.child import Child
from kfeat.data.access import Access
from kfeat.data.cells import listed
from kfeat.data.dataset import Dataset
from kfeat.data.loading import load_under
from kfeat.data.matrix import Indices, Matrix
from kfeat.data.protocol import Protocol
from kfeat.errors import ConfigError, DataError, KfeatError
from kfeat.experiments.adapters import rows_for
from kfeat.experiments.component import read_component
from kfeat.experiments.plan import Trial
from kfeat.kernels.base import Kernel
from kfeat.kernels.distances import MAX_ROWS, squared_norms
from kfeat.kernels.operands import as_operand
from kfeat.memory import check_memory
from kfeat.own.candidates import (
    Candidate,
    ConfigEntry,
    DataFacts,
    boosting_model,
    model_of,
    options_of,
    rounded,
    targets_of,
)
from kfeat.own.model import KernelModel
from kfeat.own.new_config import FOLDS as MOST_FOLDS
from kfeat.own.new_config import default_metric, enough_rows
from kfeat.own.report import held_out_answers
from kfeat.parameters import did_you_mean
from kfeat.solvers import Newton
from kfeat.solvers.base import TargetScale
from kfeat.solvers.class_weights import weights_of_codes
from kfeat.solvers.linear import scores as linear_values
from kfeat.solvers.moments import Moments, ridge_path, sum_of
from kfeat.solvers.newton_system import cholesky
from kfeat.text import counted
from kfeat.weights import by_weight

Answer = dict[str, Any]
READY: Answer = {"ready": True}  # what a process sends first, once its data are read


class LocalScorer:
    """Answers as `ScorerProcess` does, in this process: a budget ends between candidates only."""

    def __init__(self, bench: Any) -> None:
        self.bench = bench

    def ask(self, method: str, deadline: float, limit: float = inf, **question: Any) -> Answer | None:
        """Return the answer of a method of the bench."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _answer(self.bench, method, question)


class ScorerProcess(LocalScorer):
    """Calls methods of a `Scorer` in a process, which is ended if a call does not return in time.

    The next call then starts another process, which loads the data again.
    """

    def __init__(self, threads: int, **bench: Any) -> None:
        self._threads, self._bench = threads, {**bench, "threads": threads}
        self._child: Child | None = None

    def ask(self, method: str, deadline: float, limit: float = inf, **question: Any) -> Answer | None:
        """Return the answer of a method of the bench; None if there is none before the deadline.

        The bench has `limit` seconds for it; the start of its process and the reading of data do not count.
        An answer with the key `failed` says why there is no number.
        """
        if monotonic() >= deadline:
            return None
        starts = self._child is None
        child = self._child = self._child or Child(_prepare, self._bench, threads=self._threads)
        try:
            answer = child.receive(deadline - monotonic()) if starts else READY
            if answer == READY:
                child.send((method, question))
                answer = child.receive(min(deadline - monotonic(), limit))
                if answer is not None:
                    return dict(answer)
        except EOFError:
            answer = {"failed": child.ended()[1]}
        self.end()  # it is too late, has no data, or died
        return answer

    def end(self) -> None:
        """End the process, whatever it does."""
        if self._child is not None:
            self._child.kill()
            self._child = None


def _prepare(connection: Connection, bench: dict[str, Any]) -> Callable[[tuple[str, Answer]], None]:
    """Return what the process does with a question, once it has read the data and said so."""
    try:
        at = Scorer(**bench)
    except KfeatError as error:  # of data that cannot be loaded
        connection.send({"failed": str(error)})
        raise SystemExit from None
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # hides messages of C libraries
    connection.send(READY)
    return lambda asked: connection.send(_answer(at, *asked))


def _answer(bench: Any, method: str, question: Answer) -> Answer:
    """Return the answer of a method; an exception becomes an answer too, so that other candidates go on."""
    try:
        with bench.threads_for(question.get("n") or question.get("rows")):
            answer = getattr(bench, method)(**question)
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {error}"}
    return dict(answer if isinstance(answer, dict) else vars(answer))


# For Newton's method while candidates are compared; the final training may take more steps.
EPS, STEPS = 1e-2, 100
NO_SCORE = {"failed": "the score is undefined, like R² of a single row"}
USUAL = (
    "accuracy", "balanced_accuracy", "roc_auc", "roc_auc_ovr", "average_precision", "f1", "f1_macro",
    "neg_log_loss", "r2", "neg_mean_absolute_error", "neg_root_mean_squared_error",
)  # fmt: skip
# The beginnings of metrics of orders and probabilities, to which weights of classes matter little.
OF_SCORES = ("roc_auc", "average_precision", "neg_", "d2_")
MOST_KEPT = 2**30  # bytes of the Hessians' factors of all folds; beyond it each C is trained separately
PATIENCE, ENOUGH = 2, 1.0  # a path over C ends after so many values without a better score, above this C
DENSE_SCALES = ("zscore", "power", "zscore_numbers", "minmax", "unit_rows")
SPARSE_SCALES = ("unit_rows", "none")
MOST_POWERS = 300  # columns up to which the exponents of a power transform take about a second to learn
FOLDS = 3  # of more than 1,000 rows; up to so many, MOST_FOLDS
# Up to so many rows the exact method gets the whole Gram matrix, made by a matrix product; up to twice as
# many where rows are long, since SVC's own dot products are slow there.
MOST_GRAM, MANY_COLUMNS = 5_000, 100
NATIVE = {"gaussian": "rbf", "polynomial": "poly"}  # SVC's names
SAMPLE = 1000  # rows from which the scales of kernels are learnt
TIMED_ROWS = 1000
FEW_ROWS = 5_000  # up to so many, one thread of BLAS takes about as long as several
HELPS = 0.8  # of the time of one thread: several that take more do not help
MOST_GAMMA = 1e9  # above it the scaled rows are all equal, as unit rows of one column are


def at(weights: Any, rows: Indices) -> Any:
    """Return the weights of some rows, None where there are none."""
    return None if weights is None else weights[rows]


class Held(BaseEstimator):
    """A model's answers for held-out rows, as an estimator that scorers of scikit-learn ask.

    Classes are positions, so that the last one counts as positive. If the model has no probabilities, they
    are those of logistic regression on its decision values, cross-validated on these rows.
    """

    def __init__(self, answer: Callable[[str], Any], y: NDArray[Any], labels: NDArray[Any] | None) -> None:
        self.answer, self.y, self.labels = answer, y, labels

    @property
    def classes_(self) -> NDArray[Any]:
        """The positions of the classes."""
        assert self.labels is not None
        return np.arange(len(self.labels))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the values, or the positions of the labels, whatever X is."""
        predicted = self.answer("predict")
        return np.asarray(predicted if self.labels is None else positions(self.labels, predicted))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the decision values."""
        return np.asarray(self.answer("decision_function"))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities (n, classes)."""
        try:
            return np.asarray(self.answer("predict_proba"))
        except AttributeError:
            values = self.decision_function(X).reshape(len(self.y), -1)
        return np.asarray(
            cross_val_predict(linear_model.LogisticRegression(), values, self.y, method="predict_proba")
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "regressor" if self.labels is None else "classifier"
        return tags


@dataclass(frozen=True)
class Metric:
    """A scorer of scikit-learn, the larger the better; `labels` are the classes, None in a regression."""

    name: str
    labels: NDArray[Any] | None

    def __call__(self, answer: Callable[[str], Any], y: NDArray[Any], weights: Any = None) -> float:
        """Return the score of what `answer(method)` returns, beside the labels or targets y (n,).

        Weights (n,) count if the metric takes them.
        """
        held, scorer = self.held(answer, y), get_scorer(self.name)
        takes = weights is not None and "sample_weight" in signature(scorer._score_func).parameters
        options = {"sample_weight": weights} if takes else {}
        return float(scorer(held, None, held.y, **options))

    def held(self, answer: Callable[[str], Any], y: NDArray[Any]) -> Held:
        """Return the answers as an estimator, beside the positions of labels, or the targets, y (n,)."""
        known = y if self.labels is None else positions(self.labels, y)
        return Held(answer, known, self.labels)

    def of(self, model: Any, X: Any, y: NDArray[Any], weights: Any = None) -> float:
        """Return the score of a fitted model on rows X."""
        return self(lambda method: getattr(model, method)(X), y, weights)

    def of_values(self, predicted: NDArray[np.float64], y: NDArray[Any], weights: Any = None) -> float:
        """Return the score of what a regression predicts (n,)."""
        return self(lambda method: predicted, y, weights)


def positions(labels: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    """Return the positions of y among sorted labels, and their number for another label."""
    places = np.searchsorted(labels, y).clip(max=len(labels) - 1)
    return np.where(labels[places] == y, places, len(labels))


def metric_of(name: str, y: NDArray[Any], classes: bool) -> Metric:
    """Return a metric by its name in scikit-learn; raises ConfigError if it does not suit y (n,)."""
    if name not in get_scorer_names():
        known = f"{did_you_mean(name, get_scorer_names())}; such as {listed(USUAL)}"
        raise ConfigError(f"metric: scikit-learn has no scorer '{name}'{known}")
    labels = np.unique(y) if classes else None
    if labels is not None and len(labels) < 2:
        raise DataError("expected labels of two classes or more, got one class")
    metric = Metric(name, labels)
    if not suits(metric, y):
        suited = [other for other in USUAL if suits(Metric(other, labels), y)]
        what = "a regression" if labels is None else f"{len(labels)} classes"
        raise ConfigError(f"metric: {name} does not suit {what}; these do: {listed(suited)}")
    return metric


def suits(metric: Metric, y: NDArray[Any]) -> bool:
    """Return whether a metric has a value for a constant, and is for targets only if y (n,) are targets."""
    if metric.labels is None:
        return _value(metric, y)
    few = np.tile(metric.labels, 10)
    return _value(metric, few) and not _value(Metric(metric.name, None), np.array([0.5, 1.25, 2.5]))


def _value(metric: Metric, y: NDArray[Any]) -> bool:
    """Return whether a metric has a value for a model without features."""
    X = np.zeros((len(y), 1))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return bool(np.isfinite(metric.of(without_features(metric.labels is not None).fit(X, y), X, y)))
    except (AttributeError, TypeError, ValueError):
        return False


def without_features(classes: bool) -> Any:
    """Return what always predicts the most frequent class, or the mean, if all features are 0."""
    return linear_model.RidgeClassifier() if classes else linear_model.Ridge()


class Scorer:
    """The data of a search under each scaling, and the scores of candidates; only `test` uses test rows.

    A subsample of n rows is the first n rows of one stratified order of the training rows, so a smaller one
    is part of a larger one. What is learnt without labels (scaling, landmarks, directions) is learnt once, on
    all rows of the subsample, not in each fold.
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
        self._order = spread_order(own.y_train, self._classes, seed)
        self._models: dict[tuple[Candidate | None, float, int | None], KernelModel] = {}
        self._folds = None if cv is None else folds_of(cv, own.y_train, own.by, self._classes, seed)

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
        for scale in (*_scales(self._under("none").X_train), "own"):
            scales = _gammas(self._under(scale).X_train[self._order[:SAMPLE]])
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
        """Return a candidate's scores on the folds at the best of these values of C (or alpha)."""
        start = perf_counter()
        rows, splits = self.folds(n)
        data = self._under(candidate.scale)
        X, y, values = data.X_train[rows], data.y_train[rows], sorted(values)
        weights = at(data.weights, rows)
        scale = TargetScale.learn(candidate.target, y, weights)
        options = options_of(candidate, self._options)
        if candidate.exact:
            kernel = self._kernel(candidate, X, weights)
            more = options, weights, scale
            scores = self._exact_scores(kernel, candidate.kernel, X, y, values, splits, *more)
        else:
            Z = X if candidate.linear else self._features(candidate, X, weights)
            if candidate.loss == "squares":
                scores = ridge_scores(Z, y, values, splits, self._metric, weights, scale)
            else:
                scores = newton_scores(candidate.loss, Z, y, values, splits, options, self._metric, weights)
        return best_column(scores, values) | {"seconds": perf_counter() - start}

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
        (rows, splits), y, w = self.folds(n), self._under("own").y_train, self._under("own").weights
        folds = [(rows[seen], rows[held]) for seen, held in splits]
        return [
            self._metric.of(model.fit(X[seen], y[seen], at(w, seen)), X[held], y[held], at(w, held))
            for seen, held in folds
        ]

    def rows(self, n: int) -> Indices:
        """Return the rows of a subsample of n rows."""
        return np.sort(self._order[:n])

    def folds(self, n: int) -> tuple[Indices, list[tuple[Indices, Indices]]]:
        """Return the rows of a subsample of n rows, and its folds.

        They are five up to 1,000 rows, three for more, and one of them above 30,000 rows. Folds that were
        chosen for all training rows are cut down to these rows.
        """
        rows = self.rows(n)
        if self._folds is not None:
            places = np.full(self._n, -1)
            places[rows] = np.arange(n)
            cut = [[places[side][places[side] >= 0] for side in fold] for fold in self._folds]
            return rows, [(seen, held_out) for seen, held_out in cut if len(seen) and len(held_out)]
        folds = 5 if n <= 1_000 else 3
        cutter = (StratifiedKFold if self._classes else KFold)(folds, shuffle=True, random_state=self._seed)
        splits = cutter.split(rows, self._under("own").y_train[rows])
        return rows, list(splits)[: 1 if n > 30_000 else folds]

    def _exact_scores(
        self, kernel: Any, entry: ConfigEntry, X: Matrix, y: NDArray[Any], values: Sequence[float],
        splits: Any, options: dict[str, Any], weights: Any, scale: TargetScale,
    ) -> NDArray[np.float64]:  # fmt: skip
        """Return the scores of the exact method, (folds, values), from one Gram matrix where rows are few."""
        n = len(y)
        few = MOST_GRAM if X.shape[1] <= MANY_COLUMNS else 2 * MOST_GRAM
        if self._classes and n > few and entry["name"] in NATIVE:
            K, parameters = X, {**entry, "kernel": NATIVE[entry["name"]]}
            del parameters["name"]
        else:
            check_memory(f"the Gram matrix of {n:,} rows", 24 * n * n, "fewer rows")
            K, parameters = kernel(X.astype(np.float64)), {"kernel": "precomputed"}
        if not self._classes:
            return kernel_ridge_scores(K, y, values, splits, self._metric, weights, scale)
        classifier = svm.SVC(**parameters, cache_size=1000, class_weight=options.get("class_weight"))

        def score(C: float, seen: Indices, held: Indices) -> float:
            whole = classifier.kernel != "precomputed"
            X_seen, X_held = (K[side] if whole else K[np.ix_(side, seen)] for side in (seen, held))
            model = clone(classifier).set_params(C=C).fit(X_seen, y[seen], at(weights, seen))
            return self._metric.of(model, X_held, y[held], at(weights, held))

        jobs = [delayed(score)(C, *fold) for fold in splits for C in values]
        return np.array(Parallel(self._threads, prefer="threads")(jobs)).reshape(len(splits), -1)


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


def folds_of(
    cv: Any, y: NDArray[Any], by: NDArray[Any] | None, classes: bool, seed: int
) -> list[tuple[Indices, Indices]]:
    """Return the folds of all training rows: of whole groups, later rows after earlier ones, or any `cv`.

    `by` has the groups or the times of the rows. Raises DataError for a single group.
    """
    X = np.zeros((len(y), 1))
    if cv == "time":
        assert by is not None
        order = np.argsort(by, kind="stable")
        return [(order[seen], order[later]) for seen, later in TimeSeriesSplit(FOLDS).split(X)]
    if cv == "group":
        assert by is not None
        n_groups = len(np.unique(by))
        if n_groups < 2:
            raise DataError("expected two groups or more among the training rows, got one")
        cutter = StratifiedGroupKFold if classes else GroupKFold
        cv = cutter(min(FOLDS, n_groups), shuffle=True, random_state=seed)
    return list(check_cv(cv, y, classifier=classes).split(X, y, by))


def data_under(scale: str, rows: int | None = None, *, trial: Trial, n_train: int, access: Access) -> Dataset:
    """Return the data of a trial under another protocol, that of `protocol_under`."""
    protocol = protocol_under(trial.protocol, scale, rows, n_train)
    return load_under(trial.source, protocol, access, trial.seeds["data"])


def protocol_under(protocol: Protocol, scale: str, rows: int | None, n_train: int) -> Protocol:
    """Return a protocol with a scaling, or its "own", and with so many of its n_train training rows."""
    if rows is not None:
        protocol = protocol.model_copy(update={"split": protocol.split.with_rows(rows, n_train)})
    return Protocol.model_validate(protocol.given() | ({} if scale == "own" else {"scale": scale}))


def rarest_rows(y: NDArray[Any]) -> int:
    """Return the rows of the rarest class, but for those that have too few for each fold, if two are left."""
    counts = np.unique(y, return_counts=True)[1]
    often = counts[counts > MOST_FOLDS]
    return int((often if len(often) > 1 else counts).min())


def _scales(X: Matrix) -> tuple[str, ...]:
    """Return the scalings that are possible on these rows and give different results."""
    if not isinstance(X, np.ndarray):
        return SPARSE_SCALES
    binary = ((X == 0) | (X == 1)).all(axis=0)
    left_out = ("power", "zscore_numbers") if binary.all() else () if binary.any() else ("zscore_numbers",)
    if X.shape[1] > MOST_POWERS:
        left_out = (*left_out, "power")
    return tuple(scale for scale in DENSE_SCALES if scale not in left_out)


def _gammas(X: Matrix) -> dict[str, float]:
    """Return for each kernel the gamma for which gamma times distance, or inner product, is near 1."""
    square = float(squared_norms(as_operand(X)).mean())
    mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
    gammas = {
        "gaussian": rounded(1 / max(square - float(mean @ mean), 1e-12)),
        "polynomial": rounded(1 / max(square, 1e-12)),
    }
    if isinstance(X, np.ndarray):
        half = len(X) // 2
        distance = float(np.abs(X[:half].astype(np.float64) - X[half : 2 * half]).sum(axis=1).mean())
        gammas["laplacian"] = rounded(1 / max(distance, 1e-12))
    return gammas


def spread_order(y: NDArray[Any], classes: bool, seed: int) -> Indices:
    """Return a random order of the rows; with `classes` the first n rows are stratified, for each n.

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
    loss: Any, Z: Any, y: NDArray[Any], values: Sequence[float], splits: Any, options: dict[str, Any],
    metric: Metric, weights: Any = None,
) -> NDArray[np.float64]:  # fmt: skip
    """Return the score on each held-out fold for values of C in rising order, (folds, values tried).

    Each fold starts from its last solution. Once two values in a row, the last above 1, are no better than an
    earlier one, the larger values are left out, since they cost the most.
    """
    subproblems = 1 if metric.labels is None else len(metric.labels)
    factors = 8 * len(splits) * subproblems * Z.shape[1] ** 2

    def path(seen: Indices) -> Iterator[Newton]:
        solver, X = Newton(loss=loss, eps=EPS, max_iter=STEPS, warm_start=True, **options), Z[seen]
        if factors <= MOST_KEPT:
            return solver.path(X, y[seen], values, at(weights, seen))
        return (solver.set_params(C=C).fit(X, y[seen], at(weights, seen)) for C in values)

    held_out = [(Z[rows], y[rows], at(weights, rows)) for _, rows in splits]
    columns: list[list[float]] = []
    for C, *trained in zip(values, *(path(seen) for seen, _ in splits), strict=True):
        columns.append([metric.of(solver, *fold) for solver, fold in zip(trained, held_out, strict=True)])
        means = np.mean(columns, axis=1)
        if C > ENOUGH and len(means) - 1 - int(means.argmax()) >= PATIENCE:
            break
    return np.array(columns).T


def ridge_scores(
    Z: Any, y: NDArray[Any], values: Sequence[float], splits: Any, metric: Metric, weights: Any,
    scale: TargetScale,
) -> NDArray[np.float64]:  # fmt: skip
    """Return the score on each held-out fold for each alpha in rising order, (folds, values)."""
    scores, moments = np.empty((len(splits), len(values))), seen_moments(Z, scale.of(y), splits, weights)
    for fold, (seen, (_, held_out)) in enumerate(zip(moments, splits, strict=True)):
        for k, w in enumerate(ridge_path(seen, np.sort(np.asarray(values, float)))):
            predicted = linear_values(Z[held_out], w[None])[:, 0] + float(seen.y_mean - seen.x_mean @ w)
            scores[fold, k] = metric.of_values(scale.back(predicted), y[held_out], at(weights, held_out))
    return scores


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
    for part in parts[: len(splits)]:
        yield sum_of(other for other in parts if other is not part)


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


def best_column(scores: NDArray[np.float64], values: Sequence[float]) -> dict[str, Any]:
    """Return the column of the best mean with its value, mean and standard deviation over the folds."""
    best = int(np.argmax(scores.mean(axis=0)))
    column = scores[:, best]
    if not np.isfinite(column).all():
        return dict(NO_SCORE)
    return {
        "value": float(values[best]),
        "score": float(column.mean()),
        "sd": float(column.std(ddof=1)) if len(column) > 1 else 0.0,
        "folds": column.tolist(),
    }
