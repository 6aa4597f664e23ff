"""What the survey answers: its tables, fronts, losses within a budget, and what papers say of each other.

Scores are in points: accuracies in per cent, or 100 R^2.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, log
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import yaml
from numpy.typing import NDArray

from kfeat.analysis.statistics import KNOWN, Interval, Summary, welch_half_width
from kfeat.experiments.row import Row, counts_as_timed
from kfeat.survey.advice import CELL, EXACT, METHOD, VARIANTS

MAPPING = ("map_fit", "map_train")


def trials(rows: Iterable[Row]) -> pd.DataFrame:
    """Return a line per finished trial: its cell, sizes, score or kernel error, seconds and peak memory.

    `seconds` are the CPU seconds of mapping and training, `map_seconds` those of mapping the training rows
    alone, with the map's fit. They are missing for trials that measure the kernel's error, and if the machine
    was busy.
    """
    return pd.DataFrame([_line(row) for row in rows if row["status"] == "done"])


def _line(row: Row) -> dict[str, Any]:
    kernel, feature_map, phases = row["kernel"], row["map"] or {}, row["seconds"]
    measured = "kernel_error" in row
    timed = counts_as_timed(row) and not measured
    score = row.get("accuracy", row.get("r2"))
    return {
        "dataset": row["dataset"],
        "kernel": kernel["name"] + (f" {kernel['degree']}" if "degree" in kernel else ""),
        "map": feature_map.get("name", EXACT),
        "variant": _variant(feature_map),
        "n_components": feature_map.get("n_components", 0),
        "repeat": row["repeat"],
        "task": "classification" if "accuracy" in row else "regression" if "r2" in row else "",
        "n": row["n_train"],
        "d": row["n_features"],
        "score": None if score is None else 100 * score,
        "kernel_error": row["kernel_error"]["relative_frobenius"]["value"] if measured else None,
        "map_seconds": sum(phases[name]["cpu"] for name in MAPPING) if timed and row["map"] else None,
        "seconds": sum(phases[name]["cpu"] for name in (*MAPPING, "train") if name in phases)
        if timed
        else None,
        "memory_mb": row["peak_memory_mb"],
        "id": row["id"],
    }


def _variant(feature_map: Mapping[str, Any]) -> str:
    given = {name: feature_map[name] for name in VARIANTS if name in feature_map}
    return " ".join("h01" if value is True else value for value in given.values() if value)


def cells(lines: pd.DataFrame) -> pd.DataFrame:
    """Return a line per cell: mean and spread of the score, kernel error, seconds and memory."""
    scored, measured = lines[lines["score"].notna()], lines[lines["kernel_error"].notna()]
    found = scored.groupby(CELL, sort=False).agg(
        task=("task", "first"), n=("n", "first"), d=("d", "first"), runs=("score", "size"),
        score=("score", "mean"), sd=("score", "std"), map_seconds=("map_seconds", "mean"),
        seconds=("seconds", "mean"), memory_mb=("memory_mb", "max"),
    )  # fmt: skip
    errors = measured.groupby(CELL, sort=False).agg(kernel_error=("kernel_error", "mean"))
    return found.join(errors, how="outer").reset_index()


STEPS = 25  # points of time, in equal ratios, at which two methods are compared
RESAMPLES = 2000
SHORTEST = 1e-3  # seconds that the clock can tell apart from none
Of = Literal["score", "kernel_error"]
Method = Mapping[str, Any]  # values of METHOD; those that are missing may be any


def front(cells: pd.DataFrame) -> pd.DataFrame:
    """Return, of each data set, the cells that no other beats in less time: the Pareto front, by seconds."""
    ordered = cells[cells["seconds"].notna()].sort_values(
        ["dataset", "seconds", "score"], ascending=[True, True, False]
    )
    before = ordered.groupby("dataset")["score"].transform(lambda score: score.cummax().shift())
    return ordered[~(ordered["score"] <= before)]


def within(cells: pd.DataFrame, budgets: Sequence[float]) -> pd.DataFrame:
    """Return the points that each method loses within each budget, against the exact method of its kernel.

    A line per data set, method and budget, with the best of the method's sizes whose mapping and training
    take at most so many seconds; none where no size does.
    """
    keys = ["dataset", *METHOD]
    exact = cells[cells["map"] == EXACT].set_index(["dataset", "kernel"])["score"].rename("exact")
    found = [
        cells[cells["seconds"] <= budget]
        .groupby(keys)["score"]
        .max()
        .rename("score")
        .reset_index()
        .assign(budget=budget)
        for budget in budgets
    ]
    lines = pd.concat(found).join(exact, on=["dataset", "kernel"], how="inner")
    return lines.assign(loss=lines["exact"] - lines["score"])


def curves(cells: pd.DataFrame, budgets: Sequence[float]) -> pd.DataFrame:
    """Return the mean loss of each method over the data sets, by budget; none where a data set has none.

    A line per method and budget, with the number of data sets.
    """
    lines = within(cells, budgets)
    sizes = lines.groupby("kernel")["dataset"].nunique().rename("all")
    found = lines.groupby([*METHOD, "budget"])["loss"].agg(["mean", "size"]).reset_index()
    found = found.join(sizes, on="kernel")
    return found[found["size"] == found["all"]].drop(columns="all")


def profiles(cells: pd.DataFrame, budget: float, losses: Sequence[float]) -> pd.DataFrame:
    """Return performance profiles: the share of the data sets on which a method loses at most so many points.

    A data set on which no size of the method meets the budget counts as a loss beyond all bounds.
    """
    lines = within(cells, [budget])
    sizes = lines.groupby("kernel")["dataset"].nunique()
    return pd.DataFrame(
        {loss: lines[lines["loss"] <= loss].groupby(METHOD).size() / sizes for loss in losses}
    )


def improvement(
    trials: pd.DataFrame, a: Method, b: Method, level: float = 0.95, seed: int = 0
) -> tuple[float, Interval]:
    """Return the probability that a run of method a scores above one of method b of the same size.

    P = mean over the data sets s, and their sizes, of (#{x > y} + #{x = y} / 2) / (#x #y), x and y the scores
    of all runs of a and b (Agarwal et al., NeurIPS 2021). The interval is that of the percentile bootstrap
    which draws the data sets anew, and in each the runs of each size: with few runs, those alone would give
    too narrow an interval.
    """
    rng = np.random.default_rng(seed)
    by_dataset: dict[str, list[NDArray[Any]]] = {}
    for name, scores, others in _paired_runs(trials, a, b):
        x = scores[rng.integers(len(scores), size=(RESAMPLES, len(scores)))]
        y = others[rng.integers(len(others), size=(RESAMPLES, len(others)))]
        x[0], y[0] = scores, others  # the first is the sample itself
        above = (x[:, :, None] > y[:, None, :]) + 0.5 * (x[:, :, None] == y[:, None, :])
        by_dataset.setdefault(name, []).append(above.mean(axis=(1, 2)))
    means = np.array([np.mean(sizes, axis=0) for sizes in by_dataset.values()])
    chosen = rng.integers(len(means), size=means.shape)
    drawn = np.take_along_axis(means, chosen, axis=0).mean(axis=0)
    tail = (1 - level) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return float(means[:, 0].mean()), (float(low), float(high))


def _paired_runs(
    trials: pd.DataFrame, a: Method, b: Method
) -> Iterator[tuple[str, NDArray[Any], NDArray[Any]]]:
    """Yield the data set and the scores of the runs of a and b for each size that both have."""
    keys = ["dataset", "n_components"]
    sides = [dict(list(_of(trials, one).groupby(keys)["score"])) for one in (a, b)]
    for key in sorted(sides[0].keys() & sides[1].keys()):
        yield str(key[0]), sides[0][key].to_numpy(), sides[1][key].to_numpy()


def equal_time(cells: pd.DataFrame, a: Method, b: Method, of: Of) -> pd.Series:
    """Return by how much method a differs from b at equal time, a number for each data set.

    The quantity is interpolated linearly in the logarithm of the seconds (and of the kernel's error) between
    the sizes, and compared over the times that both methods reach: the mean difference of scores in points,
    or the geometric mean ratio of errors. Scores count with the seconds of mapping and training, errors with
    those of mapping. If the smallest size of one takes longer than the largest of the other, these two are
    compared.
    """
    seconds = "seconds" if of == "score" else "map_seconds"
    found = {}
    for name, here in cells[cells[of].notna() & cells[seconds].notna()].groupby("dataset"):
        sides = [_curve(_of(here, one), seconds, of) for one in (a, b)]
        if min(len(x) for x, _ in sides) == 0:
            continue
        low = max(x[0] for x, _ in sides)
        times = np.linspace(low, max(low, min(x[-1] for x, _ in sides)), STEPS)
        values = [np.interp(times, x, y) for x, y in sides]
        found[str(name)] = float(np.mean(values[0] - values[1]))
    series = pd.Series(found, dtype=float)
    return series if of == "score" else series.apply(np.exp)


def _curve(cells: pd.DataFrame, seconds: str, of: Of) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return log seconds, rising, and the best value of the quantity within each of them."""
    ordered = cells.sort_values(seconds)
    value = ordered["score"].cummax() if of == "score" else np.log(ordered[of].clip(lower=1e-12)).cummin()
    x = np.log(ordered[seconds].clip(lower=SHORTEST).to_numpy())
    keep = np.append(np.diff(x) > 0, True) if len(x) else np.zeros(0, bool)  # the last of equal times
    return x[keep], value.to_numpy()[keep]


def _of(lines: pd.DataFrame, method: Method) -> pd.DataFrame:
    kept = lines
    for key, value in method.items():
        kept = kept[kept[key] == value]
    return kept


def interval(values: Sequence[float]) -> tuple[float, Interval]:
    """Return the mean of numbers, one for each data set, and Student's 95 % interval of the mean."""
    summary = Summary.of(list(values))
    half = welch_half_width(summary.error, KNOWN) if summary.error else float("inf")
    return summary.mean, (summary.mean - half, summary.mean + half)


def crossover(cells: pd.DataFrame, method: Method) -> float | None:
    """Return the number of rows from which a method maps and trains in less time than the exact one.

    It is interpolated between the sizes of `cells`, which differ in n; None if it is not faster at any.
    """
    sides = []
    for one in (method, {"map": EXACT}):
        kept = _of(cells, one).sort_values("n")
        sides.append((np.log(kept["n"].to_numpy()), np.log(kept["seconds"].to_numpy())))
    x = np.intersect1d(sides[0][0], sides[1][0])
    gain = np.interp(x, *sides[1]) - np.interp(x, *sides[0])
    faster = np.flatnonzero(gain > 0)
    if not len(faster) or not faster[0]:
        return float(np.exp(x[0])) if len(faster) else None
    i = faster[0]
    share = -gain[i - 1] / (gain[i] - gain[i - 1])
    return float(np.exp(x[i - 1] + share * (x[i] - x[i - 1])))


Verdict = Literal["holds", "fails", "open"]


@dataclass(frozen=True)
class PaperClaim:
    """A sentence that method `a` is better than method `b` in a quantity, and its source.

    by_dataset: the difference a - b of scores in points, or the ratio a / b of kernel errors, at equal time
    on each data set. judged: their mean (geometric for ratios) with Student's 95 % interval over them.
    """

    text: str
    source: str
    a: Method
    b: Method
    of: Of
    by_dataset: pd.Series

    @cached_property
    def judged(self) -> tuple[float, Interval]:
        """Return the mean over the data sets and its interval."""
        if self.of == "score":
            return interval(self.by_dataset.tolist())
        middle, (low, high) = interval([log(ratio) for ratio in self.by_dataset])
        return exp(middle), (exp(low), exp(high))

    @property
    def favour(self) -> int:
        """Return the number of data sets on which a is better."""
        better = self.by_dataset > 0 if self.of == "score" else self.by_dataset < 1
        return int(better.sum())

    @property
    def verdict(self) -> Verdict:
        """Return whether the interval is on one side of equality, and on which."""
        _, (low, high) = self.judged
        if self.of == "score":
            return "holds" if low > 0 else "fails" if high < 0 else "open"
        return "holds" if high < 1 else "fails" if low > 1 else "open"


def paper_claims(cells: pd.DataFrame) -> list[PaperClaim]:
    """Return every sentence of survey_claims.yaml, judged."""
    text = Path(__file__).with_name("survey_claims.yaml").read_text(encoding="utf-8")
    entries: list[dict[str, Any]] = yaml.safe_load(text)
    return [PaperClaim(**one, by_dataset=equal_time(cells, one["a"], one["b"], one["of"])) for one in entries]
