"""What a page shows of a trained method: its answers on held-out rows, and what its columns are worth."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfeat.data.dataset import Dataset
from kfeat.experiments.adapters import dense
from kfeat.own.model import KernelModel

MOST, FEWEST = 2_000, 100  # held-out rows in which columns are shuffled
MOST_VALUES = 2 * 10**7  # of these rows
REPEATS = 5  # times that a column is shuffled, where there is time


@dataclass(frozen=True)
class HeldOutAnswers:
    """What a trained method answers on n held-out rows.

    `known` and `predicted` are positions among the `classes`, or targets and values of a regression, which
    has no classes. `probabilities` are (n, classes), None where there are none. `importances` has by the name
    of a column by how much the metric falls if its cells are shuffled, among `n_shuffled` rows: the mean and
    the standard deviation of some shuffles. It is empty where there was no time. `weights` are those of a
    learnt metric (see `metric_weights`).
    """

    classes: list[str]
    known: NDArray[Any]
    predicted: NDArray[Any]
    probabilities: NDArray[np.float64] | None
    importances: dict[str, tuple[float, float]]
    n_shuffled: int
    weights: dict[str, float]


def held_out_answers(
    model: KernelModel, data: Dataset, metric: Any, seconds: float, seed: int
) -> HeldOutAnswers:
    """Return what a model answers on the test rows of unscaled data; importances take the `seconds`."""

    def answer(X: Any, method: str) -> Any:
        return model.predict_prepared(model.preparation_.block(X), method)

    answers = metric.held(partial(answer, data.X_test), data.y_test)
    classes, probabilities, n = [], None, 0
    importances = dict[str, tuple[float, float]]()
    if metric.labels is not None:
        classes = [data.label_names[int(k)] if data.label_names else str(k) for k in metric.labels]
        with suppress(ValueError):  # of too few rows of a class, where they are learnt from these rows
            probabilities = answers.predict_proba(None)
    if probabilities is not None and probabilities.shape[1] != len(classes):
        probabilities = None
    with suppress(ValueError):  # of a metric that some rows have no value of
        importances, n = importances_of(answer, model, data, metric, seconds, seed)
    weights = metric_weights(model.preparation_, data.coding)
    return HeldOutAnswers(classes, answers.y, answers.predict(None), probabilities, importances, n, weights)


def metric_weights(preparation: Any, coding: Any) -> dict[str, float]:
    """Return by the name of each column its share of the trace of the metric's matrix M; empty without one.

    M_jj is the mean square of the derivative of a predictor by feature j (`kfeat.LearntMetric`), and a column
    that is many features has the sum of theirs.
    """
    if preparation.metric is None or not preparation.metric.round_:
        return {}
    names, column = columns_of(coding, preparation)
    squares = np.bincount(column, preparation.metric.weights_**2, len(names))
    return dict(zip(names, (squares / squares.sum()).tolist(), strict=True))


def importances_of(
    answer: Callable[[Any, str], Any],
    model: KernelModel,
    data: Dataset,
    metric: Any,
    seconds: float,
    seed: int,
) -> tuple[dict[str, tuple[float, float]], int]:
    """Return the importances of the file's columns, and the number of rows in which they are shuffled.

    A column may be many features, so the numbers of rows are shuffled in its place.
    """
    from sklearn.inspection import permutation_importance  # here, since its import takes a third of a second

    names, column = columns_of(data.coding, model.preparation_)
    rows = np.random.default_rng(seed).permutation(len(data.y_test))
    rows = rows[: min(MOST, MOST_VALUES // len(column))]
    start = perf_counter()
    metric(partial(answer, data.X_test[rows]), data.y_test[rows])
    shuffles = seconds / len(names) / (perf_counter() - start)  # of each column, in these seconds
    rows = rows[: int(shuffles * len(rows))]
    if len(rows) < FEWEST:
        return {}, 0
    X, y = dense(data.X_test[rows], "the importance of columns"), data.y_test[rows]

    def score(_: Any, numbers: NDArray[Any], y: NDArray[Any]) -> float:
        return float(metric(partial(answer, X[numbers[:, column], np.arange(len(column))]), y))

    numbers = np.tile(np.arange(len(rows))[:, None], len(names))
    repeats = int(np.clip(shuffles, 1, REPEATS))
    falls = permutation_importance(model, numbers, y, scoring=score, n_repeats=repeats, random_state=seed)
    pairs = zip(falls.importances_mean.tolist(), falls.importances_std.tolist(), strict=True)
    return dict(zip(names, pairs, strict=True)), len(rows)


def columns_of(coding: Any, preparation: Any) -> tuple[list[str], NDArray[np.int64]]:
    """Return the names of a file's columns, and the position of its column for each feature."""
    names, coder = list(coding.names) if coding else [], getattr(coding, "coder", None)
    column = np.arange(preparation.n_features)
    if coder is not None:
        parts = [(coder.output_indices_[name], run) for name, _, run in coder.transformers]
        column = np.concatenate([np.repeat(run, (part.stop - part.start) // len(run)) for part, run in parts])
        column = np.array([names.index(name) for name in column])
    names = names or [f"column {i}" for i in column]
    return names, column if preparation.columns is None else column[preparation.columns]
