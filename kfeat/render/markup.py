"""Text escaped for Markdown, LaTeX, Matplotlib and CSV, and the formulas in it as mathematics.

Titles, labels, reasons and file names may hold anything. Each kind of output has one function that escapes
them, and leaves text without special signs as it is.
"""

import re
from collections.abc import Callable, Collection

from kfeat.text import plain

# What LaTeX would read as a command, and what its fonts may not have.
_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"$\sim$",
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
        "<": "$<$", ">": "$>$", "⟨": r"$\langle$", "⟩": r"$\rangle$", "‖": r"$\Vert$",
        "±": r"$\pm$", "×": r"$\times$",
        **{raised: f"$^{i}$" for i, raised in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")},
         "κ": r"$\kappa$", "γ": r"$\gamma$", "α": r"$\alpha$", "–": "--", "†": r"$\dagger$",
    }
)  # fmt: skip
# How the formulas of the kernels read as mathematics, in this order.
_MATHS = (
    (r"<x, y>", r"\\langle x,y\\rangle"),
    (r"\|\|(.*?)\|\|", r"\\Vert \1\\Vert"),
    (r"\^(\d\d+)", r"^{\1}"),
    (r"\b(exp|sigma|gamma)\b", r"\\\1"),
    (r" ([-+/]) ", r"\1"),
    (r" = ([a-z][a-z ]*)", r" = \\mbox{\1}"),
)
# What may open an HTML tag or comment; the kernels' <x, y> is none in Markdown.
_TAG = re.compile(r"<(?!x, y>)(?=[A-Za-z/!?])")
_MINUS = re.compile(r"(?<![\w(){}])-(?=\d)")  # of a number in LaTeX's text
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def markdown(text: str) -> str:
    """Return the text for Markdown: no HTML, no links, and nothing that starts a block of its own."""
    return _TAG.sub("&lt;", plain(text)).replace("](", r"]\(")


def markdown_cell(text: str) -> str:
    """Return the text for a cell of a Markdown table."""
    return markdown(text).replace("|", r"\|")


def markdown_verdict(text: str) -> str:
    """Return the text for the tables and notes of verdicts, on one line and with every < as it is read."""
    return markdown_cell(" ".join(text.split())).replace("<", "&lt;")


def latex(text: str, formulas: Collection[str] = ()) -> str:
    r"""Return the text for LaTeX, the formulas in it as mathematics: $(1+\langle x,y\rangle)^4$."""
    typeset = _typeset(text, formulas, lambda words: plain(words).translate(_LATEX), mathematics)
    typeset = _MINUS.sub("$-$", typeset)
    # The end of a table's line before would take a bracket or a star for its own.
    return "{}" * typeset.startswith(("[", "*")) + typeset


def mathtext(text: str, formulas: Collection[str]) -> str:
    """Return the text for matplotlib's mathtext, the formulas in it as mathematics, dollars as dollars."""
    return _typeset(text, formulas, lambda words: words.replace("$", r"\$"), _matplotlib_mathematics)


def _typeset(
    text: str, formulas: Collection[str], words: Callable[[str], str], formula: Callable[[str], str]
) -> str:
    """Return the text with the longest formulas set by `formula`, and what stands between them by `words`."""
    longest = max((known for known in formulas if known in text), key=len, default=None)
    if longest is None:
        return words(text)
    before, _, after = text.partition(longest)
    parts = [_typeset(part, formulas, words, formula) for part in (before, after)]
    return formula(longest).join(parts)


def _matplotlib_mathematics(formula: str) -> str:
    # Matplotlib has no boxes of text.
    parts = re.split(r"\\mbox\{([^}]*)\}", mathematics(formula))
    parts[1::2] = [rf"\mathrm{{{words}}}".replace(" ", "\N{NO-BREAK SPACE}") for words in parts[1::2]]
    return "".join(parts)


def mathematics(formula: str) -> str:
    """Return a kernel's formula as LaTeX."""
    for pattern, replacement in _MATHS:
        formula = re.sub(pattern, replacement, formula)
    return f"${formula}$"


def csv_text(text: str) -> str:
    """Return the text for CSV; what a spreadsheet would take for a formula has an apostrophe before it."""
    text = plain(text)
    return f"'{text}" if text[:1] in ("=", "+", "-", "@") and not _NUMBER.fullmatch(text) else text
