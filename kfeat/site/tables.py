"""Tables as pages show them: cells of text, each perhaps with a link and a verdict's colour."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kfeat.render.verdicts import TONES

_NUMBER = re.compile(r"[~<>+\-−±\[]*\s*\d|–?$|∞")


@dataclass(frozen=True)
class Text:
    """The text of a cell, where it leads, how it is coloured, and the anchor by which others lead to it."""

    text: str
    href: str = ""
    tone: str = ""
    anchor: str = ""
    why: str = ""  # the anchor of what is said of the verdict


@dataclass(frozen=True)
class Table:
    """A captioned table; `groups` are headers above the headers, each with its number of columns.

    One with groups stands as the paper has it: it is neither sorted nor filtered.
    """

    caption: str
    headers: Sequence[str]
    lines: Sequence[Sequence[Text]]
    groups: Sequence[tuple[str, int]] = ()

    @property
    def numeric(self) -> list[bool]:
        """Tell of each column whether it holds numbers."""
        columns = zip(*self.lines, strict=True) if self.lines else ([] for _ in self.headers)
        return [all(_NUMBER.match(cell.text) for cell in column) for column in columns]


def table(caption: str, headers: Sequence[str], lines: Sequence[Sequence[Text | str]]) -> Table | None:
    """Return a table, or None without lines; plain words that are verdicts get their colour."""
    texts = [
        [cell if isinstance(cell, Text) else Text(cell, tone=TONES.get(cell, "")) for cell in line]
        for line in lines
    ]
    return Table(caption, headers, texts) if texts else None
