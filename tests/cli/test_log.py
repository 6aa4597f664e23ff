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
from kfeat.cli.progress import Quiet
from kfeat.errors import DataError, StoreError
from kfeat.experiments.estimates import Estimate
from kfeat.experiments.plan import Trial
from kfeat.experiments.schedule import Event
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


def begin(name: str, *trials: Trial, done: int = 0) -> Event:
    return Event("begin", name, trials, {trial.id: Estimate(1.0, 10**8) for trial in trials}, done)


def test_each_line_is_in_the_file_at_once_and_an_error_is_its_end(write: Write) -> None:
    trial, other = stand_ins(write, Quick(), Quick())

    def broken() -> None:
        log.tell(begin("one", trial, other, done=3))
        assert [(event["event"], event["trials"]) for event in lines("log")] == [("begin", 5)]
        log.tell(Event("started", "one", [trial]))
        log.tell(Event("finished", "one", [trial], row=row(trial.id, "failed", reason="no memory")))
        assert lines("log")[-1]["reason"] == "no memory"
        raise RuntimeError("the disk is full")

    with pytest.raises(RuntimeError), Quiet(Path("log")) as log:
        broken()
    assert lines("log")[-1]["error"] == "the disk is full"
    lacking = DataError("own.csv: no such file")

    def ended_by_one(*names: str) -> None:
        for name in names:
            log.tell(begin(name, trial))
        log.tell(Event("end", "one", [trial], error=lacking))
        raise lacking

    with pytest.raises(DataError), Quiet(Path("log")) as log:
        ended_by_one("one", "two")
    ends = [(event["experiment"], event["error"]) for event in lines("log")[-2:]]
    assert ends == [("one", "own.csv: no such file"), ("two", "own.csv: no such file")]
    with pytest.raises(DataError), Quiet(Path("alone")) as log:
        ended_by_one("one")
    assert [event["event"] for event in lines("alone")] == ["begin", "end"]
    for error, told in ((KeyboardInterrupt(), "KeyboardInterrupt"), (SystemExit(143), "terminated")):
        with pytest.raises(type(error)), Quiet(Path("log")):
            raise error
        assert (lines("log")[-1]["error"], lines("log")[-1]["experiment"]) == (told, None)


def test_a_log_that_cannot_be_written_is_told_before_anything_runs(write: Write) -> None:
    refused = kfeat("run", write(), "--log", "no/such/folder/log")
    assert refused.exit_code == 2
    assert "no/such/folder/log: cannot be written (No such file or directory)" in refused.stderr
    assert not Path("runs/small/trials.jsonl").exists()
    with pytest.raises(StoreError), Quiet(Path("no/log")):
        pass


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a file that is always full")
def test_a_log_on_a_full_disk_is_a_warning_and_the_run_goes_on(
    write: Write, caplog: pytest.LogCaptureFixture
) -> None:
    (trial,) = stand_ins(write, Quick())
    with Quiet(Path("/dev/full")) as log:
        log.tell(begin("one", trial))
        log.tell(Event("started", "one", [trial]))
    warnings = [each.message for each in caplog.records if each.levelno == logging.WARNING]
    assert warnings == ["/dev/full: cannot be written any longer (No space left on device)"]


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
