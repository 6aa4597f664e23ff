"""`kfeat protocol` as a user meets it: the statement, a search on the digits, going on, publishing."""

from pathlib import Path

import pytest

from kfeat.experiments.store import read_rows
from tests.cli.test_run import kfeat
from tests.switches import SWITCHED


@pytest.fixture(autouse=True)
def _config() -> None:
    Path("switched.yaml").write_text(SWITCHED)


SEARCH = ("protocol", "switched.yaml", "--search", "--set", "switches.0.alternatives=[unit_rows]",
          "--set", "switches.1.alternatives=[]", "--repeats", "1")  # fmt: skip


def test_the_statement_needs_no_data_and_no_rows() -> None:
    shown = kfeat("protocol", "switched.yaml")
    assert shown.exit_code == 0, shown.output
    assert "known       map.degree_law" in shown.stdout
    assert not Path("runs").exists()


@pytest.mark.slow
def test_a_search_runs_once_and_finds_its_rows_again() -> None:
    dry = kfeat(*SEARCH, "--dry-run")
    assert "trials, each counted once: 0/8 done." in dry.stdout
    assert not Path("runs").exists()
    # The present setting's trials are those of the experiment itself.
    assert kfeat("run", "switched.yaml", "-q", "--no-exact", "--repeats", "1").exit_code == 0
    assert "trials, each counted once: 2/8 done." in kfeat(*SEARCH, "--dry-run").stdout
    first = kfeat(*SEARCH)
    assert first.exit_code == 0, first.output
    assert "8 trials, 2 done before, 6 to run" in first.stderr
    assert "4 combinations of 2 switches (2 x 2), held against 2 printed numbers." in first.stdout
    assert "of 4, its score" in " ".join(first.stdout.split())
    assert len(read_rows(Path("runs/switched/search"))) == 6
    second = kfeat(*SEARCH, "--publish")
    assert "8 trials, 8 done before, 0 to run" in second.stderr
    assert first.stdout in second.stdout
    assert "8 rows -> results/switched/search/" in second.stdout
    published = Path("results/switched/search")
    assert len(read_rows(published)) == 8
    for name in ("ranking.md", "ranking.csv"):
        assert (published / name).read_text() == Path("runs/switched/search", name).read_text()


def test_what_is_wrong_is_told_before_anything_runs() -> None:
    wrong = kfeat(*SEARCH, "--set", "switches.2.key=solver.bas")
    assert wrong.exit_code == 2
    assert "(did you mean 'solver.bias'?)" in wrong.stderr
    assert "add --search" in kfeat("protocol", "switched.yaml", "--publish").stderr
    assert "nothing to search" in kfeat(*SEARCH, "--set", "reported.numbers=[]").stderr
    assert not Path("runs").exists()
