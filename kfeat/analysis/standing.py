"""The verdicts on an experiment: on every printed number, published cell and claim."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kfeat.analysis import claims, numbers
from kfeat.analysis.cells import Cell
from kfeat.analysis.claims import Cited, Judged, judge
from kfeat.analysis.comparisons import Comparison, comparisons
from kfeat.analysis.evidence import Evidence
from kfeat.analysis.names import cell_name
from kfeat.analysis.numbers import NumberVerdict, number_verdicts
from kfeat.experiments.estimates import wall_seconds
from kfeat.experiments.load import Experiment
from kfeat.experiments.paper import Explained
from kfeat.experiments.store import Row

CELLS = ("same", "regressed")
CLAIMS = claims.VERDICTS
UNEXPLAINED = (numbers.UNEXPLAINED, claims.UNEXPLAINED)


@dataclass(frozen=True)
class Difference:
    """A printed number or claim that is not reproduced, and what the config says about it."""

    verdict: str
    what: str
    ours: str
    paper: str
    said: Explained
    cited: Sequence[Cited]

    @property
    def fails(self) -> bool:
        """Return whether it is not explained, and the config does not say that it is unexplained."""
        return self.verdict in UNEXPLAINED and not self.said.unexplained


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
        """Return whether there are any rows."""
        return any(cell.rows or cell.failed or cell.stopped for cell in self.cells)

    @property
    def failed(self) -> list[Row]:
        """Return the rows of failed trials."""
        return [row for cell in self.cells for row in cell.failed]

    @property
    def seconds(self) -> float:
        """Return the total wall seconds of all rows, on any machine."""
        stopped = sum(row["limit_s"] for cell in self.cells for row in cell.stopped)
        return stopped + sum(wall_seconds(row) for cell in self.cells for row in cell.rows)

    @property
    def passes(self) -> bool:
        """Return whether nothing regressed or failed, and no difference lacks an explanation.

        Missing or open verdicts do not fail, nor do differences that the config marks as unexplained.
        """
        regressed = any(item.verdict == "regressed" for item in self.comparisons)
        return not self.failed and not regressed and not any(one.fails for one in self.differences())

    def counts(self) -> dict[str, dict[str, int]]:
        """Return how many numbers, claims and cells have each verdict, the best first, without zeros."""

        def counted(verdicts: Sequence[str], found: Iterable[str]) -> dict[str, int]:
            tally = Counter(found)
            return {verdict: tally[verdict] for verdict in verdicts if tally[verdict]}

        return {
            "numbers": counted(numbers.MEANS, (item.verdict for item in self.numbers)),
            "claims": counted(CLAIMS, (one.verdict for one in self.claims if one.claim.kind != "own")),
            "own": counted(CLAIMS, (one.verdict for one in self.claims if one.claim.kind == "own")),
            "cells": counted(CELLS, (item.verdict for item in self.comparisons)),
        }

    def differences(self) -> list[Difference]:
        """Return the printed numbers and claims that are not reproduced, numbers first."""
        others = (numbers.WITHIN_ERROR, numbers.WITHIN_SLACK, claims.REPRODUCED, numbers.MISSING)
        return [self._number(item) for item in self.numbers if item.verdict not in others] + [
            Difference(
                item.verdict,
                f"{item.claim.where}: {item.claim.text}",
                item.ours,
                item.paper,
                item.claim,
                item.cited,
            )
            for item in self.claims
            if item.verdict not in others
        ]

    def _number(self, item: NumberVerdict) -> Difference:
        found = next(one for one in item.reproductions if item.of(one) == item.verdict)
        what = f"{item.number.where}: {cell_name(found.cell, self.cells)}"
        quantity, ours, number = found.quantity, found.ours, item.number
        theirs = quantity.text(number.mean, number.sd)
        shown = quantity.text(ours.mean, ours.sd)
        return Difference(item.verdict, what, shown, theirs, number, item.cited)

    def missing(self) -> list[str]:
        """Return the printed numbers and the claims without the rows that they need."""
        printed = [
            f"{item.number.where}: {cell_name(item.cells[0], self.cells) if item.cells else item.number.cell}"
            for item in self.numbers
            if item.verdict == numbers.MISSING
        ]
        claimed = [
            f"{item.claim.where}: {item.claim.text}" for item in self.claims if item.verdict == claims.MISSING
        ]
        return printed + claimed


def stand(
    experiment: Experiment,
    cells: Sequence[Cell],
    published: Mapping[str, Row],
    tests: int | None = None,
    place: str = "",
    evidence: Evidence | None = None,
) -> Standing:
    """Return the verdicts on the experiment; raises ConfigError for a claim that cannot be judged.

    `tests` is the number of cells that the whole check compares with published rows, by default in `cells`.
    If the command line selected a part of the plan, printed numbers of other cells are left out. `evidence`
    has the folders with the rows of cited experiments, by default none.
    """
    look_up = (evidence or Evidence()).within(experiment, cells)
    printed = number_verdicts(cells, experiment.reported, look_up) if experiment.reported else []
    if experiment.changed:
        printed = [item for item in printed if item.cells]
    compared = comparisons(cells, published, tests)
    judged = judge(experiment, cells, look_up)
    return Standing(experiment, cells, printed, compared, judged, place, bool(published))


def compare(
    experiment: Experiment, cells: Sequence[Cell], published: Mapping[str, Row], tests: int
) -> Standing:
    """Return only the comparisons of the cells with the published rows."""
    return Standing(experiment, cells, [], comparisons(cells, published, tests), [])
