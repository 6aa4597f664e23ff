"""What candidates depend on: the sizes of the data, and the scale of each kernel under each scaling."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from kfeat.data.matrix import Matrix
from kfeat.kernels.distances import squared_norms
from kfeat.kernels.operands import as_operand
from kfeat.solvers.base import Target

Loss = Literal["squared_hinge", "logistic", "squares", "huber"]
ABSOLUTE = ("neg_mean_absolute_error", "neg_median_absolute_error")  # metrics that ask for Huber's loss
SKEWED = 1.0  # skewness of targets from which other scales of them are candidates
DENSE_SCALES = ("zscore", "power", "zscore_numbers", "minmax", "unit_rows")
SPARSE_SCALES = ("unit_rows", "none")
MOST_POWERS = 300  # columns up to which the exponents of a power transform take about a second to learn
METRICS = ("learnt_metric", "learnt_rotation")  # that may follow a scaling, as in "zscore, learnt_metric"
MOST_TURNED = 100  # columns up to which a rotation is a candidate
SAMPLE = 1000  # rows from which the scales of kernels are learnt
MOST_GAMMA = 1e9  # above it the scaled rows are all equal, as unit rows of one column are


@dataclass(frozen=True)
class DataFacts:
    """What candidates depend on: the sizes of the data and, for each scaling, the scale of each kernel.

    `class_weights` and `targets` are those that candidates may have, the first one first. `capped` is whether
    a config can say that some of the training rows train, with the same test rows.
    """

    task: Literal["classification", "regression"]
    n_train: int
    n_test: int
    n_features: int
    rarest: int  # training rows of the rarest class; all of them in a regression
    gammas: dict[str, dict[str, float]]  # by scaling, by kernel
    metric: str = "accuracy"  # the name of a scorer of scikit-learn
    class_weights: tuple[Literal["balanced"] | None, ...] = (None,)
    targets: tuple[Target, ...] = ("none",)
    capped: bool = True

    @property
    def metrics(self) -> tuple[str, ...]:
        """The learnt metrics that may follow a scaling."""
        return METRICS if 1 < self.n_features <= MOST_TURNED else METRICS[:1] if self.n_features > 1 else ()

    @property
    def loss(self) -> Loss:
        """The loss of the exact method, and the first loss that maps are tried with."""
        return self.losses[0]

    @property
    def losses(self) -> tuple[Loss, ...]:
        """The losses that linear models on features are tried with."""
        if self.task == "classification":
            return "squared_hinge", "logistic"
        return ("squares", "huber") if self.metric in ABSOLUTE else ("squares",)


def parted(scale: str) -> tuple[str, str]:
    """Return a scaling by its name, perhaps "own", and the learnt metric that follows it, or nothing."""
    base, _, metric = scale.partition(", ")
    return base, metric


def steps_of(scale: str, own: Sequence[Any] = ()) -> list[Any]:
    """Return the steps of a candidate's scaling as a protocol has them; "own" are those of the data."""
    base, metric = parted(scale)
    return [*(own if base == "own" else [base]), *([metric] if metric else [])]


def targets_of(y: NDArray[np.float64]) -> tuple[Target, ...]:
    """Return the scales on which targets may be learnt: their own alone, unless their skewness is above 1.

    The logarithm is another one if no target is below 0, and the transform of Yeo and Johnson in any case.
    """
    if not abs(stats.skew(y)) > SKEWED:
        return ("none",)
    return ("none", "log", "power") if y.min() >= 0 else ("none", "power")


def scalings(X: Matrix) -> tuple[str, ...]:
    """Return the scalings that are possible on these rows and give different results."""
    if not isinstance(X, np.ndarray):
        return SPARSE_SCALES
    binary = ((X == 0) | (X == 1)).all(axis=0)
    left_out = ("power", "zscore_numbers") if binary.all() else () if binary.any() else ("zscore_numbers",)
    if X.shape[1] > MOST_POWERS:
        left_out = (*left_out, "power")
    return tuple(scale for scale in DENSE_SCALES if scale not in left_out)


def gammas_of(X: Matrix) -> dict[str, float]:
    """Return for each kernel the gamma for which gamma times distance, or inner product, is near 1."""
    square = float(squared_norms(as_operand(X)).mean())
    mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
    gammas = {
        "gaussian": rounded(1 / max(square - float(mean @ mean), 1e-12)),
        "polynomial": rounded(1 / max(square, 1e-12)),
    }
    if isinstance(X, np.ndarray):
        half = len(X) // 2
        distance = float(np.abs(X[:half].astype(np.float64) - X[half : 2 * half]).sum(axis=1).mean())
        gammas["laplacian"] = rounded(1 / max(distance, 1e-12))
    return gammas


def rounded(value: float) -> float:
    """Return a number with three digits, as a person would write it into a config."""
    return float(f"{value:.3g}")
