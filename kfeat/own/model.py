"""A trained model as one scikit-learn estimator of raw rows, its file, and its use on files of any length.

The file is skops's zip archive, not compressed; the facts about the training have the version of the format.
"""

import io
import json
import os
import re
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import version as installed
from itertools import chain, pairwise
from pathlib import Path
from typing import IO, Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import issparse, vstack
from sklearn import linear_model, metrics
from sklearn.base import TransformerMixin, clone
from sklearn.base import is_classifier as classifies
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from kfeat.batches import batch_edges
from kfeat.data import Protocol, Raw, preparation
from kfeat.data.base import Task, validated
from kfeat.data.coding import Coding, date_numbers
from kfeat.data.content import check_regular, naming
from kfeat.data.formats import Rows, as_data_errors, read_rows
from kfeat.data.formats.columns import column_called, numbers_by
from kfeat.data.formats.tables import read_frame
from kfeat.data.matrix import Part
from kfeat.data.preparation import Preparation
from kfeat.data.prepare import learn
from kfeat.data.reading import Reading, format_of
from kfeat.errors import DataError, ModelError
from kfeat.experiments.adapters import rows_for
from kfeat.files import SUFFIXES, new_file
from kfeat.kernels import KERNELS
from kfeat.kernels.base import Estimator, Kernel
from kfeat.kernels.operands import canonical
from kfeat.maps import MAPS, FeatureMap
from kfeat.maps.random_maclaurin import TruncatedSeries
from kfeat.parameters import check_parameters, plain
from kfeat.solvers import SOLVERS, Newton, regression_errors
from kfeat.solvers.base import (
    Solver,
    Subproblem,
    TargetScale,
    available_when,
    checked_weights,
    resolved_kernel,
    weight_options,
)
from kfeat.solvers.class_weights import with_codes
from kfeat.solvers.libsvm_model import GivenKernel, NativeKernel, SupportVectors
from kfeat.solvers.linear import largest_at
from kfeat.text import printable

CALIBRATION_STEPS = 10_000


def _solver(model: "KernelModel") -> Any:
    """Return the fitted solver, or the one to fit; it decides which methods the model has."""
    return getattr(model, "solver_", None) or model.solver or Newton()


def _task(solver: Any) -> Task:
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
        raw = Raw("the data", _task(self.solver or Newton()), {"train": Part(X, y)})
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
            self.coding_ = Coding(_task(solver), preparation.n_features, names, kinds)
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


TITLE = {"decision_function": "score", "predict_proba": "probability"}


def _rows_of(model: KernelModel, path: Path, labels: bool) -> Iterator[Rows]:
    """Yield a file's rows in blocks, coded as in training.

    Raises DataError for rows that the model cannot take, and for a file that has none.
    """
    return read_rows(path, _reading_of(model, path), model.coding_, labels=labels)


def _reading_of(model: KernelModel, path: Path) -> Reading:
    """Return how a file is read: with the options of training that its format has."""
    reading = Reading.model_validate(model.about_.get("reading", {}))
    with suppress(DataError):  # of an ending that tells no format: the file is read as the training file was
        reading = reading.of_format(format_of(path, Reading()))
    return reading


def write_predictions(
    model: KernelModel, path: Path, methods: Sequence[str], out: IO[str], shown: Callable[[str], str] = str
) -> int:
    """Write the results of the methods for each row of a file, as CSV with a header; return how many rows.

    `shown` writes a word: a terminal needs escapes, a file has the words themselves. Raises ModelError for a
    method that the model does not have, DataError for bad rows.
    """
    for method in methods:
        if not hasattr(model, method):
            lacks = f"{type(model.solver_).__name__} has no {TITLE[method]}; leave the option out"
            if classifies(model.solver_):
                lacks += ", or train `{name: newton, loss: logistic}`, or with `kfeat fit --probabilities`"
            raise ModelError(lacks)
    n = 0
    for rows in _rows_of(model, path, labels=False):
        outputs = model.outputs(rows.X, methods, coded=True)
        predicted = outputs.pop("predict")
        words = predicted.dtype.kind in "UO"
        columns = {"prediction": [shown(str(label)) for label in predicted] if words else predicted}
        for method, scores in outputs.items():
            labels = model.classes_ if scores.ndim == 2 else model.classes_[-1:]
            titles = [shown(f"{TITLE[method]} {label}") for label in labels]
            columns |= dict(zip(titles, np.atleast_2d(scores.T), strict=True))
        pd.DataFrame(columns).to_csv(out, index=False, header=not n, na_rep="nan", lineterminator="\n")
        n += rows.X.shape[0]
    return n


