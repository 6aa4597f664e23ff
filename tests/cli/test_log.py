"""The log of a run, and what its plan says of memory and time."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kfeat.cli import main
from kfeat.experiments.store import read_rows

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


def test_with_too_little_memory_nothing_starts_and_the_reason_names_the_bytes(write: Write) -> None:
    refused = kfeat("run", write(), "--memory", "100M")
    assert refused.exit_code == 1
    rows = read_rows(Path("runs/small")).values()
    assert {row["status"] for row in rows} == {"failed"}
    assert all("more than the 104,857,600 available" in row["reason"] for row in rows)
    assert "bytes of memory, more than the 104,857,600 available" in refused.stderr


@pytest.mark.parametrize("size", ["0", "8X", "-1G", "G", "1e3", "8 GB x"])
def test_a_size_that_is_none_is_refused(write: Write, size: str) -> None:
    refused = kfeat("run", write(), f"--memory={size}")
    assert refused.exit_code == 2
    assert "expected a size above 0 such as 800M or 12G" in refused.stderr


@pytest.mark.parametrize(
    ("size", "there"), [("100000000", 10**8), ("0.1G", 107_374_182), ("1k", 1024), ("2MiB", 2**21)]
)
def test_sizes_have_units_of_powers_of_1024(write: Write, size: str, there: int) -> None:
    shown = kfeat("run", write(), "--no-exact", "--repeats", "1", "--memory", size)
    assert f"more than the {there:,} available" in shown.stderr
