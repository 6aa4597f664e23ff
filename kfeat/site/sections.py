"""What a paper's page says of one config: its tables, its verdicts with their evidence, its protocol."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from kfeat.analysis.claims import REPRODUCED, Cited
from kfeat.analysis.folds import fold_means
from kfeat.analysis.numbers import AGREE
from kfeat.analysis.standing import UNEXPLAINED, Standing
from kfeat.experiments.paper import Explained
from kfeat.render import text
from kfeat.render.layout import mirror, mirror_notes
from kfeat.render.notes import cautions
from kfeat.render.switches import lines as switch_lines
from kfeat.render.tones import TONES
from kfeat.render.verdict_tables import (
    CLAIM_HEADERS,
    NUMBER_HEADERS,
    beside_headers,
    beside_lines,
    beside_notes,
    claim_lines,
    number_entries,
    number_rules,
)
from kfeat.site import links
from kfeat.site.tables import Table, Text, Value, of_sheet, table


@dataclass(frozen=True)
class Note:
    """What a config says of verdicts: the words, the claims on which they rest, and the anchor."""

    anchor: str
    words: str
    cited: Sequence[Text] = ()


@dataclass(frozen=True)
class Part:
    """A table of a section with the sentences below it."""

    table: Table
    notes: Sequence[Note] = ()
    rules: Sequence[str] = ()


@dataclass(frozen=True)
class Section:
    """A config on the page of its paper."""

    standing: Standing
    parts: Sequence[Part]
    protocol: Table | None

    @property
    def anchor(self) -> str:
        """Return the anchor of the section."""
        return links.anchor(self.standing.experiment.name)

    @property
    def rows(self) -> str:
        """Return the address of the config's rows."""
        return links.rows(self.standing.experiment)

    @property
    def time(self) -> str:
        """Return what the rows took."""
        return text.time(self.standing.seconds or None)

    @property
    def counts(self) -> list[tuple[str, str, int]]:
        """Return how many numbers and claims have each verdict: its colour, its name and the count."""
        found = self.standing.counts()
        return [
            (TONES.get(verdict, ""), verdict, n)
            for kind in ("numbers", "claims", "own")
            for verdict, n in found[kind].items()
        ]


def section(standing: Standing, known: Collection[str]) -> Section:
    """Return the section of a config; cited claims of the configs `known` by name are linked."""
    found = (_mirrored(standing), _numbers(standing, known), _beside(standing), _claims(standing, known))
    parts = [part for part in found if part]
    return Section(standing, parts, _protocol(standing))


def _mirrored(standing: Standing) -> Part | None:
    """Return the paper's own table, ours beside printed."""
    layout = standing.experiment.table
    if layout is None:
        return None
    cells = [*standing.cells, *fold_means(standing.cells)]
    rules = [*mirror_notes(layout, cells), *cautions(standing.experiment, cells)]
    return Part(of_sheet("As the paper has it", mirror(layout, cells)), rules=rules)


class _Notes:
    """Gathers what a config says of its verdicts, each once, and numbers it."""

    def __init__(self, standing: Standing, kind: str, known: Collection[str]) -> None:
        self._known = known
        self._start = f"{links.anchor(standing.experiment.name)}.{kind}"
        self._found: dict[tuple[str, tuple[Cited, ...]], Note] = {}

    def of(self, said: Explained, cited: Sequence[Cited], verdict: str) -> str:
        """Return the anchor of what is said of a verdict; empty where nothing is."""
        words = said.explanation or (said.unexplained if verdict in UNEXPLAINED else None)
        if not words:
            return ""
        if not said.explanation:
            words = f"Not explained: {words}"
        elif not cited:
            words = f"{words.rstrip()} It cites no evidence, so nothing is explained."
        return self.add(words, tuple(cited))

    def add(self, words: str, cited: tuple[Cited, ...] = ()) -> str:
        """Return the anchor of a note, which is made where there is none like it."""
        key = words, cited
        if key not in self._found:
            shown = [
                Text(
                    f"{one.citation} ({one.verdict})",
                    links.claim(*one.citation) if one.citation.experiment in self._known else "",
                )
                for one in cited
            ]
            self._found[key] = Note(f"{self._start}{len(self._found) + 1}", words, shown)
        return self._found[key].anchor

    @property
    def all(self) -> list[Note]:
        """Return the notes in their order."""
        return list(self._found.values())


def _numbers(standing: Standing, known: Collection[str]) -> Part | None:
    notes = _Notes(standing, "n", known)
    lines: list[list[Value]] = []
    for item, cell, (name, ours, *others, verdict, where) in number_entries(standing):
        why = "" if verdict in AGREE else notes.of(item.number, item.cited, verdict)
        href = links.rows(standing.experiment, cell) if cell.there else ""
        shown = Text(verdict, tone=TONES.get(verdict, ""), why=why)
        lines.append([name, Text(ours, href), *others, shown, where])
    if not lines:
        return None
    return Part(table("Printed numbers", NUMBER_HEADERS, lines), notes.all, number_rules(standing))


def _beside(standing: Standing) -> Part | None:
    lines = beside_lines(standing)
    if not lines:
        return None
    found = table("Printed deviations and times", beside_headers(standing), lines)
    return Part(found, rules=beside_notes(standing))


def _claims(standing: Standing, known: Collection[str]) -> Part | None:
    notes = _Notes(standing, "c", known)
    lines: list[list[Value]] = []
    for i, (item, line) in enumerate(zip(standing.claims, claim_lines(standing), strict=True), start=1):
        claim, (said, *others, verdict) = item.claim, line
        why = "" if verdict == REPRODUCED else notes.of(claim, item.cited, verdict)
        if claim.bound_before:
            said_before = f"the bound was set after the rows were seen; before: {claim.bound_before}"
            before = notes.add(f"Claim {i}: {said_before}")
            why = why or before
        anchor = links.anchor(standing.experiment.name, claim.id or f"claim-{i}")
        shown = Text(verdict, tone=TONES.get(verdict, ""), why=why)
        lines.append([Text(said, anchor=anchor), *others, shown])
    return Part(table("Claims", CLAIM_HEADERS, lines), notes.all) if lines else None


def _protocol(standing: Standing) -> Table | None:
    headers = ("switch", "value", "status", "evidence", "to try")
    lines = list(_switches(standing))
    return table("Protocol", headers, lines) if lines else None


def _switches(standing: Standing) -> Iterator[list[Text]]:
    tones = {"known": "good", "inferred": "half", "open": "open"}
    for one in switch_lines(standing.experiment):
        status = "default" if one.default else one.status
        values = [Text(one.key), Text(one.value), Text(status, tone=tones.get(status, "none"))]
        yield [*values, Text(one.evidence), Text(one.alternatives)]
