"""The study's numbers from its rows: sizes within a budget, the share of the exact gain, ranks, intervals.

Scores are per cent of accuracy, or 100 R^2; seconds are CPU seconds of rows that ran alone. The share that a
method recovers of what the exact kernel method gains over the linear model is

    r = (score - linear) / (exact - linear), cut to [-1, 2],

which puts accuracy and R^2 on one scale. The unit of every interval is the data set.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from math import inf, sqrt
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from kfeat.analysis.statistics import KNOWN, Interval, Summary, welch_half_width
from kfeat.experiments.quantities import PHASES
from kfeat.experiments.row import Row, counts_as_timed

EXACT, LINEAR, BOOSTING, FEWER = "exact", "linear", "boosting", "exact on fewer rows"
OTHERS = (EXACT, LINEAR, BOOSTING)
PART = ["dataset", "kernel", "n"]  # one data set, kernel and number of training rows: all methods compete
CHOICE = ["held_out", "gamma", "C", "alpha"]  # of a method, and its score on the rows held out from it
TUNED = 4000  # training rows at most on which a method chooses for itself
SHORTEST = 0.02  # seconds: a smaller budget is not judged
LEAST_GAIN = 1.0  # points that exact has to gain over linear for a share of it
LOWEST, HIGHEST = -1.0, 2.0  # of a share
FEWEST = 3  # data sets of a mean that is drawn
SAME = 0.05  # a difference of r within it is none
PALE = "#C4C4C4"  # of the curves that are not named
LEVELS = (0.5, 0.8, 0.9, 0.95, 1.0)  # of the performance profiles


def results(rows: Iterable[Row]) -> pd.DataFrame:
    """Return a line per finished trial of the study: its part, method, size D, score and seconds."""
    return pd.DataFrame([_result(row) for row in rows if row["status"] == "done" and row.get("solver")])


def _result(row: Row) -> dict[str, Any]:
    phases, timed = row["seconds"], counts_as_timed(row)
    predict = sum(phases[name]["cpu"] for name in ("map_test", "predict") if name in phases)
    return {
        **_part(row),
        "method": method_of(row["map"], row["kernel"], row["solver"]),
        "D": (row["map"] or {}).get("n_components", 0),
        "repeat": row["repeat"],
        "seconds": sum(phases[name]["cpu"] for name in PHASES["fit"] if name in phases) if timed else np.nan,
        "predict": 1000 * predict / row["n_test"] if timed else np.nan,
        "memory_mb": row["peak_memory_mb"],
    }


def _part(row: Row) -> dict[str, Any]:
    split, kernel = row["protocol"]["split"], row["kernel"] or {"name": LINEAR}
    return {
        "dataset": row["dataset"],
        "task": "classification" if "accuracy" in row else "regression",
        "kernel": kernel["name"],
        "n": split.get("of", split).get("max_train") or row["n_train"],
        "d": row["n_features"],
        "score": 100.0 * (row["accuracy"] if "accuracy" in row else row["r2"]),
    }


def choices(rows: Iterable[Row]) -> pd.DataFrame:
    """Return a line per choice: what a method took for itself, and its score on the rows held out from it."""
    lines = []
    for row in rows:
        if row["status"] == "done":
            solver, chosen = row["solver"], row["learnt"]["solver"]
            method = method_of(solver["map"], row["kernel"], solver)
            size = (solver["map"] or {}).get("n_components", 0)
            lines.append({**_part(row), "method": method, "D": size, **chosen})
    return pd.DataFrame(lines).rename(columns={"score": "held_out"})


def errors(rows: Iterable[Row]) -> pd.DataFrame:
    """Return the relative error of each map's kernel, by data set and method."""
    return pd.DataFrame(
        {
            "dataset": row["dataset"],
            "method": method_of(row["map"], row["kernel"], {}),
            "error": row["kernel_error"]["relative_frobenius"]["value"],
        }
        for row in rows
        if "kernel_error" in row
    )


def method_of(feature_map: Mapping[str, Any] | None, kernel: Any, solver: Mapping[str, Any]) -> str:
    """Return a method in words: a map with its landmarks or its sequence, exact, linear or boosting."""
    if feature_map is None:
        trained = solver.get("solver", solver["name"])
        if trained.startswith(BOOSTING):
            return BOOSTING
        return LINEAR if kernel is None or kernel["name"] == LINEAR else EXACT
    variants = [feature_map.get("landmarks"), feature_map.get("sequence")]
    return " ".join([feature_map["name"], *(one for one in variants if one not in (None, "uniform", "mc"))])


