"""How each column of a table is coded: learnt from training rows."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfeat.data.base import Task
from kfeat.data.cells import (
    are_truths,
    holds,
    words_error,
    words_in,
)
from kfeat.data.coding import Coding, check_columns, date_numbers
from kfeat.data.matrix import DENSE_FROM
from kfeat.data.reading import Reading
from kfeat.data.spelling import check_mistakes
from kfeat.errors import DataError
from kfeat.text import in_yaml
from kfeat.weights import copies

MOST_COUNTED = 100_000  # rows that are repeated by their weights, at most


def kind_of(cells: Any, reading: Reading) -> str:
    """Return how a column is coded: "number", "date", "one_hot", "ordinal" or, one-hot too, "levels".

    Raises DataError for words where `categorical` is not set, a few words among numbers, and lists.
    """
    declared = str(cells.name) in (reading.levels or {})
    found = "words" if declared else holds(cells)
    if found in ("numbers", "nothing", "dates"):
        return "date" if found == "dates" else "number"
    out = f"leave the column out with {drop([cells.name])}"
    if found == "lists":
        cell = cells.dropna().iloc[0]
        raise DataError(f"column {cells.name}: expected numbers or words, got {cell!r:.60}; {out}")
    if declared and reading.categorical is not None:
        return "ordinal" if reading.categorical == "ordinal" else "levels"
    check_mistakes(cells, f"{out}, ")
    if reading.categorical is None:
        raise words_error(cells, f"set `categorical` to ordinal or one_hot if it holds words, or {out}")
    return reading.categorical


def label_words(cells: Any, reading: Reading) -> tuple[str, ...]:
    """Return the words behind the labels 0, 1, ..., declared or sorted; none where labels are no words.

    Raises DataError for a few words among numbers.
    """
    if levels := (reading.levels or {}).get(str(cells.name)):
        return tuple(levels)
    if holds(cells) != "words" and not are_truths(cells):
        return ()
    check_mistakes(cells)
    return tuple(words_in(cells))


def drop(names: Sequence[str]) -> str:
    """Return the option that leaves columns out, quoted as YAML needs it: a bare number is a position."""
    return f"`drop: {in_yaml(list(names))}`"


GAP = "missing"  # the word for a missing cell
RARE = 10  # rows that a word needs to get its own feature; rarer words share one


def learn_coding(
    frame: Any, reading: Reading, *, task: Task = "classification", target: str | None = None,
    label_names: tuple[str, ...] = (), dropped: tuple[str, ...] = (),
    weights: NDArray[np.float64] | None = None,
) -> Coding:  # fmt: skip
    """Return how the columns of a pandas frame of training rows become features.

    Numbers stay as they are; missing ones become what `reading.missing` says. Words become features of 0 and
    1 (`one_hot`; words of fewer than 10 rows, or than a hundredth of all rows if that is less, share one
    feature with unknown words), or their positions (`ordinal`), among the declared `levels` of a column if
    there are any. A date becomes year, month, weekday and the days since 1970-01-01. A column without any
    value becomes 0. Rows count by their weights (n,) above 0, if there are any, in what missing cells become
    and in how rare a word is. Raises DataError for columns that cannot be coded.
    """
    names, levels = [str(name) for name in frame.columns], reading.levels or {}
    check_columns(names, names, set())
    if not names:
        raise DataError("columns: expected some beside the labels, got 0 columns")
    frame = frame.set_axis(names, axis="columns")
    kinds = {name: kind_of(frame[name], reading) for name in names}
    words = {
        name: levels[name] if name in levels else words_in(frame[name])
        for name, kind in kinds.items()
        if kind not in ("number", "date")
    }
    missing = None if reading.missing == "drop" else reading.missing
    if missing == "word":
        words = {name: [*known, *({GAP} - set(known))] for name, known in words.items()}
    coding = Coding(
        task, len(names), names, kinds, words,
        missing=missing, target=target, label_names=label_names, dropped=dropped,
    )  # fmt: skip
    if missing is not None or set(kinds.values()) != {"number"}:
        cells, n = coding.cells(frame), float(len(frame))
        if weights is not None:
            cells, n = cells.iloc[copies(weights, MOST_COUNTED)], max(n, float(weights.sum()))
        coding.coder = column_transformer(coding, int(n), len(cells) / n).fit(cells)
        coding.sparse = coding.coder.sparse_output_
    return coding


def column_transformer(coding: Coding, n_rows: int, times: float = 1.0) -> Any:
    """Return the transformer of cells, in the order of the columns; adjacent columns of numbers share one.

    It is to be fitted to so many times the `n_rows` rows that count.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder

    coders = list[Any]()
    for _, group in groupby(coding.names, lambda name: coding.kinds[name] != "number" and name):
        run = list(group)
        kind, words = coding.kinds[run[0]], [np.array(coding.words.get(run[0], []), dtype=object)]
        usual = "mean" if coding.missing == "word" else coding.missing
        other = "constant" if coding.missing == "word" else "most_frequent"
        numeric = kind in ("number", "date")
        imputer = SimpleImputer(
            strategy=usual if numeric else other,
            fill_value=None if numeric or other != "constant" else GAP,
            keep_empty_features=True,
        )
        fill = [imputer] if coding.missing else []
        least = max(1, round(times * min(RARE, max(1, n_rows // 100))))
        rare = {"handle_unknown": "infrequent_if_exist", "min_frequency": least}
        steps = {
            "number": fill,
            "date": [FunctionTransformer(date_numbers), *fill],
            "ordinal": [*fill, OrdinalEncoder(categories=words)],
            "levels": [*fill, OneHotEncoder(categories=words)],
            "one_hot": [*fill, OneHotEncoder(**rare)],
        }[kind]
        coders.append((str(len(coders)), make_pipeline(*steps) if steps else "passthrough", run))
    threshold = float(np.nextafter(DENSE_FROM, 1))  # as for all arrays that are kept
    return ColumnTransformer(coders, sparse_threshold=threshold).set_output(transform="default")
