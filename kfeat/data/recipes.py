"""Datasets that are bundled with scikit-learn, or made from the files of others."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kfeat.data.dataset import Raw
from kfeat.data.matrix import Indices, Part
from kfeat.data.splits import shuffled

# Of the stand-in for Gisette.
SEED = 2003
ROWS, COLUMNS = slice(3, 18), slice(4, 24)  # the middle top part, where 4 and 9 differ
N_PIXELS, N_REAL = 140, 2500
N_TRAIN, N_TEST = 3000, 500  # of each digit


def digits() -> Raw:
    """Return scikit-learn's 1,797 digits of 8 x 8 pixels in 0..16, classes 0..9, as the part "train"."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return Raw("digits", "classification", {"train": Part(X, y.astype(np.int64))})


def covertype_binary(uci: Raw) -> Raw:
    """Return Covertype as LIBSVM distributes it, made from UCI's file: the same numbers to the last bit.

    Each column is scaled to [0, 1] over all rows, to six digits; class 2 stays 2, the others become 1.
    """
    part = uci.parts["train"]
    X = np.empty(part.X.shape)
    for column, values in enumerate(part.X.T):
        kinds, which = np.unique(values, return_inverse=True)
        scaled = (kinds - kinds[0]) / (kinds[-1] - kinds[0])
        X[:, column] = np.array([float(f"{value:.6g}") for value in scaled])[which]
    return Raw("covertype", "classification", {"train": Part(X, np.where(part.y == 2, 2, 1))})


def gisette_mnist(mnist: Raw) -> Raw:
    """Return a stand-in for Gisette built from MNIST: 6,000 + 1,000 rows of 5,000 features, labels +1 and -1.

    Gisette (Guyon 2003, Design of experiments for the NIPS 2003 variable selection benchmark) was made of
    MNIST's 4s (+1) and 9s (-1): pixels sampled from the middle top part, products of pairs of them, and as
    many probes, features without meaning; values scaled to whole numbers in 0..999, the order of rows and
    features randomised. Which pixels and pairs were drawn is not published, so the numbers here differ from
    Gisette's: never call it that.
    """
    rng = np.random.default_rng(SEED)
    images = np.vstack([part.X for part in mnist.parts.values()])
    train, test = drawn_rows(mnist.y, rng)
    rows = np.concatenate([train, test])
    real = real_features(images[rows], rng)
    X = np.hstack([real, probes(real, rng)])[:, shuffled(rng, 2 * N_REAL)]
    y = np.where(mnist.y[rows] == 4, 1, -1)
    n = len(train)
    parts = {"train": Part(X[:n], y[:n]), "test": Part(X[n:], y[n:])}
    return Raw("gisette_mnist", "classification", parts)


def drawn_rows(digits: NDArray[np.int64], rng: np.random.Generator) -> tuple[Indices, Indices]:
    """Return as many 4s as 9s to train and to test, each in random order."""
    train, test = [], []
    for digit in (4, 9):
        rows = np.flatnonzero(digits == digit)
        rows = rows[shuffled(rng, len(rows))]
        train.append(rows[:N_TRAIN])
        test.append(rows[N_TRAIN : N_TRAIN + N_TEST])
    both = np.concatenate(train), np.concatenate(test)
    return both[0][shuffled(rng, len(both[0]))], both[1][shuffled(rng, len(both[1]))]


def real_features(images: NDArray[np.uint8], rng: np.random.Generator) -> NDArray[np.int16]:
    """Return sampled pixels and products of random pairs of them, scaled from 0..1 to 0..999."""
    area = images.reshape(-1, 28, 28)[:, ROWS, COLUMNS].reshape(len(images), -1)
    pixels = area[:, shuffled(rng, area.shape[1])[:N_PIXELS]] / 255
    first, second = (rng.random((2, N_REAL - N_PIXELS)) * N_PIXELS).astype(int)
    features = np.hstack([pixels, pixels[:, first] * pixels[:, second]])
    return np.rint(999 * features).astype(np.int16)


def probes(real: NDArray[np.int16], rng: np.random.Generator) -> NDArray[np.int16]:
    """Return each real feature with its rows permuted: the same distribution, but no information."""
    return np.column_stack([column[shuffled(rng, len(column))] for column in real.T])


RECIPES: dict[str, Callable[[Raw], Raw]] = {
    "covertype_binary": covertype_binary,
    "gisette_mnist": gisette_mnist,
}
