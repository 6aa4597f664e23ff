"""How many further runs would decide a verdict that is open, or an interval that is too wide.

A verdict is judged again as if each random cell that leaves it open had its n runs m times over. The smallest
m that decides it gives the price. Copies of n runs have a variance that is smaller than that of n new ones,
by (n - 1) / n for many copies, so the price is m n * n / (n - 1) runs. Some verdicts have none: where the
error is that of the paper's own few runs, or where a growth is no power law, more runs do not help.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import ceil

from kfeat.analysis.cells import Cell
from kfeat.analysis.claim_cases import cases
from kfeat.analysis.claims import OPEN, ClaimVerdict
from kfeat.analysis.judgement import Judgement
from kfeat.analysis.names import cell_name
from kfeat.analysis.numbers import TOO_WIDE, WITHIN_ERROR, NumberVerdict, reproduction
from kfeat.experiments.estimates import wall_seconds
from kfeat.experiments.row import Row

MOST = 256  # times the present runs; a power of 2
FIRST = 3  # runs that show how much a cell varies


@dataclass(frozen=True)
class Price:
    """What would decide one verdict.

    `runs` is the smallest number of runs of its cells now, and `needed` the number that decides it; None: no
    number up to MOST times the present ones does. `seconds` is the time of the further runs, one after
    another. `timed`: they need an idle machine. `first`: a cell has a single run, so that its spread is not
    known, and `needed` only shows it.
    """

    experiment: str
    what: str
    verdict: str
    runs: int
    needed: int | None
    seconds: float
    timed: bool
    first: bool = False


def prices(judgements: Iterable[Judgement]) -> list[Price]:
    """Return the price of every verdict that is open or too wide: cheapest first, those without one last."""
    found = chain.from_iterable(chain(_of_numbers(one), _of_claims(one)) for one in judgements)
    return sorted(found, key=lambda price: (price.needed is None, price.seconds))


def _of_numbers(judgement: Judgement) -> Iterator[Price]:
    reported = judgement.experiment.reported
    for item in judgement.numbers:
        if reported is None or not _unsettled(item):
            continue

        def is_settled(factor: int, item: NumberVerdict = item) -> bool:
            again = [reproduction(_with_runs(cell, factor), item.number, reported) for cell in item.cells]
            return not _unsettled(replace(item, reproductions=[one for one in again if one is not None]))

        number, cell = item.number, item.cells[0]
        what = f"{number.where}: {cell_name(cell, judgement.cells)}"
        verdict = OPEN if item.verdict == OPEN else TOO_WIDE
        timed = cell.named(number.of).timed
        yield _price(judgement, what, verdict, item.cells, timed, is_settled)


def _unsettled(item: NumberVerdict) -> bool:
    return item.verdict == OPEN or (item.verdict == WITHIN_ERROR and item.certainty == TOO_WIDE)


def _of_claims(judgement: Judgement) -> Iterator[Price]:
    for item in judgement.claims:
        if item.verdict != OPEN:
            continue
        undecided = {id(cell): cell for case in item.undecided for cell in case.cells if cell.drawn}

        def is_settled(
            factor: int, item: ClaimVerdict = item, undecided: dict[int, Cell] = undecided
        ) -> bool:
            cells = [_with_runs(cell, factor) if id(cell) in undecided else cell for cell in judgement.cells]
            return ClaimVerdict(item.claim, cases(item.claim, cells)).verdict != OPEN

        what = f"{item.claim.where}: {item.claim.text}"
        timed = judgement.cells[0].named(item.claim.of).timed
        yield _price(judgement, what, OPEN, list(undecided.values()), timed, is_settled)


def _price(
    judgement: Judgement, what: str, verdict: str, cells: Sequence[Cell], timed: bool,
    is_settled: Callable[[int], bool],
) -> Price:  # fmt: skip
    runs = min((len(cell.rows) for cell in cells), default=0)
    first = runs == 1 and not timed
    factor = FIRST if first else _smallest(is_settled) if cells else None
    needed = None if factor is None else factor * runs
    if needed is not None and runs > 1:
        needed = ceil(needed * runs / (runs - 1))
    more = 0.0 if needed is None else needed / runs - 1
    seconds = more * sum(wall_seconds(row) for cell in cells for row in cell.rows)
    return Price(judgement.experiment.name, what, verdict, runs, needed, seconds, timed, first)


def _smallest(is_settled: Callable[[int], bool]) -> int | None:
    """Return the smallest factor of the runs that settles a verdict, by doubling and halving."""
    high = 2
    while not is_settled(high):
        high *= 2
        if high > MOST:
            return None
    between = range(high // 2 + 1, high)
    return between.start + bisect_left(between, True, key=is_settled)


def _with_runs(cell: Cell, factor: int) -> Cell:
    """Return the cell with each of its runs `factor` times, each copy as if of another draw."""
    if not cell.drawn:
        return cell

    def copies(row: Row) -> Iterator[Row]:
        for copy in range(factor):
            yield row | {"seeds": {key: seed + (copy << 64) for key, seed in row["seeds"].items()}}

    return replace(cell, rows=[one for row in cell.rows for one in copies(row)])
