"""One table, for a terminal, in Markdown, HTML, LaTeX and as CSV."""

import csv
import io
import os
import re
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from textwrap import wrap
from typing import Any

from kfeat.render.markup import csv_text, latex, markdown_cell, markdown_verdict
from kfeat.text import plain

GAP = 2  # spaces between two columns
NARROWEST = 12  # columns of text are not made narrower than that, nor than their longest word needs
LONGEST = 118  # characters of a line of sentences, however wide the terminal is
_COLOURS = {"good": 32, "half": 36, "open": 33, "explained": 35, "bad": 31, "none": 2}  # of ANSI terminals


def terminal_width() -> int | None:
    """Return the columns of the terminal that stdout is; None for a file or a pipe, which has no end."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def readable(width: int | None) -> int:
    """Return the width of sentences, which are broken also where the lines of the output have no end."""
    return min(LONGEST, width or LONGEST)


def paragraph(text: str, indent: str = "  ", width: int | None = None) -> str:
    """Return the text broken at the width of a terminal, its further lines indented deeper."""
    further = indent + "  "
    lines = wrap(
        plain(text), readable(width), initial_indent=indent, subsequent_indent=further, break_on_hyphens=False
    )
    return "\n".join(lines)


def bullets(lines: Iterable[str], escape: Callable[[str], str] = markdown_verdict) -> str:
    """Return the lines as a list in Markdown."""
    return "\n".join(f"- {escape(line)}" for line in lines)


class Bold(str):
    """Text of a table that LaTeX sets in bold."""


@dataclass(frozen=True)
class Table:
    """Lines of cells below headers, and notes below these.

    The cells are text; CSV has numbers too. The columns in `words` hold words, which may stand on several
    lines of a terminal, as headers may; those in `right` are aligned to the right. Where a terminal is still
    too narrow, the columns stand in several tables below each other, each of which begins with the first
    `keys` columns. A cell that is a key of `tones` has that colour there.

    `groups` are headers above the headers, each with the number of columns that it spans; only LaTeX has
    room for them, elsewhere a group's name stands for its first column. LaTeX sets a space before each
    further group of `group_size` lines.
    """

    headers: Sequence[str]
    lines: Sequence[Sequence[Any]]
    words: Collection[int] = (0,)
    right: Collection[int] = ()
    keys: int = 1
    groups: Sequence[tuple[str, int]] = ()
    group_size: int = 1
    notes: Sequence[str] = ()
    tones: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, records: Sequence[Mapping[str, Any]]) -> "Table":
        """Return the table of mappings with the same keys, which are its headers."""
        return cls([*(records[0] if records else ())], [[*record.values()] for record in records])

    def terminal(self, width: int | None = None) -> str:
        """Return the table with at most `width` characters a line; None sets no limit."""
        cells = [[plain(cell) for cell in line] for line in (self._headers(), *self.lines)]
        columns = list(zip(*cells, strict=True))
        widths = [_longest(column) for column in columns]
        blocks = [list(range(len(columns)))]
        if width is not None:
            narrow = _narrowed(columns, widths, width, self.words)
            widths = _widened(narrow, widths, width, self.keys)
            blocks = _blocks(widths, width, self.keys)
        board = "\n\n".join(self._block(cells, widths, block) for block in blocks)
        return "\n".join([board, *(paragraph(note, width=width) for note in self.notes)])

    def markdown(self, escape: Callable[[str], str] = markdown_cell) -> str:
        """Return the table and its notes as a list; without lines, the notes alone."""
        board = self._tabulated(self._headers(), escape, "pipe" if self.right else "github")
        shown = board if self.lines or not self.notes else ""
        return "\n\n".join(filter(None, (shown, bullets(self.notes, escape))))

    def html(self) -> str:
        """Return the table for a web page, every cell escaped."""
        return self._tabulated(self._headers(), plain, "html")

    def latex(self, formulas: Collection[str] = ()) -> str:
        """Return the table with the rules of booktabs, and with the formulas as mathematics."""

        def escape(text: str) -> str:
            return rf"\textbf{{{latex(text, formulas)}}}" if isinstance(text, Bold) else latex(text, formulas)

        groups, rules, start = [], [], 1  # the line of groups, and the rules below them
        for name, columns in self.groups:
            groups.append(rf"\multicolumn{{{columns}}}{{c}}{{{escape(name)}}}" if name else "")
            rules += [rf"\cmidrule(lr){{{start}-{start + columns - 1}}}"] if name else []
            start += columns
        spans = f"\n {' & '.join(groups)} \\\\\n{' '.join(rules)}" if groups else ""
        body = self._tabulated(self.headers, escape, "latex_raw")
        body = re.sub(r"\{tabular\}\{(\w+)\}", r"{tabular}{@{}\1@{}}", body, count=1)
        for rule in (rf"\toprule{spans}", r"\midrule", r"\bottomrule"):
            body = body.replace(r"\hline", rule, 1)
        return body

    def csv(self) -> str:
        """Return the table with numbers at full precision, and None as nothing."""
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows(
            [csv_text(cell) if isinstance(cell, str) else cell for cell in line]
            for line in (self.headers, *self.lines)
        )
        return out.getvalue()

    def _headers(self) -> list[str]:
        """Return one line of headers, in which a group's name stands for its first column."""
        headers, start = list(self.headers), 0
        for name, columns in self.groups:
            headers[start] = name or headers[start]
            start += columns
        return headers

    def _tabulated(self, headers: Sequence[str], escape: Callable[[str], str], form: str) -> str:
        # Imported here, since `kfeat check` writes for terminals only.
        from tabulate import tabulate

        lines = [[escape(cell) for cell in line] for line in self.lines]
        if form == "latex_raw" and self.group_size > 1:
            for line in lines[self.group_size :: self.group_size]:
                line[0] = rf"\addlinespace {line[0]}"
        align = ["right" if i in self.right else "left" for i in range(len(headers))]
        return tabulate(
            lines, [*map(escape, headers)], form, disable_numparse=True, colalign=align if lines else None
        )

    def _block(self, cells: Sequence[Sequence[str]], widths: Sequence[int], block: Sequence[int]) -> str:
        """Return some columns: headers, a rule, and each line in as many as its longest cell needs."""
        printed, tones = [], self.tones if _has_colours() else {}
        for line in cells:
            parts = [wrap(line[i], widths[i]) for i in block]
            for texts in zip_longest(*parts, fillvalue=""):
                shown = []
                for i, text in zip(block, texts, strict=True):
                    aligned = text.rjust(widths[i]) if i in self.right else text.ljust(widths[i])
                    shown.append(_coloured(aligned, tones.get(line[i])))
                printed.append((" " * GAP).join(shown).rstrip())
            if line is cells[0]:
                printed.append((" " * GAP).join("-" * widths[i] for i in block))
        return "\n".join(printed)


