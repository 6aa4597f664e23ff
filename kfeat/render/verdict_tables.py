"""The verdicts on an experiment's printed numbers and claims: lines of a table, and its Markdown."""

from collections.abc import Sequence

from tabulate import tabulate

from kfeat.analysis.claims import REPRODUCED
from kfeat.analysis.names import cell_name
from kfeat.analysis.standing import Standing
from kfeat.analysis.verdicts import NumberVerdict, Reproduction
from kfeat.render.escapes import markdown_verdict

NUMBER_HEADERS = ("number", "ours", "runs", "paper", "difference", "95 % interval", "verdict", "where")
CLAIM_HEADERS = ("claim", "where", "ours", "paper", "verdict")
MISSING = "–"


def number_lines(standing: Standing) -> list[list[str]]:
    """Return a line per printed number and cell that it speaks of."""
    lines = []
    for item in standing.numbers:
        judged = {id(found.cell): found for found in item.reproductions}
        for cell in item.cells:
            difference, verdict = _compared(item, judged.get(id(cell)))
            number, quantity = item.number, cell.named(item.number.of)
            found = cell.of(number.of)
            ours = quantity.text(found.mean, found.sd) if found else MISSING
            runs, theirs = f"{len(cell.rows)}/{len(cell.trials)}", quantity.text(number.mean, number.sd)
            name = cell_name(cell, standing.cells)
            lines.append([name, ours, runs, theirs, *difference, verdict, number.where])
    return lines


def _compared(item: NumberVerdict, found: Reproduction | None) -> tuple[list[str], str]:
    """Return the difference with its interval, and the verdict."""
    if found is None:
        return [MISSING, MISSING], "missing"
    change = found.quantity.change
    interval = MISSING if found.interval is None else f"[{', '.join(map(change, found.interval))}]"
    verdict = item.verdict if found.verdict == "differs" else found.verdict
    return [change(found.difference), interval], verdict


def number_notes(standing: Standing) -> list[str]:
    """Return why numbers differ, when a number counts as reproduced, and what the plan lacks."""
    reported = standing.experiment.reported
    if reported is None or not standing.numbers:
        return []
    explained = [item for item in standing.numbers if item.cells and item.number.explanation]
    return [
        *(f"{cell_name(item.cells[0], standing.cells)}: {item.number.explanation}" for item in explained),
        f"reproduced: within {reported.slack:g} (points of accuracy, or relative error), or within two of "
        f"the printed standard deviations, of {reported.source}",
        *(
            f"not in this plan: {item.number.where}, {item.number.mean:g} for {item.number.cell}"
            for item in standing.numbers
            if not item.cells
        ),
    ]


def claim_lines(standing: Standing) -> list[list[str]]:
    """Return a line per claim."""
    return [
        [f"{i}. {item.claim.text}", item.claim.where, item.ours, item.paper, item.verdict]
        for i, item in enumerate(standing.claims, start=1)
    ]


def claim_notes(standing: Standing) -> list[str]:
    """Return why claims do not stand as printed, by their numbers."""
    return [
        f"{i}. {item.claim.explanation}"
        for i, item in enumerate(standing.claims, start=1)
        if item.claim.explanation and item.verdict != REPRODUCED
    ]


def verdicts_markdown(standing: Standing) -> str:
    """Return the verdicts as sections of a Markdown file; empty if nothing is printed and claimed."""
    numbers = _section("Printed numbers", NUMBER_HEADERS, number_lines(standing), number_notes(standing))
    claims = _section("Claims", CLAIM_HEADERS, claim_lines(standing), claim_notes(standing))
    return numbers + claims


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
