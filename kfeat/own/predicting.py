"""Using a model on files of any length, in blocks of rows: predictions, scores, and a description."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kfeat.data.files import naming
from kfeat.data.formats import Rows, read_rows
from kfeat.data.reading import Reading, format_of
from kfeat.errors import DataError, ModelError
from kfeat.own.model import KernelModel
from kfeat.parameters import plain
from kfeat.solvers import regression_errors
from kfeat.solvers.base import classifies

TITLE = {"decision_function": "score", "predict_proba": "probability"}


def _rows_of(model: KernelModel, path: Path, labels: bool) -> Iterator[Rows]:
    """Yield a file's rows in blocks, coded as in training; the same format is read with the same options.

    Raises DataError for rows that the model cannot take, and for a file that has none.
    """
    reading = Reading.model_validate(model.about_.get("reading", {}))
    with suppress(DataError):  # of an ending that tells no format: the file is read as the training file was
        reading = reading if reading.format == format_of(path, Reading()) else Reading()
    return read_rows(path, reading, model.coding_, labels=labels)


def write_predictions(model: KernelModel, path: Path, methods: Sequence[str], out: IO[str]) -> int:
    """Write the results of the methods for each row of a file, as CSV with a header; return how many rows.

    Raises ModelError for a method that the model does not have, DataError for bad rows.
    """
    for method in methods:
        if not hasattr(model, method):
            lacks = f"{type(model.solver_).__name__} has no {TITLE[method]}; leave the option out"
            logistic = ", or train `{name: newton, loss: logistic}`" if classifies(model.solver_) else ""
            raise ModelError(f"{lacks}{logistic}")
    n = 0
    for rows in _rows_of(model, path, labels=False):
        outputs = model.outputs(rows.X, methods, coded=True)
        columns = {"prediction": outputs.pop("predict")}
        for method, found in outputs.items():
            labels = model.classes_ if found.ndim == 2 else model.classes_[-1:]
            titles = [f"{TITLE[method]} {label}" for label in labels]
            columns |= dict(zip(titles, np.atleast_2d(found.T), strict=True))
        pd.DataFrame(columns).to_csv(out, index=False, header=not n, na_rep="nan", lineterminator="\n")
        n += rows.X.shape[0]
    return n


def scores_of(task: str, found: NDArray[Any], y: NDArray[Any]) -> dict[str, float]:
    """Return the accuracy, and that of always the most frequent class; or the errors of a regression."""
    if task == "regression":
        return regression_errors(y, found)
    most = np.unique(y, return_counts=True)[1].max()
    return {"accuracy": float(np.mean(found == y)), "most_frequent_class": float(most / len(y))}


def score_file(model: KernelModel, path: Path) -> tuple[dict[str, float], int]:
    """Return the scores on a file's rows and their number.

    Raises DataError for a file without the target, for a label that the model does not know, and bad rows.
    """
    found, y = [], []
    for rows in _rows_of(model, path, labels=True):
        if rows.y is None:
            target = model.coding_.target
            what = "labels" if target is None else f"the column {target}"
            raise DataError(
                f"{path}: expected {what} to compare predictions with, got none; `kfeat predict` needs none"
            )
        with naming(path):
            y.append(_labels(model, rows.y, rows.start))
        found.append(model.outputs(rows.X, ["predict"], coded=True)["predict"])
    return scores_of(model.solver_.task, np.concatenate(found), np.concatenate(y)), sum(map(len, y))


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
    return {
        "file": path.name,
        "bytes": path.stat().st_size,
        "task": solver.task,
        "data": {
            "columns": coding.names or coding.width,
            "features": model.preparation_.n_features,
            "target": coding.target,
        },
        "labels": plain(model.classes_.tolist()) if classifies(solver) else None,
        "scale": model.scale,
        "map": repr(model.map_) if model.map_ else None,
        "kernel": f"{kernel!r}: {kernel.formula}" if kernel else "linear",
        "solver": {
            "parameters": repr(solver),
            **solver.learnt_parameters(),
            "features": int(solver.n_features_in_),
            "finished_by": solver.finished_by_,
            "iterations": int(solver.n_iter_),
            "converged": bool(solver.converged_),
        },
        "probabilities": hasattr(model, "predict_proba"),
        **model.about_,
    }
