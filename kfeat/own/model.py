"""A trained model as one scikit-learn estimator of raw rows."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse, vstack
from sklearn import linear_model, metrics
from sklearn.base import TransformerMixin, clone
from sklearn.base import is_classifier as classifies
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from kfeat.batches import batch_edges
from kfeat.data import Raw
from kfeat.data.base import Task, validated
from kfeat.data.coding import Coding
from kfeat.data.matrix import Part
from kfeat.data.preparation import Preparation
from kfeat.data.prepare import learn
from kfeat.data.protocol import Protocol
from kfeat.errors import ModelError
from kfeat.experiments.adapters import rows_for
from kfeat.kernels.base import Estimator
from kfeat.kernels.operands import canonical
from kfeat.maps import FeatureMap
from kfeat.own.model_format import save_model
from kfeat.solvers import Newton
from kfeat.solvers.base import available_when, checked_weights, resolved_kernel, weight_options
from kfeat.solvers.class_weights import with_codes
from kfeat.solvers.linear import largest_at

CALIBRATION_STEPS = 10_000


def _solver(model: "KernelModel") -> Any:
    """Return the fitted solver, or the one to fit; it decides which methods the model has."""
    return getattr(model, "solver_", None) or model.solver or Newton()


def task_of(solver: Any) -> Task:
    """Return the task of a solver."""
    return "classification" if classifies(solver) else "regression"


@dataclass(eq=False, repr=False)
class KernelModel(TransformerMixin, Estimator):
    """A model that codes, scales, maps and predicts rows; `kfeat fit` trains it, `load_model` returns it.

    Rows are arrays (n, d), dense or sparse, or data frames; with a `coding`, frames whose columns are those
    of the training file, in any order, with its words. Predictions map a block of rows at a time, so that the
    features of all rows are never in memory together.

    Parameters
    ----------
    map : FeatureMap, optional
        The map, with its kernel; None: the solver gets the scaled rows themselves, as kernel SVMs do.
    solver : Solver, optional
        The solver; None is Newton(). It may be any classifier or regressor of scikit-learn; a file holds
        HistGradientBoosting only.
    scale : str, mapping or list of them, default "none"
        The chain of scaling steps, as in a config's protocol: "minmax", "zscore", {"divide": 255}, ...
    constant_features : {"keep", "drop"}, default "keep"
        Whether to keep or drop features that have one value in all training rows.
    dtype : {"float32", "float64"}, default "float32"
        The precision of what the map and the solver are given.
    coding : Coding, optional
        How the columns of a file or a frame become numbers; None: they are numbers.

    Attributes
    ----------
    classes_ : ndarray
        The labels, for classifiers.
    coding_, preparation_, map_, solver_ : Coding, Preparation, FeatureMap or None, Solver
        The fitted parts; and `calibrator_`, if probabilities were learnt by `calibrate`.
    about_ : dict
        Facts about the training; `kfeat fit` adds the config, the data's fingerprint, scores and versions.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kfeat.kernels import Gaussian
    >>> from kfeat.maps import RandomFourier
    >>> from kfeat.own import KernelModel
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelModel(RandomFourier(Gaussian("median"), random_state=0), scale="zscore").fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    """

    map: FeatureMap | None = None
    solver: Any = None
    scale: Any = "none"
    constant_features: Literal["keep", "drop"] = "keep"
    dtype: Literal["float32", "float64"] = "float32"
    coding: Coding | None = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on raw rows X (n, d), labels or targets y (n,), and weights (n,), if the solver takes them.

        Raises ConfigError for bad parameters, DataError for bad data, and what maps and solvers raise.
        """
        steps = {name: getattr(self, name) for name in ("scale", "constant_features", "dtype")}
        protocol = validated(Protocol, steps, type(self).__name__)
        X, y = self.raw_rows(X, reset=True), column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        sample_weight, X, y = without_zeros(sample_weight, X, y)
        raw = Raw("the data", task_of(self.solver or Newton()), {"train": Part(X, y)})
        preparation = learn(raw, protocol, np.arange(len(y)), None, sample_weight)
        return self.fit_prepared(preparation, preparation.rows(X), y, sample_weight=sample_weight)

    def fit_prepared(
        self,
        preparation: Preparation,
        X: Any,
        y: NDArray[Any],
        label_names: tuple[str, ...] = (),
        features: Callable[[Any, Any], Any] | None = None,
        sample_weight: Any = None,
    ) -> Self:
        """Train on rows that are scaled already; labels that are words are codes of `label_names`.

        `features(map, X)` maps the rows in the form that the solver needs, such as batches.
        """
        solver = with_codes(clone(self.solver or Newton()), label_names)
        feature_map = None if self.map is None else clone(self.map)
        if feature_map is not None:
            if sample_weight is not None and feature_map.kernel is not None:  # the bandwidth depends on them
                feature_map.set_params(kernel=resolved_kernel(feature_map.kernel, X, sample_weight))
            feature_map.fit(X)
        if feature_map is None:
            Z = rows_for(solver, X)
        else:
            Z = (features or type(feature_map).transform)(feature_map, X)
        solver.fit(Z, y, **weight_options(solver, sample_weight))
        # Set only now, so that a fit that fails does not damage an earlier one.
        self.preparation_, self.map_, self.solver_ = preparation, feature_map, solver
        for name in ("classes_", "calibrator_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        if classifies(solver):
            codes = solver.classes_
            self.classes_ = np.array([label_names[int(code)] for code in codes]) if label_names else codes
        if self.coding is None:  # the columns are numbers, perhaps with names
            names = [*map(str, getattr(self, "feature_names_in_", ()))]
            kinds = dict.fromkeys(names, "number")
            self.coding_ = Coding(task_of(solver), preparation.n_features, names, kinds)
        else:
            self.coding_ = self.coding
            if self.coding.names:
                self.feature_names_in_ = np.array(self.coding.names, dtype=object)
        self.n_features_in_ = self.coding_.width
        self.about_: dict[str, Any] = {"n_train": len(y)}
        return self

    def calibrate(
        self, X: Any, y: NDArray[Any], folds: Sequence[tuple[Any, Any]], sample_weight: Any = None
    ) -> Self:
        """Learn probabilities by logistic regression on the decision values of held-out rows (Platt 2000).

        X are rows that are scaled already, y their labels. The fitted map stays; in each fold the solver is
        trained again. Nothing changes if a fold lacks a class, or if the solver has probabilities and no
        weights of classes, which would move them. The label has the largest probability, unless classes have
        weights: these move the labels towards rare classes, and the probabilities are those of the data.
        """
        solver = self.solver_
        whole = all(len(np.unique(y[seen])) == len(self.classes_) for seen, _ in folds)
        has_own = hasattr(solver, "predict_proba") and getattr(solver, "class_weight", None) is None
        if has_own or not whole:
            return self
        Z = X if self.map_ is None else self.map_.transform(X)
        values = [
            clone(solver)
            .fit(Z[seen], y[seen], **weight_options(solver, sample_weight, seen))
            .decision_function(Z[held])
            for seen, held in folds
        ]
        rows = np.concatenate([np.arange(len(y))[held] for _, held in folds])
        X = np.concatenate(values).reshape(len(rows), -1)
        # Decision values of many classes need more than scikit-learn's 100 iterations.
        calibrator = linear_model.LogisticRegression(max_iter=CALIBRATION_STEPS)
        self.calibrator_ = calibrator.fit(X, y[rows], **weight_options(calibrator, sample_weight, rows))
        return self

    def predict_prepared(self, X: Any, method: str = "predict") -> NDArray[Any]:
        """Return the label, a code of words, or the value of each row that is scaled already.

        Another method of the solver returns its decision values or probabilities.
        """
        return np.concatenate([self._answer(method, Z) for Z in self.blocks(X, scaled=True)])

    def _answer(self, method: str, Z: Any) -> NDArray[Any]:
        """Return what a method of the solver returns for features Z, with the probabilities learnt for it."""
        if method == "predict_proba" and hasattr(self, "calibrator_"):
            values = self.solver_.decision_function(Z).reshape(Z.shape[0], -1)
            probabilities = self.calibrator_.predict_proba(values)
            if getattr(self.solver_, "class_weight", None) is not None:
                return probabilities  # of the classes as they are; the labels are of weighted ones
            return largest_at(np.searchsorted(self.solver_.classes_, self.solver_.predict(Z)), probabilities)
        return getattr(self.solver_, method)(Z)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label, or the value, of each raw row."""
        return self.outputs(X, ["predict"])["predict"]

    @available_when(lambda self: classifies(_solver(self)))
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the decision values: (n,), positive for the last of two classes, or (n, classes)."""
        return self.outputs(X, ["decision_function"])["decision_function"]

    @available_when(lambda self: hasattr(_solver(self), "predict_proba") or hasattr(self, "calibrator_"))
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities of the classes (n, classes), the solver's or those of `calibrate`."""
        return self.outputs(X, ["predict_proba"])["predict_proba"]

    def outputs(self, X: Any, methods: Sequence[str], coded: bool = False) -> dict[str, NDArray[Any]]:
        """Return what several of `predict`, `decision_function` and `predict_proba` return for rows.

        The rows are mapped once for all of them. They are raw, or `coded` already: a matrix (n, d), dense or
        CSR. Raises ModelError for no rows.
        """
        check_is_fitted(self, "solver_")
        blocks = self.blocks(X if coded else self.raw_rows(X))
        of_blocks = [[self._answer(method, Z) for method in methods] for Z in blocks]
        outputs = dict(zip(methods, map(np.concatenate, zip(*of_blocks, strict=True)), strict=True))
        if "predict" in outputs and classifies(self.solver_):  # words in the place of codes
            outputs["predict"] = self.classes_[np.searchsorted(self.solver_.classes_, outputs["predict"])]
        return outputs

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy (classification) or the coefficient of determination (regression)."""
        check_is_fitted(self, "solver_")
        measure = metrics.accuracy_score if classifies(_solver(self)) else metrics.r2_score
        return float(measure(self.labels(y), self.predict(X), sample_weight=sample_weight))

    def labels(self, y: Any, start: int = 0) -> NDArray[Any]:
        """Return labels of the data as the model predicts them: +1 and -1 if a protocol made them so.

        Raises DataError for a label that the data did not have; `start` is how many rows come before.
        """
        if self.preparation_.positive is None:
            return np.asarray(y)
        codes = {name: code for code, name in enumerate(self.coding_.label_names)}
        return self.preparation_.labels(np.array([codes.get(label, label) for label in np.asarray(y)]), start)

    def transform(self, X: Any) -> Any:
        """Return the solver's input for raw rows: the map's features (n, D), or the scaled rows.

        It is dense, but for the features of a sparse map, which are CSR.
        """
        check_is_fitted(self, "solver_")
        blocks = self.blocks(self.raw_rows(X))
        if self.map_ is not None and self.map_.sparse_output:
            return vstack([*blocks], format="csr")
        return np.concatenate([Z.toarray() if issparse(Z) else Z for Z in blocks])

    def save(self, path: Any) -> None:
        """Write the model to a file, which `kfeat.load_model` reads; raises ModelError where that fails."""
        save_model(self, path)

    def blocks(self, X: Any, scaled: bool = False) -> Iterator[Any]:
        """Yield the solver's input, in blocks, for rows that are numbers (n, d), or already `scaled`."""
        d = 1 if self.map_ is None else self.map_.row_values
        for start, stop in pairwise(batch_edges(X.shape[0], max(d, X.shape[1]), 8)):
            rows = X[start:stop] if scaled else self.preparation_.rows(X[start:stop])
            yield rows_for(self.solver_, rows) if self.map_ is None else self.map_.transform(rows)

    def raw_rows(self, X: Any, reset: bool = False) -> Any:
        """Return raw rows as a matrix of numbers, their columns those of training."""
        if self.coding is None:
            floats = [np.float64, np.float32]
            return validate_data(self, canonical(X), accept_sparse="csr", dtype=floats, reset=reset)
        if not (X.shape[0] if hasattr(X, "shape") else len(X)):
            raise ModelError("expected rows, got none")
        return self.coding.matrix(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        theirs = _solver(self).__sklearn_tags__()
        tags.input_tags.sparse, tags.target_tags.required = True, True
        tags.estimator_type = theirs.estimator_type
        tags.classifier_tags, tags.regressor_tags = theirs.classifier_tags, theirs.regressor_tags
        tags.transformer_tags.preserves_dtype = []  # `dtype` says what `transform` returns
        return tags


def without_zeros(sample_weight: Any, *aligned: Any) -> tuple[Any, ...]:
    """Return checked weights (n,) and arrays of n rows, without the rows of weight 0."""
    if sample_weight is None:
        return None, *aligned
    weights = checked_weights(sample_weight, aligned[0])
    rows = np.flatnonzero(weights)
    return weights[rows], *(None if values is None else _safe_indexing(values, rows) for values in aligned)
