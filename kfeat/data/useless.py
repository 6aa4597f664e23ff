"""Columns of a table from which nothing can be learnt."""

import re
from contextlib import suppress
from typing import Any

import numpy as np

from kfeat.data.cells import are_numbers, as_numbers
from kfeat.data.formats.header import UNNAMED
from kfeat.data.spelling import check_mistakes
from kfeat.errors import DataError

FEW_ROWS = 20  # that may hold consecutive numbers by chance
OWN_WORDS = 20  # a column of more different words, and of more than half of the rows, names single rows
COUNTS_ROWS = "numbers that count the rows"
MANY_ROWS = 200  # in which whole numbers that differ in every row are an id, if they do not follow the target
MOST_LOOKED_AT = 20_000  # rows by which it is judged whether they do
MOST_CLASSES = 50  # whose words are looked at one by one
OWN_NUMBER = "a number of its own in every row"


def useless(frame: Any, columns: Any, target: str | None) -> dict[str, str]:
    """Return the columns beside the target from which nothing can be learnt, each with the reason."""
    from pandas.util import hash_pandas_object

    def cells_of(name: str) -> bytes:
        return hash_pandas_object(frame[name], index=False).to_numpy().tobytes()

    features = columns[(columns["role"] != "dropped") & (columns["name"] != target)]
    seen = {} if target is None else {cells_of(target): target}
    reasons = {}
    for column in features.itertuples():
        if column.name.startswith(UNNAMED):
            reasons[column.name] = "no name, probably an index"
        elif column.holds in ("nothing", "lists"):
            reasons[column.name] = "no value" if column.holds == "nothing" else "lists"
        elif column.holds == "words" and column.n_distinct > max(OWN_WORDS, len(frame) // 2):
            with suppress(DataError):  # numbers with a few slips, which are worth a message
                check_mistakes(frame[column.name])
                reasons[column.name] = "a different word in almost every row"
        elif column.n_distinct == 1 and not column.n_missing:
            reasons[column.name] = "one value in all rows"
        elif (first := seen.setdefault(cells_of(column.name), column.name)) != column.name:
            reasons[column.name] = f"the same as {first}"
        elif column.holds == "numbers" and len(frame) > FEW_ROWS:
            values = as_numbers(frame[column.name])
            steps = np.diff(np.sort(values[np.isfinite(values)]))
            named = re.search(r"(^|[^A-Za-z])[iI][dD]$|[a-z]I[dD]$", column.name)
            own = column.n_distinct == len(frame) and (steps % 1 == 0).all()
            many = target is not None and len(frame) >= MANY_ROWS
            if own and (named or (many and not follows(frame[column.name], frame[target]))):
                reasons[column.name] = OWN_NUMBER
            if (steps == 1).all() and (column.name not in reasons or named):
                reasons[column.name] = COUNTS_ROWS
    if len(reasons) == len(features):  # row numbers may be times, if there is no other column
        reasons = {name: why for name, why in reasons.items() if why not in (COUNTS_ROWS, OWN_NUMBER)}
    return reasons


def follows(cells: Any, labels: Any) -> bool:
    """Return whether labels depend on numbers, whatever the form of the dependence.

    Either the correlation of their ranks is beyond 3 / sqrt(n), or trees on the numbers alone predict the
    labels of held-out rows better than their mean does: shallow ones see broad bands, others narrow ones.
    """
    from pandas import factorize, get_dummies
    from scipy.stats import spearmanr
    from sklearn.model_selection import cross_val_predict
    from sklearn.tree import DecisionTreeRegressor

    rows = np.random.default_rng(0).permutation(len(labels))[:MOST_LOOKED_AT]
    x, labels = as_numbers(cells)[rows], labels.iloc[rows]
    numbers = are_numbers(labels)
    y = as_numbers(labels) if numbers else factorize(labels, sort=True)[0].astype(float)
    x, y, labels = x[np.isfinite(y)], y[np.isfinite(y)], labels[np.isfinite(y)]
    if not abs(spearmanr(x, y).statistic) < 3 / np.sqrt(len(y)):
        return True
    few = not numbers and labels.nunique() <= MOST_CLASSES
    Y = np.asarray(get_dummies(labels), float) if few else y.reshape(-1, 1)
    leaf = max(5, len(y) // 200)
    trees = [DecisionTreeRegressor(max_depth=depth, min_samples_leaf=leaf) for depth in (3, None)]
    predicted = [cross_val_predict(tree, x.reshape(-1, 1), Y, cv=5).reshape(Y.shape) for tree in trees]
    return any(((Y - Z) ** 2).sum() < ((Y - Y.mean(axis=0)) ** 2).sum() for Z in predicted)
