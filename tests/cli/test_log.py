"""The log of a run, and what its plan says of memory and time."""

import json
import logging
import os
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kfeat.cli import main
from kfeat.cli.event_log import EventLog
from kfeat.cli.progress import Lines, Quiet
from kfeat.errors import DataError, StoreError
from kfeat.experiments.estimates import Estimate, estimates
from kfeat.experiments.observer import Begun
from kfeat.experiments.store import read_rows
from tests.experiments.rows import row
from tests.experiments.stand_ins import Quick, stand_ins

Write = Callable[..., Path]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def kfeat(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def lines(path: str | Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def test_a_run_writes_each_event_as_a_json_line_and_appends_the_next_run(write: Write) -> None:
    path = write()
    command = ("run", path, "--no-exact", "--repeats", "1", "-q", "--log", "events.jsonl")
    assert kfeat(*command).exit_code == 0
    events = lines("events.jsonl")
    assert [event["event"] for event in events] == [
        "begin", *["started", "finished"] * 2, "end",
    ]  # fmt: skip
    assert {event["experiment"] for event in events} == {"small"}
    begin, started, finished, *_, end = events
    assert (begin["trials"], begin["done"]) == (2, 0)
    assert started["id"] == finished["id"]
    assert started["name"] == "tensor_sketch n_components=64, liblinear, repeat 0"
    assert started["memory"] > 10**8
    assert 0 < started["seconds"] < 10
    assert (finished["status"], finished["reason"]) == ("done", None)
    left = [event["seconds_left"] for event in events]
    assert left[0] > 0
    assert left[-2:] == [0, 0]
    assert end["error"] is None
    times = [datetime.fromisoformat(str(event["time"])) for event in events]
    assert times == sorted(times)
    assert times[0].utcoffset() == timedelta(0)

    assert kfeat(*command).exit_code == 0
    assert [event["event"] for event in lines("events.jsonl")[len(events) :]] == ["begin", "end"]


def test_each_line_is_in_the_file_at_once_and_an_error_is_its_end(write: Write) -> None:
    trials = stand_ins(write, Quick(), Quick())

    def broken() -> None:
        log.begin(Begun("one", trials, estimates(trials, [], 10**10), done=3))
        assert [event["event"] for event in lines("log")] == ["begin"]
        log.started(trials[1])
        log.finished(trials[1], row(trials[1].id, "failed", reason="no memory"))
        assert lines("log")[-1]["reason"] == "no memory"
        raise RuntimeError("the disk is full")

    with pytest.raises(RuntimeError), EventLog(Quiet(), Path("log")) as log:
        broken()
    assert lines("log")[-1]["error"] == "the disk is full"
    lacking = DataError("own.csv: no such file")

    def ended_by_one(*names: str) -> None:
        for name, trial in zip(names, trials, strict=False):
            log.begin(Begun(name, [trial], estimates([trial], [], 10**10)))
        log.end("one", [trials[0].id], lacking)
        raise lacking

    with pytest.raises(DataError), EventLog(Quiet(), Path("log")) as log:
        ended_by_one("one", "two")
    ends = [(event["experiment"], event["error"]) for event in lines("log")[-2:]]
    assert ends == [("one", "own.csv: no such file"), ("two", "own.csv: no such file")]
    with pytest.raises(DataError), EventLog(Quiet(), Path("alone")) as log:
        ended_by_one("one")
    assert [event["event"] for event in lines("alone")] == ["begin", "end"]
    with pytest.raises(KeyboardInterrupt), EventLog(Quiet(), Path("log")):
        raise KeyboardInterrupt
    assert lines("log")[-1]["error"] == "KeyboardInterrupt"
    with pytest.raises(SystemExit), EventLog(Quiet(), Path("log")):
        raise SystemExit(143)
    assert lines("log")[-1]["error"] == "terminated"


def test_a_log_that_cannot_be_written_is_told_before_anything_runs(write: Write) -> None:
    refused = kfeat("run", write(), "--log", "no/such/folder/log")
    assert refused.exit_code == 2
    assert "no/such/folder/log: cannot be written (No such file or directory)" in refused.stderr
    assert not Path("runs/small/trials.jsonl").exists()
    with pytest.raises(StoreError), EventLog(Quiet(), Path("no/log")):
        pass


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a file that is always full")
def test_a_log_on_a_full_disk_is_a_warning_and_the_run_goes_on(
    write: Write, caplog: pytest.LogCaptureFixture
) -> None:
    trials = stand_ins(write, Quick())
    with EventLog(Quiet(), Path("/dev/full")) as log:
        log.begin(Begun("one", trials, estimates(trials, [], 10**10)))
        log.started(trials[0])
    warnings = [each.message for each in caplog.records if each.levelno == logging.WARNING]
    assert warnings == ["/dev/full: cannot be written any longer (No space left on device)"]


def test_lines_tell_a_time_left_of_a_minute_or_more(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    trials = stand_ins(write, *(Quick() for _ in range(3)))
    expected = estimates(trials, [], 10**10)
    for seconds, said in ((600.0, " (about 20.0 mins left)"), (1.0, "")):
        watching = Lines()
        watching.begin(
            Begun("one", trials, {key: Estimate(seconds, one.memory) for key, one in expected.items()})
        )
        watching.finished(trials[0], row(trials[0].id, "failed", reason="no memory"))
        assert capsys.readouterr().err.endswith(f"failed: no memory{said}\n")


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
    assert all("more than the 104,857,600 there are" in row["reason"] for row in rows)
    assert "bytes of memory, more than the 104,857,600 there are" in refused.stderr


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
    assert f"more than the {there:,} there are" in shown.stderr