def judged(model: KernelModel) -> list[str]:
    """Return the methods of a model that the usual scores need."""
    methods = ("predict", "decision_function", "predict_proba")
    return [method for method in methods if hasattr(model, method)]


def scores_of(
    outputs: Mapping[str, NDArray[Any]], y: NDArray[Any], classes: NDArray[Any] | None, weights: Any = None
) -> dict[str, float]:
    """Return the usual scores of what the methods of a model return, `classes` in the order of its columns.

    A classifier has the accuracy, and that of always the most frequent class; the balanced accuracy, and that
    of always one class (`chance`); F1, of the last of two classes, else its mean. Two classes have the area
    under the ROC curve, probabilities the log loss. A regression has its errors. Rows count by their weights.
    """
    if classes is None:
        return regression_errors(y, outputs["predict"], weights)
    known, predicted = (pd.Index(classes).get_indexer(labels) for labels in (y, outputs["predict"]))
    places, at = np.unique(known, return_inverse=True)
    counts, w = np.bincount(at, weights), {"sample_weight": weights}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a class without a row
        two = {"average": "binary" if len(classes) == 2 and known.min() >= 0 else "macro"}
        scores = {
            "accuracy": metrics.accuracy_score(known, predicted, **w),
            "most_frequent_class": counts.max() / counts.sum(),
            "balanced_accuracy": metrics.balanced_accuracy_score(known, predicted, **w),
            "chance": 1 / len(places),
            "f1": metrics.f1_score(known, predicted, **two, **w),
        }
    if len(places) == len(classes) == 2 and known.min() >= 0:
        scores["roc_auc"] = metrics.roc_auc_score(known, outputs["decision_function"], **w)
    if "predict_proba" in outputs and known.min() >= 0:
        labels = np.arange(len(classes))
        scores["log_loss"] = metrics.log_loss(known, outputs["predict_proba"], labels=labels, **w)
    return {name: float(score) for name, score in scores.items()}


def score_file(model: KernelModel, path: Path) -> tuple[dict[str, float], int]:
    """Return the usual scores on a file's rows and their number.

    Raises DataError for a file without the target, for a label that the model does not know, and bad rows.
    """
    methods, blocks, y = judged(model), [], []
    for rows in _rows_of(model, path, labels=True):
        if rows.y is None:
            target = model.coding_.target
            what = "labels" if target is None else f"the column {target}"
            raise DataError(
                f"{path}: expected {what} to compare predictions with, got none; `kfeat predict` needs none"
            )
        with naming(path):
            y.append(_labels(model, rows.y, rows.start))
        blocks.append(model.outputs(rows.X, methods, coded=True))
    outputs = {method: np.concatenate([block[method] for block in blocks]) for method in methods}
    classes = model.classes_ if classifies(model.solver_) else None
    column = model.about_.get("config", {}).get("protocol", {}).get("weight")
    weights = None
    if column is not None:
        with as_data_errors(path, "a table"), naming(path):
            frame = read_frame(path, _reading_of(model, path))
            weights = numbers_by(frame[column_called(column, list(frame.columns), "weight")], "weight")
    return scores_of(outputs, np.concatenate(y), classes, weights), sum(map(len, y))


def _labels(model: KernelModel, y: NDArray[Any], start: int) -> NDArray[Any]:
    """Return a file's labels as the model predicts them; raises DataError for one that it does not know."""
    if not classifies(model.solver_):
        return y
    if model.coding_.label_names:
        y = np.array(model.coding_.label_names)[y]
    y = model.labels(y, start)
    if model.classes_.dtype.kind in "UO":
        y = y.astype(str)
    known = np.isin(y, model.classes_)
    if not known.all():
        i, labels = int(np.argmin(known)), ", ".join(map(str, model.classes_))
        raise DataError(
            f"row {start + i + 1}: expected one of the labels that the model knows, {labels}, got {y[i]}"
        )
    return y


