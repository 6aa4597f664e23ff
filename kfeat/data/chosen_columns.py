"""Some of the columns of a dataset, in an order."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from kfeat.data.coding import Coding
from kfeat.data.content import naming
from kfeat.data.dataset import Raw
from kfeat.data.formats.columns import column_called
from kfeat.data.matrix import Part
from kfeat.data.reading import repeated
from kfeat.errors import DataError

Columns: TypeAlias = Sequence[int | str]  # numbers from 0, or names


def with_columns(raw: Raw, columns: Columns) -> Raw:
    """Return a dataset with these features alone, in this order, and a fingerprint of its own.

    Raises DataError for a column that does not exist, or comes twice.
    """
    names = names_of(raw)
    with naming(raw.name):
        chosen = [column_called(column, names, "columns") for column in columns]
        if several := repeated(chosen):
            raise DataError(f"columns: expected each column once, got more than one {', '.join(several)}")
    numbers = [names.index(name) for name in chosen]
    return replace(
        raw,
        parts={role: Part(part.X[:, numbers], part.y) for role, part in raw.parts.items()},
        recorded=fingerprint_with(raw.fingerprint, columns),
        columns=tuple(chosen) if raw.columns else (),
        learn=partial(coding_with, raw, chosen),
    )


def names_of(raw: Raw) -> Sequence[str]:
    """Return the names of the features: those of the columns, or numbers where a column may make several."""
    if len(raw.columns) == raw.n_features:
        return raw.columns
    return [str(number) for number in range(raw.n_features)]


def fingerprint_with(fingerprint: str, columns: Columns) -> str:
    """Return the fingerprint of a dataset with these columns, from that of the whole."""
    text = json.dumps([fingerprint, list(columns)])
    return hashlib.sha256(f"kfeat columns {text}".encode()).hexdigest()


def coding_with(raw: Raw, chosen: Sequence[str]) -> Coding:
    """Return how rows with these columns become features; the other columns of a file may be there."""
    whole: Coding | None = raw.coding
    if whole is None or whole.coder is not None or not raw.columns:
        return Coding(raw.task, len(chosen), label_names=raw.label_names, sparse=raw.sparse)
    others = [name for name in whole.names if name not in chosen]
    return replace(
        whole,
        width=len(chosen),
        names=[*chosen],
        kinds={name: whole.kinds[name] for name in chosen},
        dropped=(*whole.dropped, *others),
    )
