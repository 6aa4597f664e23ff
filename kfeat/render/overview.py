"""Many experiments at once: the scoreboard of `kfeat check --all`, a paper's page, and what is open.

More runs decide a verdict that is open, or an interval that is too wide: its half-width h falls as
1 / sqrt(n) with the number n of runs. A verdict is decided once h is below the distance d of our number from
the bound: by n (h / d)^2 runs, if mean and spread stay as they are. Where n is small, fewer may do, since
Student's quantile falls too. Against a printed number a part p of h is that of the paper's own runs and of
rounding: n (h^2 - p^2) / (d^2 - p^2) runs, and none if p is above d.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, inf, sqrt
from pathlib import Path

from kfeat.analysis.cells import Cell, error_of
from kfeat.analysis.claims import OPEN
from kfeat.analysis.judgement import (
    OF_PAPERS,
    PRINTED,
    SHORT,
    UNEXPLAINED,
    Disagreement,
    Judgement,
    in_short,
    tallies,
)
from kfeat.analysis.numbers import TOO_WIDE, WITHIN_ERROR, Reproduction
from kfeat.analysis.statistics import Summary, welch_half_width
from kfeat.experiments.estimates import wall_seconds
from kfeat.experiments.paper import Reported, ReportedNumber
from kfeat.render.table import MISSING, Table, bullets, paragraph, readable, time
from kfeat.render.verdicts import said_of

HEADERS = ("config", "rows from", "numbers", "claims", "own claims", "cells", "time")
LEGEND = (
    "numbers: what the paper prints; claims: what its prose says; own claims: what kfeat's own experiments "
    "ask",
    "time: what the rows took, one after another; a row that several configs share counts in each",
)
CELLS = "cells: ours held against the published rows"
MOST = 256  # times the present runs; beyond it a number of runs is of no use
FIRST = 3  # runs that show how much a cell varies
_OPEN_HEADERS = ("time", "runs", "needed", "config", "what is open")


def passes(judgements: Sequence[Judgement]) -> bool:
    """Tell whether there is something to judge, and nothing unexplained, regressed or failed."""
    has_rows = any(judgement.has_rows for judgement in judgements)
    return has_rows and all(judgement.passes for judgement in judgements)


def terminal(judgements: Sequence[Judgement], width: int | None = None, details: bool = True) -> str:
    """Return the scoreboard for a terminal with `width` characters a line.

    With `details` it says what differs and is missing of each config, and has all tallies; without them it
    says so of those configs alone that fail.
    """
    lines = [_line(judgement, judgement.experiment.name) for judgement in judgements]
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


def markdown(judgements: Sequence[Judgement], results: Path) -> str:
    """Return the scoreboard for a Markdown file beside `results`, each line linked to its published table.

    A column is left out where it says nothing or the same of all, and a config without a printed number and a
    claim.
    """
    lines = []
    for judgement in judgements:
        name = judgement.experiment.name
        page = results / name / "table.md"
        if judgement.experiment.reported or judgement.experiment.claims:
            lines.append(_line(judgement, f"[{name}]({page.as_posix()})" if page.exists() else name))
    nothing = {"–", "no rows"}
    with_rows = [line for line in lines if "no rows" not in line and {*line[1:]} - nothing]
    varying = [
        i
        for i in range(len(HEADERS))
        if len({line[i] for line in lines} - nothing) > 1 or len({line[i] for line in with_rows}) > 1
    ]
    shown = [[line[i] for i in varying] for line in lines]
    board = Table([HEADERS[i] for i in varying], shown).markdown(str)
    return "\n\n".join([bullets(in_short(judgements)), board, bullets(LEGEND)]) + "\n"


def papers(judgements: Sequence[Judgement], results: Path) -> str:
    """Return a line for each paper with a page of its own, for a Markdown file beside `results`."""
    lines = []
    for page in sorted(results.glob("*/README.md")):
        folder = f"{page.parent.name}/"
        part = [judgement for judgement in judgements if judgement.experiment.name.startswith(folder)]
        counts = tallies(part)
        if PRINTED in counts or OF_PAPERS[0] in counts:
            title, finding = _title_and_finding(page.read_text(encoding="utf-8"))
            shares = [_agreeing(counts.get(kind, {})) for kind in (PRINTED, OF_PAPERS[0])]
            lines.append([f"[{title.partition(':')[0]}]({page.as_posix()})", finding, *shares])
    return Table(("paper", "finding", "numbers that agree", "claims that agree"), lines).markdown(str)


def _title_and_finding(page: str) -> tuple[str, str]:
    """Return the title of a paper's page, and its finding in a sentence; empty where it has none."""
    finding = re.search(r"<!-- finding \S+ -->\n\*\*(.+?)\*\*\n", page)
    return page.partition("\n")[0].removeprefix("# ").strip(), finding[1] if finding else ""


