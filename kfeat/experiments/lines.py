"""Titles and labels: one line of text that tables and figures can show, checked before hours of work."""

import re

MAX_LENGTH = 500


def one_line(text: str) -> str:
    """Return the text; raises ValueError unless it is one line, whose mathematics (`$...$`) can be drawn."""
    if re.search("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]", text):
        raise ValueError("expected one line of text, without tabs and control characters")
    if len(text) > MAX_LENGTH:
        raise ValueError(f"expected at most {MAX_LENGTH} characters, found {len(text)}")
    if "$" in text:
        _check_mathematics(text)
    return text


def _check_mathematics(text: str) -> None:
    """Raise ValueError where the figure could not be drawn; a single `$` is a dollar to matplotlib too."""
    # Imported here: it takes a fifth of a second, and few texts have mathematics.
    from matplotlib.cbook import is_math_text
    from matplotlib.mathtext import MathTextParser

    if not is_math_text(text):
        return
    try:
        MathTextParser("path").parse(text)
    except (ValueError, RecursionError) as error:
        problem = str(error).strip().splitlines()[-1] if isinstance(error, ValueError) else "too deep"
        raise ValueError(
            rf"cannot draw the mathematics between the $ ({problem}); write \$ for a dollar"
        ) from None
