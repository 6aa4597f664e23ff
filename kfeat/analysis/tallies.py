"""Tallies over several experiments: what the papers print, each once, and whose the claims are."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from kfeat.analysis.cells import Cell
from kfeat.analysis.numbers import CERTAINTY, DEVIATIONS, MEANS, MISSING, TIMES, WITHIN_ERROR, NumberVerdict
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

    A printed number counts once, in however many configs it stands. What is printed but lost counts as
    missing, and planned cells without rows are counted.
    """
    numbers = list(_each_once(standings))
    cells = {(item.number.mean, id(item)): (item, cell) for item in numbers for cell in item.cells[:1]}
    times = [one for item, cell in cells.values() for one in item.times(cell).values()]
    deviations = [item.deviation(cell) for item, cell in cells.values()]
    lost = {
        (one.experiment.reported.source, text)
        for one in standings
        if one.experiment.reported
        for text in one.experiment.reported.lost
    }
    certain = (item.certainty for item in numbers if item.verdict == WITHIN_ERROR)
    found = [
        Tally.of("printed numbers", MEANS, (item.verdict for item in numbers)),
        Tally.of("printed numbers within the error, by their intervals", CERTAINTY, certain),
        Tally.of("printed standard deviations", DEVIATIONS, (one.verdict for one in deviations if one)),
        Tally.of("printed times", TIMES, (one.verdict for one in times)),
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
    """Yield every printed number once, of several configs that hold it the least favourable with rows.

    It is the same number where mean, deviation and testing time are, and dataset, kernel, map and its D (of
    H0/1 a paper may count d columns more or not).
    """
    found: dict[Hashable, NumberVerdict] = {}
    for one in standings:
        for item in one.numbers:
            number = item.number
            key = (_of(one, item), number.of, number.mean, number.sd, number.test_time)
            if key not in found or _rank(item) > _rank(found[key]):
                found[key] = item
    yield from found.values()


def _of(standing: Standing, item: NumberVerdict) -> Hashable:
    if not item.cells:
        return f"{standing.experiment.name} {item.number.cell}"
    flat = item.cells[0].trial.describe()
    size = None if flat.get("map.h01") else flat.get("map.n_components")
    return flat["dataset"], str(item.cells[0].trial.kernel.identity()), flat["map"], size


def _rank(item: NumberVerdict) -> int:
    return -1 if item.verdict == MISSING else MEANS.index(item.verdict)
