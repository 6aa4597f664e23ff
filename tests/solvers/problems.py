"""Small problems for the solver tests: features like a map's, with zeros, and labels with noise."""

import numpy as np


def features(n, d, seed=0, density=1.0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < density) / np.sqrt(d)
    return X.astype(dtype)


def labels(X, classes, seed=1):
    """Labels 0 .. classes - 1 from random linear scores, a tenth of them replaced at random."""
    rng = np.random.default_rng(seed)
    y = (X @ rng.standard_normal((X.shape[1], classes))).argmax(axis=1)
    noisy = rng.random(len(y)) < 0.1
    y[noisy] = rng.integers(classes, size=noisy.sum())
    return y


def problem(n, d, classes, **more):
    X = features(n, d, **more)
    return X, labels(X, classes)


def values(X, seed=1):
    rng = np.random.default_rng(seed)
    return X @ rng.standard_normal(X.shape[1]) + 0.1 * rng.standard_normal(len(X))
