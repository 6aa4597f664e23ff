"""`kfeat check --all` over a folder of configs as a user meets it, and the checks of the Makefile."""

import re
import subprocess
from pathlib import Path

import pytest

from kfeat.child import avx2_alone
from kfeat.experiments.store import ROWS, write_rows
from tests.cells import fake_row, planned
from tests.cli.commands import kfeat, succeed

GISETTE = """\
title: Data that are not at hand
dataset: gisette
kernel: {name: polynomial, degree: 2}
maps: [{name: tensor_sketch, n_components: 8}]
solvers: {mapped: {name: liblinear}}
reported: {source: A Paper, runs: 5, numbers: [{for: {map: tensor_sketch}, mean: 90, where: Table 1}]}
"""
CLAIM = """
claims:
  - {text: The sketch learns, where: Section 6, value: {map: tensor_sketch}, above: 20}
"""


@pytest.fixture
def configs(write, tmp_path):
    """configs/a.yaml, b.yaml (a's trials and a claim) and gisette.yaml in an empty folder."""
    text = write().read_text()
    folder = tmp_path / "configs"
    folder.mkdir()
    (folder / "a.yaml").write_text(text)
    (folder / "b.yaml").write_text(text + "rows_from: [a]\n" + CLAIM)
    (folder / "gisette.yaml").write_text(GISETTE)
    return folder


def test_configs_that_are_published_together_may_cite_each_other(configs):
    """The claim that b cites is judged on a's new rows, though results/ has none of them yet."""
    claim = (
        "{id: learns, kind: own, text: It learns, where: Section 6, value: {map: tensor_sketch}, above: 80}"
    )
    (configs / "a.yaml").write_text((configs / "a.yaml").read_text() + f"claims: [{claim}]\n")
    cites = claim.replace("above: 80", "above: 99, explanation: So it is, evidence: [a#learns]")
    text = (configs / "a.yaml").read_text().replace(claim, cites.replace("id: learns, ", "id: more, "))
    (configs / "b.yaml").write_text(text)
    for name in "ab":
        trials = planned(configs / f"{name}.yaml")
        write_rows(Path("runs", name), [fake_row(trial, 0.9) for trial in trials])
    succeed("publish", configs / "b.yaml", configs / "a.yaml")
    assert "Evidence: a#learns (reproduced)" in Path("results/b/table.md").read_text()


@pytest.mark.slow
def test_all_needs_rows_takes_published_ones_and_prefers_yours(configs):
    nothing = kfeat("check", "--all")
    assert nothing.exit_code == 1, nothing.output
    assert nothing.output.count("no rows") == 3

    succeed("run", configs / "a.yaml", "-q")
    mine = succeed("check", "--all")
    assert line(mine.output, "b") == ["b", "runs", "–", "1 reproduced", "–", "–"]
    assert line(mine.output, "gisette") == ["gisette", "no rows", "1 missing", "–", "–", "–"]
    assert "missing: all of it" not in mine.output
    assert "gisette\n  missing: all of it" in kfeat("check", "--all", "--details").output

    succeed("publish", configs / "a.yaml", configs / "b.yaml")
    assert line(kfeat("check", "--all").output, "a") == ["a", "runs", "–", "–", "–", "3 same"]
    published = succeed("check", "--all", "--out", "elsewhere")
    assert line(published.output, "b") == ["b", "results", "–", "1 reproduced", "–", "–"]

    again = succeed("check", "--all", "--rerun-budget", "1m")
    assert "3 trials, 0 done before, 3 to run" in again.stderr  # those that both share run once
    assert again.stdout.count("bit for bit") == 6

    spoil(Path("results/b") / ROWS)
    red = kfeat("check", "--all", "--rerun-budget", "1m")
    assert red.exit_code == 1
    assert (red.stdout.count("bit for bit"), red.stdout.count("regressed")) == (3, 3)
    assert "regressed" in kfeat("check", "--all").output


