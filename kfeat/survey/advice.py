"""Advice for other data: a rule of thumb, and what it and other rules lost on the published study.

The regret of a rule on a data set of the study is the mean over `BUDGETS` of best - share, where

    share = (score - linear) / max(highest score - linear, 1), cut to [-1, 1],

puts accuracy and R^2 on one scale, and best is the largest share within the budget, in CPU seconds of mapping
and training. What takes longer than the budget counts as the linear model, whose share is 0.
"""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from kfeat.analysis.statistics import Interval
from kfeat.survey.study import BOOSTING, LEAST_GAIN, LINEAR, LOWEST, interval, shipped

MOST = 16_000  # training rows of the study at most
BUDGETS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)  # seconds
PLACE = "sklearn.kernel_approximation:"  # of scikit-learn's maps among the methods


class Rule(NamedTuple):
    """A method and its size D; with `or_smaller`, the largest that fits the budget of the sizes up to D."""

    method: str
    D: int = 0
    or_smaller: bool = False


SIZES = (256, 64)  # of Nystrom, of which the first that fits the budget is advised; else the linear model
RULE = "Nystrom with 256 landmarks, with 64 or a linear model where these take too long"
RULES = {
    RULE: Rule("nystrom", SIZES[0], or_smaller=True),
    "the largest Nystrom that fits, up to 1,024 landmarks": Rule("nystrom", 1024, or_smaller=True),
    "random Fourier features with 1,024 columns": Rule("random_fourier", 1024),
    "scikit-learn's Nystroem with 500 landmarks": Rule(f"{PLACE}Nystroem", 500),
    "scikit-learn's RBFSampler with 1,000 columns": Rule(f"{PLACE}RBFSampler", 1000),
    "the linear model": Rule(LINEAR),
    "boosting": Rule(BOOSTING),
}


@dataclass(frozen=True)
class Advice:
    """A method and its size D, its CPU seconds, and the data set of the study from which these are known."""

    method: str
    D: int
    seconds: float
    like: str

    @property
    def entry(self) -> dict[str, Any] | None:
        """The map as a config has it; None for the linear model."""
        return {"name": self.method, "n_components": self.D} if self.D else None


def advise(task: Literal["classification", "regression"], n: int, d: int, budget: float) -> Advice | None:
    """Return what the rule advises for n training rows with d features; None where nothing fits the budget.

    The seconds are n times those of a row on the study's data set with the most similar d and the same task.
    """
    of = shipped("study").join(shipped("traits").set_index("dataset")["n"].rename("all"), on="dataset")
    of = of[(of["task"] == task) & (of["n"] == MOST)]
    for method, D in [*(("nystrom", size) for size in SIZES), (LINEAR, 0)]:
        known = of[(of["method"] == method) & (of["D"] == D)]
        like = known.loc[np.log(known["d"] / d).abs().idxmin()]
        seconds = float(like["seconds"] * n / min(like["all"], MOST))
        if seconds <= budget and n >= D:
            return Advice(method, D, seconds, like["dataset"])
    return None


def regrets(of: pd.DataFrame) -> pd.DataFrame:
    """Return the regret of each rule, a line per data set, from cells of at most 16,000 rows."""
    known = of[of["kernel"].isin(["gaussian", LINEAR]) & (of["n"] <= MOST)]
    known = known[known["n"] == known.groupby("dataset")["n"].transform("max")]
    linear = known["dataset"].map(known[known["method"] == LINEAR].set_index("dataset")["score"])
    gain = (known.groupby("dataset")["score"].transform("max") - linear).clip(lower=LEAST_GAIN)
    known = known.assign(share=((known["score"] - linear) / gain).clip(LOWEST, 1.0)).dropna(subset="seconds")
    known = known.set_index("dataset")[["method", "D", "share", "seconds"]].sort_values("D")
    lost = pd.DataFrame(0.0, known.index.unique().sort_values(), list(RULES))
    for budget in BUDGETS:
        able = known["share"].where(known["seconds"] <= budget, 0.0)
        best = able[~known["method"].str.startswith(PLACE)].groupby("dataset").max()
        for name, rule in RULES.items():
            own = known[(known["method"] == rule.method) & (known["D"] <= rule.D)]
            if not rule.or_smaller:
                own = own.groupby("dataset").tail(1)
            share = own[own["seconds"] <= budget].groupby("dataset")["share"].last()
            lost[name] += (best - share.reindex(best.index, fill_value=0.0)).clip(lower=0.0) / len(BUDGETS)
    return lost


def skill() -> tuple[tuple[float, Interval], dict[str, tuple[float, Interval]]]:
    """Return the mean regret of the advised rule, and by how much that of each other rule is larger.

    Each has its interval over the data sets.
    """
    lost = regrets(pd.concat([shipped("study"), shipped("rules")], ignore_index=True))
    others = {rule: interval(lost[rule] - lost[RULE]) for rule in RULES if rule != RULE}
    return interval(lost[RULE]), others