def cells(lines: pd.DataFrame, chosen: pd.DataFrame) -> pd.DataFrame:
    """Return a line per part, method and size: means over the splits, the choice and its held-out score.

    Above `TUNED` rows both are those of `TUNED` rows.
    """
    keys = [*PART, "method", "D"]
    means = lines.groupby(keys, sort=False).agg(
        task=("task", "first"), d=("d", "first"), splits=("score", "size"), score=("score", "mean"),
        sd=("score", "std"), seconds=("seconds", "mean"), predict=("predict", "mean"),
        memory_mb=("memory_mb", "max"),
    ).reset_index()  # fmt: skip
    tuned = pd.MultiIndex.from_frame(means[keys].assign(n=means["n"].clip(upper=TUNED)))
    means[CHOICE] = chosen.set_index(keys).reindex(columns=CHOICE).reindex(tuned).to_numpy()
    return means


@cache
def shipped(name: str) -> pd.DataFrame:
    """Return a table that comes with kfeat: the cells of the `study` or the `rules`, or `traits` of data."""
    with (files("kfeat.survey") / f"{name}.csv").open(encoding="utf-8") as table:
        return pd.read_csv(table)


def four_digits(value: float) -> float:
    """Return a chosen value as the configs of the study have it."""
    return float(f"{value:.4g}")


def references(of: pd.DataFrame, kernel: str) -> pd.DataFrame:
    """Return per data set and n the scores of the linear model, and score and seconds of the exact method."""
    columns = ["dataset", "n"]
    linear = of[of["method"] == LINEAR].set_index(columns)[["score", "held_out"]]
    linear = linear.rename(columns={"score": LINEAR, "held_out": "linear_held_out"})
    exact = of[(of["method"] == EXACT) & (of["kernel"] == kernel)].set_index(columns)
    wanted = ["task", "score", "seconds", "predict"]
    named = exact[wanted].rename(columns={"score": EXACT, "predict": "exact_predict"})
    return named.join(linear, how="inner")


def within(of: pd.DataFrame, kernel: str, n: int, budget: float) -> pd.DataFrame:
    """Return for each data set and map its size for a budget, a share of the exact method's seconds.

    The size is the one with the best score on held-out rows of those whose seconds fit. A map without such a
    size, or none that is better there than the linear model, is that model, with D = 0. `exact on fewer rows`
    has the most rows that fit. With `n` rows or, where a data set has fewer, all it has. Data sets with a
    budget below `SHORTEST` are absent.
    """
    of = of[of["n"] <= n]
    known = references(of, kernel).reset_index().sort_values("n")
    known = known.drop_duplicates("dataset", keep="last").set_index("dataset")
    known = known[known["seconds"] * budget >= SHORTEST].rename(columns={"n": "rows", "seconds": "limit"})
    rivals = of[of["kernel"] == kernel].drop(columns="task").join(known, on="dataset", how="inner")
    fits = rivals[rivals["seconds"] <= budget * rivals["limit"]]
    maps = fits[~fits["method"].isin(OTHERS) & (fits["n"] == fits["rows"])].sort_values("D")
    maps = maps[maps["held_out"] >= maps["linear_held_out"]]
    best = maps.sort_values("held_out", ascending=False, kind="stable").drop_duplicates(["dataset", "method"])
    fewer = fits[(fits["method"] == EXACT) & (fits["n"] < fits["rows"])].sort_values("n")
    fewer = fewer.drop_duplicates("dataset", keep="last")
    methods = [name for name in rivals["method"].unique() if name not in OTHERS]
    if ((rivals["method"] == EXACT) & (rivals["n"] < rivals["rows"])).any():
        methods.append(FEWER)
    chosen = pd.concat([best, fewer.assign(method=FEWER)]).set_index(["dataset", "method"])
    pairs = pd.MultiIndex.from_product([known.index, methods], names=["dataset", "method"])
    lines = chosen[["D", "score", "seconds", "predict", "held_out"]].reindex(pairs).reset_index()
    lines = lines.join(known, on="dataset")
    return share_recovered(lines.assign(D=lines["D"].fillna(0), score=lines["score"].fillna(lines[LINEAR])))


def share_recovered(lines: pd.DataFrame) -> pd.DataFrame:
    """Return the lines with r, the share of the exact gain; NaN where that gain is below `LEAST_GAIN`."""
    gain = lines[EXACT] - lines[LINEAR]
    r = ((lines["score"] - lines[LINEAR]) / gain.where(gain >= LEAST_GAIN)).clip(LOWEST, HIGHEST)
    return lines.assign(r=r)


def table_of(lines: pd.DataFrame, value: str = "r") -> pd.DataFrame:
    """Return a value of `within` as a table, a line per data set and a column per method."""
    return lines.pivot(index="dataset", columns="method", values=value)