def _agreeing(counts: Mapping[str, int]) -> str:
    """Return how many agree, such as `38 of 52`."""
    agree = sum(n for verdict, n in counts.items() if verdict in SHORT["agree"])
    return f"{agree} of {sum(counts.values())}" if counts else "–"


def not_explained(judgements: Sequence[Judgement]) -> list[str]:
    """Return by name what differs from the paper without an explanation that its evidence bears out.

    What the config says the same of is one item.
    """
    lines = []
    for said, group in alike(judgements, UNEXPLAINED):
        named = "; ".join(_sides(disagreement) for _, disagreement in group)
        lines.append(f"{named}. {said}".rstrip())
    return lines


def alike(
    judgements: Sequence[Judgement], verdicts: Collection[str]
) -> list[tuple[str, list[tuple[Judgement, Disagreement]]]]:
    """Return the differences of these verdicts, each once, by what the configs say of them.

    Those of which a config says nothing are groups of one.
    """
    groups: dict[str, list[tuple[Judgement, Disagreement]]] = {}
    seen = set()
    for judgement in judgements:
        for item in judgement.disagreements():
            said = said_of(item.said, item.cited, item.verdict)
            key = (_sides(item), said)
            if item.verdict in verdicts and key not in seen:
                seen.add(key)
                groups.setdefault(said or f"\0{item.what}", []).append((judgement, item))
    return [("" if said.startswith("\0") else said, group) for said, group in groups.items()]


def _line(judgement: Judgement, name: str) -> list[str]:
    place = judgement.place if judgement.has_rows else "no rows"
    return [name, place, *map(_counted, judgement.counts().values()), time(judgement.seconds or None)]


def _counted(counts: Mapping[str, int]) -> str:
    return "; ".join(f"{n} {verdict}" for verdict, n in counts.items()) or "–"


def _details(judgement: Judgement, width: int | None) -> str:
    """Return the experiment's name and what differs, fails or is missing; or nothing."""
    name = judgement.experiment.name
    if not judgement.has_rows:
        return f"{name}\n  missing: all of it; `kfeat run {judgement.experiment.path}` makes it"
    lines = []
    for item in judgement.disagreements():
        lines.append(paragraph(f"{item.verdict}: {_sides(item)}", width=width))
        if words := said_of(item.said, item.cited, item.verdict):
            lines.append(paragraph(words, "      ", width))
    texts = [
        f"regressed: {judgement.names.of(regressed.cell)}: {regressed.change:+.3g}, "
        f"beyond ±{regressed.limit:.3g} ({regressed.test})"
        for regressed in judgement.comparisons
        if regressed.verdict == "regressed"
    ]
    texts += [f"failed: trial {row['id']}: {row['reason']}" for row in judgement.failed]
    if missing := judgement.missing():
        texts.append(f"missing: {'; '.join(missing)}")
    lines += [paragraph(text, width=width) for text in texts]
    return "\n".join([name, *lines]) if lines else ""


def _sides(item: Disagreement) -> str:
    return f"{item.what}: ours {item.ours}; paper {item.paper}"


def tally_lines(judgements: Sequence[Judgement]) -> list[str]:
    """Return a line per tally, such as `printed numbers: 54: 14 within the error; ...`."""
    kinds = tallies(judgements).items()
    return [f"{kind}: {sum(counts.values())}: {_counted(counts)}" for kind, counts in kinds]


def largest_differences(judgements: Sequence[Judgement], count: int = 3) -> list[str]:
    """Return a line for each of the printed means that ours are farthest from, each number once."""
    lines: dict[tuple[str, float], tuple[float, str]] = {}
    for judgement in judgements:
        for judged in judgement.numbers:
            for item in judged.reproductions:
                number, text = judged.number, item.quantity.text
                sides = f"ours {text(item.ours.mean, item.ours.sd)}, paper {text(number.mean, number.sd)}"
                line = f"{number.where}, {judgement.names.of(item.cell)}: {sides}; {judged.of(item)}"
                lines[item.cell.trial.cell, number.mean] = (abs(item.difference), line)
    return [line for _, line in sorted(lines.values(), reverse=True)[:count]]


