"""The log of a run, and what its plan says of memory and time."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kfeat.cli import main

Write = Callable[..., Path]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def kfeat(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def lines(path: str | Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def test_the_plan_says_what_each_trial_will_take_and_all_of_them(write: Write) -> None:
    path = write()
    shown = kfeat("plan", path).stdout.splitlines()
    each = [re.fullmatch(r"\w{16}  to run  +[\d.]+ secs +[\d.]+ MB  \S.*", line) for line in shown[1:-1]]
    assert len(each) == 5
    assert all(each)
    assert re.fullmatch(
        r"estimated: [\d.]+ secs of CPU time in all, [\d.]+ secs of it pending; "
        r"[\d.]+ MB of memory for the largest trial, 1.\d GB for all at once",
        shown[-1],
    )


@pytest.mark.parametrize("size", ["0", "8X", "-1G", "G", "1e3", "8 GB x"])
def test_a_size_that_is_none_is_refused(write: Write, size: str) -> None:
    refused = kfeat("run", write(), f"--memory={size}")
    assert refused.exit_code == 2
    assert "expected a size above 0 such as 800M or 12G" in refused.stderr
