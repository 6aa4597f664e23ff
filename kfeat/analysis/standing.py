"""How an experiment stands: every printed number, published cell and claim with its verdict."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kfeat.analysis.cells import Cell
from kfeat.analysis.claims import DIRECTION_ONLY, EXPLAINED, MISSING, REPRODUCED, UNEXPLAINED, Judged, judge
from kfeat.analysis.names import cell_name
from kfeat.analysis.verdicts import Comparison, NumberVerdict, comparisons, number_verdicts
from kfeat.experiments.load import Experiment
from kfeat.experiments.rerun import recorded_seconds
from kfeat.experiments.store import Row

NUMBERS = ("reproduced", "differs, explained", "differs, unexplained", "missing")
CELLS = ("same", "regressed")
CLAIMS = (REPRODUCED, DIRECTION_ONLY, EXPLAINED, UNEXPLAINED, MISSING)
FAILING = ("differs, unexplained", "regressed", UNEXPLAINED)


@dataclass(frozen=True)
class Difference:
    """A number or a claim that does not stand as printed."""

    verdict: str
    what: str
    ours: str
    paper: str
    explanation: str | None


@dataclass(frozen=True)
class Standing:
    """The verdicts on an experiment; `place` is the folder that its rows come from."""

    experiment: Experiment
    cells: Sequence[Cell]
    numbers: Sequence[NumberVerdict]
    comparisons: Sequence[Comparison]
    claims: Sequence[Judged]
    place: str = ""
    has_published: bool = False

    @property
    def has_rows(self) -> bool:
        """Tell whether there is anything to judge."""
        return any(cell.rows or cell.failed or cell.stopped for cell in self.cells)

    @property
    def failed(self) -> list[Row]:
        """Return the rows of failed trials."""
        return [row for cell in self.cells for row in cell.failed]

    @property
    def seconds(self) -> float:
        """Return the wall seconds that all rows took together, whatever machine ran them."""
        stopped = sum(row["limit_s"] for cell in self.cells for row in cell.stopped)
        return stopped + sum(recorded_seconds(row) for cell in self.cells for row in cell.rows)

    @property
    def passes(self) -> bool:
        """Tell whether nothing is unexplained, regressed or failed; what is missing does not fail."""
        found = [item.verdict for part in (self.numbers, self.comparisons, self.claims) for item in part]
        return not self.failed and not any(verdict in FAILING for verdict in found)

    def counts(self) -> dict[str, list[int]]:
        """Return how many numbers, cells and claims have each verdict, in the order of the constants."""

        def counted(verdicts: Sequence[str], found: Iterable[str]) -> list[int]:
            tally = Counter(found)
            return [tally[verdict] for verdict in verdicts]

        return {
            "numbers": counted(NUMBERS, (item.verdict for item in self.numbers)),
            "cells": counted(CELLS, (item.verdict for item in self.comparisons)),
            "claims": counted(CLAIMS, (item.verdict for item in self.claims)),
        }

    def differences(self) -> list[Difference]:
        """Return what does not stand as printed, numbers before claims."""
        numbers = [item for item in self.numbers if item.verdict.startswith("differs")]
        claims = [item for item in self.claims if item.verdict not in (REPRODUCED, MISSING)]
        return [self._number(item) for item in numbers] + [
            Difference(
                item.verdict,
                f"{item.claim.where}: {item.claim.text}",
                item.ours,
                item.paper,
                item.claim.explanation,
            )
            for item in claims
        ]

    def _number(self, item: NumberVerdict) -> Difference:
        found = next(one for one in item.reproductions if one.verdict == "differs")
        what = f"{item.number.where}: {cell_name(found.cell, self.cells)}"
        quantity, ours, number = found.quantity, found.ours, item.number
        theirs = quantity.text(number.mean, number.sd)
        return Difference(item.verdict, what, quantity.text(ours.mean, ours.sd), theirs, number.explanation)

    def missing(self) -> list[str]:
        """Return the printed numbers and the claims that the rows do not decide."""
        numbers = [
            f"{item.number.where}: {cell_name(item.cells[0], self.cells) if item.cells else item.number.cell}"
            for item in self.numbers
            if item.verdict == "missing"
        ]
        claims = [f"{item.claim.where}: {item.claim.text}" for item in self.claims if item.verdict == MISSING]
        return numbers + claims


def stand(
    experiment: Experiment,
    cells: Sequence[Cell],
    published: Mapping[str, Row],
    tests: int | None = None,
    place: str = "",
) -> Standing:
    """Return how the experiment stands; raises ConfigError for a claim that cannot be judged.

    `tests` is the number of cells that the whole check compares with published rows, by default those here.
    Where the command line chose a part of the plan, the numbers printed of others are left out.
    """
    numbers = number_verdicts(cells, experiment.reported) if experiment.reported else []
    if experiment.changed:
        numbers = [item for item in numbers if item.cells]
    compared = comparisons(cells, published, tests)
    return Standing(experiment, cells, numbers, compared, judge(experiment, cells), place, bool(published))


def compare(
    experiment: Experiment, cells: Sequence[Cell], published: Mapping[str, Row], tests: int
) -> Standing:
    """Return how the cells compare with the published rows, and nothing else."""
    return Standing(experiment, cells, [], comparisons(cells, published, tests), [])