def line(text, name):
    """The cells of a config's line, without its time."""
    found = next(one for one in text.splitlines() if one.split()[:1] == [name])
    return [cell.strip() for cell in found.split("  ") if cell.strip()][:-1]


def spoil(path):
    """Change every accuracy by tens of points."""
    text = path.read_text().replace('"accuracy":0.', '"accuracy":0.1')
    path.write_text(text.replace('"predictions":"', '"predictions":"x'))


def test_a_claim_that_fails_unexplained_turns_the_check_red(configs):
    path = configs / "b.yaml"
    path.write_text(path.read_text().replace("above: 20", "below: 20"))
    rows_at("runs/b")
    for arguments in (["check", path], ["check", "--all"]):
        red = kfeat(*arguments)
        assert red.exit_code == 1
        assert "not explained" in red.stdout
    path.write_text(path.read_text().replace("below: 20", "below: 20, unexplained: It rained"))
    for arguments in (["check", path], ["check", "--all"]):
        details = ["--details"] if "--all" in arguments else []
        assert "It rained" in succeed(*arguments, *details).stdout


@pytest.mark.parametrize("text", ["", "configs --details"])
def test_what_makes_no_sense_is_refused(configs, text):
    assert kfeat("check", *text.split()).exit_code == 2


def test_the_checks_of_reproduce_fast_pass_on_the_published_rows(monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[2])
    plan = subprocess.run(["make", "-n", "reproduce-fast"], capture_output=True, text=True, check=True).stdout
    checks = [line.split()[1:] for line in plan.splitlines() if "kfeat check" in line]
    assert len(checks) == 2
    for words in checks:
        succeed(*words, "--out", "results")


NUMBERS = """
reported:
  source: A Paper
  runs: 5
  numbers:
    - {for: {map: tensor_sketch}, mean: 60, sd: 40, where: Table 1}
    - {for: {map: random_maclaurin}, mean: 60, sd: 40, where: Table 2}
    - {for: {map: exact}, mean: 90, sd: 40, where: Table 3}
claims:
  - {text: The sketch learns, where: Section 6, value: {map: tensor_sketch}, above: 20}
  - {text: Exact is best, where: Section 7, difference: [{map: exact}, {map: tensor_sketch}], above: 0}
"""


def test_a_part_of_a_config_is_judged_alone_and_published_rows_are_shown_without_own_ones(configs):
    path = configs / "a.yaml"
    path.write_text(path.read_text() + NUMBERS)
    rows_at("runs/a")
    whole = kfeat("check", path)
    assert all(where in whole.output for where in ("Table 1", "Table 2", "Table 3", "Section 7"))
    part = succeed("check", path, "--maps", "tensor_sketch", "--no-exact")
    assert "Table 1" in part.output
    assert "Section 6" in part.output
    assert not any(word in part.output for word in ("Table 2", "Table 3", "Section 7", "not in this"))

    assert kfeat("check", path, "--out", "elsewhere").exit_code == 1  # neither own rows nor published ones
    succeed("publish", path)
    published = succeed("check", path, "--out", "elsewhere")
    assert "no rows in elsewhere/a: these are the published ones of results" in published.output
    assert "Table 1" in published.output
    assert "against the published rows" not in published.output
    path.write_text(path.read_text().replace("mean: 90, sd: 40", "mean: 10, sd: 1"))
    assert kfeat("check", path, "--out", "elsewhere").exit_code == 1


def rows_at(*folders, score=0.8, repeats=2):
    """Write rows of a part of a config's trials to folders such as runs/a."""
    for folder in map(Path, folders):
        trials = planned(Path("configs", f"{folder.name}.yaml"))
        write_rows(folder, [fake_row(trial, score) for trial in trials if trial.repeat < repeats])


