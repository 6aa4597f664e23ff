"""Escapes: text of configs and rows as it stands in a terminal, in Markdown, in LaTeX and in CSV.

Titles, labels, reasons and file names may hold anything. Each kind of output has one function here, which
leaves text without special signs as it is.
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
    found = _typeset(text, formulas, lambda words: plain(words).translate(_LATEX), mathematics)
    return (
        "{}" * found.startswith(("[", "*")) + found
    )  # which the end of a table's line before takes for its own


def mathtext(text: str, formulas: Collection[str]) -> str:
    """Return the text for matplotlib's mathtext, the formulas in it as mathematics, dollars as dollars."""
    return _typeset(text, formulas, lambda words: words.replace("$", r"\$"), _matplotlib_mathematics)


def _typeset(
    text: str, formulas: Collection[str], words: Callable[[str], str], formula: Callable[[str], str]
) -> str:
    """Return the text with the longest formulas set by `formula`, and what stands between them by `words`."""
    known = sorted((one for one in formulas if one in text), key=len, reverse=True)
    if not known:
        return words(text)
    before, _, after = text.partition(known[0])
    return (
        _typeset(before, known, words, formula) + formula(known[0]) + _typeset(after, known, words, formula)
    )


def _matplotlib_mathematics(formula: str) -> str:
    """Return a kernel's formula for mathtext, which has no boxes of text."""
    return re.sub(
        r"\\mbox\{([^}]*)\}",
        lambda match: r"\mathrm{" + match[1].replace(" ", "\N{NO-BREAK SPACE}") + "}",
        mathematics(formula),
    )


def mathematics(formula: str) -> str:
    """Return a kernel's formula as LaTeX."""
    for pattern, replacement in _MATHS:
        formula = re.sub(pattern, replacement, formula)
    return f"${formula}$"


def csv_text(text: str) -> str:
    """Return the text for CSV; what a spreadsheet would take for a formula has an apostrophe before it."""
    text = plain(text)
    return f"'{text}" if text[:1] in ("=", "+", "-", "@") and not _NUMBER.fullmatch(text) else text
