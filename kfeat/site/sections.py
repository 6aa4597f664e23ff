"""What a paper's page says of one config: its tables, its verdicts with their evidence, its protocol."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from kfeat.analysis.cells import fold_means
from kfeat.analysis.claims import REPRODUCED, Cited
from kfeat.analysis.judgement import UNEXPLAINED, Judgement
from kfeat.analysis.numbers import AGREE
from kfeat.experiments.paper import Explained
from kfeat.render import text
from kfeat.render.layout import mirror, mirror_notes
from kfeat.render.notes import cautions
from kfeat.render.protocol import SWITCH_HEADERS
from kfeat.render.protocol import lines as switch_lines
from kfeat.render.terminal import TONES
from kfeat.render.verdicts import (
    CLAIM_HEADERS,
    NUMBER_HEADERS,
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
    cells = [*judgement.cells, *fold_means(judgement.cells)]
    sheet = mirror(layout, cells)
    lines = [[Text(cell) for cell in line] for line in sheet.lines]
    rules = [*mirror_notes(layout, cells), *cautions(judgement.experiment, cells)]
    return _part(Table("As the paper has it", sheet.headers, lines, sheet.groups), rules=rules)


class _Notes:
    """Gathers what a config says of its verdicts, each once, and numbers it."""

    def __init__(self, judgement: Judgement, kind: str, known: Collection[str]) -> None:
        self._known = known
        self._start = f"{links.anchor(judgement.experiment.name)}.{kind}"
        self._found: dict[tuple[str, tuple[Cited, ...]], dict[str, Any]] = {}

    def of(self, said: Explained, cited: Sequence[Cited], verdict: str) -> str:
        """Return the anchor of what is said of a verdict; empty where nothing is."""
        if said.explanation:
            words = said.explanation
            if not cited:
                words = f"{words.rstrip()} It cites no evidence, so nothing is explained."
        elif said.unexplained and verdict in UNEXPLAINED:
            words = f"Not explained: {said.unexplained}"
        else:
            return ""
        return self.add(words, tuple(cited))

    def add(self, words: str, cited: tuple[Cited, ...] = ()) -> str:
        """Return the anchor of a note, which is made where there is none like it."""
        key = words, cited
        if key not in self._found:
            anchor = f"{self._start}{len(self._found) + 1}"
            self._found[key] = {"anchor": anchor, "words": words, "cited": list(map(self._evidence, cited))}
        return str(self._found[key]["anchor"])

    def _evidence(self, one: Cited) -> Text:
        href = links.claim(*one.citation) if one.citation.experiment in self._known else ""
        return Text(f"{one.citation} ({one.verdict})", href)

    @property
    def all(self) -> list[dict[str, Any]]:
        """Return the notes in their order."""
        return list(self._found.values())


def _numbers(judgement: Judgement, known: Collection[str]) -> dict[str, Any]:
    notes = _Notes(judgement, "n", known)
    lines: list[list[Text | str]] = []
    for item, cell, (name, ours, *others, verdict, where) in number_entries(judgement):
        why = "" if verdict in AGREE else notes.of(item.number, item.cited, verdict)
        href = links.rows(judgement.experiment, cell) if cell.all_rows else ""
        lines.append([name, Text(ours, href), *others, _verdict(verdict, why), where])
    return _part(table("Printed numbers", NUMBER_HEADERS, lines), notes.all, number_rules(judgement))


def _beside(judgement: Judgement) -> dict[str, Any]:
    found = beside(judgement)
    return _part(table(found.title, found.headers, found.lines), rules=found.notes)


def _claims(judgement: Judgement, known: Collection[str]) -> dict[str, Any]:
    notes = _Notes(judgement, "c", known)
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
    return _part(table("Claims", CLAIM_HEADERS, lines), notes.all)


def _verdict(verdict: str, why: str) -> Text:
    return Text(verdict, tone=TONES.get(verdict, ""), why=why)


def _switches(judgement: Judgement) -> Iterator[list[Text]]:
    for one in switch_lines(judgement.experiment):
        status = "default" if one.default else one.status
        shown = Text(status, tone=SWITCH_TONES.get(status, "none"))
        yield [Text(one.key), Text(one.value), shown, Text(one.evidence), Text(one.alternatives)]
