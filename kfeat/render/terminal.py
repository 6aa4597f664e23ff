"""Tables and paragraphs that fit a terminal: text breaks between words, and columns are stacked."""

import os
import shutil
import sys
from collections.abc import Collection, Iterable, Sequence
from itertools import zip_longest
from textwrap import wrap

from kfeat.analysis import claims, numbers
from kfeat.text import plain

GAP = 2  # spaces between two columns
NARROWEST = 12  # columns of text are not made narrower than that, nor than their longest word needs
LONGEST = 118  # what a paragraph has at most, however wide the terminal is
# What a verdict says in a word, for which pages have a colour and a sign, and terminals a colour.
TONES = {
    **dict.fromkeys((numbers.WITHIN_ERROR, numbers.ALIKE, claims.REPRODUCED, "quicker", "same"), "good"),
    **dict.fromkeys((numbers.WITHIN_SLACK, claims.DIRECTION_ONLY), "half"),
    **dict.fromkeys((numbers.OPEN, "narrower", "wider", "slower"), "open"),
    **dict.fromkeys((numbers.EXPLAINED, claims.EXPLAINED, claims.REFUTED), "explained"),
    **dict.fromkeys((numbers.UNEXPLAINED, claims.UNEXPLAINED, "regressed"), "bad"),
    numbers.MISSING: "none",
}
_COLOURS = {"good": 32, "half": 36, "open": 33, "explained": 35, "bad": 31, "none": 2}  # of ANSI terminals


def terminal_width() -> int | None:
    """Return the columns of the terminal that stdout is; None for a file or a pipe, which has no end."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def paragraph(text: str, indent: str = "  ", width: int | None = None) -> str:
    """Return the text broken at the width of a terminal, its further lines indented deeper."""
    most = min(LONGEST, width or LONGEST)
    return "\n".join(
        wrap(
            plain(text), most, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False
        )
    )


def table(
    headers: Sequence[str], lines: Sequence[Sequence[str]], width: int | None, text: Collection[int] = (0,),
    right: Collection[int] = (), keys: int = 1,
) -> str:  # fmt: skip
    """Return a table of at most `width` characters a line; None sets no limit.

    The columns in `text` hold words, which may stand on several lines, as headers may. Where that is not
    enough, the columns stand in several tables below each other, each of which begins with the first `keys`
    columns. The columns in `right` are aligned to the right.
    """
    cells = [[plain(cell) for cell in line] for line in (headers, *lines)]
    columns = list(zip(*cells, strict=True))
    widths = [_longest(column) for column in columns]
    blocks = [list(range(len(columns)))]
    if width is not None:
        narrow = _narrowed(columns, widths, width, text)
        widths = _widened(narrow, widths, width, keys)
        blocks = _blocks(widths, width, keys)
    return "\n\n".join(_block(cells, widths, block, right) for block in blocks)


def _longest(texts: Iterable[str]) -> int:
    return max(map(len, texts), default=0)


def _narrowed(
    columns: Sequence[Sequence[str]], widths: Sequence[int], width: int, text: Collection[int]
) -> list[int]:
    """Return narrower columns, the widest first, until all fit or none has a place between words left."""
    found, least = list(widths), []
    for i, (header, *cells) in enumerate(columns):
        words = [word for cell in cells for word in cell.split()] if i in text else cells
        longest = _longest([*words, *header.split()])
        least.append(max(NARROWEST, min(longest, width // 3)) if i in text else longest)
    while _length(found, range(len(found))) > width:
        spare = [i for i in range(len(found)) if found[i] > least[i]]
        if not spare:
            break
        found[max(spare, key=lambda i: found[i])] -= 1
    return found


def _widened(narrow: Sequence[int], natural: Sequence[int], width: int, keys: int) -> list[int]:
    """Return the widths, each as near to what is natural as the same number of tables has room for."""
    found, count = list(narrow), len(_blocks(narrow, width, keys))
    for i, most in enumerate(natural):
        for wider in range(most, found[i], -1):
            tried = [*found[:i], wider, *found[i + 1 :]]
            blocks = _blocks(tried, width, keys)
            if len(blocks) == count and all(_length(tried, block) <= width for block in blocks):
                found = tried
                break
    return found


def _length(widths: Sequence[int], block: Sequence[int]) -> int:
    return sum(widths[i] for i in block) + GAP * (len(block) - 1)


def _blocks(widths: Sequence[int], width: int, keys: int) -> list[list[int]]:
    """Return which columns stand in which table: the keys in all of them, of the others as many as fit."""
    first = list(range(keys))
    blocks = [list(first)]
    for i in range(keys, len(widths)):
        if _length(widths, [*blocks[-1], i]) > width and len(blocks[-1]) > keys:
            blocks.append(list(first))
        blocks[-1].append(i)
    return blocks


def _block(
    cells: Sequence[Sequence[str]], widths: Sequence[int], block: Sequence[int], right: Collection[int]
) -> str:
    """Return the lines of one table: headers, a rule, and each line in as many as its longest cell needs."""
    printed, colours = [], _has_colours()
    for line in cells:
        parts = [wrap(line[i], widths[i]) for i in block]
        for texts in zip_longest(*parts, fillvalue=""):
            aligned = [
                text.rjust(widths[i]) if i in right else text.ljust(widths[i])
                for i, text in zip(block, texts, strict=True)
            ]
            if colours and line is not cells[0]:
                aligned = [_coloured(text, line[i]) for i, text in zip(block, aligned, strict=True)]
            printed.append((" " * GAP).join(aligned).rstrip())
        if line is cells[0]:
            printed.append((" " * GAP).join("-" * widths[i] for i in block))
    return "\n".join(printed)


def _has_colours() -> bool:
    """Tell whether stdout is a terminal that shows colours, and nobody asks for none (NO_COLOR)."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR")


def _coloured(text: str, cell: str) -> str:
    """Return a line of a cell's text in the colour of the verdict that the whole cell is, if it is one."""
    tone, words = TONES.get(cell), text.strip()
    return text.replace(words, f"\x1b[{_COLOURS[tone]}m{words}\x1b[0m") if tone and words else text
