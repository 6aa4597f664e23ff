"""Covertype as LIBSVM distributes it, made from UCI's file: the same numbers to the last bit."""

import numpy as np

from kfeat.data.formats import Contents
from kfeat.data.models import Part


def covertype_binary(uci: Contents) -> Contents:
    """Return each column scaled to [0, 1] over all rows, to six digits; class 2 stays 2, the rest is 1."""
    part = uci.parts["train"]
    X = np.empty(part.X.shape)
    for column, values in enumerate(part.X.T):
        kinds, which = np.unique(values, return_inverse=True)
        scaled = (kinds - kinds[0]) / (kinds[-1] - kinds[0])
        X[:, column] = np.array([float(f"{value:.6g}") for value in scaled])[which]
    return Contents({"train": Part(X, np.where(part.y == 2, 2, 1))}, "classification")
