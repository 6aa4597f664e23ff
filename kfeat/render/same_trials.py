"""The same trials of two folders, as a table for the terminal and as JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from math import isnan

from kfeat.analysis.same_trials import SameTrials
from kfeat.render.terminal import paragraph, table
from kfeat.render.text import MISSING, factor

HEADERS = ("experiment", "solver", "in both", "equal", "greatest change", "time", "only in A", "only in B")
LEGEND = (
    "in both: trials with the same id, done in A and B; equal: their scores are, to nine digits",
    "greatest change: of a score, B less A; time: for map and training, B over A, the geometric mean of "
    "trials timed in both",
)


def render_same_trials(found: Sequence[SameTrials], width: int | None) -> str:
    """Return a line for each experiment and solver, and their sums."""
    lines = [_line(one) for one in found]
    body = table(HEADERS, lines, width, text=(0, 1), right=(2, 3, 4, 5, 6, 7), keys=2)
    legend = [paragraph(line, "", width) for line in LEGEND]
    return "\n".join([body, "", *legend, "", paragraph(_in_all(found), "", width)])


def _line(one: SameTrials) -> list[str]:
    equal = f"{one.equal:,}" if one.both else MISSING
    only = (f"{number:,}" for number in (one.only_a, one.only_b))
    return [one.experiment, one.solver, f"{one.both:,}", equal, _change(one), factor(one.time), *only]


def _change(one: SameTrials) -> str:
    if one.greatest is None:
        return MISSING
    if one.score is None or isnan(one.greatest):
        return "no score in one"
    unit = "points" if one.score.unit == "%" else one.score.unit
    text = one.score.change(one.greatest)
    rounded = not float(text)  # a change that is too small for the digits that tables print
    return f"{one.greatest:+.1g} {unit}".rstrip() if rounded else f"{text} {unit}".rstrip()


def _in_all(found: Sequence[SameTrials]) -> str:
    both, equal, only_a, only_b = (
        sum(getattr(one, name) for one in found) for name in ("both", "equal", "only_a", "only_b")
    )
    return (
        f"trials in both: {both:,}, with the same score: {equal:,}, with another: {both - equal:,}; "
        f"only in A: {only_a:,}, only in B: {only_b:,}"
    )


def same_trials_as_json(found: Sequence[SameTrials]) -> str:
    """Return everything as one JSON object."""
    lines = [
        {
            **asdict(one),
            "score": one.score and one.score.name,
            "unit": one.score and one.score.unit,
            "greatest": None if one.greatest is None or isnan(one.greatest) else one.greatest,
        }
        for one in found
    ]
    return json.dumps({"same_trials": lines}, indent=1)