def describe(model: KernelModel, path: Path) -> dict[str, Any]:
    """Return everything about a model as plain JSON: its training, data, labels, parts and sizes."""
    coding, solver = model.coding_, model.solver_
    kernel = getattr(model.map_ or solver, "kernel_", None)
    ours = {}
    if isinstance(solver, Solver):
        ended = {"finished_by": solver.finished_by_, "converged": bool(solver.converged_)}
        ours = {**solver.learnt_parameters(), **ended}
    return {
        "file": path.name,
        "bytes": path.stat().st_size,
        "task": _task(solver),
        "data": {
            "columns": coding.names or coding.width,
            "features": model.preparation_.n_features,
            "target": coding.target,
        },
        "labels": plain(model.classes_.tolist()) if classifies(solver) else None,
        "scale": model.scale,
        "map": repr(model.map_) if model.map_ else None,
        "kernel": f"{kernel!r}: {kernel.formula}" if kernel else "linear" if ours else None,
        "solver": {
            "parameters": repr(solver),
            "features": int(solver.n_features_in_),
            "iterations": int(solver.n_iter_),
            **ours,
        },
        "probabilities": hasattr(model, "predict_proba"),
        **model.about_,
    }


MOST_SIZE = 10**7  # features or components of a model whose file has fewer bytes
VERSION = 5  # of the format, raised when older models would predict something else
# Beside numbers, words, arrays and scikit-learn's estimators, a model may hold the registered kernels, maps
# and solvers, and these. Anything else has to be added here.
OTHERS = (
    *(KernelModel, Coding, date_numbers, Preparation, TruncatedSeries),
    *(preparation.DivideBy, preparation.GlobalNorm, preparation.NumberScaler),
    *(Subproblem, TargetScale, GivenKernel, NativeKernel, SupportVectors),
)
OF_LIBRARIES = (
    *("numpy.dtype", "scipy.sparse._csr.csr_array"),
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
)


