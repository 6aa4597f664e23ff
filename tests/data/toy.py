"""A small dataset in memory, and protocols, as the tests of protocols and of splits need them."""

import numpy as np

from kfeat.data import Protocol, Raw
from kfeat.data.matrix import Part

RNG = np.random.default_rng(0)
X = RNG.normal(3, 2, (90, 5)) * (RNG.random((90, 5)) < 0.5)
X[:, 3] = 7.0  # constant
X[4] = 0.0  # a zero row
Y = np.arange(90) % 4


def raw(X=X, y=Y, n_train=60, task="classification"):
    """Return a dataset whose test file starts at row n_train, or without a test file."""
    parts = {"train": Part(X[:n_train], y[:n_train])}
    if n_train is not None:
        parts["test"] = Part(X[n_train:], y[n_train:])
    return Raw("toy", task, parts, recorded="f" * 64, verified=True)


def protocol(**switches):
    return Protocol.model_validate({"dtype": "float64", **switches})
