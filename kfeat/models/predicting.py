"""A model at work on a file of any length: read, predicted and written a block of rows at a time."""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from kfeat.data.coding import Coding
from kfeat.data.formats import Rows, read_rows
from kfeat.data.models import Task
from kfeat.data.reading import COLUMN_OPTIONS, OPTIONS, Reading, format_of
from kfeat.errors import DataError, ModelError
from kfeat.models.estimator import KernelModel
from kfeat.solvers import regression_errors
from kfeat.solvers.base import classifies

TITLES = {"decision_function": "score", "predict_proba": "probability"}


def rows_of(model: KernelModel, path: Path, labels: bool) -> Iterator[Rows]:
    """Yield a file's rows in blocks, coded as training had them, read as those were if the format is theirs.

    Their labels are read where `labels` are asked for and there are any.

    Raises DataError for rows that the model cannot take, and for a file that has none.
    """
    reading = Reading.model_validate(model.about_.get("reading", {}))
    try:
        same = reading.format in (None, format_of(path, Reading()))
    except DataError:  # an ending that tells no format: the file is read as the training file was
        same = True
    reading = reading if same else Reading()
    coding = model.coding or _coding_of_python(model, path, reading)
    return read_rows(path, reading, coding, labels=labels)


def _coding_of_python(model: KernelModel, path: Path, reading: Reading) -> Coding:
    """Return the coding of a model that was trained in Python: columns by name where both have names."""
    named = OPTIONS[format_of(path, reading)] >= COLUMN_OPTIONS
    names = getattr(model, "feature_names_in_", ()) if named else ()
    width = int(model.n_features_in_)
    task: Task = "classification" if classifies(model.solver_) else "regression"
    return Coding.of_numbers(task, width, [str(name) for name in names])


def write_predictions(model: KernelModel, path: Path, methods: Sequence[str], out: IO[str]) -> int:
    """Write what the methods say of each row of a file, as CSV with a header, and return how many rows.

    Raises ModelError for a method that the model does not have, DataError for bad rows.
    """
    check_methods(model, methods)
    writer = csv.writer(out, lineterminator="\n")
    n = 0
    for rows in rows_of(model, path, labels=False):
        found = model.outputs_of_numbers(rows.X, methods)
        if not n:
            writer.writerow([title for method in methods for title in titles(model, method, found[method])])
        writer.writerows(np.column_stack([as_objects(found[method]) for method in methods]).tolist())
        n += rows.X.shape[0]
    return n


def check_methods(model: KernelModel, methods: Sequence[str]) -> None:
    """Raise ModelError for a method that the model does not have, with what to do."""
    for method in methods:
        if hasattr(model, method):
            continue
        if not classifies(model.solver_):
            raise ModelError(f"--{_option(method)}: a regression has values alone; leave the option out")
        raise ModelError(
            f"--{_option(method)}: {type(model.solver_).__name__} has none; train with `kfeat fit "
            "--probabilities`, which calibrates its scores"
        )


def _option(method: str) -> str:
    return {"decision_function": "scores", "predict_proba": "probabilities"}[method]


def titles(model: KernelModel, method: str, found: NDArray[Any]) -> list[str]:
    """Return the names of the columns of a method's output."""
    if method == "predict":
        return ["prediction"]
    if found.ndim == 1:
        return [f"{TITLES[method]} {model.classes_[-1]}"]
    return [f"{TITLES[method]} {label}" for label in model.classes_]


def as_objects(found: NDArray[Any]) -> NDArray[Any]:
    """Return an output as columns of Python's own numbers and words, which CSV has in full."""
    return (found[:, None] if found.ndim == 1 else found).astype(object)


def accuracies(found: NDArray[Any], y: NDArray[Any]) -> dict[str, float]:
    """Return the accuracy of what was found, and that of the most frequent class of these rows alone."""
    most = np.unique(y, return_counts=True)[1].max()
    return {"accuracy": float(np.mean(found == y)), "most_frequent_class": float(most / len(y))}


def score_file(model: KernelModel, path: Path) -> tuple[dict[str, float], int]:
    """Return the accuracy on a file's rows, or the errors of a regression, and the number of rows.

    Raises DataError for a file without the target, for a label that the model does not know, and bad rows.
    """
    predicted, expected = [], []
    for rows in rows_of(model, path, labels=True):
        if rows.y is None:
            target = model.coding.target if model.coding else None
            what = f"the column {target}" if target is not None else "labels"
            raise DataError(
                f"{path}: expected {what} to compare predictions with, got none; `kfeat predict` needs none"
            )
        expected.append(_labels(model, rows, path))
        predicted.append(
            np.concatenate([model.solver_.predict(Z) for Z in model.blocks(rows.X)])  # codes, as y has them
        )
    found, y = np.concatenate(predicted), np.concatenate(expected)
    if classifies(model.solver_):
        return accuracies(found, y), len(y)
    return {name: float(value) for name, value in regression_errors(y, found).items()}, len(y)


def _labels(model: KernelModel, rows: Rows, path: Path) -> NDArray[Any]:
    """Return labels as the solver has them; raises DataError for one that it does not know."""
    assert rows.y is not None
    try:
        y = model.preparation_.labels(rows.y, rows.start)
    except DataError as error:
        raise DataError(f"{path}, {error}") from None
    if not classifies(model.solver_):
        return y
    names = model.coding.label_names if model.coding else ()
    if model.classes_.dtype.kind in "UO":  # fit in Python numbers words in its own way
        codes = dict(zip(map(str, model.classes_), model.solver_.classes_, strict=True))
        words = [names[int(one)] if names else f"{one:.16g}" for one in y]
        known = np.array([word in codes for word in words], dtype=bool)
        found = np.array([codes.get(word, -1) for word in words])
    else:
        known, found = np.isin(y, model.solver_.classes_), y
    if not known.all():
        row = int(np.argmin(known))
        label = names[int(y[row])] if names else f"{y[row]:.16g}"
        labels = ", ".join(str(one) for one in model.classes_)
        raise DataError(
            f"{path}, row {rows.start + row + 1}: expected one of the labels that the model knows, {labels}, "
            f"got {label}"
        )
    return found
