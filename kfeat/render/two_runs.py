"""Two runs side by side: a table for the terminal, and JSON."""

import json
from dataclasses import asdict
from itertools import groupby

from kfeat.analysis.two_runs import Difference, TwoRuns
from kfeat.render.terminal import paragraph
from kfeat.render.text import MISSING, factor, time
from kfeat.saying import plain

NARROW = 80  # columns where the terminal does not say how many it has
SHORT = {"fit": "map + train", "test": "test"}  # the names of times, which have long titles
LINE = "  {:<14} {:>13} {:>13} {:>8}  {:<17} {}"


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
    return [SHORT.get(one.quantity.name, one.quantity.title), *_numbers(one), _mark(one)]


def _numbers(one: Difference) -> list[str]:
    quantity = one.quantity
    if quantity.timed:
        interval = "" if one.interval is None else f"[{factor(one.interval[0])}, {factor(one.interval[1])}]"
        return [time(one.a.mean), time(one.b.mean), factor(one.change), interval]
    ends = MISSING if one.interval is None else f"[{', '.join(map(quantity.change, one.interval))}]"
    change = MISSING if one.change is None else quantity.change(one.change)
    return [quantity.text(one.a.mean, one.a.sd), quantity.text(one.b.mean, one.b.sd), change, ends]


def _mark(one: Difference) -> str:
    return {True: "yes", False: "no", None: "?"}[one.differs]


def as_json(found: TwoRuns) -> str:
    """Return everything as one JSON object."""
    differences = [
        {
            "cell": one.name,
            "quantity": one.quantity.name,
            "unit": one.quantity.unit,
            "a": asdict(one.a),
            "b": asdict(one.b),
            "ratio" if one.quantity.timed else "difference": one.change,
            "interval": one.interval,
            "how": one.how,
            "differs": one.differs,
        }
        for one in found.differences
    ]
    whole = {
        "differences": differences,
        "only_a": found.only_a,
        "only_b": found.only_b,
        "differ": found.differ,
    }
    return json.dumps(whole, indent=1)
