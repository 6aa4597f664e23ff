"""The numbers that pages and configs quote: configs/PAPER/_values.yaml or docs/_values.yaml names them, and
templates such as `{sketch:.1f} % where the paper prints {sketch.paper:.1f} %` have the names.

A value has the keys of a claim, and `in` for its config; its number is that of its cells. `claim` takes a
claim of that config instead, by its id or its text. `count` counts what several configs have in a tally, such
as the `printed numbers`, or their `numbers` or `claims` that have the keys of `where`. `page` takes the
groups of the pattern `text` in a page below results/ that is made of rows. A ratio to a time that was
stopped, or such a time, is no number; its lower or upper bound is its attribute `bound`.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import floor, isnan, log10, nan
from pathlib import Path
from typing import Any

import yaml

from kfeat.analysis.cells import Cell
from kfeat.analysis.claim_cases import Case, cases
from kfeat.analysis.claims import DIRECTION_ONLY, OPEN, REPRODUCED, ClaimVerdict
from kfeat.analysis.judgement import Judgement
from kfeat.analysis.numbers import AGREES, COMPATIBLE, MISSING
from kfeat.analysis.tallies import tallies
from kfeat.experiments.paper import Claim, seconds_printed
from kfeat.experiments.selectors import agrees

WORDS = (
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
COUNTED = {
    AGREES: "agree", REPRODUCED: "agree", DIRECTION_ONLY: "in_direction", COMPATIBLE: "open", OPEN: "open",
    MISSING: "missing",
}  # fmt: skip
CHANGES: dict[str, Callable[[float], float]] = {
    "1/": lambda ratio: 1 / ratio,
    "off": lambda ratio: 100 * abs(ratio - 1),
    "abs": abs,
}


class Number(float):
    """A number of a page, with what belongs to it as attributes: `{sketch.paper:.1f}`, `{cells.agree}`.

    Beside those of Python its formats are `word` (three), `~2` (3,300: two significant digits), `/60 .1f`
    (seconds as minutes), `1/ .0f` (how many times smaller), `off .1f` (how far a ratio is from 1, in per
    cent), `abs .1f`, and `so`: nothing, but an error unless all cases agree.
    """

    def __new__(cls, number: float, **others: float) -> "Number":
        """Make it of a number and of its attributes."""
        self = super().__new__(cls, number)
        for name, other in others.items():
            setattr(self, name, other if isinstance(other, cls) else cls(other))
        return self

    def __format__(self, spec: str) -> str:
        if spec == "so" and self.agree == self.all:
            return ""
        if spec == "so" or isnan(self):
            raise ValueError("a page quotes what its rows do not say, or the number of one of several cells")
        if spec == "word":
            return WORDS[int(self)]
        if spec.startswith("~"):
            return f"{round(self, int(spec[1:]) - 1 - floor(log10(abs(self)))):,g}"
        change, _, rest = spec.rpartition(" ")
        if change.startswith("/"):
            return f"{self / float(change[1:]):{rest}}"
        if change in CHANGES:
            return f"{CHANGES[change](self):{rest}}"
        return super().__format__(spec or ",g")


def filled(template: str, folder: Path, judgements: Sequence[Judgement], results: Path) -> str:
    """Return a template with the values of a folder in the place of their names.

    The configs of that folder have no folder in their names there.
    """
    names = set(re.findall(r"{(\w+)", template))
    entries = yaml.safe_load((folder / "_values.yaml").read_text(encoding="utf-8"))["values"] if names else {}
    by_name = {
        judgement.experiment.name.removeprefix(f"{folder.name}/"): judgement for judgement in judgements
    }
    values = {}
    for name in names:
        keys = dict(entries[name])
        if "page" in keys:
            values[name] = _in_page((results / keys["page"]).read_text(encoding="utf-8"), keys["text"])
        elif "count" in keys:
            judged = [by_name[place] for place in keys["in"]]
            values[name] = _counted(judged, keys["count"], keys.get("where", {}))
        else:
            values[name] = _of_cells(by_name[keys.pop("in")], keys, name)
    return template.format_map(values)


def _in_page(page: str, pattern: str) -> Number:
    (groups,) = (match.groups() for match in re.finditer(pattern, page))
    number, *ends = (float(group.replace(",", "")) for group in groups)
    return Number(number, **dict(zip(("low", "high"), ends, strict=False)))


def _counted(judged: Sequence[Judgement], count: str, where: Mapping[str, Any]) -> Number:
    """Return how many numbers or claims there are, and how many of them agree, are open, and so on."""
    if count in (kinds := tallies(judged)):
        verdicts = list(Counter(kinds[count]).elements())
    else:
        items = [item for judgement in judged for item in getattr(judgement, count)]
        entries = [(getattr(item, count.removesuffix("s")), item.verdict) for item in items]
        verdicts = [verdict for entry, verdict in entries if agrees(where, {**vars(entry), **entry.cell})]
    tally = _tally(verdicts)
    return Number(tally["all"], **tally)


def _tally(verdicts: Sequence[str]) -> dict[str, float]:
    words = [COUNTED.get(verdict, "differ") for verdict in verdicts]
    tally = {"all": len(words), "explained": sum(verdict.endswith(", explained") for verdict in verdicts)}
    return tally | {word: words.count(word) for word in (*COUNTED.values(), "differ")}


def _of_cells(judged: Judgement, keys: Mapping[str, Any], name: str) -> Number:
    """Return the number of the only case with its interval and the printed one, or the range of several."""
    if "claim" in keys:
        (own,) = (item.cases for item in judged.claims if keys["claim"] in (item.claim.id, item.claim.text))
    else:
        bound = {} if "below" in keys else {"above": 0}
        own = cases(Claim.model_validate({"text": name, "where": "", **bound, **keys}), judged.cells)
    numbers = [nan if case.number is None or case.sign else case.number for case in own]
    others = _tally([ClaimVerdict(case.claim, [case]).verdict for case in own])
    known = [nan] if any(map(isnan, numbers)) else numbers
    others |= {"least": min(known), "most": max(known), "farthest": max(map(abs, known))}
    if len(own) > 1:
        return Number(nan, **others)
    others |= dict(zip(("low", "high"), own[0].interval or (), strict=False))
    if own[0].sign and own[0].number is not None:
        others["bound"] = own[0].number
    if (summary := own[0].cells[0].of(own[0].claim.of)) and summary.sd is not None:
        others["sd"] = summary.sd
    return Number(numbers[0], **others, paper=_paper(own[0]))


def _paper(case: Case) -> float:
    """Return what the paper prints in the place of the case's number; nan where it prints none."""
    numbers = [_printed(cell, case.claim.of) for cell in case.cells]
    if case.claim.ratio:
        return numbers[0] / numbers[1]
    return numbers[0] - numbers[1] if case.claim.difference else numbers[0]


def _printed(cell: Cell, name: str) -> Number:
    """Return a printed mean with its deviation, or a printed time in seconds."""
    if number := cell.printed.get(name):
        return Number(number.mean, sd=number.sd or nan)
    text = cell.reported.times.get(name) if cell.reported else None
    return Number(sum(seconds_printed(text)) / 2 if text else nan)
