"""A sheet of text, for the terminal, Markdown and LaTeX."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tabulate import tabulate

# What LaTeX would read as a command, and what its fonts may not have.
_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
        "<": "$<$", ">": "$>$", "⟨": r"$\langle$", "⟩": r"$\rangle$", "‖": r"$\Vert$",
        "±": r"$\pm$", "×": r"$\times$", "²": "$^2$", "κ": r"$\kappa$", "–": "--",
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


@dataclass(frozen=True)
class Sheet:
    """Lines of text below headers, the first `left` columns aligned to the left, the others to the right.

    `groups` are headers above the headers, each with the number of columns that it spans; where only one line
    of headers is to be had, a group's name stands for its first column. A line group starts at every
    `group_size`-th line.
    """

    headers: Sequence[str]
    lines: Sequence[Sequence[str]]
    left: int
    groups: Sequence[tuple[str, int]] = ()
    group_size: int = 1

    def text(self, style: str, formulas: Collection[str] = ()) -> str:
        """Return the sheet for `terminal`, `markdown` or `latex`; LaTeX sets `formulas` as mathematics."""
        if style == "latex":
            return self._latex(formulas)
        headers, lines = self._flat_headers(), self.lines
        if style == "markdown":
            headers, *lines = [[cell.replace("|", r"\|") for cell in line] for line in (headers, *lines)]
        return self._tabulated(headers, lines, "pipe" if style == "markdown" else "simple")

    def _tabulated(self, headers: Sequence[str], lines: Sequence[Sequence[str]], form: str) -> str:
        align = ["left"] * self.left + ["right"] * (len(headers) - self.left)
        return tabulate(lines, headers, form, disable_numparse=True, colalign=align if lines else None)

    def _flat_headers(self) -> list[str]:
        headers, start = list(self.headers), 0
        for name, width in self.groups:
            if name:
                headers[start] = name
            start += width
        return headers

    def _latex(self, formulas: Collection[str]) -> str:
        lines = [[latex(cell, formulas) for cell in line] for line in self.lines]
        if self.group_size > 1:
            for line in lines[self.group_size :: self.group_size]:
                line[0] = rf"\addlinespace {line[0]}"
        headers = [latex(header, formulas) for header in self.headers]
        body = self._tabulated(headers, lines, "latex_raw")
        for rule in (rf"\toprule{self._spans(formulas)}", r"\midrule", r"\bottomrule"):
            body = body.replace(r"\hline", rule, 1)
        return body

    def _spans(self, formulas: Collection[str]) -> str:
        """Return the line of groups and the rules below them."""
        if not self.groups:
            return ""
        cells, rules, start = [], [], 1
        for name, width in self.groups:
            text = latex(name, formulas)
            cells.append(rf"\multicolumn{{{width}}}{{c}}{{{text}}}" if name else "")
            if name:
                rules.append(rf"\cmidrule(lr){{{start}-{start + width - 1}}}")
            start += width
        return "\n " + " & ".join(cells) + " \\\\\n" + " ".join(rules)


def latex(text: str, formulas: Collection[str] = ()) -> str:
    r"""Return the text for LaTeX, the formulas in it as mathematics: $(1+\langle x,y\rangle)^4$."""
    known = sorted((formula for formula in formulas if formula in text), key=len, reverse=True)
    if not known:
        return text.translate(_LATEX)
    before, _, after = text.partition(known[0])
    return latex(before, known) + mathematics(known[0]) + latex(after, known)


def mathematics(formula: str) -> str:
    """Return a kernel's formula as LaTeX."""
    for pattern, replacement in _MATHS:
        formula = re.sub(pattern, replacement, formula)
    return f"${formula}$"
