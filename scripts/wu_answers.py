"""The answers of configs/wu_2016/fair_plan.md, in results/wu_2016/fair.md: `python -m scripts.wu_answers`."""

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kfeat.analysis.statistics import Summary, welch_half_width
from kfeat.experiments.quantities import PHASES
from kfeat.survey.study import interval, number
from scripts.study_answers import markdown
from scripts.wu_fair import DATA, REGRESSIONS

ROWS = Path("results/wu_2016/fair/trials.jsonl")
PAGE = Path("results/wu_2016/fair.md")
BINNING = "binning"
NAMES = {  # by map and kernel
    ("random_binning", "laplacian"): BINNING,
    ("random_fourier", "euclidean_laplacian"): "FOURIER",
    ("nystrom", "euclidean_laplacian"): "NYSTROM",
    ("random_fourier", "laplacian"): "FOURIER, 1-norm",
    ("nystrom", "laplacian"): "NYSTROM, 1-norm",
}
CONTENDERS = [name for name in NAMES.values() if name != BINNING]
PRIMARY = ["FOURIER", "NYSTROM"]
AT = (256, 64, 16)  # R of random binning, the first one that of the primary comparison
SAME = 0.5  # points
PROBLEMS = {"covtype-mult": 7, "letter": 26, "mnist": 10}  # of one class against the rest; else 1
BY_SOURCE = {of[0].removeprefix("{name: ").partition(",")[0]: data for data, of in DATA.items()}


