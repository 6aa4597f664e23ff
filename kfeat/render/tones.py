"""What a verdict says in a word, for which pages have a colour and a sign, and terminals a colour."""

import os
import sys

from kfeat.analysis import claims, numbers

TONES = {
    **dict.fromkeys((numbers.WITHIN_ERROR, numbers.ALIKE, claims.REPRODUCED, "quicker", "same"), "good"),
    **dict.fromkeys((numbers.WITHIN_SLACK, claims.DIRECTION_ONLY), "half"),
    **dict.fromkeys((numbers.OPEN, "narrower", "wider", "slower"), "open"),
    **dict.fromkeys((numbers.EXPLAINED, claims.EXPLAINED, claims.REFUTED), "told"),
    **dict.fromkeys((numbers.UNEXPLAINED, claims.UNEXPLAINED, "regressed"), "bad"),
    numbers.MISSING: "none",
}
_COLOURS = {"good": 32, "half": 36, "open": 33, "told": 35, "bad": 31, "none": 2}  # of ANSI terminals


def terminal_has_colours() -> bool:
    """Tell whether stdout is a terminal that shows colours, and nobody asks for none (NO_COLOR)."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR")


def coloured(text: str, cell: str) -> str:
    """Return a line of a cell's text in the colour of the verdict that the whole cell is, if it is one."""
    tone, words = TONES.get(cell), text.strip()
    return text.replace(words, f"\x1b[{_COLOURS[tone]}m{words}\x1b[0m") if tone and words else text