def _longest(texts: Iterable[str]) -> int:
    return max(map(len, texts), default=0)


# The columns of a terminal are first as wide as their longest cells. Where they do not fit, those of words
# are narrowed, and what still does not fit moves to tables below. Then each is widened again as far as that
# needs no further table, since the columns that moved may have left room.
def _narrowed(
    columns: Sequence[Sequence[str]], widths: Sequence[int], width: int, text: Collection[int]
) -> list[int]:
    """Return narrower columns, the widest first, until all fit or none has a place between words left."""
    narrowed, least = list(widths), []
    for i, (header, *cells) in enumerate(columns):
        words = [word for cell in cells for word in cell.split()] if i in text else cells
        longest = _longest([*words, *header.split()])
        least.append(max(NARROWEST, min(longest, width // 3)) if i in text else longest)
    while _length(narrowed, range(len(narrowed))) > width:
        spare = [i for i in range(len(narrowed)) if narrowed[i] > least[i]]
        if not spare:
            break
        narrowed[max(spare, key=narrowed.__getitem__)] -= 1
    return narrowed


def _widened(narrow: Sequence[int], natural: Sequence[int], width: int, keys: int) -> list[int]:
    """Return the widths, each as near to what is natural as the same number of tables has room for."""
    widths, count = list(narrow), len(_blocks(narrow, width, keys))
    for i, most in enumerate(natural):
        for wider in range(most, widths[i], -1):
            tried = [*widths[:i], wider, *widths[i + 1 :]]
            blocks = _blocks(tried, width, keys)
            if len(blocks) == count and all(_length(tried, block) <= width for block in blocks):
                widths = tried
                break
    return widths


def _length(widths: Sequence[int], block: Sequence[int]) -> int:
    return sum(widths[i] for i in block) + GAP * (len(block) - 1)


def _blocks(widths: Sequence[int], width: int, keys: int) -> list[list[int]]:
    """Return which columns stand in which table: the keys in all of them, of the others as many as fit."""
    blocks = [list(range(keys))]
    for i in range(keys, len(widths)):
        if _length(widths, [*blocks[-1], i]) > width and len(blocks[-1]) > keys:
            blocks.append(list(range(keys)))
        blocks[-1].append(i)
    return blocks


def _has_colours() -> bool:
    """Tell whether stdout is a terminal that shows colours, and nobody asks for none (NO_COLOR)."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR")


def _coloured(text: str, tone: str | None) -> str:
    words = text.strip()
    return text.replace(words, f"\x1b[{_COLOURS[tone]}m{words}\x1b[0m") if tone and words else text
