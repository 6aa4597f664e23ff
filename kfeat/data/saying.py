"""Saying things: once, however often they are met, and in one line that a terminal can show."""

import logging
from functools import cache

logger = logging.getLogger("kfeat")


@cache
def say_once(level: int, message: str) -> None:
    """Log a message the first time this process has it to say."""
    logger.log(level, message)


def printable(error: Exception) -> str:
    """Return an error's message as one line, with what a terminal would obey or cannot show written out.

    Messages of other libraries' parsers run over several lines, and quote the damaged bytes that they met.
    """
    text = " ".join(str(error).split())
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
