"""Many experiments at once: the scoreboard of `kfeat check --all`, a paper's page, and what is open.

More runs decide a claim that is open and a number that is compatible: the half-width h of its interval falls
as 1 / sqrt(n) with the number n of runs. A verdict is decided once h is below the distance d of our number
from the bound, which for a difference from a printed number is the slack: by n (h / d)^2 runs, if mean and
spread stay as they are. Where n is small, fewer may do, since Student's quantile falls too. Against a printed
number a part p of h is that of the paper's own runs and of rounding: n (h^2 - p^2) / (d^2 - p^2) runs, and
none if p is above d.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, inf, sqrt
from pathlib import Path

from kfeat.analysis.cells import Cell, error_of
from kfeat.analysis.claims import OPEN
from kfeat.analysis.comparisons import REGRESSED
from kfeat.analysis.judgement import Disagreement, Judgement
from kfeat.analysis.numbers import COMPATIBLE, Reproduction
from kfeat.analysis.statistics import Summary, welch_half_width
from kfeat.analysis.tallies import in_short, tallies
from kfeat.experiments.paper import Reported, ReportedNumber
from kfeat.experiments.row import wall_seconds
from kfeat.render.numbers import MISSING, time
from kfeat.render.table import Table, paragraph, readable
from kfeat.render.verdicts import explanation_of
from kfeat.text import counted

HEADERS = ("config", "rows from", "numbers", "claims", "own claims", "cells", "time")
LEGEND = (
    "numbers: what the paper prints; claims: what its prose says; own claims: what kfeat's own experiments "
    "ask",
    "time: what the rows took, one after another; a row that several configs share counts in each",
)
CELLS = "cells: ours held against the published rows"
MOST = 256  # times the present runs; beyond it a number of runs is of no use
FIRST = 3  # runs that show how much a cell varies
UNDECIDED_HEADERS = ("time", "runs", "needed", "config", "what is open")


def passes(judgements: Sequence[Judgement]) -> bool:
    """Tell whether there is something to judge, and nothing unexplained, regressed or failed."""
    has_rows = any(judgement.has_rows for judgement in judgements)
    return has_rows and all(judgement.passes for judgement in judgements)


def terminal(judgements: Sequence[Judgement], width: int | None = None, details: bool = True) -> str:
    """Return the scoreboard for a terminal with `width` characters a line.

    With `details` it says what differs and is missing of each config, and has all tallies; without them it
    says so of those configs alone that fail.
    """
    lines = [scoreboard_line(judgement, judgement.experiment.name) for judgement in judgements]
    board = Table(HEADERS, lines, range(1, 6)).terminal(readable(width))
    legend = "\n".join(paragraph(line, "", width) for line in (*LEGEND, CELLS))
    counts = tally_lines(judgements) if details else in_short(judgements)
    tally = "\n".join(paragraph(line, "", width) for line in counts)
    told = [judgement for judgement in judgements if details or (judgement.has_rows and not judgement.passes)]
    named = filter(None, (_details(judgement, width) for judgement in told))
    return "\n\n".join([board, legend, *named, tally]) + "\n"


def compared_with(folder: Path, judgements: Sequence[Judgement], width: int | None = None) -> str:
    """Return a line per experiment on how its cells compare with another folder's, and what regressed."""
    headers = ("config", "cells", f"against {folder}")
    lines = []
    for judgement in judgements:
        with_rows = sum(bool(cell.rows) for cell in judgement.cells)
        cells = _counted(judgement.counts()["cells"])
        lines.append([judgement.experiment.name, str(with_rows), cells])
    named = [_details(judgement, width) for judgement in judgements if not judgement.passes]
    return "\n\n".join([Table(headers, lines, (0, 2), (1,)).terminal(width), *named]) + "\n"


def scoreboard_line(judgement: Judgement, name: str) -> list[str]:
    """Return the line of an experiment under HEADERS."""
    place = judgement.place if judgement.has_rows else "no rows"
    counts = judgement.counts()
    numbers, curves = _counted(counts.pop("numbers")), counts.pop("curves")
    numbers += f"; {sum(curves.values())} curves: {_counted(curves)}" if curves else ""
    return [name, place, numbers, *map(_counted, counts.values()), time(judgement.seconds or None)]


