"""A sheet of text, for the terminal, Markdown and LaTeX."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tabulate import tabulate

from kfeat.render import terminal
from kfeat.render.escapes import latex, markdown_cell


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

    def text(self, style: str, formulas: Collection[str] = (), width: int | None = None) -> str:
        """Return the sheet for `terminal`, `markdown` or `latex`; LaTeX sets `formulas` as mathematics.

        A terminal's table has at most `width` characters a line.
        """
        if style == "latex":
            return self._latex(formulas)
        headers = self._flat_headers()
        if style == "terminal":
            words, numbers = range(self.left), range(self.left, len(headers))
            return terminal.table(headers, self.lines, width, words, numbers, self.left)
        headers, *lines = [[markdown_cell(cell) for cell in line] for line in (headers, *self.lines)]
        return self._tabulated(headers, lines, "pipe")

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
