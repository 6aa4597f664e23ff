"""The verdicts on an experiment's printed numbers and claims: lines of a table, and its Markdown."""

from collections.abc import Sequence
from math import inf

from tabulate import tabulate

from kfeat.analysis.cells import Cell
from kfeat.analysis.claims import MISSING as UNDECIDED
from kfeat.analysis.claims import REPRODUCED, Cited
from kfeat.analysis.names import cell_name
from kfeat.analysis.numbers import AGREE, TIME_FACTOR, NumberVerdict, PrintedRatio, Reproduction
from kfeat.analysis.standing import UNEXPLAINED, Standing
from kfeat.experiments.paper import PRINTED_TIMES, Explained, Reported
from kfeat.render import text
from kfeat.render.escapes import markdown_verdict

NUMBER_HEADERS = ("number", "ours", "runs", "paper", "difference", "95 % interval", "verdict", "where")
_RATIO, _TIME_RATIO = ("ours / paper", "verdict"), ("ours / paper's", "its verdict")
BESIDE_WORDS = ("number", *_RATIO, *_TIME_RATIO)  # the columns of words beside those of numbers
CLAIM_HEADERS = ("claim", "where", "ours", "paper", "verdict")
MISSING = "–"
KINDS = {"paper": "", "stand_in": "on stand-in data", "own": "kfeat's own"}


def number_lines(standing: Standing) -> list[list[str]]:
    """Return a line per printed number and cell that it speaks of."""
    return [line for _, _, line in number_entries(standing)]


def number_entries(standing: Standing) -> list[tuple[NumberVerdict, Cell, list[str]]]:
    """Return each printed number with each cell that it speaks of, and its line under NUMBER_HEADERS."""
    entries = []
    for item in standing.numbers:
        judged = {id(found.cell): found for found in item.reproductions}
        for cell in item.cells:
            difference, verdict = _compared(item, judged.get(id(cell)))
            number, quantity = item.number, cell.named(item.number.of)
            found = cell.of(number.of)
            ours = quantity.text(found.mean, found.sd) if found else MISSING
            runs, theirs = f"{len(cell.rows)}/{len(cell.trials)}", quantity.text(number.mean, number.sd)
            name = cell_name(cell, standing.cells)
            line = [name, ours, runs, theirs, *difference, verdict, number.where]
            entries.append((item, cell, line))
    return entries


def _compared(item: NumberVerdict, found: Reproduction | None) -> tuple[list[str], str]:
    """Return the difference with its interval, and the verdict."""
    if found is None:
        return [MISSING, MISSING], "missing"
    change = found.quantity.change
    interval = MISSING if found.interval is None else f"[{', '.join(map(change, found.interval))}]"
    return [change(found.difference), interval], item.of(found)


def beside_headers(standing: Standing) -> list[str]:
    """Return the headers of `beside_lines`: of the deviations, and of each kind of time."""
    headers = ["number", "deviation", "paper", *_RATIO]
    for name in _times(standing):
        headers += [PRINTED_TIMES[name].name, "runs", PRINTED_TIMES[name].title, *_TIME_RATIO]
    return headers


def _times(standing: Standing) -> list[str]:
    """Return the quantities whose seconds have columns: `fit` always, others where a time is printed."""
    printed = {name for item in standing.numbers for name in item.number.times}
    return [name for name in PRINTED_TIMES if name == "fit" or name in printed]


def beside_lines(standing: Standing) -> list[list[str]]:
    """Return a line per printed number with a standard deviation or a time: how ours compare with these."""
    lines, shown = [], _times(standing)
    for item in standing.numbers:
        for cell in item.cells:
            deviation, times = item.deviation(cell), item.times(cell)
            if deviation is None and not times:
                continue
            quantity, scores = cell.named(item.number.of), cell.of(item.number.of)
            ours = quantity.text(scores.sd) if scores and scores.sd is not None else MISSING
            theirs = MISSING if not item.number.sd else quantity.text(item.number.sd)
            line = [cell_name(cell, standing.cells), ours, theirs, *_ratio(deviation)]
            for name in shown:
                seconds = cell.of(name)
                line += [text.time(seconds.mean), str(seconds.n)] if seconds else [MISSING, "0"]
                line += [item.number.times.get(name, MISSING), *_ratio(times.get(name))]
            lines.append(line)
    return lines


def _ratio(found: PrintedRatio | None) -> list[str]:
    """Return a ratio with its interval, and its verdict."""
    if found is None or found.interval is None:
        return [MISSING, MISSING if found is None else found.verdict]
    low, high = found.interval
    upper = "∞" if high == inf else text.factor(high)
    return [f"{text.factor(found.number)} [{text.factor(low)}, {upper}]", found.verdict]