@dataclass(frozen=True)
class Undecided:
    """A verdict that is open or too wide to tell, and what would decide it.

    `runs` is the smallest number of runs of its cells now, and `needed` the number that decides it; None: it
    is more than MOST times as many. `seconds` is the time of the further runs, one after another. `timed`:
    they need an idle machine. `first`: a cell has a single run, so that its spread is not known, and `needed`
    only shows it.
    """

    experiment: str
    what: str
    verdict: str
    runs: int
    needed: int | None
    seconds: float
    timed: bool
    first: bool = False


def undecided(judgements: Iterable[Judgement]) -> list[Undecided]:
    """Return every verdict that is open or too wide: the cheapest first, those that no runs decide last."""
    verdicts = [
        verdict
        for judgement in judgements
        for verdict in (*_undecided_numbers(judgement), *_undecided_claims(judgement))
    ]
    return sorted(verdicts, key=lambda verdict: (verdict.needed is None, verdict.seconds))


def _undecided_numbers(judgement: Judgement) -> Iterator[Undecided]:
    reported = judgement.experiment.reported
    for judged in judgement.numbers:
        number, wide = judged.number, judged.verdict == WITHIN_ERROR and judged.certainty == TOO_WIDE
        if reported is not None and (wide or judged.verdict == OPEN):
            factor = max(_factor(reproduction, number, reported) for reproduction in judged.reproductions)
            what = f"{number.where}: {judgement.names.of(judged.cells[0])}"
            timed = judged.cells[0].named(number.of).timed
            yield _undecided(judgement, what, TOO_WIDE if wide else OPEN, judged.cells, timed, factor)


def _factor(item: Reproduction, number: ReportedNumber, reported: Reported) -> float:
    """Return (h^2 - p^2) / (d^2 - p^2): d is the distance from 0 or from the slack, whichever is farther."""
    error = error_of(item.cell, number.of)
    if item.interval is None or error is None or not item.cell.drawn:
        return inf
    runs = number.runs or reported.runs
    printed = Summary(number.mean, number.sd, runs).error or (error[0] * sqrt(item.ours.n / runs), inf)
    paper = welch_half_width(printed) + item.quantity.rounding
    half = (item.interval[1] - item.interval[0]) / 2
    distance = max(abs(item.difference), item.slack - abs(item.difference))
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
    return Undecided(judgement.experiment.name, what, verdict, runs, needed, seconds, timed, first)


def undecided_terminal(verdicts: Sequence[Undecided], width: int | None = None) -> str:
    """Return a line for each verdict, the cheapest first, and the sum of their times."""
    if not verdicts:
        return "nothing is open"
    lines = [_undecided_line(verdict) for verdict in verdicts]
    shown = Table(_OPEN_HEADERS, lines, (3, 4), (0, 1, 2)).terminal(readable(width))
    return "\n\n".join([shown, *(paragraph(note, "", width) for note in _notes(verdicts))])


def undecided_markdown(verdicts: Sequence[Undecided]) -> str:
    """Return the same for a Markdown file, with a count of those that more runs do not decide."""
    parts = _notes(verdicts)
    undecidable = Counter(verdict.experiment for verdict in verdicts if verdict.needed is None)
    if undecidable:
        counts = [f"{name} {count}" for name, count in sorted(undecidable.items())]
        parts.append(f"Those are: {', '.join(counts)}.")
    lines = [_undecided_line(verdict) for verdict in verdicts if verdict.needed is not None]
    return "\n\n".join([*parts, Table(_OPEN_HEADERS, lines).markdown(str)])


def _undecided_line(item: Undecided) -> list[str]:
    seconds, needed = MISSING, MISSING
    if item.needed is not None:
        seconds = time(item.seconds)
        needed = f"{item.needed}" + " (first)" * item.first + " (timed)" * item.timed
    return [seconds, str(item.runs), needed, item.experiment, f"{item.what} ({item.verdict})"]


def _notes(verdicts: Sequence[Undecided]) -> list[str]:
    """Return the sums, and what the words in the lines mean."""
    decided = [verdict for verdict in verdicts if verdict.needed is not None]
    seconds = sum(verdict.seconds for verdict in decided)
    notes = [
        f"{len(verdicts)} verdicts are open or too wide to tell; more runs would decide {len(decided)} of "
        f"them, in at most {time(seconds)} one after another (verdicts that share runs are counted twice)."
    ]
    if rest := len(verdicts) - len(decided):
        notes.append(
            f"{rest} would stay as they are with {MOST} times the runs: the error is that of the paper's own "
            "runs, or of a fit, or our number lies at the bound."
        )
    if any(verdict.first for verdict in verdicts):
        notes.append("first: there is a single run; these runs show how much it varies.")
    if any(verdict.timed for verdict in verdicts):
        notes.append("timed: the runs need an idle machine (--jobs 1).")
    return notes
