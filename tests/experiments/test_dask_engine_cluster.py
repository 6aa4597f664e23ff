"""The Dask engine on a scheduler and workers started as a user starts them, and what may befall them."""

import json
import os
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from time import monotonic, sleep

import psutil
import pytest
from click.testing import CliRunner

pytest.importorskip("distributed", reason="the Dask engine needs the package distributed")

from kfeat.cli import main
from kfeat.cli.progress import Quiet
from kfeat.data import Access, FileSource, load_raw
from kfeat.errors import EngineError
from kfeat.experiments.engine import opened_engine
from kfeat.experiments.run import run_trials
from kfeat.experiments.store import read_rows
from kfeat.experiments.worker import WorkerOptions
from tests.experiments.stand_ins import Quick, Waits, stand_ins

OPTIONS = WorkerOptions(access=Access(offline=True))
ROOT = Path(__file__).parents[2]


@contextmanager
def dask(*arguments):
    """A `dask` command in the background, killed with its children in the end."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}  # a worker imports the stand-ins from the tests
    command = [sys.executable, "-m", "dask", *arguments, "--host", "127.0.0.1", "--no-dashboard"]
    process = subprocess.Popen(command, env=environment, cwd=ROOT, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        if process.poll() is None:
            for child in psutil.Process(process.pid).children(recursive=True):
                child.kill()
        process.kill()
        process.wait()


def until(found, seconds=90.0):
    """What is found, as soon as it is there."""
    deadline = monotonic() + seconds
    while not (it := found()):
        assert monotonic() < deadline, "it does not happen"
        sleep(0.05)
    return it


def on_own_file(trial):
    """The trial on a file of one's own, named by a path relative to the folder in which the test is."""
    Path("mine.csv").write_text("a,b,kind\n" + "".join(f"{i},{i % 7},{i % 2}\n" for i in range(500)))
    source = FileSource(path="mine.csv", target="kind", task="classification")
    return replace(trial, source=source, fingerprint=load_raw(source).fingerprint)


class Stage:
    """A trial that waits in a folder, and what the test does meanwhile."""

    def __init__(self, folder, write):
        folder.mkdir()
        self.folder = folder
        (self.trial,) = stand_ins(write, Waits(str(folder)))

    def process(self, number):
        """The process in which the trial begins for the number-th time, from 1, once it has begun there."""
        files = until(lambda: len(found := list(self.folder.glob("[0-9]*"))) >= number and found)
        return psutil.Process(int(max(files, key=lambda file: file.stat().st_mtime_ns).name))

    def worker(self, number):
        """The Dask worker of that process."""
        parent = self.process(number).parent()
        assert parent
        return parent

    def rows(self, engine, *others, meanwhile):
        """The rows of the trial and of others."""
        with ThreadPoolExecutor(1) as pool:
            playing = pool.submit(meanwhile)
            rows = run_trials([self.trial, *others], self.folder / "rows", engine, Quiet())
            playing.result()
        return list(rows.values())


@pytest.mark.slow
@pytest.mark.usefixtures("interruptible")
def test_workers_come_late_and_die_the_user_stops_and_the_scheduler_dies(
    write, tmp_path, monkeypatch, caplog
):
    monkeypatch.chdir(tmp_path)
    with ExitStack() as stack:
        file = tmp_path / "scheduler.json"
        scheduler = stack.enter_context(dask("scheduler", "--port", "0", "--scheduler-file", str(file)))
        until(lambda: file.exists() and file.read_text())
        about = json.loads(file.read_text())
        engine = stack.enter_context(opened_engine("dask", 1, about["address"], False, OPTIONS))

        first = Stage(tmp_path / "first", write)
        quick = stand_ins(write, Waits(), Quick(0.01), Quick(0.01))[1:]
        quick[0] = on_own_file(quick[0])  # the workers start in another folder

        def workers_come_and_one_is_killed():
            until(lambda: "no worker is connected" in caplog.text)
            stack.enter_context(dask("worker", about["address"], "--nthreads", "1", "--no-nanny"))
            victim = first.worker(1)
            stack.enter_context(dask("worker", about["address"], "--nthreads", "1", "--no-nanny"))
            victim.kill()
            assert first.worker(2) != victim
            (first.folder / "go").touch()

        rows = first.rows(engine, *quick, meanwhile=workers_come_and_one_is_killed)
        assert [row["status"] for row in rows] == ["done"] * 3
        assert not any(row["timed"] for row in rows)
        assert "its trial begins again" in caplog.text

        second = Stage(tmp_path / "second", write)

        def the_user_stops():
            running = second.process(1)
            os.kill(os.getpid(), signal.SIGINT)
            until(lambda: not running.is_running())
            (second.folder / "ended").touch()

        with pytest.raises(KeyboardInterrupt):
            second.rows(engine, meanwhile=the_user_stops)
        assert (second.folder / "ended").exists()

        third = Stage(tmp_path / "third", write)

        def the_scheduler_dies():
            running = third.process(1)
            scheduler.kill()
            until(lambda: not running.is_running())
            (third.folder / "ended").touch()

        with pytest.raises(EngineError, match="the Dask scheduler was lost"):
            third.rows(engine, meanwhile=the_scheduler_dies)
        assert (third.folder / "ended").exists()


@pytest.mark.slow
def test_a_scheduler_that_does_not_answer_ends_the_run_as_a_lost_one_does(write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("kfeat.experiments.dask_engine.SILENCE_SECONDS", 15.0)
    with dask("scheduler", "--port", "0", "--scheduler-file", str(tmp_path / "file")) as scheduler:
        until(lambda: Path("file").exists() and Path("file").read_text())
        address = json.loads(Path("file").read_text())["address"]
        with dask("worker", address, "--nthreads", "1", "--no-nanny"):
            stage, began = Stage(tmp_path / "stage", write), []

            def the_scheduler_freezes():
                stage.process(1)
                scheduler.send_signal(signal.SIGSTOP)
                began.append(monotonic())

            with (
                pytest.raises(EngineError, match="the Dask scheduler was lost"),
                opened_engine("dask", 1, address, False, OPTIONS) as engine,
            ):
                stage.rows(engine, meanwhile=the_scheduler_freezes)
            assert monotonic() - began[0] < 60


@pytest.fixture
def another_cluster():
    """The port that every scheduler asks for by default is taken."""
    with socket.socket() as port:
        with suppress(OSError):  # raised where another process has it
            port.bind(("127.0.0.1", 8787))
            port.listen()
        yield


@pytest.mark.slow
@pytest.mark.usefixtures("another_cluster", "cold_processes")
def test_both_engines_give_the_same_rows(write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = write()
    for engine, jobs in (("local", "1"), ("dask", "2")):
        options = ["--engine", engine, "--jobs", jobs, "--out", engine]
        result = CliRunner().invoke(main, ["run", str(path), "-q", *options])
        assert result.exit_code == 0, result.output
    local, there = (read_rows(tmp_path / engine / "small") for engine in ("local", "dask"))
    assert len(local) == 5
    assert [numbers(local[key]) for key in local] == [numbers(there[key]) for key in local]
    assert not any(row["timed"] for row in there.values())


def numbers(row):
    """What a row says that does not depend on the time it took."""
    return {key: value for key, value in row.items() if key not in ("seconds", "timed", "peak_memory_mb")}