def _counted(counts: Mapping[str, int]) -> str:
    return "; ".join(f"{n} {verdict}" for verdict, n in counts.items()) or "–"


def _details(judgement: Judgement, width: int | None) -> str:
    """Return the experiment's name and what differs, fails or is missing; or nothing."""
    name = judgement.experiment.name
    if not judgement.has_rows:
        return f"{name}\n  missing: all of it; `kfeat run {judgement.experiment.argument}` makes it"
    lines = []
    for item in judgement.disagreements():
        lines.append(paragraph(f"{item.verdict}: {sides(item)}", width=width))
        if words := explanation_of(item.entry, item.cited, item.verdict):
            lines.append(paragraph(words, "      ", width))
        if item.correction:
            lines.append(paragraph(f"{item.correction}.", "      ", width))
    texts = [
        f"regressed: {judgement.names.of(regressed.cell)}: {regressed.change:+.3g}, "
        f"beyond ±{regressed.limit:.3g} ({regressed.test})"
        for regressed in judgement.comparisons
        if regressed.verdict == REGRESSED
    ]
    texts += [f"failed: trial {row['id']}: {row['reason']}" for row in judgement.failed]
    if missing := judgement.missing():
        texts.append(f"missing: {'; '.join(missing)}")
    lines += [paragraph(text, width=width) for text in texts]
    return "\n".join([name, *lines]) if lines else ""


def sides(item: Disagreement) -> str:
    """Return what a disagreement is about, with our number and the paper's."""
    return f"{item.what}: ours {item.ours}; paper {item.paper}"


def tally_lines(judgements: Sequence[Judgement]) -> list[str]:
    """Return a line per tally, such as `printed numbers: 54: 14 agrees; ...`."""
    kinds = tallies(judgements).items()
    return [f"{kind}: {sum(counts.values())}: {_counted(counts)}" for kind, counts in kinds]


@dataclass(frozen=True)
class Undecided:
    """A claim that is open or a number that is compatible, and what would decide it.

    `runs` is the smallest number of runs of its cells now, and `needed` the number that decides it; None: it
    is more than MOST times as many. `seconds` is the time of the further runs, one after another. `timed`:
    they need an idle machine. `first`: a cell has a single run, so that its spread is not known, and `needed`
    only shows it. `never`: no number of runs decides it, since the paper's own run varies too much.
    """

    experiment: str
    what: str
    verdict: str
    runs: int
    needed: int | None
    seconds: float
    timed: bool
    first: bool = False
    never: bool = False


def undecided(judgements: Iterable[Judgement]) -> list[Undecided]:
    """Return every verdict that is open or compatible: the cheapest first, those that no runs decide last."""
    verdicts = []
    for judgement in judgements:
        verdicts += [*_undecided_numbers(judgement), *_undecided_claims(judgement)]
    return sorted(verdicts, key=lambda verdict: (verdict.needed is None, verdict.seconds))


def _undecided_numbers(judgement: Judgement) -> Iterator[Undecided]:
    for judged in judgement.numbers:
        if judged.verdict == COMPATIBLE:
            number = judged.number
            items = [item for item in judged.reproductions if item.verdict == COMPATIBLE]
            factor = max(_factor(item, number, judged.reported) for item in items)
            what = f"{number.where}: {judgement.names.of(judged.cells[0])}"
            timed = judged.cells[0].named(number.of).timed
            yield _undecided(judgement, what, COMPATIBLE, judged.cells, timed, factor)


def _factor(item: Reproduction, number: ReportedNumber, reported: Reported) -> float:
    """Return (h^2 - p^2) / (d^2 - p^2): d is the distance of our difference from the slack."""
    error = error_of(item.cell, number.of)
    if item.interval is None or error is None or not item.cell.drawn:
        return inf
    runs = number.runs or reported.runs
    printed = Summary(number.mean, number.sd, runs).error or (error[0] * sqrt(item.ours.n / runs), inf)
    paper = welch_half_width(printed) + reported.rounding_of(number)
    half = (item.interval[1] - item.interval[0]) / 2
    distance = abs(item.slack - abs(item.difference))
    return (half**2 - paper**2) / (distance**2 - paper**2) if distance > paper else inf


