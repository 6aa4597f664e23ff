"""A model's predictions and scores for files of any length."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import is_classifier as classifies

from kfeat.data.content import naming
from kfeat.data.formats import Rows, as_data_errors, read_rows
from kfeat.data.formats.columns import column_called, numbers_by
from kfeat.data.formats.tables import read_frame
from kfeat.data.reading import Reading, format_of
from kfeat.errors import DataError, ModelError
from kfeat.own.model import KernelModel
from kfeat.own.scoring import judged, scores_of

TITLE = {"decision_function": "score", "predict_proba": "probability"}


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
