"""What the page of a paper says of its experiments: tallies, the largest differences, and each in short."""

from collections.abc import Iterable, Sequence

from tabulate import tabulate

from kfeat.analysis.names import cell_name
from kfeat.analysis.numbers import WITHIN_ERROR, WITHIN_SLACK, NumberVerdict, Reproduction
from kfeat.analysis.standing import Standing
from kfeat.analysis.tallies import tallies
from kfeat.render.escapes import markdown_verdict
from kfeat.render.verdict_tables import KINDS, claim_notes, said_of


def tally_lines(standings: Sequence[Standing]) -> list[str]:
    """Return a line per tally, such as `printed numbers: 54: 14 within the error; ...`."""
    return [
        f"{tally.what}: {tally.total}: " + "; ".join(f"{n} {verdict}" for verdict, n in tally.counts.items())
        for tally in tallies(standings)
    ]


def largest_differences(standings: Sequence[Standing], count: int = 3) -> list[str]:
    """Return a line for each of the printed means that ours are farthest from, each number once."""
    found: dict[tuple[str, float], tuple[float, str]] = {}
    for standing in standings:
        for item in standing.numbers:
            for one in item.reproductions:
                text = f"{item.number.where}, {_sides(item, one, standing)}; {item.of(one)}"
                found[one.cell.trial.cell, item.number.mean] = (abs(one.difference), text)
    return [text for _, text in sorted(found.values(), reverse=True)[:count]]


def _sides(item: NumberVerdict, one: Reproduction, standing: Standing) -> str:
    """Return a cell's name, our mean and the printed one."""
    ours = one.quantity.text(one.ours.mean, one.ours.sd)
    theirs = one.quantity.text(item.number.mean, item.number.sd)
    return f"{cell_name(one.cell, standing.cells)}: ours {ours}, paper {theirs}"


def bullets(lines: Iterable[str]) -> str:
    """Return the lines as a list in Markdown."""
    return "\n".join(f"- {markdown_verdict(line)}" for line in lines)


def summary(standing: Standing) -> str:
    """Return the verdicts on an experiment in Markdown: what is printed in a line each, claims in a table."""
    lost = "printed, but lost"
    lines = [x for x in tally_lines([standing]) if x.startswith("printed") and not x.startswith(lost)]
    for item in standing.numbers:
        for one in item.reproductions:
            if item.of(one) not in (WITHIN_ERROR, WITHIN_SLACK):
                said = said_of(item.number, item.cited, item.verdict)
                lines.append(f"{_sides(item, one, standing)}; {item.of(one)}. {said}".rstrip())
    parts = [bullets(lines)] if lines else []
    if standing.claims:
        table = [
            [f"{i}. {claim.text} ({', '.join(filter(None, (claim.where, KINDS[claim.kind])))})", *beside]
            for i, (claim, beside) in enumerate(
                ((item.claim, (item.ours, item.paper, item.verdict)) for item in standing.claims), start=1
            )
        ]
        escaped = [[markdown_verdict(cell) for cell in line] for line in table]
        headers = ("claim", "ours", "paper", "verdict")
        parts.append(tabulate(escaped, headers, tablefmt="github", disable_numparse=True))
        if notes := claim_notes(standing):
            parts.append(bullets(notes))
    return "\n\n".join(parts)