def number_notes(standing: Standing) -> list[str]:
    """Return why numbers differ, when a number counts as reproduced, and what the plan lacks."""
    reported = standing.experiment.reported
    if reported is None or not standing.numbers:
        return []
    said = [
        (cell_name(item.cells[0], standing.cells), words)
        for item in standing.numbers
        if item.cells
        and item.verdict not in AGREE
        and (words := said_of(item.number, item.cited, item.verdict))
    ]
    return [*(f"{name}: {words}" for name, words in said), *number_rules(standing)]


def number_rules(standing: Standing) -> list[str]:
    """Return when a number counts as reproduced, and what the plan lacks."""
    reported = standing.experiment.reported
    if reported is None or not standing.numbers:
        return []
    return [
        "within the error, within the slack: the difference is at most "
        f"{_slack(reported)}, or two of the printed standard deviations, of {reported.source}; "
        "within the error if its 95 % interval has 0 inside",
        *(
            f"not in this plan: {item.number.where}, {item.number.mean:g} for {item.number.cell}"
            for item in standing.numbers
            if not item.cells
        ),
    ]


def _slack(reported: Reported) -> str:
    own = [number for number in reported.numbers if number.slack]
    if own and len(own) == len(reported.numbers):
        return "the slack that the config gives each number"
    some = ", or what the config gives some numbers of their own" * bool(own)
    return f"{reported.slack:g} (points of accuracy, or relative error){some}"


def beside_notes(standing: Standing) -> list[str]:
    """Return when a standard deviation and a time count as alike, and whose machines took the times."""
    reported = standing.experiment.reported
    if reported is None or not beside_lines(standing):
        return []
    theirs = f"; theirs on {reported.machine}" if reported.machine else ""
    return [
        "a deviation is alike where the 95 % F interval of the ratio has 1 inside, else wider or narrower",
        f"a time is alike within a factor of {TIME_FACTOR:g}, else quicker or slower: CPU seconds, ours on "
        f"{_processors(standing)}{theirs}",
    ]


def _processors(standing: Standing) -> str:
    rows = (row for cell in standing.cells for row in cell.rows)
    return " and ".join(dict.fromkeys(row["environment"]["processor"] for row in rows)) or "no machine yet"


def said_of(said: Explained, cited: Sequence[Cited], verdict: str) -> str:
    """Return what a config says of a difference, with the claims that it rests on; or nothing."""
    if verdict == UNDECIDED:
        return ""
    if said.unexplained and verdict in UNEXPLAINED:
        return f"not explained: {said.unexplained}"
    if not said.explanation:
        return ""
    shown = ", ".join(f"{one.citation} ({one.verdict})" for one in cited) or "none, so nothing is explained"
    return f"{said.explanation.rstrip()} Evidence: {shown}."


def claim_lines(standing: Standing) -> list[list[str]]:
    """Return a line per claim."""
    return [
        [
            f"{i}. {item.claim.text}",
            ", ".join(part for part in (item.claim.where, KINDS[item.claim.kind]) if part),
            item.ours,
            item.paper,
            item.verdict,
        ]
        for i, item in enumerate(standing.claims, start=1)
    ]


def claim_notes(standing: Standing) -> list[str]:
    """Return, by their numbers, which bounds came after the rows, and why claims do not stand as printed."""
    notes = []
    for i, item in enumerate(standing.claims, start=1):
        if item.claim.bound_before:
            notes.append(
                f"{i}. The bound was set after the rows were seen; before: {item.claim.bound_before}"
            )
        words = said_of(item.claim, item.cited, item.verdict)
        if words and item.verdict != REPRODUCED:
            notes.append(f"{i}. {words}")
    return notes


def verdicts_markdown(standing: Standing) -> str:
    """Return the verdicts as sections of a Markdown file; empty if nothing is printed and claimed."""
    numbers = _section("Printed numbers", NUMBER_HEADERS, number_lines(standing), number_notes(standing))
    beside = _section(
        "Printed deviations and times",
        beside_headers(standing),
        beside_lines(standing),
        beside_notes(standing),
    )
    claims = _section("Claims", CLAIM_HEADERS, claim_lines(standing), claim_notes(standing))
    return numbers + beside + claims


def _section(title: str, headers: Sequence[str], lines: Sequence[Sequence[str]], notes: Sequence[str]) -> str:
    if not lines and not notes:
        return ""
    table = tabulate(
        [[markdown_verdict(cell) for cell in line] for line in lines],
        headers,
        tablefmt="github",
        disable_numparse=True,
    )
    body = f"{table}\n\n" if lines else ""
    return f"\n## {title}\n\n{body}" + "".join(f"- {markdown_verdict(note)}\n" for note in notes)
