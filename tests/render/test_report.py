"""The differences from a reference in every table, and the LaTeX of a paper."""

import csv
import io
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_ind, ttest_rel

from kfeat.render import report
from kfeat.render.notes import notes
from kfeat.render.numbers import MISSING, UNCONVERGED
from kfeat.render.report import records, render, render_csv
from tests.analysis.test_claim_cases import FIXED, TWO_MAPPED, accuracies, by_name, row
from tests.analysis.test_claim_cases import load as load_reference
from tests.cells import cells_with, fake_row

SHOWN = re.compile(r"([-+]\d+\.\d\d) \[(-?\d+\.\d\d), (-?\d+\.\d\d)\]")

load = load_reference


def column(experiment, make=row, title="minus ORF"):
    return {record["method"]: record[title] for record in records(experiment, cells_with(experiment, make))}


def test_each_table_has_the_differences_with_their_intervals(load):
    experiment = load()
    cells = cells_with(experiment, row)
    named, shown = by_name(cells), column(experiment)
    assert shown["exact, LIBSVM"] == MISSING
    assert shown["ORF, D = 32"] == shown["ORF, D = 64"] == "reference"
    lines = {line["method"]: line for line in csv.DictReader(io.StringIO(render_csv(experiment, cells)))}
    for method, ours, theirs in (
        ("Random Fourier, D = 32", "random_fourier 32", "orf 32"),
        ("Random Fourier, D = 64", "random_fourier 64", "orf 64"),
        ("Nystrom", "nystrom 32", "orf 32"),
    ):
        x, y = accuracies(named[ours]), accuracies(named[theirs])
        pairs = np.array([(x[seed], y[seed]) for seed in x])
        interval = ttest_rel(*pairs.T).confidence_interval(0.95)
        expected = (np.subtract(*pairs.T).mean(), *interval)
        assert [float(n) for n in SHOWN.fullmatch(shown[method]).groups()] == pytest.approx(
            expected, abs=5e-3
        )
        line = [float(lines[method][f"minus ORF{end}"]) for end in ("", "_low", "_high")]
        assert line == pytest.approx(expected, rel=1e-3)
    assert lines["ORF, D = 32"]["minus ORF"] == lines["exact, LIBSVM"]["minus ORF"] == ""
    for style in ("terminal", "markdown"):
        text = render(experiment, cells, style)
        assert shown["Nystrom"] in text
        assert text.count("minus ORF: the score minus the reference's") == 1
        assert "95 % interval, from pairs of runs with the same split or features." in text
        assert "Welch" not in text


def test_the_note_says_which_intervals_are_welchs(load):
    experiment = load(replacements=FIXED)
    cells = cells_with(experiment, row)
    a, b = ([100 * r["accuracy"] for r in by_name(cells)[name].rows] for name in ("nystrom 32", "orf 32"))
    expected = (np.mean(a) - np.mean(b), *ttest_ind(a, b, equal_var=False).confidence_interval(0.95))
    shown = SHOWN.fullmatch(column(experiment)["Nystrom"]).groups()
    assert [float(number) for number in shown] == pytest.approx(expected, abs=5e-3)
    assert any(line.endswith("its 95 % interval, Welch's.") for line in notes(experiment, cells))
    two = load("{map: orf, solver: newton}", {**FIXED, **TWO_MAPPED})
    (note,) = [line for line in notes(two, cells_with(two, row)) if line.startswith("minus ORF, Newton: ")]
    pairs, _, welch = note.partition("; Welch's for ")
    assert "from pairs of runs" in pairs
    assert "'Nystrom, LIBLINEAR'" in welch
    assert "ORF, D" not in welch


def test_a_title_of_one_size_names_it_and_that_of_several_methods_none(load):
    assert set(column(load("{map: exact}"), title="minus exact, LIBSVM").values()) > {"reference"}
    assert "minus ORF, D = 64" in records(*_of(load("{map: orf, map.n_components: 64}")))[0]
    assert "minus reference" in records(*_of(load("{map: [orf, nystrom]}")))[0]
    assert not [key for key in records(*_of(load(maps=["nystrom"])))[0] if "minus" in key]


def _of(experiment):
    return experiment, cells_with(experiment, row)


def test_single_runs_and_missing_ones_have_no_interval(load):
    def lacking(trial):
        return row(trial) if trial.map is None or trial.map.name != "nystrom" else None

    shown = column(load(replacements={"repeats: 6": "repeats: 1"}), lacking)
    assert re.fullmatch(r"[-+]\d+\.\d\d", shown["Random Fourier, D = 32"])
    assert shown["Nystrom"] == MISSING
    assert set(column(load(), lambda trial: None).values()) == {MISSING, "reference"}


