"""Labels under a protocol: some classes against the others."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfeat.data.dataset import Raw
from kfeat.data.matrix import Indices
from kfeat.data.protocol import Against, Protocol
from kfeat.data.splits import shuffled
from kfeat.errors import DataError


def labels_under(raw: Raw, positive: NDArray[Any] | None, train: Indices) -> NDArray[Any]:
    """Return the labels of all rows, +1 for `positive` ones; the targets of a regression as they are."""
    if raw.task == "regression":
        return raw.y
    y = raw.y if positive is None else np.where(np.isin(raw.y, positive), 1, -1)
    if len(np.unique(y[train])) < 2:
        raise DataError(
            f"{raw.name}: expected two classes or more in the training rows, got one; "
            "draw more rows or choose another split"
        )
    return y


def positive_classes(raw: Raw, protocol: Protocol) -> NDArray[Any] | None:
    """Return the classes that become +1, or None where labels stay as they are."""
    if protocol.binarise == "none":
        return None
    if raw.task == "regression":
        raise DataError(f"{raw.name} is a regression task; its targets have no classes to make binary")
    classes = np.unique(raw.y)
    if isinstance(protocol.binarise, Against):
        return np.array([code_of(protocol.binarise.positive, raw, classes)])
    order = shuffled(np.random.default_rng(protocol.binarise.random_half), len(classes))
    return classes[order[: len(classes) // 2]]  # rounded down, the same for the same seed


def code_of(label: int | float | str, raw: Raw, classes: NDArray[Any]) -> Any:
    """Return the code of a class given by its label; raises DataError for one that does not exist.

    Where labels are words, a number stands for the word that it spells, not for a code.
    """
    codes: dict[Any, Any] = {word: code for code, word in enumerate(raw.label_names)}
    code = codes.get(str(label)) if codes else label
    if code not in classes.tolist():
        known = raw.label_names or tuple(str(c) for c in classes.tolist())
        raise DataError(f"{raw.name} has no class {label!r}; its classes are {', '.join(known)}")
    return code
