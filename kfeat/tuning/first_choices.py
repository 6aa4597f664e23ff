"""The choices of a first config: scaling, kernel, map, D and solver, each with its reason in a line."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kfeat.data.dataset import Raw
from kfeat.errors import ConfigError, DataError
from kfeat.kernels import Gaussian, Laplacian
from kfeat.kernels.bandwidths import BandwidthRule

DENSE_VALUES = 200_000_000  # n d up to which a sparse matrix may become dense: 0.8 GB in float32
FOLDS = 5
TRAIN = 0.8  # of the rows, where the data have no test file


@dataclass(frozen=True)
class Choice:
    """The value of one key of a config, and why."""

    value: Any
    why: str


def first_choices(raw: Raw, kernel: str = "gaussian", words: bool = False) -> dict[str, Choice]:
    """Return scale, split, kernel, map and solver for data as their files have them.

    `words` says that columns of words have become columns of 0 and 1.
    """
    n, d = sum(len(part.y) for part in raw.parts.values()), raw.n_features
    n_train = len(raw.parts["train"].y) if "test" in raw.parts else int(TRAIN * n)
    scale = _scale(raw, n * d <= DENSE_VALUES, words)
    return {
        "scale": scale,
        "split": _split(raw),
        "kernel": _kernel(kernel, raw, scale.value),
        "map": _map(kernel, n_train, d, raw.sparse and scale.value == "unit_rows"),
        "solver": _solver(raw, n_train, kernel),
    }


def check_target(raw: Raw, target: str | None, task: str | None, why: str | None = None) -> None:
    """Raise ConfigError for a target of a single class, and for numbers or words that are no classes.

    `why` says what is wrong with numbers that were read as words.
    """
    kinds = np.unique(raw.y)
    named = "target" if target is None else f"target '{target}'"
    if len(kinds) < 2:
        only = raw.label_names[0] if raw.label_names else f"{kinds[0]:.16g}"
        raise ConfigError(
            f"{raw.name}: the {named} has a single class, {only!r}, in all of its {len(raw.y):,} rows; "
            "name another column with --target"
        )
    many = len(kinds) > max(20, len(raw.y) // 2)
    if many and raw.label_names and (why or task is None):
        reason = f"it holds {why}; correct them" if why else "--task classification takes them for classes"
        raise ConfigError(
            f"{raw.name}: the {named} has {len(kinds):,} different words in {len(raw.y):,} rows; {reason}"
        )
    if many and task == "classification" and not raw.label_names:
        raise ConfigError(
            f"{raw.name}: the {named} has {len(kinds):,} different numbers in {len(raw.y):,} rows, "
            "which are no classes; say --task regression"
        )


def _scale(raw: Raw, fits: bool, words: bool) -> Choice:
    if raw.sparse and not (words and fits):
        return Choice("unit_rows", "every row to length 1, which keeps sparse data sparse")
    if words:
        return Choice("minmax", "every column to [0, 1], as those of words are: rare words stay small")
    return Choice("zscore", "every column to mean 0 and variance 1, so that none outweighs the others")


def _split(raw: Raw) -> Choice:
    if "test" in raw.parts:
        return Choice("official", "the test file's rows are for the end: nothing is chosen by them")
    share = f"{100 - 100 * TRAIN:g} %"
    return Choice(
        {"kind": "fraction", "train": TRAIN, "seed": 0},
        f"{share} of the rows are for the end: the seed keeps them the same, nothing is chosen by them",
    )


def _kernel(name: str, raw: Raw, scale: str) -> Choice:
    if name == "polynomial":
        gamma = 1.0 if scale == "unit_rows" else float(f"{1 / raw.n_features:.2g}")
        return Choice(
            {"name": name, "degree": 2, "gamma": gamma, "coef0": 1},
            "products of pairs of columns too; gamma keeps <x, y> near 1",
        )
    if name == "linear":
        return Choice({"name": name}, "no products of columns: the baseline")
    rule = bandwidth_rule(Gaussian, raw.parts["train"].X)
    said = {"median": "the median distance", "mean_distance": "the mean distance, since most rows are equal"}
    return Choice({"name": name, "gamma": rule}, f"rows are alike as far as they are near, by {said[rule]}")


def bandwidth_rule(kernel: type[Gaussian | Laplacian], X: Any) -> BandwidthRule:
    """Return the rule by which a kernel's bandwidth is learnt: that of the median, unless it is 0."""
    try:
        kernel("median").resolve(X, 0)
    except DataError:
        return "mean_distance"
    return "median"


def _map(kernel: str, n_train: int, d: int, sparse: bool) -> Choice:
    most = int(np.clip(n_train // 4 // 50 * 50, 50, 1000))
    if kernel == "gaussian" and not sparse:
        return Choice(
            {"name": "orf", "n_components": most},
            "orthogonal random features; more of them are nearer to the kernel, and slower",
        )
    if kernel in ("gaussian", "laplacian"):
        return Choice(
            {"name": "random_fourier", "n_components": most},
            "random Fourier features; more of them are nearer to the kernel, and slower",
        )
    if kernel == "polynomial":
        return Choice(
            {"name": "tensor_sketch", "n_components": most},
            "Tensor Sketch; more features are nearer to the kernel, and slower",
        )
    return Choice(
        {"name": "nystrom", "n_components": min(most, 500, n_train, d), "landmarks": "rpcholesky"},
        "exact, where it has as many landmarks as columns",
    )


def _solver(raw: Raw, n_train: int, kernel: str) -> Choice:
    if raw.task == "regression" and n_train < FOLDS:
        return Choice({"name": "ridge"}, f"ridge regression; {n_train} rows are too few to choose alpha by")
    if raw.task == "regression":
        return Choice(
            {"name": "ridge_cv"}, "ridge regression; alpha by cross-validation on the training rows"
        )
    rarest = int(np.unique(raw.parts["train"].y, return_counts=True)[1].min())
    # The features of other kernels come near to a constant; of these columns none is one.
    bias, why = ({"bias": 1}, "; bias is its intercept") if kernel == "linear" else ({}, "")
    if not enough_for_folds(raw):
        return Choice(
            {"name": "newton", "C": 1, **bias},
            f"a linear SVM; the rarest class has {rarest} rows, too few for cross-validation of C{why}",
        )
    return Choice(
        {"name": "newton_cv", **bias}, f"a linear SVM; C by cross-validation on the training rows{why}"
    )


def enough_for_folds(raw: Raw) -> bool:
    """Tell whether each fold of the training rows most likely has two rows of every class."""
    rarest = int(np.unique(raw.parts["train"].y, return_counts=True)[1].min())
    return (rarest if "test" in raw.parts else rarest * TRAIN) >= 2 * FOLDS