def save_model(model: KernelModel, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file; if that fails, an existing file stays as it was.

    Raises ModelError if the model holds what a file cannot hold, or if the file cannot be written.
    """
    from skops import io as skops  # here, since it imports all of scikit-learn

    if not hasattr(model, "solver_"):
        raise ModelError("expected a model that is fitted, got one that is not: call fit first")
    _check_solver(model.solver_)
    model.about_["format"] = VERSION
    content = skops.dumps(model, compression=zipfile.ZIP_STORED)
    if foreign := set(skops.get_untrusted_types(data=content)) - _trusted():
        raise ModelError(
            f"a model file cannot hold an object of {', '.join(sorted(foreign))}; it holds numbers, words, "
            "arrays, kfeat's kernels, maps and solvers, and HistGradientBoosting"
        )
    with new_file(Path(path), "the model") as file:
        file.write(_without_indentation(content))


def _without_indentation(content: bytes) -> bytes:
    """Return skops's archive with its JSON on one line: indentation is most of a small model's file."""
    shorter = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(shorter, "w") as new:
        for entry in old.infolist():
            stored = old.read(entry)
            if entry.filename == "schema.json":
                stored = json.dumps(json.loads(stored), separators=(",", ":")).encode()
            new.writestr(entry, stored)
    return shorter.getvalue()


def load_model(path: str | os.PathLike[str]) -> KernelModel:
    """Return the fitted model in a file that `kfeat fit` or `KernelModel.save` wrote.

    It predicts exactly what the saved model predicts on the same machine. No code in the file is run, and
    only objects of kfeat and scikit-learn are created. Raises ModelError for a file that is damaged, not a
    model, or in another version of the format, and DataError if it does not exist.
    """
    path = Path(path)
    check_regular(path)
    if path.suffix in SUFFIXES:
        raise ModelError(f"{path}: is a config, not a model; `kfeat fit {path} --model FILE` writes a model")
    try:
        with path.open("rb") as file:
            return _read(file)
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror or error})") from None
    # What skops, zipfile and NumPy raise on damaged content is open-ended.
    except Exception as error:
        why = printable(error) or type(error).__name__
        raise ModelError(
            f"{path}: expected a model that kfeat {installed('kfeat')} can use, got another file ({why}); "
            "get it again, train again with `kfeat fit CONFIG --model FILE`, or use the kfeat that wrote it"
        ) from None


def is_model(path: Path) -> bool:
    """Return whether a new model may replace a file: a model or an empty file."""
    try:
        with zipfile.ZipFile(path) as archive:
            return "schema.json" in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return path.stat().st_size == 0


def _read(file: IO[bytes]) -> KernelModel:
    """Return the model in a file; raises any exception for a wrong file."""
    from skops import io as skops

    with zipfile.ZipFile(file) as archive:
        if any(entry.compress_type for entry in archive.infolist()):
            raise ModelError("its entries are packed, which is never so in a model file")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InconsistentVersionWarning)  # VERSION tells what can be used
        model = skops.load(file, trusted=sorted(_trusted()))
    if not isinstance(model, KernelModel):
        raise ModelError(f"it holds a {type(model).__name__}, not a model")
    if (version := model.about_.get("format")) != VERSION:
        raise ModelError(f"it is in version {version} of the format, not {VERSION}")
    _check(model, max(MOST_SIZE, os.fstat(file.fileno()).st_size))
    _check_solver(model.solver_)
    d, kept, D = model.preparation_.n_features, model.preparation_.columns, model.solver_.n_features_in_
    columns = d if kept is None else len(kept)
    width = columns if model.map_ is None else model.map_._n_features_out
    if (width, model.coding_.width) != (D, model.n_features_in_):
        raise ModelError("the numbers of its features do not match")
    # A model whose parts are missing or do not match fails here, and not when it is used.
    row, methods = np.zeros((1, d)), ["predict", *filter(partial(hasattr, model), TITLE)]
    _check_labels(model)
    _check_shapes(model, model.outputs(row, methods, coded=True))
    describe(model, Path(file.name))
    return model


def _check(part: Any, most: int) -> None:
    """Raise an error for a part with a parameter that its class refuses, or with a size above `most`.

    A size is a whole number whose name begins with n_.
    """
    if isinstance(part, KernelModel | Solver | FeatureMap):
        check_parameters(part)
    elif isinstance(part, Kernel):
        part.check()
    for name, value in part.items() if isinstance(part, dict) else vars(part).items():
        if isinstance(value, int) and re.match("_?n_", str(name)) and not 0 <= value <= most:
            raise ModelError(f"its {name} is {value:,}, which its arrays do not have")
        values = value if isinstance(value, list | tuple) else [value]
        for inner in values:
            if isinstance(inner, dict) or type(inner).__module__.startswith("kfeat."):
                _check(inner, most)


def _check_labels(model: KernelModel) -> None:
    """Raise ModelError unless a classifier has at least two labels, each once, and its solver has as many."""
    if classifies(model.solver_):
        own, shown = model.solver_.classes_.tolist(), model.classes_.tolist()
        if len(own) < 2 or own != sorted(set(own)) or len({*shown}) != len(own) or len(shown) != len(own):
            raise ModelError(f"its labels, {shown!s:.100}, do not match its solver's, {own!s:.100}")


def _check_shapes(model: KernelModel, outputs: Mapping[str, NDArray[Any]]) -> None:
    """Raise ModelError unless the outputs of one row are a label or value, and a number for each class."""
    n = len(model.classes_) if classifies(model.solver_) else 0
    shapes = {"predict": (1,), "decision_function": (1,) if n == 2 else (1, n), "predict_proba": (1, n)}
    for method, output in outputs.items():
        if output.shape != shapes[method]:
            raise ModelError(f"its {method} has the shape {output.shape}, not {shapes[method]}")


def _check_solver(solver: Any) -> None:
    """Raise ModelError unless it is kfeat's, or boosting whose nodes split by a feature, into later nodes."""
    if isinstance(solver, Solver):
        return
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    if not isinstance(solver, HistGradientBoostingClassifier | HistGradientBoostingRegressor):
        raise ModelError(
            f"a model file cannot hold the solver {type(solver).__name__}; it holds kfeat's and "
            "HistGradientBoosting"
        )
    for tree in chain(*solver._predictors):
        inner = np.flatnonzero(tree.nodes["is_leaf"] == 0)
        left, right, feature = (tree.nodes[name][inner] for name in ("left", "right", "feature_idx"))
        later = (np.minimum(left, right) > inner) & (np.maximum(left, right) < len(tree.nodes))
        known = (feature >= 0) & (feature < solver.n_features_in_)
        if not len(tree.nodes) or not (later & known).all() or tree.nodes["is_categorical"].any():
            raise ModelError("the trees of its boosting are damaged")


@cache
def _trusted() -> frozenset[str]:
    """Return the names of the classes and functions that a model may hold."""
    items: list[Any] = [*OTHERS, *KERNELS.values(), *MAPS.values(), *SOLVERS.values()]
    return frozenset([*(f"{item.__module__}.{item.__qualname__}" for item in items), *OF_LIBRARIES])
