"""Text of configs and rows is harmless wherever it is written."""

import csv
import io
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from matplotlib.mathtext import MathTextParser

from kfeat.analysis.cells import summarise
from kfeat.analysis.judgement import judge_experiment
from kfeat.experiments.paper import Claim
from kfeat.render.files import write_report
from kfeat.render.markup import csv_text, latex, markdown, markdown_cell, mathtext
from kfeat.render.report import render
from kfeat.render.verdicts import scoreboard
from kfeat.text import plain, plain_lines

NASTY = (
    "evil\n\\input{/etc/passwd}\r<script>alert(1)</script> [x](javascript:1) \x1b[31m\x9b5n\u202e|$\\frac$"
)


@pytest.fixture
def nasty(experiment, trials, make_rows):
    """Cells with such text as the label of a map and of the kernel, as a reason and as a processor."""
    rows = make_rows([0.84, 0.86])
    for row in rows.values():
        row["environment"] = row["environment"] | {"processor": NASTY}
    last = next(reversed([row for row in rows.values() if row["map"]]))
    last |= {"status": "failed", "reason": NASTY}
    named = [
        replace(
            trial,
            kernel=replace(trial.kernel, label=f"<x, y>, {NASTY}"),
            map=trial.map and replace(trial.map, label=f"{trial.map.name} {NASTY}"),
        )
        for trial in trials
    ]
    return summarise(experiment, named, rows)


@pytest.fixture
def evil(experiment):
    texts = dict.fromkeys(("text", "where", "explanation"), NASTY)
    claim = Claim.model_validate({**texts, "value": {"map": "tensor_sketch"}, "above": 90})
    return experiment.model_copy(update={"title": NASTY, "claims": [claim]})


def test_a_report_of_nasty_text_is_harmless(evil, nasty, tmp_path):
    write_report(evil, nasty, tmp_path)
    tex, md = ((tmp_path / name).read_text() for name in ("table.tex", "table.md"))
    assert "evil" in tex
    for line in tex.splitlines():
        assert r"\input" not in line or line.startswith("% ")
    assert "<script" not in md
    assert not re.search(r"\]\((?!results)", md)
    assert [line for line in md.splitlines() if line.startswith(("#", "\\"))] == [
        line for line in md.splitlines() if line.startswith(("# evil \\", "## Printed", "## Claims"))
    ]
    for name in ("table.tex", "table.md", "table.csv"):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", (tmp_path / name).read_text())
    table = (tmp_path / "table.csv").read_text()
    assert len(table.splitlines()) == 1 + len(list(csv.DictReader(io.StringIO(table)))) == 1 + len(nasty)
    ET.parse(tmp_path / "figure.svg")
    drawing = (tmp_path / "figure.svg").read_text()
    assert "&lt;script&gt;" in drawing
    assert "\x1b" not in drawing


def test_the_terminal_is_not_told_what_to_do(evil, nasty, tmp_path):
    for width in (None, 60):
        for text in (
            render(evil, nasty, "terminal", width),
            scoreboard(judge_experiment(evil, nasty, {}), tmp_path, width=width),
        ):
            assert "evil" in text
            assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)


def test_signs_of_control_are_shown_as_numbers():
    assert plain("a\tb\nc\x1b[1m\x00\u202e\ud800é²") == r"a b c\x1b[1m\x00\u202e\ud800é²"
    assert plain_lines("a:\n  b\r\x1b") == "a:\n  b \\x1b"


def test_markdown_has_no_tags_and_links_and_keeps_formulas():
    assert markdown("(1 + <x, y>)^2, p < 0.05, <b>") == "(1 + <x, y>)^2, p < 0.05, &lt;b>"
    assert markdown("[a](b) <!-- c --> </d>") == r"[a]\(b) &lt;!-- c --> &lt;/d>"
    assert markdown_cell("a | b") == r"a \| b"


def test_only_formulas_are_mathematics():
    assert latex("$x$ of <x, y>^2", ["<x, y>^2"]) == r"\$x\$ of $\langle x,y\rangle^2$"
    assert latex("a~b\nc") == r"a$\sim$b c"
    for formula, maths in (
        ("(1 + <x, y>)^4", r"$(1+\langle x,y\rangle)^4$"),
        ("<x, y>^10", r"$\langle x,y\rangle^{10}$"),
        ("exp(-gamma ||x - y||^2), gamma = median",
         r"$\exp(-\gamma \Vert x-y\Vert^2), \gamma = \mbox{median}$"),
    ):  # fmt: skip
        assert latex(f"a_b, {formula}", [formula, "<x, y>"]) == rf"a\_b, {maths}"


def test_no_cell_of_latex_is_an_option_of_the_line_before():
    r"""\\ takes [..] for a space to leave, and * for a word not to break a page."""
    assert latex("[x] 1") == "{}[x] 1"
    assert latex("* γ") == r"{}* $\gamma$"


def test_csv_has_no_formulas():
    assert [csv_text(text) for text in ("=1+1", "-2.5e3", "-x", "@a", "+1", "a=b", "")] == [
        "'=1+1", "-2.5e3", "'-x", "'@a", "+1", "a=b", "",
    ]  # fmt: skip


def test_formulas_in_figures_are_mathematics_and_dollars_are_dollars():
    formulas = {"<x, y>^2", "exp(-gamma ||x - y||^2), gamma = mean distance"}
    assert mathtext("5 $: <x, y>^2, $x", formulas) == r"5 \$: $\langle x,y\rangle^2$, \$x"
    gaussian = mathtext("exp(-gamma ||x - y||^2), gamma = mean distance", formulas)
    words = "mean\N{NO-BREAK SPACE}distance"
    assert gaussian == rf"$\exp(-\gamma \Vert x-y\Vert^2), \gamma = \mathrm{{{words}}}$"
    for text in (gaussian, mathtext("a $ <x, y>^2", formulas)):
        MathTextParser("path").parse(text)