def _undecided_claims(judgement: Judgement) -> Iterator[Undecided]:
    for judged in judgement.claims:
        if judged.verdict == OPEN:
            cases = judged.undecided
            cells = {cell.trial.cell: cell for case, _ in cases for cell in case.cells if cell.drawn}
            factor = max((ratio**2 for _, ratio in cases), default=inf)
            timed = judgement.cells[0].named(judged.claim.of).timed
            what = f"{judged.claim.where}: {judged.claim.text}"
            yield _undecided(judgement, what, OPEN, list(cells.values()), timed, factor)


def _undecided(
    judgement: Judgement, what: str, verdict: str, cells: Sequence[Cell], timed: bool, factor: float
) -> Undecided:
    """Return a verdict that `factor` times the runs of these cells decide."""
    runs = min((len(cell.rows) for cell in cells), default=0)
    first = runs == 1 and not timed
    needed = FIRST if first else ceil(factor * runs) if runs and factor <= MOST else None
    more = 0.0 if needed is None else needed / runs - 1
    seconds = more * sum(wall_seconds(row) for cell in cells for row in cell.rows)
    never = bool(runs) and not first and factor == inf
    return Undecided(judgement.experiment.name, what, verdict, runs, needed, seconds, timed, first, never)


def undecided_sentence(judgement: Judgement, argument: str) -> str:
    """Return how many open verdicts more runs decide, and how many none can; "" if all are decided."""
    verdicts = undecided([judgement])
    if not verdicts:
        return ""
    decided = sum(verdict.needed is not None for verdict in verdicts)
    never = sum(verdict.never for verdict in verdicts)
    numbers = f"{len(verdicts):,} undecided: more runs would decide {decided:,}, no number of runs {never:,}"
    return f"{numbers} (kfeat plan {argument} --to-settle)\n"


def undecided_terminal(verdicts: Sequence[Undecided], width: int | None = None) -> str:
    """Return a line for each verdict, the cheapest first, and the sum of their times."""
    if not verdicts:
        return "nothing is open"
    lines = [undecided_line(verdict) for verdict in verdicts]
    shown = Table(UNDECIDED_HEADERS, lines, (3, 4), (0, 1, 2)).terminal(readable(width))
    return "\n\n".join([shown, *(paragraph(note, "", width) for note in undecided_notes(verdicts))])


def undecided_line(item: Undecided) -> list[str]:
    """Return the line of a verdict under UNDECIDED_HEADERS."""
    seconds, needed = MISSING, MISSING
    if item.needed is not None:
        seconds = time(item.seconds)
        needed = f"{item.needed}" + " (first)" * item.first + " (timed)" * item.timed
    elif item.never:
        needed = "never"
    return [seconds, str(item.runs), needed, item.experiment, f"{item.what} ({item.verdict})"]


def undecided_notes(verdicts: Sequence[Undecided]) -> list[str]:
    """Return the sums, and what the words in the lines mean."""
    decided = [verdict for verdict in verdicts if verdict.needed is not None]
    seconds = sum(verdict.seconds for verdict in decided)
    notes = [
        f"{counted(len(verdicts), 'undecided verdicts')} (compatible or open). More runs would decide "
        f"{len(decided)} of {len(verdicts)}, in at most {time(seconds)} one after another (verdicts that "
        "share runs are counted twice)."
    ]
    if never := sum(verdict.never for verdict in verdicts):
        notes.append(
            f"never: no number of our runs decides {never} of {len(verdicts)}, since the uncertainty is in "
            "the paper's own few runs or in a fit."
        )
    if rest := len(verdicts) - len(decided) - never:
        notes.append(
            f"{MOST} times the runs would not decide {rest} of {len(verdicts)}: our number lies at the bound."
        )
    if any(verdict.first for verdict in verdicts):
        notes.append("first: there is a single run; these runs show how much it varies.")
    if any(verdict.timed for verdict in verdicts):
        notes.append("timed: the runs need an idle machine (--jobs 1).")
    return notes
