"""Advice on a method and its size for other data, from the published study.

It is a weighted mean over the data sets of the study. With the coordinates of the data x_t, and those of a
data set of the study x_s, each divided by its standard deviation over the study,

    w_s = exp(-mean_j (x_tj - x_sj)^2) + FAR, or 0 for another task where there are data sets of this
    share(method) = sum_s w_s (score_s(method) - linear_s) / max(best_s - linear_s, 1) / sum_s w_s
    seconds(method) = exp(sum_s w_s log(seconds_s(method) (n_t / n_s)^g) / sum_s w_s)

with best_s the best method there, and g = 2 for LIBSVM, 3 for kernel ridge regression and 1 for the others.
The share of the best gain over the linear model is cut to [-1, 1], and puts accuracy and R^2 on one scale.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from math import nan
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.sparse import issparse

from kfeat.diagnostics import effective_rank, sampled_rows
from kfeat.kernels import Gaussian
from kfeat.survey.study import BOOSTING, EXACT, LEAST_GAIN, LINEAR, LOWEST

METHOD = ["method", "D"]
PROBED = [LINEAR, "nystrom", "random_fourier", BOOSTING]
SIZES = (1000, 4000, 16000)  # training rows of the study
FAR = 0.1  # the least weight of a data set: likeness tells little, so that all count
LEAST_ERROR = 0.5  # per cent: data on which methods err less are alike
SAMPLE = 1000  # rows from which the spectrum is learnt


@cache
def shipped(name: str) -> pd.DataFrame:
    """Return a table by data set that comes with kfeat: their `traits`, or the `regret` of advice on them."""
    with (files("kfeat.survey") / f"{name}.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file, index_col="dataset")


@dataclass(frozen=True)
class Traits:
    """What advice depends on: the task, training rows n, features d, density, spread, and scores of a probe.

    density: the share of values that are not zero, before scaling. spread: the effective rank of the
    Gaussian Gram matrix of 1,000 scaled rows, where 1 / gamma is the sum of the columns' variances. It is
    near 1 if all rows are alike, and near 1,000 if none are. A method that was not probed has NaN.
    """

    task: Literal["classification", "regression"]
    n: int
    d: int
    density: float
    spread: float
    linear: float = nan
    nystrom: float = nan
    random_fourier: float = nan
    boosting: float = nan

    @classmethod
    def of(cls, X: Any, unscaled: Any, task: Any) -> "Traits":
        """Return the traits of data from their scaled training rows X (n, d), and rows before scaling."""
        sampled = (sampled_rows(matrix, min(SAMPLE, matrix.shape[0]), 0)[0] for matrix in (X, unscaled))
        rows, raw = (np.asarray(part.todense() if issparse(part) else part, float) for part in sampled)
        gamma = 1 / max(float(rows.var(axis=0).sum()), 1e-12)
        spread = effective_rank(Gaussian(gamma)(rows))
        n, d = X.shape
        return cls(task, n, d, float((raw != 0).mean()), spread)


@dataclass(frozen=True)
class Advice:
    """A method and its size D, what to expect of it, and the data sets that count most with their shares."""

    method: str
    D: int
    share: float  # of the best gain
    seconds: float
    evidence: dict[str, float]

    @property
    def entry(self) -> dict[str, Any] | None:
        """Return the map as a config has it; None for the exact method, the linear model and boosting."""
        name, _, landmarks = self.method.partition(" ")
        variant = {"landmarks": landmarks} if landmarks else {}
        return {"name": name, "n_components": self.D, **variant} if self.D else None


def advise(
    traits: Traits, budget: float, cells: pd.DataFrame, described: pd.DataFrame,
    methods: Sequence[str] = (), most: int = 1024,
) -> Advice | None:  # fmt: skip
    """Return the method with the largest expected share within CPU seconds; None where nothing fits.

    It is one of `methods`, by default of all, with at most `most` columns.
    """
    described = described[described.index.isin(cells["dataset"])]
    found = expected(traits, cells, described)
    found = found[(found["seconds"] <= budget) & (found["D"] <= most)]
    if methods:
        found = found[found["method"].isin(methods)]
    if found.empty:
        return None
    best = found.nlargest(1, "share").to_dict("records")[0]  # as Python's own numbers
    shares = weights(traits, described)
    evidence = {str(name): float(share) for name, share in (shares / shares.sum()).nlargest(3).items()}
    return Advice(**{str(name): value for name, value in best.items()}, evidence=evidence)


def expected(traits: Traits, cells: pd.DataFrame, described: pd.DataFrame) -> pd.DataFrame:
    """Return a line per method and size with the expected share and seconds on such data.

    It is learnt from the next larger size of the study. Methods without times on most data sets are left out,
    and more landmarks than rows.
    """
    known = with_share(cells, next((size for size in SIZES if size >= traits.n), SIZES[-1]))
    possible = (known["D"] <= traits.n) | ~known["method"].str.startswith("nystrom")
    known = known[known["dataset"].isin(described.index) & known["seconds"].notna() & possible]
    shares = weights(traits, described)
    rows = np.minimum(known["n"], known["dataset"].map(described["n"]))
    growth = np.where(known["method"] == EXACT, 3 if traits.task == "regression" else 2, 1)
    seconds = np.log(known["seconds"].clip(lower=1e-3)) + growth * np.log(traits.n / rows)
    values = known.assign(seconds=seconds, weight=1.0)[["share", "seconds", "weight"]]
    sums = values.mul(known["dataset"].map(shares), axis=0).groupby([known[key] for key in METHOD]).sum()
    means = sums.div(sums["weight"], axis=0)[sums["weight"] > shares.sum() / 2]
    return means.assign(seconds=np.exp(means["seconds"]))[["share", "seconds"]].reset_index()


def with_share(cells: pd.DataFrame, n: int) -> pd.DataFrame:
    """Return the cells of n rows, or of the most below, by data set, with their share of the best gain."""
    known = cells[cells["kernel"].isin(["gaussian", LINEAR]) & (cells["n"] <= n)]
    known = known[known["n"] == known.groupby("dataset")["n"].transform("max")]
    linear = known["dataset"].map(known[known["method"] == LINEAR].set_index("dataset")["score"])
    gain = (known.groupby("dataset")["score"].transform("max") - linear).clip(lower=LEAST_GAIN)
    return known.assign(share=((known["score"] - linear) / gain).clip(LOWEST, 1.0))


def weights(traits: Traits, described: pd.DataFrame) -> pd.Series:
    """Return how much each data set of the study counts for data with these traits.

    Their coordinates are logarithms of d, density and spread, and of ratios of the probe's errors.
    """
    of = pd.concat([described, pd.DataFrame([asdict(traits)])])
    linear, nystrom, fourier, trees = np.log((100 - of[PROBED]).clip(lower=LEAST_ERROR).to_numpy()).T
    sizes: Any = np.log(of[["d", "density", "spread"]].clip(lower=1e-4))
    places = sizes.assign(gain=nystrom - linear, landmarks=nystrom - fourier, trees=trees - nystrom)
    squares = ((places - places.iloc[-1]) / places[:-1].std(ddof=0)) ** 2
    same = (of["task"] == traits.task)[:-1]
    return (np.exp(-squares.mean(axis=1)) + FAR)[:-1] * (same if same.any() else 1.0)