def line(row: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers of a row: score in points, CPU seconds, bytes of the features and of the model."""
    data, of = BY_SOURCE[row["dataset"]], row["map"]
    score = 100 * (1 - row["relative_error"]) if data in REGRESSIONS else 100 * row["accuracy"]
    seconds = sum(row["seconds"][phase]["cpu"] for phase in PHASES["fit"] if phase in row["seconds"])
    numbers = {
        "data": data,
        "repeat": row["repeat"],
        "score": score,
        "seconds": seconds,
        "timed": row["timed"],
    }
    if of is None:
        name = "exact, 1-norm" if row["kernel"]["name"] == "laplacian" else "exact"
        return {**numbers, "method": name, "R": 0, "bytes": 8.0 * row["n_train"] ** 2, "model": np.nan}
    R, d, k = of["n_components"], row["n_features"], PROBLEMS.get(data, 1)
    sparse, dense = row.get("sparse"), of["name"] != "random_binning"
    map_bytes = (
        8 * sparse["columns"] + 24 * R * d if sparse else 4 * R * (d + (R if of["name"] == "nystrom" else 1))
    )
    return {
        **numbers,
        "method": NAMES[of["name"], row["kernel"]["name"]],
        "R": R,
        "bytes": (4.0 if dense else 8.0) * R * row["n_train"],
        "model": 4.0 * k * (R if dense else sparse["columns"]) + map_bytes,
    }


def lines_of(rows: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """Return a line per finished row."""
    return pd.DataFrame([line(row) for row in rows if row["status"] == "done"])


def curve(of: pd.DataFrame, data: str, method: str) -> pd.DataFrame:
    """Return by R the mean seconds, bytes, model and score of a method, and those of its repeats."""
    own = of[(of["data"] == data) & (of["method"] == method)].sort_values("repeat").groupby("R")
    return own[["seconds", "bytes", "model", "score"]].mean().assign(scores=own["score"].apply(list))


def at(curve: pd.DataFrame, cost: str, value: float) -> tuple[list[float], str]:
    """Return the scores of a contender's repeats at a cost, and "<" or ">" if its sizes cost more or less."""
    costs = np.log(np.maximum.accumulate(curve[cost].to_numpy()))
    repeats = min(map(len, curve["scores"]))
    scores = [np.interp(np.log(value), costs, [own[i] for own in curve["scores"]]) for i in range(repeats)]
    outside = ">" * bool(np.log(value) > costs[-1]) or "<" * bool(np.log(value) < costs[0])
    return list(map(float, scores)), outside


def same_size(curve: pd.DataFrame, cost: str, value: float) -> tuple[list[float], str]:
    """Return the same for an R that the contender was run with."""
    return curve.loc[int(value), "scores"], ""


def difference(of: pd.DataFrame, data: str, contender: str, cost: str, R: int) -> tuple[float, float, str]:
    """Return binning's score at R minus the contender's at an equal cost, half its interval, and the mark."""
    binning, other = curve(of, data, BINNING).loc[R], curve(of, data, contender)
    find: Callable[..., tuple[list[float], str]] = same_size if cost == "R" else at
    scores, outside = find(other, cost, R if cost == "R" else binning[cost])
    ours, theirs = Summary.of(binning["scores"]), Summary.of(scores)
    half = welch_half_width(ours.error, theirs.error) if ours.error and theirs.error else np.nan
    return ours.mean - theirs.mean, half, outside


def complete(of: pd.DataFrame) -> list[str]:
    """Return the data sets that have all methods."""
    return [data for data in DATA if {BINNING, *CONTENDERS} <= set(of.loc[of["data"] == data, "method"])]


def differences(of: pd.DataFrame, cost: str, R: int) -> pd.DataFrame:
    """Return the table of differences at an equal cost: a line per data set, and the mean."""
    lines, means = [], {}
    for contender in CONTENDERS:
        found = {data: difference(of, data, contender, cost, R) for data in complete(of)}
        lines.append(
            [f"{value:+.2f} ± {half:.2f}{mark and f' {mark}'}" for value, half, mark in found.values()]
        )
        means[contender] = number([value for value, *_ in found.values()])
    table = pd.DataFrame(dict(zip(CONTENDERS, lines, strict=True)))
    table.insert(0, "data", complete(of))
    return pd.concat([table, pd.DataFrame([{"data": "mean", **means}])])


def judged(values: Sequence[float]) -> str:
    """Return whether a mean difference is better, worse, the same or open."""
    _, (low, high) = interval(values)
    if low > 0 or high < 0:
        return "better" if low > 0 else "worse"
    return "the same" if low > -SAME and high < SAME else "open"


def primary(of: pd.DataFrame) -> str:
    """Return the sentences of the primary comparison."""
    told = []
    for contender in PRIMARY:
        found = [difference(of, data, contender, "seconds", AT[0]) for data in complete(of)]
        values = [value for value, *_ in found]
        ahead = sum(value > half for value, half, _ in found)
        behind = sum(-value > half for value, half, _ in found)
        beyond = sum(mark == ">" for *_, mark in found)
        told.append(
            f"Random binning with R = {AT[0]} minus {contender} at equal seconds: {number(values)} points "
            f"({judged(values)}). By intervals over repeats binning is ahead on {ahead} of {len(found)} data "
            f"sets and behind on {behind}. On {beyond} of them {contender}'s largest size takes fewer "
            "seconds than binning: its score there is a lower bound, and binning's lead an upper one."
        )
    return "\n".join(f"- {sentence}" for sentence in told)


def needed(curve: pd.DataFrame, cost: str, score: float) -> float | None:
    """Return the least cost at which a mean score is reached, interpolated as in `at`; None if at none."""
    costs, scores = np.maximum.accumulate(curve[cost].to_numpy(float)), curve["score"].to_numpy()
    reached = np.flatnonzero(scores >= score)
    if not reached.size:
        return None
    i = int(reached[0])
    if i == 0:
        return float(costs[0])
    share = (score - scores[i - 1]) / (scores[i] - scores[i - 1])
    return float(np.exp(np.interp(share, [0, 1], np.log(costs[i - 1 : i + 1]))))


def share(of: pd.DataFrame, data: str, a: str, b: str, cost: str) -> tuple[float | None, float]:
    """Return the cost at which a has the score of b at its largest size, and a's largest, over that of b."""
    own, other = (curve(of, data, method).reset_index() for method in (a, b))
    last = other.iloc[-1]
    least = needed(own, cost, last["score"])
    return None if least is None else least / last[cost], own[cost].max() / last[cost]


def times(of: pd.DataFrame, data: str, a: str, b: str) -> list[str]:
    """Return how many times the R, seconds and bytes of b at its largest size a needs for the score of b."""
    shares = (share(of, data, a, b, cost) for cost in ("R", "seconds", "bytes"))
    return [f"{least:.2g}" if least else f"not with {most:.2g}" for least, most in shares]


def beside(of: pd.DataFrame) -> str:
    """Return the means at equal R and memory, and on how many data sets binning has a tenth of a cost."""
    told, data_sets = [], complete(of)
    for cost, title in (("R", "R"), ("bytes", "memory")):
        means = {
            contender: [difference(of, data, contender, cost, AT[0])[0] for data in data_sets]
            for contender in PRIMARY
        }
        texts = [f"minus {name} {number(values)} ({judged(values)})" for name, values in means.items()]
        told.append(f"Binning with R = {AT[0]} at equal {title} {' and '.join(texts)}.")
    for contender in PRIMARY:
        for cost in ("R", "seconds"):
            shares = [share(of, data, BINNING, contender, cost)[0] for data in data_sets]
            found = [value for value in shares if value]
            between = f" (from {min(found):.2g} to {max(found):.2g})" if found else ""
            told.append(
                f"For the score of {contender} at its largest size binning needs at most a tenth of its "
                f"{cost} on {sum(value <= 0.1 for value in found)} of {len(data_sets)} data sets{between}."
            )
    return "\n".join(f"- {sentence}" for sentence in told)


def orders(of: pd.DataFrame, of_binning: bool) -> pd.DataFrame:
    """Return the table of what each contender needs for binning's score, or binning for the contender's."""
    lines = []
    for data in complete(of):
        for contender in CONTENDERS:
            pair = (BINNING, contender) if of_binning else (contender, BINNING)
            lines.append([data, contender, *times(of, data, *pair)])
    return pd.DataFrame(lines, columns=["data", "contender", "× R", "× seconds", "× bytes"])


def tens(of: pd.DataFrame) -> str:
    """Return on how many data sets a primary contender needs ten times binning's seconds, or more."""
    told = []
    for contender in PRIMARY:
        held, decided = 0, 0
        for data in complete(of):
            own, binning = curve(of, data, contender), curve(of, data, BINNING).loc[AT[0]]
            least, most = needed(own, "seconds", binning["score"]), own["seconds"].max()
            held += (least or most) >= 10 * binning["seconds"]
            decided += least is not None or most >= 10 * binning["seconds"]
        told.append(f"{contender}: on {held} of the {decided} data sets where its sizes decide it")
    return "; ".join(told)


def scores(of: pd.DataFrame) -> pd.DataFrame:
    """Return all scores with their seconds, a line per data set and method, a column per size."""
    means = (
        of.groupby(["data", "method", "R"], sort=False)[["score", "seconds", "model"]].mean().reset_index()
    )
    model = [f", {value / 1e6:.2g} MB" if value == value else "" for value in means["model"]]
    told = [
        f"{s:.2f} ({t:.2g} s{m})" for s, t, m in zip(means["score"], means["seconds"], model, strict=True)
    ]
    table = means.assign(told=told).pivot(index=["data", "method"], columns="R", values="told").fillna("–")
    return table.rename(columns={0: "all rows"}).reset_index()


def page(of: pd.DataFrame) -> str:
    """Return the page."""
    parts = [
        "# Wu et al. 2016: what is left when every method chooses its own sigma and alpha",
        "The answers of `configs/wu_2016/fair_plan.md`, computed from the published rows "
        "(`fair/trials.jsonl`) by `make pages`. Scores are per cent of accuracy, for cadata 100 (1 - "
        'relative error). "1-norm" marks a contender with random binning\'s kernel, exp(-gamma ||x - y||_1). '
        f"Means are over {', '.join(complete(of))}.",
        "## The primary comparison",
        primary(of),
        f"Ten times binning's seconds for its score at R = {AT[0]}, or more. {tens(of)}.",
        "## Beside it",
        beside(of),
    ]
    titles = {"R": "At equal R", "seconds": "At equal seconds", "bytes": "At equal memory of the features"}
    for cost, title in titles.items():
        parts.append(f"## {title}")
        parts.append(
            "Binning's score minus the contender's, with Welch's 95 % interval over repeats; the mean has "
            "Student's over data sets."
            + " > (<): the contender's largest (smallest) size costs less (more) than binning."
            * (cost != "R")
        )
        for R in AT:
            parts += [f"Binning with R = {R}:", markdown(differences(of, cost, R))]
    parts += [
        "## How many times the cost",
        f"What a contender needs for the score of binning with R = {AT[0]}, as a multiple of binning's R, "
        'seconds and bytes of features. "not with 8": its largest size has 8 times as much and scores less.',
        markdown(orders(of, of_binning=False)),
        "What binning needs for the score of a contender at its largest size, as a multiple of its cost.",
        markdown(orders(of, of_binning=True)),
        "## All scores",
        "Means over repeats, by R, with CPU seconds of map and training and the size of the model.",
        markdown(scores(of)),
    ]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Write the page, if there are rows."""
    if ROWS.exists():
        rows = [json.loads(text) for text in ROWS.read_text(encoding="utf-8").splitlines()]
        PAGE.write_text(page(lines_of(rows)), encoding="utf-8")


if __name__ == "__main__":
    main()