def test_a_difference_from_a_score_in_doubt_is_marked(load):
    def half_done(trial):
        solve = {"converged": not (trial.map and trial.map.name == "orf")}
        return fake_row(trial, row(trial)["accuracy"], solve=solve | {"stop_reason": "limit"})

    assert f"{UNCONVERGED} [" in column(load(), half_done)["Nystrom"]
    assert (
        UNCONVERGED
        not in column(load("{map: nystrom}"), half_done, "minus Nystrom")["Random Fourier, D = 32"]
    )


def check_latex(text):
    """Check that environments, braces and dollars are closed, and that lines have a cell for each column."""
    text = "\n".join(line for line in text.splitlines() if not line.startswith("%"))
    bare = re.sub(r"\\label.*|\\[\\{}$&%#_]", "", text)
    assert bare.count("{") == bare.count("}")
    assert not re.search("[%#~^_]", re.sub(r"\$[^$]*\$", "", bare))
    opened = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", text):
        if kind == "begin":
            opened.append(name)
        else:
            assert opened.pop() == name
    assert not opened
    for columns, body in re.findall(r"\\begin\{tabular\}\{@\{\}(\w+)@\{\}\}(.*?)\\end", text, re.DOTALL):
        for line in re.split(r"\\\\\n", re.sub(r"\\(top|mid|bottom)rule|\\cmidrule\S+", "", body)):
            if line.strip():
                spans = [int(n) - 1 for n in re.findall(r"\\multicolumn\{(\d+)\}", line)]
                assert len(re.findall(r"(?<!\\)&", line)) + sum(spans) == len(columns) - 1
                assert line.count("$") % 2 == line.count(r"\$") % 2
    for command in ("caption", "label", "centering"):
        assert text.count(rf"\{command}") == text.count(r"\begin{table}") > 0


def test_latex_is_a_table_of_a_paper(load, tmp_path):
    experiment = load(
        replacements={
            "Maps, small": "Maps & 50 % of n#1_a",
            "n_components: 32": "label: a_b^2, n_components: 32",
        }
    )
    cells = cells_with(experiment, lambda trial: row(trial) if trial.map else fake_row(trial, 0.99))
    text = render(experiment, cells, "latex")
    check_latex(text)
    about = r"Mean $\pm$ standard deviation over 6 runs; bold: the best map. minus ORF: the score minus "
    assert rf"\caption{{Maps \& 50 \% of n\#1\_a. {about}" in text
    assert r"\label{tab:my_maps}\smallskip" in text
    best = max((cell for cell in cells if cell.trial.map), key=lambda cell: cell.score.mean)
    (bold,) = re.findall(r"\\textbf\{(.*?) \$\\pm\$", text)
    assert bold == f"{best.score.mean:.2f}"
    assert r"[$-$" in text
    assert not re.search(r"[ \[]-\d", text.partition(r"\begin{table}")[2])
    assert "live features" not in text.partition(r"\begin{table}")[2]
    if latex := shutil.which("pdflatex"):
        document = (
            rf"\documentclass{{article}}\usepackage{{booktabs}}\begin{{document}}{text}\end{{document}}"
        )
        (tmp_path / "paper.tex").write_text(document)
        subprocess.run([latex, "-halt-on-error", "paper.tex"], cwd=tmp_path, check=True, capture_output=True)


def test_many_tables_do_not_exceed_what_latex_can_keep(load, monkeypatch):
    experiment = load(replacements={"gamma: 0.05": f"gamma: {[i / 10 for i in range(1, 10)]}"})
    text = render(experiment, cells_with(experiment, row), "latex")
    check_latex(text)
    assert (text.count(r"\begin{table}"), text.count(r"\clearpage")) == (9, 0)
    assert r"gamma = 0.9$. Mean" in text.replace(r"\gamma", "gamma")
    monkeypatch.setattr(report, "MOST_FLOATS", 4)
    parts = render(experiment, cells_with(experiment, row), "latex").split(r"\clearpage")
    assert [part.count(r"\end{table}") for part in parts] == [4, 4, 1]


def test_the_config_of_the_page_on_papers_comes_with_kfeat_and_has_a_reference(load_text):
    (text,) = re.findall(r"```yaml\n(.*?)```", Path("docs/howto/paper_table.md").read_text(), re.DOTALL)
    place, _, config = text.removeprefix("# ").partition("\n")
    assert config == Path(place).read_text()
    shown = column(load_text(text))
    assert [name for name, difference in shown.items() if difference == "reference"] == [
        f"ORF, D = {size}" for size in (32, 64, 128, 256)
    ]
    assert shown["exact, LIBSVM"] == MISSING
