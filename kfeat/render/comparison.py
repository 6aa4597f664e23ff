"""Two runs side by side, and the same trials of two folders: tables for the terminal."""

from itertools import groupby
from math import isnan

import pandas as pd

from kfeat.analysis.compare import Difference, TwoRuns
from kfeat.experiments.quantities import QUANTITIES
from kfeat.render.terminal import paragraph, table
from kfeat.render.text import MISSING, factor, time
from kfeat.saying import plain

NARROW = 80  # columns where the terminal does not say how many it has
SHORT = {"fit": "map + train", "test": "test"}  # the names of times, which have long titles
LINE = "  {:<14} {:>13} {:>13} {:>8}  {:<17} {}"
HEADERS = ("experiment", "solver", "in both", "equal", "greatest change", "time", "only in A", "only in B")
LEGEND = (
    "in both: trials with the same id, done in A and B; equal: their scores are, to nine digits",
    "greatest change: of a score, B less A; time: for map and training, B over A, the geometric mean of "
    "trials timed in both",
)


def render_two_runs(found: TwoRuns, width: int | None) -> str:
    """Return the quantities of each cell, what only one run has, and a sentence on them all."""
    lines = [LINE.format("", "A", "B", "change", "interval", "differs")] * bool(found.differences)
    for name, members in groupby(found.differences, key=lambda one: one.name):
        lines.append(paragraph(name, "", width or NARROW))
        lines += [plain(LINE.format(*_line(one)).rstrip()) for one in members]
    lines += [
        paragraph(f"only in {side}: {name}", "", width or NARROW)
        for side, names in (("A", found.only_a), ("B", found.only_b))
        for name in names
    ]
    return "\n".join([*lines, "", paragraph(_in_all(found), "", width or NARROW)])


def _in_all(found: TwoRuns) -> str:
    scores = [one for one in found.differences if not one.quantity.timed]
    if not scores:
        return "No cell is in both runs."
    differ, unknown = sum(one.differs is True for one in scores), sum(one.differs is None for one in scores)
    few = f", {unknown} cannot be told (too few runs)" if unknown else ""
    return (
        f"Of {len(scores)} scores {differ} differ{few}. Intervals of scores are wide enough that, where none "
        "differs, one comparison of two runs in 20 says of any that it does."
    )


def _line(one: Difference) -> list[str]:
    differs = {True: "yes", False: "no", None: "?"}[one.differs]
    return [SHORT.get(one.quantity.name, one.quantity.title), *_numbers(one), differs]


def _numbers(one: Difference) -> list[str]:
    quantity = one.quantity
    if quantity.timed:
        interval = "" if one.interval is None else f"[{factor(one.interval[0])}, {factor(one.interval[1])}]"
        return [time(one.a.mean), time(one.b.mean), factor(one.change), interval]
    ends = MISSING if one.interval is None else f"[{', '.join(map(quantity.change, one.interval))}]"
    change = MISSING if one.change is None else quantity.change(one.change)
    return [quantity.text(one.a.mean, one.a.sd), quantity.text(one.b.mean, one.b.sd), change, ends]


def render_same_trials(found: pd.DataFrame, width: int | None) -> str:
    """Return a line for each experiment and solver of `same_trials`, and their sums."""
    lines = [
        [
            one["experiment"], one["solver"], f"{one['both']:,}",
            f"{one['equal']:,}" if one["both"] else MISSING,
            _change(one["score"], one["change"]), MISSING if isnan(one["time"]) else factor(one["time"]),
            f"{one['only_a']:,}", f"{one['only_b']:,}",
        ]
        for one in found.to_dict("records")
    ]  # fmt: skip
    body = table(HEADERS, lines, width, text=(0, 1), right=(2, 3, 4, 5, 6, 7), keys=2)
    legend = [paragraph(line, "", width) for line in LEGEND]
    both, equal, only_a, only_b = found[["both", "equal", "only_a", "only_b"]].sum()
    sums = (
        f"trials in both: {both:,}, with the same score: {equal:,}, with another: {both - equal:,}; "
        f"only in A: {only_a:,}, only in B: {only_b:,}"
    )
    return "\n".join([body, "", *legend, "", paragraph(sums, "", width)])


def _change(score: str | None, change: float) -> str:
    """Return a change of a score with its unit, to one digit where the digits of tables do not show it."""
    if not score:
        return MISSING
    if isnan(change):
        return "no score in one"
    quantity = QUANTITIES[score]
    text = quantity.change(change)
    shown = text if float(text) else f"{change:+.1g}"
    return f"{shown} {'points' if quantity.unit == '%' else quantity.unit}".rstrip()
