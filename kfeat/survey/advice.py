"""Advice on a map, its size and its kernel for other data, from the published survey.

The advice is a weighted mean over the data sets of the survey. With the traits of the data x_t, and those of
a data set of the survey x_s, each divided by its standard deviation over the survey,

    w_s = exp(-||x_t - x_s||^2 / 2) + FAR, or 0 for another task
    loss(method) = sum_s w_s min(best_s - score_s(method), MOST) / sum_s w_s
    seconds(method) = exp(sum_s w_s log(seconds_s(method) (n_t / n_s)^g) / sum_s w_s)

in points, with best_s the best exact kernel method there, g = 2 for an exact method and 1 for a map.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import log
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import issparse

from kfeat.diagnostics import effective_rank, sampled_rows
from kfeat.kernels import Gaussian

# A cell is a data set, a kernel and a method: a map, its variant and number D of columns, or the exact one.
EXACT = "exact"
CELL = ["dataset", "kernel", "map", "variant", "n_components"]
METHOD = ["kernel", "map", "variant"]
VARIANTS = ("sequence", "landmarks", "h01")  # the parameters that tell the methods of one map apart
# Chosen among a few values by the regret on eight of the ten data sets; MNIST and gisette_mnist came later.
FAR = 0.3  # the least weight of a data set: traits tell little, so that all count
MOST = 20.0  # points: a larger loss counts as this, since such a method is out of the question anyway
EMPTY_MB = 230.0  # of a process that has done nothing
SAMPLE = 1000  # rows from which the spectrum is learnt
BUDGETS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)  # seconds, of mapping and training the survey's rows
ADVICE = "advise"


@cache
def published() -> pd.DataFrame:
    """Return the cells of the published survey, which come with kfeat."""
    return _shipped("cells").fillna({"variant": ""})


@cache
def described() -> pd.DataFrame:
    """Return the traits of each data set of the published survey, by its name (see `Traits`)."""
    return _shipped("datasets").set_index("dataset")


@cache
def regret() -> pd.DataFrame:
    """Return the published regrets of the advice and of the rules of thumb (see `regrets`)."""
    return _shipped("regret")


def _shipped(name: str) -> pd.DataFrame:
    with (files("kfeat.survey") / f"{name}.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file)


@dataclass(frozen=True)
class Traits:
    """What advice depends on: the task, the training rows n, the features d, density and spread.

    density: the share of values that are not zero, before scaling. spread: the effective rank of the
    Gaussian Gram matrix of 1,000 scaled rows, where 1 / gamma is the sum of the columns' variances. It is
    near 1 if all rows are alike, and near 1,000 if none are.
    """

    task: Literal["classification", "regression"]
    n: int
    d: int
    density: float
    spread: float

    @classmethod
    def of(cls, X: Any, unscaled: Any, task: Any, n: int | None = None) -> "Traits":
        """Return the traits of data from their scaled training rows X (m, d), and rows before scaling.

        `n` replaces the number of training rows.
        """
        rows, raw = (_dense(one) for one in (X, unscaled))
        gamma = 1 / max(float(rows.var(axis=0).sum()), 1e-12)
        spread = effective_rank(Gaussian(gamma)(rows))
        return cls(task, n or X.shape[0], X.shape[1], float((raw != 0).mean()), spread)

    @property
    def coordinates(self) -> list[float]:
        """Return what decides which data sets are alike."""
        return [log(self.d), log(max(self.density, 1e-4)), log(self.spread)]


@dataclass(frozen=True)
class Advice:
    """A kernel and a method, with what the survey lets expect of it.

    loss: points below the best exact kernel method. evidence: the data sets that count most, with their
    shares of the weight.
    """

    kernel: str
    map: str
    variant: str
    n_components: int
    loss: float
    seconds: float
    memory_mb: float
    evidence: dict[str, float]

    @property
    def exact(self) -> bool:
        """Whether the exact kernel method is advised."""
        return self.map == EXACT

    @property
    def entry(self) -> dict[str, Any] | None:
        """Return the map as a config has it; None for the exact method."""
        if self.exact:
            return None
        found: dict[str, Any] = {"name": self.map, "n_components": self.n_components}
        if self.map == "random_maclaurin":
            return found | ({"h01": True} if self.variant == "h01" else {"degree_law": "proportional"})
        return found | ({VARIANTS[self.map == "nystrom"]: self.variant} if self.variant else {})


def _dense(X: Any) -> NDArray[np.float64]:
    """Return a sample of rows as a dense matrix."""
    rows, _ = sampled_rows(X, min(SAMPLE, X.shape[0]), 0)
    return np.asarray(rows.todense() if issparse(rows) else rows, dtype=np.float64)


def advise(
    traits: Traits, budget: float, cells: pd.DataFrame, described: pd.DataFrame, kernels: Sequence[str] = ()
) -> Advice | None:
    """Return the method with the least expected loss within a budget of CPU seconds; None if there is none.

    `kernels` are those that are allowed, by default all.
    """
    found = expected(traits, cells, described)
    found = found[found["seconds"] <= budget]
    if kernels:
        found = found[found["kernel"].isin(kernels)]
    if found.empty:
        return None
    best = found.nsmallest(1, "loss").to_dict("records")[0]  # as Python's own numbers
    shares = weights(traits, described)
    first = (shares / shares.sum()).sort_values(ascending=False).head(3)
    evidence = {str(name): float(share) for name, share in first.items() if share > 0}
    return Advice(
        **{str(name): best[name] for name in (*CELL[1:], "loss", "seconds", "memory_mb")}, evidence=evidence
    )


def expected(traits: Traits, cells: pd.DataFrame, described: pd.DataFrame) -> pd.DataFrame:
    """Return a line per method and size with the expected loss, seconds and memory on such data.

    Methods that lack the score or the seconds on most data sets are left out, and more landmarks than rows.
    """
    shares = weights(traits, described)
    possible = (cells["map"] != "nystrom") | (cells["n_components"] <= traits.n)
    known = cells[cells["dataset"].isin(shares.index) & cells["seconds"].notna() & possible].copy()
    best = known[known["map"] == EXACT].groupby("dataset")["score"].max()
    known = known[known["dataset"].isin(best.index)]
    known["loss"] = (known["dataset"].map(best) - known["score"]).clip(upper=MOST)
    known["weight"] = known["dataset"].map(shares)
    grown = np.where(known["map"] == EXACT, 2.0, 1.0)
    known["log_seconds"] = np.log(known["seconds"].clip(lower=1e-3)) + grown * np.log(traits.n / known["n"])
    # Features of further rows, in single precision; an exact method's memory grows with their square.
    more = known["memory_mb"] + 4e-6 * known["n_components"] * (traits.n - known["n"])
    squared = (known["memory_mb"] - EMPTY_MB) * (traits.n / known["n"]) ** 2
    known["memory_mb"] = np.where(known["map"] == EXACT, EMPTY_MB + squared, more).clip(EMPTY_MB)
    columns = ["loss", "log_seconds", "memory_mb"]
    weighted = known[columns].mul(known["weight"], axis=0).join(known[[*CELL[1:], "weight"]])
    sums = weighted.groupby(CELL[1:]).sum()
    means = sums[columns].div(sums["weight"], axis=0)
    means["seconds"] = np.exp(means.pop("log_seconds"))
    return means[sums["weight"] > shares.sum() / 2].reset_index()


def weights(traits: Traits, described: pd.DataFrame) -> pd.Series:
    """Return how much each data set of the survey counts for data with these traits."""
    places = np.array([Traits(*one).coordinates for one in described.itertuples(index=False)])
    scale = np.maximum(places.std(axis=0), 1e-12)
    squares = (((places - np.array(traits.coordinates)) / scale) ** 2).sum(axis=1)
    same = described["task"] == traits.task
    return pd.Series(np.where(same, np.exp(-squares / 2) + FAR, 0.0), described.index)


def regrets(cells: pd.DataFrame, described: pd.DataFrame, rules: pd.DataFrame) -> pd.DataFrame:
    """Return the regret of the advice and of each rule of thumb: a line per data set, budget and rule.

    The advice for a data set uses the other data sets only. The regret is the best score of any method within
    the budget on that data set less the score of the chosen one, in points, and at least 0. `over` says that
    the chosen one took longer than the budget, which costs it nothing here.
    """
    found = []
    for name in described.index:
        own = cells[(cells["dataset"] == name) & cells["seconds"].notna()]
        # Of the methods that were not run on this data set the regret is not known.
        comparable = cells.merge(own[CELL[1:]], on=CELL[1:])
        for budget in BUDGETS:
            best = own.loc[own["seconds"] <= budget, "score"].max()
            traits = Traits(*described.loc[name])
            advice = advise(traits, budget, comparable, described.drop(index=name))
            chosen = {} if advice is None else {ADVICE: _result(own, advice)}
            here = rules[rules["dataset"] == name]
            chosen |= {one["rule"]: (one["score"], one["seconds"]) for one in here.to_dict("records")}
            for rule, (score, seconds) in chosen.items():
                line = {"dataset": name, "budget": budget, "rule": rule, "regret": max(best - score, 0.0)}
                found.append(line | {"over": bool(seconds > budget)})
    return pd.DataFrame(found)


def _result(own: pd.DataFrame, advice: Advice) -> tuple[float, float]:
    """Return the score and the seconds of the advised method."""
    line = own.set_index(CELL[1:]).loc[tuple(getattr(advice, name) for name in CELL[1:])]
    return float(line["score"]), float(line["seconds"])


def method_name(line: Any) -> str:
    """Return the method of a line in words, such as `nystrom rpcholesky`."""
    return " ".join(word for word in (line[name] for name in METHOD[1:]) if word)
