"""What the README files of results/ say of all experiments at once, in Markdown."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from kfeat.analysis.claims import REPRODUCED
from kfeat.analysis.judgement import UNEXPLAINED, Judgement
from kfeat.analysis.tallies import KINDS, LATE, OF_PAPERS, PRINTED, SHORT, in_short, tallies
from kfeat.render.markup import markdown_verdict
from kfeat.render.overview import (
    HEADERS,
    LEGEND,
    UNDECIDED_HEADERS,
    Undecided,
    scoreboard_line,
    sides,
    undecided_line,
    undecided_notes,
)
from kfeat.render.table import Table, bullets
from kfeat.render.verdicts import explanation_of


def scoreboard_markdown(judgements: Sequence[Judgement], results: Path) -> str:
    """Return the scoreboard for a Markdown file beside `results`, each line linked to its published table.

    A column is left out where it says nothing or the same of all, and a config without a printed number and a
    claim.
    """
    lines = []
    for judgement in judgements:
        name = judgement.experiment.name
        page = results / name / "table.md"
        if judgement.experiment.reported or judgement.experiment.claims:
            lines.append(
                scoreboard_line(judgement, f"[{name}]({page.as_posix()})" if page.exists() else name)
            )
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


def papers(judgements: Sequence[Judgement], findings: Iterable[tuple[str, str, str]]) -> str:
    """Return the findings, each a folder, a title and a sentence, and the verdicts on each paper counted.

    The links are those of a file beside the folders. Claims judged on data that stand in, and with bounds set
    after the rows were seen, are counted, too, and the last columns say how many of these agree.
    """
    told, lines = [], []
    for name, title, finding in findings:
        link = f"[{title}]({name}/README.md)"
        told.append(f"{link}: {finding}")
        tally = tallies([one for one in judgements if one.experiment.name.startswith(f"{name}/")])
        claimed = sum((Counter(tally.get(kind, {})) for kind in OF_PAPERS), Counter[str]())
        if claimed:
            kinds = (Counter(tally.get(PRINTED, {})), claimed)
            shares = [sum(kind[verdict] for verdict in group) for kind in kinds for group in SHORT.values()]
            shares += [tally.get(kind, {}).get(REPRODUCED, 0) for kind in (KINDS["stand_in"], LATE)]
            lines.append([link, *map(str, shares)])
    numbers, claims = ["numbers: agree", "compatible"], ["claims: agree", "open"]
    weaker = ["agree on substitute data", "agree, threshold set after seeing results"]
    headers = ["paper", *numbers, "differ", "missing", *claims, "differ", "missing", *weaker]
    return "\n\n".join([bullets(told, str), Table(headers, lines).markdown(str)])


def not_explained(judgements: Sequence[Judgement]) -> str:
    """Return what differs from the paper without an explanation that its evidence bears out, in Markdown.

    Each result has a bullet, below what the config says of it.
    """
    groups: dict[str, dict[str, None]] = {}
    for judgement in judgements:
        for item in judgement.disagreements():
            if item.verdict in UNEXPLAINED:
                words = explanation_of(item.entry, item.cited, item.verdict)
                groups.setdefault(words, {})[sides(item)] = None
    parts = [
        f"{markdown_verdict(words[:1].upper() + words[1:])}\n\n{bullets(group)}"
        for words, group in groups.items()
    ]
    return "\n\n".join(parts).lstrip()


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


def undecided_markdown(verdicts: Sequence[Undecided]) -> str:
    """Return what is open for a Markdown file, with a count of what more runs do not decide."""
    parts = undecided_notes(verdicts)
    undecidable = Counter(verdict.experiment for verdict in verdicts if verdict.needed is None)
    if undecidable:
        counts = [f"{name} {count}" for name, count in sorted(undecidable.items())]
        parts.append(f"Those are: {', '.join(counts)}.")
    lines = [undecided_line(verdict) for verdict in verdicts if verdict.needed is not None]
    return "\n\n".join([*parts, Table(UNDECIDED_HEADERS, lines).markdown(str)])
