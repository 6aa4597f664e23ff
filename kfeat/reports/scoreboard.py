"""The scoreboard of `kfeat check`: verdicts as text, and whether they pass."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tabulate import tabulate

from kfeat.experiments.config import Experiment
from kfeat.experiments.store import Row
from kfeat.reports.cells import Cell, setting
from kfeat.reports.labels import method
from kfeat.reports.verdict import FALSE_ALARM, FLIP_SHARE, comparisons, reproductions


def scoreboard(
    experiment: Experiment, cells: Sequence[Cell], published: Mapping[str, Row], folder: Path
) -> tuple[str, bool]:
    """Return the verdicts on one experiment as text, and whether all of them pass."""
    if not any(cell.rows or cell.failed for cell in cells):
        return f"{experiment.title}: no rows in {folder}; `kfeat run {experiment.path}` makes them", False
    paper, paper_passes = _against_paper(experiment, cells)
    own, own_passes = _against_published(cells, published)
    failed = [f"failed: trial {row['id']}: {row['reason']}" for cell in cells for row in cell.failed]
    missing = [f"missing: {_name(cell, cells)}" for cell in cells if not cell.rows and not cell.failed]
    text = "\n".join([experiment.title, *paper, *own, *failed, *missing]) + "\n"
    return text, paper_passes and own_passes and not failed


def rerun_scoreboard(
    experiment: Experiment, cells: Sequence[Cell], published: Mapping[str, Row]
) -> tuple[str, bool]:
    """Return how trials that were run again compare with their published rows, and whether all are met."""
    own, passes = _against_published(cells, published)
    failed = [f"failed: trial {row['id']}: {row['reason']}" for cell in cells for row in cell.failed]
    return "\n".join([experiment.title, *own, *failed]) + "\n", passes and not failed


def _name(cell: Cell, cells: Sequence[Cell]) -> str:
    peers = [other for other in cells if setting(other) == setting(cell)]
    text = method(cell, peers)
    if len(peers) == len(cells):
        return text
    return f"{cell.trial.describe()['dataset']}, {cell.trial.kernel.build().formula}, {text}"


def _against_paper(experiment: Experiment, cells: Sequence[Cell]) -> tuple[list[str], bool]:
    reported = experiment.reported
    if reported is None:
        return [], True
    lines, explanations = [], []
    found = reproductions(cells, reported.slack, reported.runs)
    for item in found:
        number = item.cell.reported
        assert number is not None
        metric = item.cell.metric
        interval = "–" if item.interval is None else f"[{', '.join(map(metric.change, item.interval))}]"
        name = _name(item.cell, cells)
        verdict = item.verdict + (", explained" if item.verdict == "differs" and number.explanation else "")
        ours = metric.text(item.ours.mean, item.ours.sd)
        theirs = metric.text(number.mean, number.sd)
        runs = f"{item.ours.n}/{len(item.cell.trials)}"
        lines.append(
            [name, ours, runs, theirs, metric.change(item.difference), interval, verdict, number.where]
        )
        if number.explanation:
            explanations.append(f"  {name}: {number.explanation}")
    headers = [
        "against the paper",
        "ours",
        "runs",
        "paper",
        "difference",
        "95 % interval",
        "verdict",
        "where",
    ]
    text = tabulate(lines, headers, disable_numparse=True)
    note = (
        f"reproduced: within {reported.slack:g} (points of accuracy, or relative error) of {reported.source}"
    )
    there = [cell.reported for cell in cells]
    absent = [
        f"not in this plan: {number.where}, {number.mean:g} for {number.cell}"
        for number in reported.numbers
        if number not in there
    ]
    return ["", text, *explanations, note, *absent], not any(item.fails for item in found)


def _against_published(cells: Sequence[Cell], published: Mapping[str, Row]) -> tuple[list[str], bool]:
    if not published:
        return ["", "against the published rows: none are published"], True
    found = comparisons(cells, published)
    lines = [
        [_name(item.cell, cells), f"{item.change:+.3f}", f"±{item.limit:.3f}", item.test, item.verdict]
        for item in found
    ]
    headers = ["against the published rows", "change", "limit", "test", "verdict"]
    note = (
        f"false alarms: at most {FALSE_ALARM:g} a check, if rounding flips at most {100 * FLIP_SHARE:g} % of "
        "the predictions"
    )
    return ["", tabulate(lines, headers, disable_numparse=True), note], all(
        i.verdict == "same" for i in found
    )
