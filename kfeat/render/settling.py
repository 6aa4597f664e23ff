"""What `kfeat plan --to-settle` shows: the price of each verdict that is open, and a sum."""

from collections import Counter
from collections.abc import Sequence

from kfeat.analysis.settling import MOST, Price
from kfeat.render.escapes import markdown_table
from kfeat.render.terminal import LONGEST, paragraph, table
from kfeat.render.text import time

HEADERS = ("time", "runs", "needed", "config", "what is open")


def terminal(prices: Sequence[Price], width: int | None = None) -> str:
    """Return a line for each price, cheapest first, and what they come to."""
    if not prices:
        return "nothing is open"
    shown = table(
        HEADERS, [_line(price) for price in prices], min(LONGEST, width or LONGEST), (3, 4), (0, 1, 2)
    )
    return "\n\n".join([shown, *(paragraph(note, "", width) for note in _notes(prices))])


def markdown(prices: Sequence[Price]) -> str:
    """Return the same for a Markdown file: a line for each price, and a count of those without one."""
    decided = [price for price in prices if price.needed is not None]
    without = Counter(price.experiment for price in prices if price.needed is None)
    counts = ", ".join(f"{name} {count}" for name, count in sorted(without.items()))
    shown = markdown_table(HEADERS, [_line(price) for price in decided], str)
    return "\n\n".join([*_notes(prices), *([f"Those are: {counts}."] if counts else []), shown])


def _line(price: Price) -> list[str]:
    return [
        "–" if price.needed is None else time(price.seconds),
        str(price.runs),
        _needed(price),
        price.experiment,
        f"{price.what} ({price.verdict})",
    ]


def _needed(price: Price) -> str:
    if price.needed is None:
        return "–"
    return f"{price.needed}{' (first)' * price.first}{' (timed)' * price.timed}"


def _notes(prices: Sequence[Price]) -> list[str]:
    """Return the sums, and what the words in the lines mean."""
    decided = [price for price in prices if price.needed is not None]
    seconds = sum(price.seconds for price in decided)
    notes = [
        f"{len(prices)} verdicts are open or too wide to tell; more runs would decide {len(decided)} of "
        f"them, in at most {time(seconds)} one after another (verdicts that share runs are counted twice)."
    ]
    if rest := len(prices) - len(decided):
        notes.append(
            f"{rest} would stay as they are with {MOST} times the runs: the error is that of the paper's own "
            "runs, or of a fit."
        )
    if any(price.first for price in prices):
        notes.append("first: there is a single run; these runs show how much it varies.")
    if any(price.timed for price in prices):
        notes.append("timed: the runs need an idle machine (--jobs 1).")
    return notes
