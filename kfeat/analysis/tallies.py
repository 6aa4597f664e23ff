"""Tallies over several experiments: what the papers print, each once, and whose the claims are."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from kfeat.analysis.cells import Cell
from kfeat.analysis.numbers import DEVIATIONS, MEANS, MISSING, TIMES, NumberVerdict
from kfeat.analysis.standing import CLAIMS, Standing

KINDS = {
    "paper": "claims of the papers",
    "stand_in": "claims of the papers, judged on data that stand in for theirs",
    "own": "claims of kfeat's own experiments",
}


@dataclass(frozen=True)
class Tally:
    """How many of a kind have each verdict; those that none has are left out."""

    what: str
    counts: dict[str, int]

    @property
    def total(self) -> int:
        """Return how many there are."""
        return sum(self.counts.values())

    @classmethod
    def of(cls, what: str, verdicts: Sequence[str], found: Iterable[str]) -> "Tally":
        """Return the tally of the verdicts found, in the order of `verdicts`."""
        counted = Counter(found)
        return cls(what, {verdict: counted[verdict] for verdict in verdicts if counted[verdict]})


def tallies(standings: Sequence[Standing]) -> list[Tally]:
    """Return the tallies that have anything to count.

    A printed number counts once, in however many configs it stands: where it has rows, if it has any. What
    is printed but lost counts as missing, and so does a planned cell without rows.
    """
    numbers = list(_each_once(standings))
    cells = {(item.number.mean, id(item)): (item, cell) for item in numbers for cell in item.cells[:1]}
    times = [item.time(cell) for item, cell in cells.values()]
    deviations = [item.deviation(cell) for item, cell in cells.values()]
    lost = {
        (one.experiment.reported.source, text)
        for one in standings
        if one.experiment.reported
        for text in one.experiment.reported.lost
    }
    found = [
        Tally.of("printed numbers", MEANS, (item.verdict for item in numbers)),
        Tally.of("printed standard deviations", DEVIATIONS, (one.verdict for one in deviations if one)),
        Tally.of("printed times", TIMES, (one.verdict for one in times if one)),
        Tally.of("printed, but lost in the copies that there are", (MISSING,), [MISSING for _ in lost]),
    ]
    for kind, what in KINDS.items():
        judged = (item for one in standings for item in one.claims if item.claim.kind == kind)
        found.append(Tally.of(what, CLAIMS, (item.verdict for item in judged)))
    planned: dict[str, Cell] = {}
    for cell in (cell for one in standings for cell in one.cells):
        if cell.rows or cell.trial.cell not in planned:
            planned[cell.trial.cell] = cell
    states = ("with rows" if cell.rows else "without rows" for cell in planned.values())
    found.append(Tally.of("cells planned", ("with rows", "without rows"), states))
    return [tally for tally in found if tally.total]


def _each_once(standings: Sequence[Standing]) -> Iterator[NumberVerdict]:
    """Yield every printed number once: the same mean, and standard deviation, for the same cell."""
    found: dict[Hashable, NumberVerdict] = {}
    for one in standings:
        for item in one.numbers:
            number = item.number
            of = item.cells[0].trial.cell if item.cells else f"{one.experiment.name} {number.cell}"
            key = (of, number.of, number.mean, number.sd)
            if key not in found or (found[key].verdict == MISSING and item.verdict != MISSING):
                found[key] = item
    yield from found.values()
