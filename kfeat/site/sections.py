"""What a paper's page says of one config: its tables, its verdicts with their evidence, its protocol."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from kfeat.analysis.claims import REPRODUCED, Cited
from kfeat.analysis.judgement import UNEXPLAINED, Judgement
from kfeat.analysis.numbers import AGREE
from kfeat.experiments.paper import Explained
from kfeat.render import text
from kfeat.render.layout import mirror, mirror_notes
from kfeat.render.notes import cautions
from kfeat.render.protocol import SWITCH_HEADERS
from kfeat.render.protocol import lines as switch_lines
from kfeat.render.verdicts import (
    CLAIM_HEADERS,
    NUMBER_HEADERS,
    TONES,
    beside,
    claim_lines,
    number_entries,
    number_rules,
)
from kfeat.site import links
from kfeat.site.tables import Table, Text, table

SWITCH_TONES = {"known": "good", "inferred": "half", "open": "open"}


def section(judgement: Judgement, known: Collection[str]) -> dict[str, Any]:
    """Return the section of a config; cited claims of the configs `known` by name are linked.

    Its parts are tables, each with notes on its verdicts and rules for its reader.
    """
    counts = judgement.counts()
    parts = [_mirrored(judgement), _numbers(judgement, known), _beside(judgement), _claims(judgement, known)]
    return {
        "judgement": judgement,
        "anchor": links.anchor(judgement.experiment.name),
        "rows": links.rows(judgement.experiment),
        "time": text.time(judgement.seconds or None),
        "counts": [
            (TONES.get(verdict, ""), verdict, n)
            for kind in ("numbers", "claims", "own")
            for verdict, n in counts[kind].items()
        ],
        "parts": [part for part in parts if part["table"]],
        "protocol": table("Protocol", SWITCH_HEADERS, list(_switches(judgement))),
    }


def _part(found: Table | None, notes: Sequence[Any] = (), rules: Sequence[str] = ()) -> dict[str, Any]:
    return {"table": found, "notes": notes, "rules": rules}


def _mirrored(judgement: Judgement) -> dict[str, Any]:
    """Return the paper's own table, ours beside printed."""
    layout = judgement.experiment.table
    if layout is None:
        return _part(None)
    cells = judgement.cells
    sheet = mirror(layout, cells)
    lines = [[Text(cell) for cell in row] for row in sheet.lines]
    rules = [*mirror_notes(layout, cells), *cautions(judgement.experiment, cells)]
    return _part(Table("As the paper has it", sheet.headers, lines, sheet.groups), rules=rules)


class _Notes:
    """Gathers what a config says of its verdicts, each once, by the anchors of the notes."""

    def __init__(self, judgement: Judgement, kind: str) -> None:
        self._start = f"{links.anchor(judgement.experiment.name)}.{kind}"
        self._found: dict[tuple[str, tuple[Cited, ...]], str] = {}

    def of(self, said: Explained, cited: Sequence[Cited], verdict: str) -> str:
        """Return the anchor of what is said of a verdict; empty where nothing is."""
        if said.explanation and not cited:
            return self.add(f"{said.explanation.rstrip()} It cites no evidence, so nothing is explained.")
        if said.explanation:
            return self.add(said.explanation, cited)
        if said.unexplained and verdict in UNEXPLAINED:
            return self.add(f"Not explained: {said.unexplained}", cited)
        return ""

    def add(self, words: str, cited: Sequence[Cited] = ()) -> str:
        """Return the anchor of a note, which is made where there is none like it."""
        return self._found.setdefault((words, tuple(cited)), f"{self._start}{len(self._found) + 1}")

    def all(self, known: Collection[str]) -> list[dict[str, Any]]:
        """Return the notes in their order; cited claims of the configs `known` by name are linked."""
        return [
            {
                "anchor": anchor,
                "words": words,
                "cited": [
                    Text(
                        f"{one.citation} ({one.verdict})",
                        links.claim(*one.citation) if one.citation.experiment in known else "",
                    )
                    for one in cited
                ],
            }
            for (words, cited), anchor in self._found.items()
        ]


def _numbers(judgement: Judgement, known: Collection[str]) -> dict[str, Any]:
    notes = _Notes(judgement, "n")
    lines: list[list[Text | str]] = []
    for item, cell, (name, ours, *others, verdict, where) in number_entries(judgement):
        why = "" if verdict in AGREE else notes.of(item.number, item.cited, verdict)
        href = links.rows(judgement.experiment, cell) if cell.all_rows else ""
        lines.append([name, Text(ours, href), *others, _verdict(verdict, why), where])
    return _part(table("Printed numbers", NUMBER_HEADERS, lines), notes.all(known), number_rules(judgement))


def _beside(judgement: Judgement) -> dict[str, Any]:
    found = beside(judgement)
    return _part(table("Printed deviations and times", found.headers, found.lines), rules=found.notes)


def _claims(judgement: Judgement, known: Collection[str]) -> dict[str, Any]:
    notes = _Notes(judgement, "c")
    lines: list[list[Text | str]] = []
    for i, (item, line) in enumerate(zip(judgement.claims, claim_lines(judgement), strict=True), start=1):
        claim, (said, *others, verdict) = item.claim, line
        why = "" if verdict == REPRODUCED else notes.of(claim, item.cited, verdict)
        if claim.bound_before:
            before = f"the bound was set after the rows were seen; before: {claim.bound_before}"
            anchor = notes.add(f"Claim {i}: {before}")
            why = why or anchor
        place = links.anchor(judgement.experiment.name, claim.id or f"claim-{i}")
        lines.append([Text(said, anchor=place), *others, _verdict(verdict, why)])
    return _part(table("Claims", CLAIM_HEADERS, lines), notes.all(known))


def _verdict(verdict: str, why: str) -> Text:
    return Text(verdict, tone=TONES.get(verdict, ""), why=why)


def _switches(judgement: Judgement) -> Iterator[list[Text]]:
    for one in switch_lines(judgement.experiment):
        status = "default" if one.default else one.status
        shown = Text(status, tone=SWITCH_TONES.get(status, "none"))
        yield [Text(one.key), Text(one.value), shown, Text(one.evidence)]
