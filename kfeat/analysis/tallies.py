"""Tallies over several experiments: printed numbers, each counted once, and claims by their kind."""

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence

from kfeat.analysis import claims, numbers
from kfeat.analysis.cells import Cell
from kfeat.analysis.judgement import CLAIMS, Judgement, counted
from kfeat.analysis.numbers import CERTAINTY, DEVIATIONS, MEANS, MISSING, TIMES, WITHIN_ERROR, NumberVerdict

KINDS = {
    "paper": "claims of the papers",
    "stand_in": "claims of the papers, judged on data that stand in for theirs",
    "own": "claims of kfeat's own experiments",
}
# The verdicts in three groups, each with a remark or "".
SHORT: dict[str, dict[str, str]] = {
    "agree": dict.fromkeys((numbers.WITHIN_ERROR, numbers.WITHIN_SLACK, claims.REPRODUCED), ""),
    "differ": {
        **dict.fromkeys((numbers.EXPLAINED, claims.EXPLAINED), "explained"),
        claims.DIRECTION_ONLY: "in size only",
        **dict.fromkeys((numbers.UNEXPLAINED, claims.UNEXPLAINED), ""),
    },
    "open or missing": {numbers.OPEN: "open", numbers.MISSING: "missing"},
}
PRINTED, OF_PAPERS = "printed numbers", (KINDS["paper"], KINDS["stand_in"])


def tallies(judgements: Sequence[Judgement]) -> dict[str, dict[str, int]]:
    """Return how many of each kind have each verdict, without zeros, for the kinds that there are.

    A printed number counts once, even if several configs have it. Printed numbers that are lost count as
    missing, and planned cells without rows are counted.
    """
    printed = list(_each_once(judgements))
    cells = [(item, item.cells[0]) for item in printed if item.cells]
    times = [one.verdict for item, cell in cells for one in item.times(cell).values()]
    deviations = [one.verdict for item, cell in cells if (one := item.deviation(cell))]
    lost = {
        (one.experiment.reported.source, text)
        for one in judgements
        if one.experiment.reported
        for text in one.experiment.reported.lost
    }
    certain = [item.certainty for item in printed if item.verdict == WITHIN_ERROR]
    found = {
        PRINTED: counted(MEANS, (item.verdict for item in printed)),
        "printed numbers within the error, by their intervals": counted(CERTAINTY, certain),
        "printed standard deviations": counted(DEVIATIONS, deviations),
        "printed times": counted(TIMES, times),
        "printed, but lost in the copies that there are": counted((MISSING,), [MISSING for _ in lost]),
    }
    for kind, what in KINDS.items():
        judged = (item for one in judgements for item in one.claims if item.claim.kind == kind)
        found[what] = counted(CLAIMS, (item.verdict for item in judged))
    planned: dict[str, Cell] = {}
    for cell in (cell for one in judgements for cell in one.cells):
        if cell.rows or cell.trial.cell not in planned:
            planned[cell.trial.cell] = cell
    states = ("with rows" if cell.rows else "without rows" for cell in planned.values())
    found["cells planned"] = counted(("with rows", "without rows"), states)
    return {what: counts for what, counts in found.items() if counts}


def in_short(judgements: Sequence[Judgement]) -> list[str]:
    """Return three lines: how many printed numbers and claims of papers agree, differ, or are undecided.

    If a paper prints and claims nothing, one line has the verdicts on kfeat's own claims.
    """
    found = tallies(judgements)
    kinds = {PRINTED: Counter(found.get(PRINTED, {})), "claims": Counter[str]()}
    for what in OF_PAPERS:
        kinds["claims"].update(found.get(what, {}))
    kinds = {kind: counts for kind, counts in kinds.items() if counts}
    if not kinds:
        own = "; ".join(f"{n} {verdict}" for verdict, n in found.get(KINDS["own"], {}).items())
        return [f"{KINDS['own']}: {own}"] if own else []
    lines = []
    for word, marks in SHORT.items():
        parts = []
        for kind, counts in kinds.items():
            marked = Counter[str]()
            for verdict, mark in marks.items():
                marked[mark] += counts[verdict]
            named = ", ".join(f"{n} {mark}" for mark, n in marked.items() if n and mark)
            parts.append(f"{marked.total()} of {counts.total()} {kind}" + f" ({named})" * bool(named))
        lines.append(f"{word}: {'; '.join(parts)}")
    return lines


def _each_once(judgements: Sequence[Judgement]) -> Iterator[NumberVerdict]:
    """Yield every printed number once; if several configs have it, the least favourable one with rows.

    Two numbers are the same if mean, standard deviation, test time, dataset, kernel, map and its D are. (D is
    ignored with H0/1, since a paper may count d columns more or not.)
    """
    found: dict[Hashable, NumberVerdict] = {}
    for one in judgements:
        for item in one.numbers:
            number = item.number
            key = (_of(one, item), number.of, number.mean, number.sd, number.test_time)
            if key not in found or _rank(item) > _rank(found[key]):
                found[key] = item
    yield from found.values()


def _of(judgement: Judgement, item: NumberVerdict) -> Hashable:
    if not item.cells:
        return f"{judgement.experiment.name} {item.number.cell}"
    flat = item.cells[0].trial.describe()
    size = None if flat.get("map.h01") else flat.get("map.n_components")
    return flat["dataset"], str(item.cells[0].trial.kernel.identity()), flat["map"], size


def _rank(item: NumberVerdict) -> int:
    return -1 if item.verdict == MISSING else MEANS.index(item.verdict)
