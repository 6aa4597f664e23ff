import re
from pathlib import Path

import pytest

from kfeat.analysis.judgement import judge_experiment
from kfeat.experiments.config import load_experiment
from kfeat.render.overview import terminal
from kfeat.render.report import render
from kfeat.render.table import Table
from kfeat.render.verdicts import TONES, scoreboard
from tests.cells import cells_with, fake_row

WIDTHS = (60, 80, 120)
CONFIGS = Path(__file__).parents[2] / "configs"
NUMBERS = re.compile(r"~?[-+]?\d+\.\d+(?: ± \d+\.\d+)?")


def width_of(text):
    return max(map(len, text.splitlines()))


@pytest.mark.parametrize("width", WIDTHS)
def test_text_breaks_and_columns_stack_but_no_number_breaks(width):
    headers = ["data", "method with a long name", *(f"number {i}" for i in range(9))]
    lines = [["digits and letters"[: 6 * i], "Tensor Sketch, D = 500, " * i] for i in (1, 2, 3)]
    lines = [[*line, *(f"{1000 * i}.25 ± 0.125" for i in range(9))] for line in lines]
    text = Table(headers, lines, (0, 1), range(2, 11), keys=2).terminal(width)
    assert width_of(text) <= width
    for i in range(9):
        assert len(re.findall(rf"\b{1000 * i}\.25 ± 0\.125", text)) == 3
    blocks = text.split("\n\n")
    assert (len(blocks) > 1) == (width < 200)
    assert all("method" in block for block in blocks)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_report_fits_with_every_number_of_it(experiment, make_cells, width):
    cells = make_cells([0.84, 0.86], timed=False, verified=False)
    whole, narrow = (render(experiment, cells, "terminal", one) for one in (None, width))
    assert width_of(narrow) <= width
    assert set(NUMBERS.findall(whole)) == set(NUMBERS.findall(narrow))
    judgement = judge_experiment(experiment, cells, {})
    for text in (scoreboard(judgement, Path("runs"), width=width), terminal([judgement], width)):
        assert width_of(text) <= width


@pytest.mark.parametrize("name", ["table1_adult", "table2", "figure3"])
def test_the_reports_of_the_papers_fit_80_columns(name):
    experiment = load_experiment(CONFIGS / f"pham_pagh_2013/{name}.yaml")
    cells = cells_with(experiment, lambda trial: fake_row(trial, 0.9 + trial.repeat / 100))
    assert width_of(render(experiment, cells, "terminal", 80)) <= 80
    judgement = judge_experiment(experiment, cells, {})
    assert width_of(scoreboard(judgement, Path("runs"), width=80)) <= 80


def test_verdicts_have_colours_on_a_terminal_that_shows_them(monkeypatch):
    lines = [["open questions", "open"], ["a", "differs, not explained"], ["b", "72.1"]]
    table = Table(["what", "verdict"], lines, (0, 1), tones=TONES)
    plain = table.terminal(30)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    shown = table.terminal(30)
    assert shown.splitlines()[2] == "open questions  \x1b[33mopen\x1b[0m"
    assert "\x1b[31mdiffers, not\x1b[0m" in shown  # on each line of the cell
    assert re.sub("\x1b\\[[0-9]+m", "", shown) == plain
    monkeypatch.setenv("NO_COLOR", "1")
    assert table.terminal(30) == plain