@pytest.mark.usefixtures("configs")
def test_rows_are_compared_with_those_of_another_folder_and_with_nothing_else():
    Path("configs/b.yaml").write_text(Path("configs/b.yaml").read_text().replace("above: 20", "above: 99"))
    rows_at("runs/a", "runs/b", "old/b", "results/b")
    rows_at("old/a", repeats=1)
    rows_at("results/a", score=0.9)
    same = succeed("check", "configs/a.yaml", "configs/b.yaml", "--against", "old")
    assert "1 shared, equal bit for bit" in same.output
    assert "2 shared, equal bit for bit" in same.output
    assert not any(words in same.output for words in ("published", "It learns", "regressed", "not in old"))
    every = kfeat("check", "--all", "--against", "old")
    assert (every.exit_code, every.output.count("3 same"), "gisette" in every.output) == (0, 2, False)
    differ = kfeat("check", "--all", "--against", "results")
    assert (differ.exit_code, differ.output.count("3 same"), differ.output.count("3 regressed")) == (1, 1, 1)
    assert "regressed: Tensor Sketch: -10, beyond" in differ.output
    assert "against results" in kfeat("check", "--all", "--details", "--against", "results").output
    assert kfeat("check", "configs/a.yaml", "--against", "results", "-q").exit_code == 1


@pytest.mark.usefixtures("configs")
def test_what_another_folder_lacks_is_named_and_nothing_in_both_fails():
    rows_at("runs/a")
    trials = planned(Path("configs/a.yaml"))
    write_rows(Path("old/a"), [fake_row(trial, 0.8) for trial in trials if trial.map is None])
    assert "not in old: Tensor Sketch" in succeed("check", "configs/a.yaml", "--against", "old").output
    Path("old/a", ROWS).unlink()
    nothing = kfeat("check", "configs/a.yaml", "--against", "old")
    assert (nothing.exit_code, "against old: no method has rows in both" in nothing.output) == (1, True)
    every = kfeat("check", "--all", "--against", "old")
    assert (every.exit_code, every.output) == (1, "no config has rows in both runs and old\n")
    for wrong in (["old/none"], ["old", "--rerun-budget", "1m"]):
        assert kfeat("check", "--all", "--against", *wrong).exit_code == 2


@pytest.mark.slow
@pytest.mark.usefixtures("cold_processes")
def test_a_trial_of_another_processor_runs_again_with_the_instructions_of_both(write):
    # The map's features tell which instructions OpenBLAS was told to use, as an ill-conditioned one may.
    Path("told.py").write_text(
        "import os\nimport numpy as np\nfrom sklearn.base import BaseEstimator, TransformerMixin\n"
        "class Told(TransformerMixin, BaseEstimator):\n"
        "    def fit(self, X, y=None): return self\n"
        "    def transform(self, X):\n"
        "        told = os.environ.get('OPENBLAS_CORETYPE') == 'Haswell'\n"
        "        return np.array(X[:, :20]) if told else np.ones((X.shape[0], 20))\n"
    )
    path = write(**{"{name: tensor_sketch, n_components: 64}": "{name: 'told.py:Told'}"})
    with avx2_alone():
        succeed("run", path)
    succeed("publish", path)
    here = kfeat("check", path, "--rerun-budget", "1m")
    assert here.exit_code == 1
    assert "once more" not in here.stderr

    published = Path("results/small") / ROWS
    published.write_text(re.sub('"processor":"[^"]*"', '"processor":"another"', published.read_text()))
    again = succeed("check", path, "--rerun-budget", "1m")
    assert "1 trial regressed from rows of another processor" in again.stderr
    assert again.stdout.count("bit for bit") == 3

    succeed("run", path, "--force")
    own = kfeat("check", path)
    assert own.exit_code == 1
    assert "--rerun-budget 5m` shows whether that is why" in own.stdout

    spoil(published)
    spoilt = kfeat("check", path, "--rerun-budget", "1m")
    assert spoilt.exit_code == 1
    assert "once more" in spoilt.stderr
