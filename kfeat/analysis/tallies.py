"""Verdicts counted: how many numbers, curves and claims agree, are undecided, differ or are missing."""

from collections import Counter
from collections.abc import Hashable, Sequence

from kfeat.analysis import claims, numbers
from kfeat.analysis.judgement import CLAIMS, Judgement, counted
from kfeat.analysis.numbers import (
    AGREES,
    DEVIATIONS,
    MEANS,
    MISSING,
    TIMES,
    NumberVerdict,
)

KINDS = {
    "paper": "claims of the papers",
    "stand_in": "claims of the papers, judged on data that stand in for theirs",
    "own": "claims of kfeat's own experiments",
}
# The verdicts in four groups, each with a remark or "".
SHORT: dict[str, dict[str, str]] = {
    "agree": dict.fromkeys((AGREES, claims.REPRODUCED), ""),
    "compatible or open": dict.fromkeys((numbers.COMPATIBLE, claims.OPEN), ""),
    "differ": {
        **dict.fromkeys((numbers.EXPLAINED, claims.EXPLAINED), "explained"),
        claims.DIRECTION_ONLY: "in size only",
        **dict.fromkeys((numbers.UNEXPLAINED, claims.UNEXPLAINED), ""),
    },
    "missing": {MISSING: ""},
}
PRINTED, CURVES, OF_PAPERS = "printed numbers", "printed curves", (KINDS["paper"], KINDS["stand_in"])
LATE = "claims of the papers, with bounds that were set after the rows were seen"


def tallies(judgements: Sequence[Judgement]) -> dict[str, dict[str, int]]:
    """Return how many of each kind have each verdict, without zeros, for the kinds that there are.

    A printed number counts once, even if several configs have it. Printed numbers that are lost count as
    missing, and planned cells without rows are counted.
    """
    printed = _each_once(judgements)
    cells = [(judged, judged.cells[0]) for judged in printed if judged.cells]
    times = [ratio.verdict for judged, cell in cells for ratio in judged.times(cell).values()]
    deviations = [ratio.verdict for judged, cell in cells if (ratio := judged.deviation(cell))]
    papers = [judgement.experiment.reported for judgement in judgements if judgement.experiment.reported]
    lost = {(paper.source, text) for paper in papers for text in paper.lost}
    counts = {
        PRINTED: counted(MEANS, (judged.verdict for judged in printed)),
        CURVES: counted(MEANS, (curve.verdict for judgement in judgements for curve in judgement.curves)),
        "printed standard deviations": counted(DEVIATIONS, deviations),
        "printed times": counted(TIMES, times),
        "printed, but lost in the copies that there are": counted((MISSING,), [MISSING for _ in lost]),
    }
    claimed = [judged for judgement in judgements for judged in judgement.claims]
    for kind, what in KINDS.items():
        counts[what] = counted(CLAIMS, (judged.verdict for judged in claimed if judged.claim.kind == kind))
    late = (judged for judged in claimed if judged.claim.bound_before and judged.claim.kind != "own")
    counts[LATE] = counted(CLAIMS, (judged.verdict for judged in late))
    planned = {cell.trial.cell for judgement in judgements for cell in judgement.cells}
    run = {cell.trial.cell for judgement in judgements for cell in judgement.cells if cell.rows}
    states = ("with rows" if cell in run else "without rows" for cell in planned)
    counts["cells planned"] = counted(("with rows", "without rows"), states)
    return {what: verdicts for what, verdicts in counts.items() if verdicts}


def in_short(judgements: Sequence[Judgement]) -> list[str]:
    """Return a line each: how many printed numbers, curves and claims agree, are undecided, or differ.

    A fourth line says how many are missing, where any are. Claims on data that stand in, and with bounds that
    were set after the rows were seen, are counted among the others and once more in lines of their own. If a
    paper prints and claims nothing, one line has the verdicts on kfeat's own claims.
    """
    tally = tallies(judgements)
    kinds = {kind: Counter(tally.get(kind, {})) for kind in (PRINTED, CURVES)} | {"claims": Counter[str]()}
    for what in OF_PAPERS:
        kinds["claims"].update(tally.get(what, {}))
    kinds = {kind: counts for kind, counts in kinds.items() if counts}
    if not kinds:
        own = "; ".join(f"{n} {verdict}" for verdict, n in tally.get(KINDS["own"], {}).items())
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
    if not any(counts[MISSING] for counts in kinds.values()):
        lines.pop()
    weaker = {what: Counter(tally[what]) for what in (KINDS["stand_in"], LATE) if what in tally}
    return lines + [
        f"{what}: {counts[claims.REPRODUCED]} of {counts.total()} reproduced"
        for what, counts in weaker.items()
    ]


def _each_once(judgements: Sequence[Judgement]) -> list[NumberVerdict]:
    """Return every printed number once; if several configs have it, the least favourable one with rows.

    Two numbers are the same if mean, standard deviation, test time, dataset, kernel, map and its D are. (D is
    ignored with H0/1, since a paper may count d columns more or not.)
    """
    worst: dict[Hashable, NumberVerdict] = {}
    for judgement in judgements:
        for judged in judgement.numbers:
            number = judged.number
            key = (_method(judgement, judged), number.of, number.mean, number.sd, number.test_time)
            worst[key] = max(worst.get(key, judged), judged, key=_rank)
    return list(worst.values())


def _method(judgement: Judgement, judged: NumberVerdict) -> Hashable:
    if not judged.cells:
        return f"{judgement.experiment.name} {judged.number.cell}"
    trial = judged.cells[0].trial
    flat = trial.describe()
    D = None if flat.get("map.h01") else flat.get("map.n_components")
    return flat["dataset"], trial.kernel.key, flat["map"], D


def _rank(judged: NumberVerdict) -> int:
    return -1 if judged.verdict == MISSING else MEANS.index(judged.verdict)
