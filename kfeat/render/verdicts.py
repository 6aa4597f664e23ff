"""The verdicts on one experiment: on its printed numbers, its claims, and against its published rows."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from kfeat.analysis import claims, comparisons, numbers
from kfeat.analysis.claims import Cited
from kfeat.analysis.comparisons import ABSOLUTE_ROUNDING, FALSE_ALARM, FLIP_SHARE, RELATIVE_ROUNDING
from kfeat.analysis.judgement import UNEXPLAINED, Judgement
from kfeat.analysis.numbers import AGREES, TIME_FACTOR, NumberVerdict, PrintedRatio, Reproduction
from kfeat.experiments.paper import PRINTED_TIMES, Explainable
from kfeat.experiments.quantities import SCORE
from kfeat.experiments.run import other_settings
from kfeat.render.markup import markdown_verdict
from kfeat.render.numbers import MISSING, factor_text, time
from kfeat.render.table import Table, paragraph, readable
from kfeat.text import plain

NUMBER_HEADERS = ("number", "ours", "runs", "paper", "difference", "95 % interval", "verdict", "where")
CLAIM_HEADERS = ("claim", "where", "ours", "paper", "verdict")
CLAIM_KINDS = {"paper": "", "stand_in": "on stand-in data", "own": "kfeat's own"}
_RATIO, _TIME_RATIO = ("ours / paper", "verdict"), ("ours / paper's", "its verdict")
# What a verdict says in a word, for which pages have a colour and a sign, and terminals a colour.
TONES = {
    **dict.fromkeys((AGREES, numbers.ALIKE, claims.REPRODUCED, "quicker", comparisons.SAME), "good"),
    claims.DIRECTION_ONLY: "half",
    **dict.fromkeys((numbers.COMPATIBLE, claims.OPEN, "narrower", "wider", "slower"), "open"),
    **dict.fromkeys((numbers.EXPLAINED, claims.EXPLAINED, claims.REFUTED), "explained"),
    **dict.fromkeys((numbers.UNEXPLAINED, claims.UNEXPLAINED, comparisons.REGRESSED), "bad"),
    numbers.MISSING: "none",
}
_table = partial(Table, tones=TONES)


def tables(judgement: Judgement) -> dict[str, Table]:
    """Return by title the verdicts on the printed numbers and curves, what stands beside, and the claims."""
    printed, notes = _number_lines(judgement), _number_notes(judgement)
    tables = {
        "Printed numbers": _table(NUMBER_HEADERS, printed, (0, 6, 7), notes=notes),
        "Printed curves": _curves(judgement),
        "Printed deviations and times": beside(judgement),
        "Claims": _table(CLAIM_HEADERS, claim_lines(judgement), range(5), notes=claim_notes(judgement)),
    }
    return {title: table for title, table in tables.items() if table.lines or table.notes}


def verdicts_markdown(judgement: Judgement) -> str:
    """Return the verdicts as sections of a Markdown file; empty if nothing is printed and claimed."""
    sections = ""
    for title, table in tables(judgement).items():
        sections += f"\n## {title}\n\n{table.markdown(markdown_verdict)}\n" + "\n" * (not table.notes)
    return sections


def scoreboard(
    judgement: Judgement, folder: Path, width: int | None = None, results: Path | None = None,
    against: Path | None = None,
) -> str:  # fmt: skip
    """Return the verdicts on one experiment: on numbers, claims and compared cells, and what is missing.

    `results` is the folder of its rows where they are the published ones, since `folder` has none. `against`
    is the folder of the other rows where these are not the published ones. A terminal has `width` characters
    a line.
    """
    experiment, run = judgement.experiment, f"`kfeat run {judgement.experiment.argument}` makes"
    others = ""
    if results is not None or not judgement.has_rows:
        others = other_settings(experiment, folder.parents[experiment.name.count("/")], "check")
    if not judgement.has_rows:
        return plain(f"{experiment.title}: {others or f'no rows in {folder}; {run} them'}")
    lines = [plain(experiment.title)]
    if results is not None:
        source = f"no rows in {folder}: these are the published ones of {results}; {run} your own"
        lines += [paragraph(text, "", width) for text in (source, others) if text]
    for table in tables(judgement).values():
        if table.headers is NUMBER_HEADERS:
            table = replace(table, headers=("against the paper", *table.headers[1:]))
        lines += ["", table.terminal(readable(width))]
    if judgement.has_published:
        lines += _compared_cells(judgement, width, against)
    elif against is not None:
        lines += ["", plain(f"against {against}: no method has rows in both")]
    elif results is None:
        lines += ["", "against the published rows: none are published"]
    if against is not None:
        both = {comparison.cell for comparison in judgement.comparisons}
        for cell in judgement.cells:
            if cell.rows and cell not in both:
                lines.append(paragraph(f"not in {against}: {judgement.names.of(cell)}", "", width))
    return "\n".join([*lines, *_lacking(judgement, width)]) + "\n"


def _compared_cells(judgement: Judgement, width: int | None, against: Path | None) -> list[str]:
    lines = []
    for compared in judgement.comparisons:
        style = ".3f" if compared.cell.named(SCORE).name == "accuracy" else ".2g"
        change, limit = f"{compared.change:+{style}}", f"±{compared.limit:{style}}"
        lines.append([judgement.names.of(compared.cell), change, limit, compared.test, compared.verdict])
    note = (
        f"false alarms: at most {FALSE_ALARM:g} a check, if rounding flips at most {100 * FLIP_SHARE:g} % of "
        f"the predictions and moves an error by at most {100 * RELATIVE_ROUNDING:g} % of it "
        f"and {ABSOLUTE_ROUNDING:g}"
    )
    headers = (f"against {against or 'the published rows'}", "change", "limit", "test", "verdict")
    return ["", _table(headers, lines, (0, 3)).terminal(readable(width)), paragraph(note, "", width)]


def _lacking(judgement: Judgement, width: int | None) -> list[str]:
    lines = [f"failed: trial {row['id']}: {row['reason']}" for row in judgement.failed]
    for cell in judgement.cells:
        if not cell.rows and not cell.failed:
            why = f", stopped: {cell.stopped[0]['reason']}" if cell.stopped else ""
            lines.append(f"missing: {judgement.names.of(cell)}{why}")
    return [paragraph(line, "", width) for line in lines]


def _number_lines(judgement: Judgement) -> list[list[str]]:
    """Return a line under NUMBER_HEADERS for each printed number and each cell that it speaks of."""
    lines = []
    for judged in judgement.numbers:
        reproductions = {reproduction.cell: reproduction for reproduction in judged.reproductions}
        for cell in judged.cells:
            number, quantity, ours = judged.number, cell.named(judged.number.of), cell.of(judged.number.of)
            line = [
                judgement.names.of(cell),
                quantity.text(ours.mean, ours.sd) if ours else MISSING,
                f"{len(cell.rows)}/{len(cell.trials)}",
                quantity.text(number.mean, number.sd),
                *_difference(judged, reproductions.get(cell)),
                number.where,
            ]
            lines.append(line)
    return lines


def _difference(judged: NumberVerdict, reproduction: Reproduction | None) -> list[str]:
    if reproduction is None:
        return [MISSING, MISSING, "missing"]
    change, interval = reproduction.quantity.change, reproduction.interval
    ends = MISSING if interval is None else f"[{', '.join(map(change, interval))}]"
    return [change(reproduction.difference), ends, judged.of(reproduction)]


def _number_notes(judgement: Judgement) -> list[str]:
    """Return why numbers differ, when a number agrees, and what the plan lacks."""
    reported, notes = judgement.experiment.reported, []
    for judged in judgement.numbers:
        words = explanation_of(judged.number, judged.cited, judged.verdict)
        if words and judged.cells:
            notes.append(f"{judgement.names.of(judged.cells[0])}: {words}")
    if reported is None or not judgement.numbers:
        return notes
    own = [number for number in reported.numbers if number.slack]
    slack = f"{reported.slack:g} (points of accuracy, or relative error)"
    if len(own) == len(reported.numbers):
        slack = "the slack that the config gives each number"
    elif own:
        slack += ", or what the config gives some numbers of their own"
    return [
        *notes,
        f"agrees: the whole 95 % interval of the difference lies within {slack}, or two of the printed "
        f"standard deviations, of {reported.source}; differs: it lies outside; compatible: it does neither",
        *(
            f"not in this plan: {judged.number.where}, {judged.number.mean:g} for {judged.number.cell}"
            for judged in judgement.numbers
            if not judged.cells
        ),
    ]


def _curves(judgement: Judgement) -> Table:
    """Return a line per printed curve, and when it agrees."""
    lines = []
    for curve in judgement.curves:
        counts = str(len(curve.points)), str(curve.samples)
        lines.append([curve.where, *counts, _ratio(curve.ratio)[0], curve.verdict])
    rule = (
        "a curve is one observation, since its points share their samples: ours / paper is the geometric "
        "mean over its points, with the 95 % interval of our samples and of the one that the paper is taken "
        "to have; its verdict is that of a number, with the mean slack of its points"
    )
    return _table(("curve", "points", "samples", *_RATIO), lines, (0, 3, 4), notes=[rule] if lines else [])


def beside(judgement: Judgement) -> Table:
    """Return a line per printed number with a standard deviation or a time: how ours compare with these.

    Of the times `fit` has columns always, another where one is printed.
    """
    printed = {name for judged in judgement.numbers for name in judged.number.times}
    names = [name for name in PRINTED_TIMES if name == "fit" or name in printed]
    headers = ["number", "deviation", "paper", *_RATIO]
    for name in names:
        headers += [PRINTED_TIMES[name].name, "runs", PRINTED_TIMES[name].title, *_TIME_RATIO]
    lines = []
    pairs = [(number, cell) for number in judgement.numbers for cell in number.cells]
    for judged, cell in pairs:
        number, deviation, times = judged.number, judged.deviation(cell), judged.times(cell)
        if deviation is None and not times:
            continue
        quantity, scores = cell.named(number.of), cell.of(number.of)
        ours = quantity.text(scores.sd) if scores and scores.sd is not None else MISSING
        theirs = quantity.text(number.sd) if number.sd else MISSING
        line = [judgement.names.of(cell), ours, theirs, *_ratio(deviation)]
        for name in names:
            seconds = cell.of(name)
            line += [time(seconds.mean), str(seconds.n)] if seconds else [MISSING, "0"]
            line += [number.times.get(name, MISSING), *_ratio(times.get(name))]
        lines.append(line)
    words = [i for i, header in enumerate(headers) if header in ("number", *_RATIO, *_TIME_RATIO)]
    return _table(headers, lines, words, notes=_beside_notes(judgement) if lines else [])


def _ratio(ratio: PrintedRatio | None) -> list[str]:
    if ratio is None or ratio.interval is None:
        return [MISSING, MISSING if ratio is None else ratio.verdict]
    low, high = ratio.interval
    return [f"{factor_text(ratio.number)} [{factor_text(low)}, {factor_text(high)}]", ratio.verdict]


def _beside_notes(judgement: Judgement) -> list[str]:
    """Return when a standard deviation and a time count as alike, and whose machines took the times."""
    reported = judgement.experiment.reported
    assert reported is not None
    rows = (row for cell in judgement.cells for row in cell.rows)
    ours = " and ".join(dict.fromkeys(row["environment"]["processor"] for row in rows)) or "no machine yet"
    theirs = f"; theirs on {reported.machine}" if reported.machine else ""
    return [
        "a deviation is alike where the 95 % F interval of the ratio has 1 inside, else wider or narrower",
        f"a time is alike within a factor of {TIME_FACTOR:g}, else quicker or slower: CPU seconds, ours on "
        f"{ours}{theirs}",
    ]


def explanation_of(entry: Explainable, cited: Sequence[Cited], verdict: str) -> str:
    """Return what a config says of a difference, where there is one, with the claims that it rests on."""
    if verdict in (AGREES, numbers.COMPATIBLE, claims.MISSING):
        return ""
    if entry.unexplained and verdict in UNEXPLAINED:
        return f"not explained: {entry.unexplained}"
    if not entry.explanation:
        return ""
    evidence = ", ".join(f"{claim.citation} ({claim.verdict})" for claim in cited)
    return f"{entry.explanation.rstrip()} Evidence: {evidence or 'none, so nothing is explained'}."


def claim_lines(judgement: Judgement) -> list[list[str]]:
    """Return a line per claim."""
    lines = []
    for i, judged in enumerate(judgement.claims, start=1):
        where = ", ".join(filter(None, (judged.claim.where, CLAIM_KINDS[judged.claim.kind])))
        lines.append([f"{i}. {judged.claim.text}", where, judged.ours, judged.paper, judged.verdict])
    return lines


def claim_notes(judgement: Judgement) -> list[str]:
    """Return, by their numbers, which bounds came after the rows, and why claims are open or not reproduced.

    Of the open ones these are those that only the correction for several cases leaves open.
    """
    notes = []
    for i, judged in enumerate(judgement.claims, start=1):
        if judged.correction:
            notes.append(f"{i}. {judged.correction}.")
        if before := judged.claim.bound_before:
            notes.append(f"{i}. The bound was set after the rows were seen; before: {before}")
        words = explanation_of(judged.claim, judged.cited, judged.verdict)
        if words and judged.verdict != claims.REPRODUCED:
            notes.append(f"{i}. {words}")
    return notes
