"""The rows of which Wu et al. count the cells, training and test rows together, for columns.yaml."""

import numpy as np

from kfeat.data import load_raw

CADATA = ["medianIncome", "housingMedianAge", "totalRooms", "totalBedrooms", "population", "households"]
CADATA += ["latitude", "longitude"]  # the order of LIBSVM's file


def ijcnn1():
    """Return the first 35,000 rows of the training file, and all of the test file."""
    train, test = (load_raw("ijcnn1").parts[name] for name in ("train", "test"))
    X = np.concatenate([train.X[:35_000], test.X]).astype(np.float64)
    return X, np.concatenate([train.y[:35_000], test.y])


def mnist():
    """Return the 70,000 images as LIBSVM has them: 780 pixels, the last of which are constant, over 255."""
    parts = [load_raw("mnist").parts[name] for name in ("train", "test")]
    X = np.concatenate([part.X[:, :780] for part in parts]).astype(np.float64) / 255
    return X, np.concatenate([part.y for part in parts])


def cadata():
    """Return the blocks, each column over its largest absolute value, in six digits as in a file."""
    raw = load_raw("cal_housing")
    train = raw.parts["train"]
    X = np.asarray(train.X, np.float64)[:, [raw.columns.index(name) for name in CADATA]]
    X /= np.abs(X).max(axis=0)
    return np.array([[float(f"{value:.6g}") for value in row] for row in X]), train.y