def interval(values: Iterable[float]) -> tuple[float, Interval]:
    """Return the mean over data sets and Student's 95 % interval of it."""
    summary = Summary.of([float(one) for one in values])
    half = welch_half_width(summary.error, KNOWN) if summary.error else inf
    return summary.mean, (summary.mean - half, summary.mean + half)


def number(values: Iterable[float], form: str = "+.2f") -> str:
    """Return a mean with its interval."""
    middle, (low, high) = interval(values)
    return f"{middle:{form}} [{low:{form}}, {high:{form}}]"


def verdict(values: Iterable[float]) -> str:
    """Return whether a mean difference of r is better, worse, the same or open."""
    _, (low, high) = interval(values)
    if low > 0 or high < 0:
        return "better" if low > 0 else "worse"
    return "the same" if low > -SAME and high < SAME else "open"


def difference(of: pd.DataFrame, a: str, b: str, kernel: str, n: int, budget: float) -> pd.Series:
    """Return by data set how much larger the share r of method a is than that of b within a budget.

    Data sets on which the budget is too small for both are left out.
    """
    found = within(of, kernel, n, budget)
    shares, D = table_of(found), table_of(found, "D")
    return (shares[a] - shares[b])[(D[a] > 0) | (D[b] > 0)].dropna()


def leave_one_out(values: Sequence[float]) -> Interval:
    """Return the smallest and the largest mean with one data set left out."""
    numbers = np.asarray(values, dtype=float)
    means = (numbers.sum() - numbers) / (len(numbers) - 1)
    return float(means.min()), float(means.max())


def profiles(shares: pd.DataFrame, levels: Sequence[float] = LEVELS) -> pd.DataFrame:
    """Return performance profiles: by method the share of the data sets on which r reaches each level."""
    known = shares.dropna(how="all")
    return pd.DataFrame({level: (known >= level).mean() for level in levels})


def average_ranks(scores: pd.DataFrame) -> pd.Series:
    """Return the average rank of each method over the data sets, the best first; ties share a rank."""
    return scores.round(9).rank(axis=1, ascending=False).mean().sort_values()


def critical_difference(methods: int, datasets: int, level: float = 0.95) -> float:
    """Return Nemenyi's q sqrt(k (k + 1) / (6 N)) for k methods on N data sets (Demsar, JMLR 2006)."""
    q = stats.studentized_range.ppf(level, methods, inf) / sqrt(2)
    return float(q * sqrt(methods * (methods + 1) / (6 * datasets)))


def curves(ax: Any, of: pd.DataFrame, kernel: str, n: int, drawn: Mapping[str, str]) -> None:
    """Draw the mean share of each method by budget, with intervals of those that have a colour.

    The data sets are those judged from the smallest budget on, the same along each curve; this budget is
    1/100, or as much larger as three quarters of the data sets need.
    """
    limits = references(of[of["n"] <= n], kernel)["seconds"].sort_index().groupby("dataset").last()
    least = max(0.01, SHORTEST / float(limits.quantile(0.25)))
    known = limits.index[limits * least >= SHORTEST]
    budgets = np.geomspace(least, 1, 20)
    found = pd.concat(within(of, kernel, n, budget).assign(budget=budget) for budget in budgets)
    found = found[found["dataset"].isin(known)].dropna(subset="r")
    labels: list[tuple[float, str]] = []
    for name, own in found.groupby("method"):
        means = own.groupby("budget")["r"].mean()
        ax.plot(means, color=drawn.get(str(name), PALE), lw=1.8 if name in drawn else 0.8)
        if name in drawn:
            labels.append((means.iloc[-1], str(name)))
    for i, (y, name) in enumerate(sorted(labels)):
        lists = found[found["method"] == name].groupby("budget")["r"].agg(list)
        for budget in budgets[[0, len(budgets) // 2, -1]]:
            middle, (low, high) = interval(lists[budget])
            side = budget * 1.06 ** (i - len(labels) / 2)  # beside each other
            ax.errorbar(side, middle, [[middle - low], [high - middle]], color=drawn[name], capsize=2)
        place = {"xytext": (8, 5 * (2 * i - len(labels))), "textcoords": "offset points"}
        ax.annotate(name, (1, y), **place, color=drawn[name], fontsize=8)
    ax.axhline(1, color="#888888", lw=0.8)
    ax.set(xscale="log", title=f"{kernel}, {n:,} rows, {found['dataset'].nunique()} data sets")
    shares = {1 / 100: "1/100", 1 / 30: "1/30", 1 / 10: "1/10", 1 / 3: "1/3", 1: "1"}
    ax.set_xticks([x for x in shares if x >= 0.9 * least], [shares[x] for x in shares if x >= 0.9 * least])
    ax.minorticks_off()
