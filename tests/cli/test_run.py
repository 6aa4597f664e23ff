"""The command line as a user meets it: the whole job on bundled data, stopping and going on, bad input."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from kfeat.cli import main
from kfeat.experiments.store import ROWS, read_rows, write_rows
from kfeat.render.files import FILES
from tests.cells import fake_row, planned
from tests.cli.commands import kfeat, refusal, succeed
from tests.cli.test_results_check import spoil


def rows(name="small"):
    path = Path("runs") / name / ROWS
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]


def test_run_check_publish_and_report(write):
    path = write()
    assert "Tensor Sketch" in succeed("run", path).stdout
    assert len(rows()) == 5
    assert {row["status"] for row in rows()} == {"done"}
    assert all((Path("runs/small") / name).exists() for name in FILES)
    before = {name: (Path("runs/small") / name).stat().st_mtime_ns for name in FILES}

    assert "5 trials, 5 done before, 0 to run" in succeed("run", path).stderr
    assert len(rows()) == 5
    assert before == {name: (Path("runs/small") / name).stat().st_mtime_ns for name in FILES}

    succeed("check", path)
    assert "5 rows -> results/small" in kfeat("publish", path).output
    assert "equal bit for bit" in succeed("check", path).output

    assert succeed("check", path, "--rerun-budget", "1m").stdout.count("bit for bit") == 3
    assert kfeat("check", path, "--rerun-budget", "0").exit_code == 1

    spoil(Path("results/small") / ROWS)
    assert kfeat("check", path, "--rerun-budget", "1m").exit_code == 1
    assert "regressed" in kfeat("check", path).output

    (Path("runs/small") / "table.md").unlink()
    succeed("report", path)
    assert (Path("runs/small") / "table.md").exists()


def test_partial_publishes_what_is_done_and_shows_the_rest_as_missing(write):
    path = write()
    write_rows(Path("runs/small"), [fake_row(trial, 0.8) for trial in planned(path)])
    saved = Path("runs/small") / ROWS
    done, failed = '"status":"done"', '"status":"failed","reason":""'
    *sketches, exact = saved.read_text().splitlines(keepends=True)
    saved.write_text("".join([*sketches, exact.replace(done, failed)]))
    assert "1 of 5 planned trials is not done" in refusal("publish", path)
    assert not Path("results").exists()

    assert "4 rows -> results/small" in kfeat("publish", path, "--partial").output
    published = [json.loads(line) for line in (Path("results/small") / ROWS).read_text().splitlines()]
    assert [row["status"] for row in published] == ["done"] * 4
    lines = Path("results/small/table.md").read_text().splitlines()
    assert ["0/1" in line for line in lines if line.startswith("| exact")] == [True]

    saved.write_text(saved.read_text().replace(done, failed))
    assert kfeat("publish", path, "--partial").exit_code == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--retime", "--timed-runs", "1"], "exclude each other"),
        (["--force", "--retime"], "exclude each other"),
        (["--retime", "--jobs", "2"], "one at a time"),
        (["--engine", "dask", "--scheduler", "tcp://h:1", "--memory", "2G"], "--memory is for this machine"),
        (["--engine", "dask", "--scheduler", "tcp://h:1", "--jobs", "2"], "leave --jobs out"),
        (["--exclusive"], "belong to --engine dask"),
        (["--scheduler", "tcp://h:1"], "belong to --engine dask"),
        (["--engine", "carts"], "'local', 'dask'"),
    ],
)
def test_options_that_contradict_each_other_are_refused(write, options, words):
    assert words in " ".join(refusal("run", write(), *options).replace("│", " ").split())
    assert not rows()


# Trials that are not over before a busy machine looks whether they are at their limit.
SLOW = {"tensor_sketch, n_components: 64": "tensor_sketch, n_components: 8192"}


def test_a_trial_that_was_done_and_cannot_be_done_again_keeps_its_row(write, caplog):
    path = write(**SLOW)
    trials = planned(path)
    write_rows(Path("runs/small"), [fake_row(trial, 0.5, timed=False) for trial in trials])
    before = Path("runs/small", ROWS).read_bytes()
    only = ("--maps", "tensor_sketch", "--no-exact", "--repeats", "1")
    for options, status in ((["--retime", "--time-limit", "0.001s"], 0), (["--force", "--memory", "1M"], 1)):
        assert kfeat("run", path, *only, *options).exit_code == status
        assert caplog.text.count("its earlier row, which is done, is kept") == 1
        caplog.clear()
        assert Path("runs/small", ROWS).read_bytes() == before
    forced = kfeat("run", path, *only, "--force", "--time-limit", "0.001s")
    assert "stopped" in forced.stderr
    assert [row["status"] for row in rows()].count("stopped") == 1


def test_published_rows_that_cannot_be_read_do_not_stop_a_run(write, caplog):
    Path("results/small").mkdir(parents=True)
    Path("results/small", ROWS).write_text('{"schema": 99, "id": "x"}\n')
    succeed("run", write(), "--no-exact", "--repeats", "1")
    assert "not used to estimate times: results/small" in caplog.text


def test_dry_run_and_plan_show_identities_and_states(write):
    path = write()
    assert succeed("run", path, "--dry-run").stdout.count("to run") == 5
    assert not Path("runs").exists()
    sketches = planned(path)[:2]
    write_rows(Path("runs/small"), [fake_row(trial, 0.8) for trial in sketches])
    shown = kfeat("plan", path).stdout
    assert "5 trials, 2 done" in shown
    assert all(trial.id in shown for trial in sketches)
    write_rows(Path("runs/small"), [fake_row(trial, 0.8, timed=False) for trial in sketches])
    assert "5 trials, 2 done" in kfeat("run", path, "--dry-run").stdout
    assert kfeat("run", path, "--dry-run", "--retime").stdout.count("to run") == 5
    assert kfeat("run", path, "--dry-run", "--force").stdout.count("to run") == 5


def test_a_folder_stands_for_its_configs_and_one_that_fails_does_not_stop_the_others(write, tmp_path):
    path = write()
    folder = tmp_path / "mine"
    folder.mkdir()
    path.rename(folder / "b.yaml")
    text = (folder / "b.yaml").read_text()
    (folder / "a.yaml").write_text(text.replace("n_train: 300", "n_train: 30000"))
    assert "a.yaml" in refusal("run", folder, "--no-exact", "--repeats", "1")
    assert len(rows("b")) == 2
    assert not rows("a")


def test_no_rows_fail_the_check_and_the_report(write):
    path = write()
    assert kfeat("check", path).exit_code == 1
    assert "no rows" in kfeat("check", path).output
    assert kfeat("report", path).exit_code == 2
    assert kfeat("publish", path).exit_code == 2
    assert not Path("results").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "nowhere.yaml"], "no such file"),
        (["run", "."], "no .yaml or .yml file"),
        (["run", "small.yaml", "--set", "dataset=nonesuch"], "nonesuch"),
        (["run", "small.yaml", "--set", "seed"], "key=value"),
        (["run", "small.yaml", "--maps", "x"], "not in small.yaml"),
        (["run", "small.yaml", "--repeats", "0"], "--repeats"),
        (["run", "small.yaml", "--set", "kernel={name: gaussian, gamma: 1}"], "maps that can"),
        (["run"], "CONFIGS"),
        (["fly"], "no such command 'fly'"),
    ],
)
def test_bad_input_exits_with_2_and_writes_nothing(write, arguments, words):
    path = write()
    if arguments == ["run", "."]:
        path.unlink()
    result = kfeat(*arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert "Traceback" not in result.output
    assert not Path("runs").exists()


def test_debug_shows_the_traceback(write):
    write()
    result = kfeat("run", "small.yaml", "--set", "dataset=nonesuch", "--debug")
    assert result.exit_code != 0
    assert "nonesuch" in str(result.exception)


def test_a_failing_solver_is_a_row_and_an_exit_status(write):
    path = write(**{"name: liblinear, C: 1": "name: liblinear, regularize_bias: false"})
    result = kfeat("run", path)
    assert result.exit_code == 1
    why = "ParameterError: Liblinear: To not regularize bias, must specify -B 1 along with -R"
    assert [row.get("reason") for row in rows()] == [why] * 4 + [None]
    assert result.stderr.count(f"failed: {why}") == 4  # once, as they run
    assert "kfeat: 4 of 5 trials failed\n" in result.stderr
    assert kfeat("run", path, "-q").stderr.count(f"failed: Tensor Sketch: {why} (2 trials)") == 1
    table = Path("runs/small/table.md").read_text()
    assert f"- failed: Tensor Sketch: {why}" in table
    assert table.count("0/2") == 2


def test_help_is_there_for_every_command():
    for command in main.commands:
        assert succeed(command, "--help").stdout.startswith("Usage")
    for group in ([], ["data"], ["rows"]):
        assert "..." not in kfeat(*group, "--help").stdout.replace("[ARGS]...", "")  # no sentence is cut


# Two quick trials, then a solve in C that would take minutes: LIBSVM with next to no kernel cache.
LONG = """\
title: Long
dataset: {name: dense, n: 20000, d: 100}
protocol: {split: {kind: sample, n_train: 19000, n_test: 50, seed: 0}}
kernel: {name: polynomial, degree: 4, coef0: 1}
maps:
  - {name: tensor_sketch, n_components: 8}
solvers:
  mapped: {name: liblinear, C: 1}
  exact: {name: libsvm, C: 1e9, eps: 1e-12, cache_mb: 1, shrinking: false}
repeats: 2
"""


@pytest.fixture
def long_run(tmp_path):
    """Start the long run as a terminal does: a group of its own in which Ctrl-C is not ignored.

    A script's background jobs, such as a test run may be, ignore Ctrl-C, and so would what they start.
    """
    path = tmp_path / "long.yaml"
    path.write_text(LONG)
    with subprocess.Popen(
        [sys.executable, "-m", "kfeat", "run", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        yield process
        process.kill()


def wait_for_rows(process, number, name):
    """Wait until so many trials are saved and the next is in hand; return the child processes."""
    deadline = time.monotonic() + 60
    while len(rows(name)) < number:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(0.5)
    return psutil.Process(process.pid).children(recursive=True)


def running(process):
    """Whether a process still does anything (a zombie only waits to be counted)."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize(
    ("option", "told", "values"),
    [
        ("--time-limit", "expected", ["soon", "0", "366000h", "9" * 400, "1e9", "-5", "nan"]),
        ("--memory", "expected a size above 0 such as 800M or 12G", ["0", "8X", "-1G", "G", "1e3", "8 GB x"]),
        ("--jobs", "or auto", ["0", "-1", "many", "1.5", "9" * 40]),
    ],
)
def test_a_value_that_an_option_cannot_hold_is_refused(write, option, told, values):
    for wrong in values:
        assert told in refusal("run", write(), f"{option}={wrong}")
    assert not Path("runs").exists()
    succeed("run", write(), "--dry-run", "--jobs", "auto")


@pytest.mark.slow
def test_a_trial_is_stopped_at_the_time_limit_and_runs_again_with_a_longer_one(tmp_path):
    path = tmp_path / "long.yaml"
    path.write_text(LONG)
    stopped = succeed("run", path, "--time-limit", "8s")
    assert [row["status"] for row in rows("long")] == ["done", "done", "stopped"]
    why = "it had not ended after 8 seconds"
    assert stopped.stderr.count(f"stopped: {why}") == 1
    assert "1 of 3 trials stopped at the time limit; a longer one runs them again" in stopped.stderr
    assert f"- stopped: exact, LIBSVM: {why}" in Path("runs/long/table.md").read_text()
    for limit, state in (("8s", "stopped"), ("9s", "to run")):
        plan = kfeat("run", path, "--dry-run", "--time-limit", limit)
        assert plan.stdout.splitlines()[-2].split("  ")[1].strip() == state
    assert f"missing: exact, LIBSVM, stopped: {why}" in succeed("check", path).stdout
    succeed("publish", path)
    assert read_rows(Path("results/long")) == read_rows(Path("runs/long"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sent", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)]
)
def test_a_stopped_run_ends_at_once_and_goes_on_from_there(long_run, sent, status):
    process = long_run
    children = wait_for_rows(process, 2, "long")  # both sketches are saved, LIBSVM is at work in C
    assert children
    began = time.monotonic()
    if sent == signal.SIGINT:
        os.killpg(process.pid, sent)  # as a terminal does: to the whole group
    else:
        process.send_signal(sent)
    while process.poll() is None or any(running(child) for child in children):
        assert time.monotonic() - began < 10
        time.sleep(0.02)
    assert process.returncode == status
    assert len(rows("long")) == 2
    message = process.communicate()[1]
    assert "Traceback" not in message
    if sent != signal.SIGKILL:
        what = "interrupted" if sent == signal.SIGINT else "terminated"
        assert f"kfeat: {what}; finished trials are kept, and the same command continues" in message
    assert "2 trials, 2 done before" in succeed("run", "long.yaml", "--no-exact").stderr


def test_a_regression_has_its_own_score(write):
    numbers = "".join(f"{i % 7},{i % 5},{(i % 7) * (i % 5) + 0.5}\n" for i in range(300))
    Path("numbers.csv").write_text("a,b,c\n" + numbers)
    changes = (
        "dataset={path: numbers.csv, target: c}",
        "protocol={split: {kind: fraction, train: 0.5}}",
        "solvers={mapped: {name: ridge}, exact: {name: kernel_ridge}}",
    )
    words = [word for change in changes for word in ("--set", change)]
    assert "relative error" in succeed("run", write(), "-q", "--repeats", "1", *words).stdout


def test_files_of_the_wrong_task_are_refused_before_any_trial(tmp_path):
    path = tmp_path / "own.yaml"
    (tmp_path / "own.csv").write_text("x,y\n" + "".join(f"{i},{i * 0.37}\n" for i in range(40)))
    path.write_text(
        "title: Own\ndataset: {path: own.csv, target: y}\n"
        "protocol: {split: {kind: fraction, train: 0.5}}\nkernel: {name: gaussian, gamma: 1}\n"
        "maps: [{name: random_fourier, n_components: 8}]\nsolvers: {mapped: {name: newton}}\n"
    )
    for command in ("run", "plan", "run"):  # once with the file just read, once with what is kept of it
        refused = refusal(command, path)
        assert "newton with these parameters is for classification, own.csv is for regression" in refused
        assert "liblinear with solver_type 11 or 12 or 13, ridge, ridge_cv" in refused
    assert not Path("runs").exists()
    succeed("plan", path, "--set", "solvers.mapped={name: ridge}")


@pytest.mark.slow
def test_a_part_of_a_config_leaves_the_files_of_the_whole(write):
    path = write()
    table = Path("runs/small/table.md")
    part = succeed("run", path, "-q", "--maps", "tensor_sketch", "--no-exact", "--repeats", "1")
    assert "Random Maclaurin" not in part.stdout
    assert "(1 of the config's 5 trials; the others have not run)" in part.stdout
    assert "- missing: 4 of 5 planned trials." in table.read_text()
    assert re.search(r"\| exact, LIBSVM  *\| *– ", table.read_text())

    succeed("run", path, "-q")
    whole = {name: (Path("runs/small") / name).read_bytes() for name in FILES}
    assert b"missing" not in whole["table.md"]
    for choices in (["--maps", "tensor_sketch"], ["--no-exact"], ["--repeats", "1"]):
        succeed("run", path, "-q", *choices)
        succeed("report", path, *choices)
        assert whole == {name: (Path("runs/small") / name).read_bytes() for name in FILES}
        assert "no such option" in kfeat("publish", path, *choices).stderr

    other = kfeat("run", path, "-q", "--set", "maps.0.n_components=8", "--repeats", "1", "--no-exact")
    assert "Tensor Sketch" in other.stdout
    assert whole == {name: (Path("runs/small") / name).read_bytes() for name in FILES}


def test_a_changed_config_alone_has_files_whose_title_says_what_was_changed(write):
    path, fast = write(), ("--no-exact", "--repeats", "1")
    change = ("--set", "seed=7", "--set", "maps.n_components=8", *fast)
    title = "(changed: seed=7, maps.n_components=8)"
    ran = succeed("run", path, "-q", *change)
    assert title in ran.stdout
    table = Path("runs/small/table.md")
    assert "tables and figure: runs/small/" in ran.stdout.replace(str(Path.cwd()) + "/", "")
    assert title in table.read_text().splitlines()[0]
    assert set(FILES) <= {item.name for item in table.parent.iterdir()}
    table.unlink()
    assert title in succeed("report", path, *change).stdout
    assert table.exists()
    for command in ("report", "rows", "check"):
        said = "runs/small: no rows of this plan, but 2 rows of other settings; give the --set options"
        ran = kfeat(command, path)
        assert said in " ".join(ran.output.split())
        assert f"`kfeat {command} {path} --set KEY=VALUE`" in " ".join(ran.output.split())

    both = planned(path) + planned(path, "seed=7", "maps.n_components=8")
    write_rows(Path("runs/small"), [fake_row(trial, 0.8) for trial in both])
    succeed("report", path, *change)
    assert "changed" not in table.read_text()


@pytest.mark.slow
def test_a_report_that_failed_is_drawn_by_the_next_run(write, monkeypatch):
    path = write()
    fast = ("-q", "--no-exact", "--repeats", "1")
    succeed("run", path, *fast)
    old = {name: (Path("runs/small") / name).read_bytes() for name in FILES}

    def no_space(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("kfeat.render.figures.figure.draw", no_space)
        failed = kfeat("run", path, "-q", "--no-exact")
    assert failed.exit_code == 2
    assert "No space left" in failed.stderr
    assert old == {name: (Path("runs/small") / name).read_bytes() for name in FILES}
    succeed("run", path, "-q", "--no-exact")
    new = {name: (Path("runs/small") / name).read_bytes() for name in FILES}
    assert all(old[name] != new[name] for name in FILES)
    assert {item.name for item in Path("runs/small").iterdir()} <= {*FILES, ROWS, ".lock"}


def test_a_report_needs_no_data(write):
    path = write(**{"dataset: digits": "dataset: {path: own.csv, target: y}"})
    data = Path("own.csv")
    data.write_text("a,b,y\n" + "".join(f"{i % 7},{i % 5},{i % 3 > 1}\n" for i in range(600)))
    write_rows(Path("runs/small"), [fake_row(trial, 0.8) for trial in planned(path)[:2]])
    data.unlink()
    for command, words in (("report", ()), ("check", ()), ("publish", ("--partial",))):
        assert "Tensor Sketch" in succeed(command, path, *words).output or command != "report"


def test_a_trial_that_configs_share_runs_once_whichever_is_named_first(write):
    """By name the config that shares rows comes first, so that the order of the list would run them twice."""
    (Path("configs")).mkdir()
    text = write().read_text()
    (Path("configs") / "b.yaml").write_text(text)
    (Path("configs") / "a.yaml").write_text(f"rows_from: [b]\n{text}".replace("repeats: 2", "repeats: 3"))
    assert "2 configs: 12 trials (5 of them shared)" in kfeat("plan", "configs").output
    assert "2 configs: 12 trials (5 of them shared)" in kfeat("run", "configs", "--dry-run", "--force").output
    ran = succeed("run", "configs")
    assert len(rows("b")) == 5
    assert len(rows("a")) == 2
    assert "a: 7 trials, 5 done before, 2 to run" in ran.stderr
    assert re.search(r"^b: \[5/5\] exact, LIBSVM, repeat 0: ", ran.stderr, re.MULTILINE)
    forced = succeed("run", "configs", "--maps", "tensor_sketch", "--no-exact", "--force")
    assert [line for line in forced.stderr.splitlines() if "to run" in line] == [
        "b: 2 trials, 0 done before, 2 to run",
        "a: 3 trials, 2 done before, 1 to run",
    ]


def test_each_table_is_shown_once_its_experiment_has_ended_though_others_run(write):
    text = write().read_text()
    for name, degree in (("one", 2), ("two", 3)):
        Path(f"{name}.yaml").write_text(
            text.replace("title: ", f"title: {name} ").replace("degree: 2", f"degree: {degree}")
        )
    two = ("run", "one.yaml", "two.yaml", "--no-exact", "--repeats", "1", "--jobs", "2")
    assert succeed(*two).stdout.count("tables and figure: ") == 2
    assert {name: len(rows(name)) for name in ("one", "two")} == {"one": 2, "two": 2}
    assert succeed(*two, "-q").stdout.count("tables and figure: ") == 2


def test_two_configs_of_one_name_both_run(write):
    """Outside a folder configs/ the name is the file's alone, and neither may be left out."""
    for folder, degree in (("a", 2), ("b", 3)):
        Path(folder).mkdir()
        text = write().read_text()
        (Path(folder) / "same.yaml").write_text(text.replace("degree: 2", f"degree: {degree}"))
    succeed("run", "a/same.yaml", "b/same.yaml", "--no-exact", "--repeats", "1", "-q")
    assert {row["kernel"]["degree"] for row in rows("same")} == {2, 3}
    first = str(rows("same")[0]["id"])
    named = succeed("run", "a/same.yaml", "b/same.yaml", "--only", first, "--force", "-q")
    assert named.stdout.count("tables and figure: ") == 1  # the other has no such trial
    unknown = kfeat("run", "a/same.yaml", "b/same.yaml", "--only", "zz")
    assert (unknown.exit_code, "zz" in unknown.stderr) == (2, True)


def test_plan_counts_the_configs_whose_data_can_be_had(write):
    elsewhere = Path("gisette.yaml")
    elsewhere.write_text(re.sub("(?m)^dataset:.*$", "dataset: gisette", write().read_text()))
    both = succeed("plan", write(), elsewhere, "--offline", "--mirror", "nowhere")
    assert "kfeat: not counted: gisette.yaml: gisette" in both.stderr
    assert "1 config: 5 trials\n" in both.stdout
    for configs in ([elsewhere], [elsewhere, elsewhere]):
        assert refusal("plan", *configs, "--offline", "--mirror", "nowhere").count(
            "could not be fetched"
        ) == len(configs)
    trial = planned(Path("small.yaml"))[0]
    named = succeed("run", elsewhere, "small.yaml", "--only", trial.id, "--offline", "--mirror", "nowhere")
    assert "kfeat: skipped: gisette.yaml: gisette" in named.stderr
    assert [row["id"] for row in rows()] == [trial.id]


def test_configs_of_one_name_are_not_published_over_each_other(write):
    for folder in ("a", "b"):
        Path(folder).mkdir()
        (Path(folder) / "same.yaml").write_text(write().read_text())
    assert "b/same.yaml and a/same.yaml have the same name, same" in refusal(
        "publish", "a/same.yaml", "b/same.yaml"
    )
    assert "b/same.yaml has" not in kfeat("publish", "a/same.yaml", "./a/same.yaml").stderr


def test_a_key_that_no_trial_has_is_refused_before_a_run(write):
    path = write()
    table = "table: {lines: dataset, columns: [{title: TS, for: {map: exact}, over: {mapp: exact}}]}\n"
    numbers = "reported: {source: x, runs: 1, numbers: [{for: {map: x, solver.Cc: 1}, mean: 1, where: T}]}\n"
    text = path.read_text()
    for wrong, told in (
        (table, "table.columns[0].over: no trial has the key 'mapp' (did you mean 'map'?)"),
        (numbers, "reported.numbers[0].for: no trial has the key 'solver.Cc' (did you mean 'solver.C'?)"),
        (numbers.replace("solver.Cc", "repeats"), "no trial has the key 'repeats'"),
        (numbers.replace("solver.Cc", "dataset.foo"), "no trial has the key 'dataset.foo'"),
    ):
        path.write_text(text + wrong)
        refused = kfeat("run", path)
        assert (refused.exit_code, rows()) == (2, [])
        assert told in refused.stderr
    path.write_text(text + numbers.replace("solver.Cc", "solver.eps"))  # a value that others may have
    assert kfeat("check", path).exit_code == 1


def test_a_report_is_of_the_file_as_it_lies(write):
    fewer = {"{divide: 16}": "none", "n_train: 300, n_test: 200": "n_train: 40, n_test: 20"}
    path = write(**{"dataset: digits": "dataset: {path: own.csv, target: y}"}, **fewer)
    files = [
        "a,b,y\n" + "".join(f"{i % 7},{i % 5},{i % number > 1}\n" for i in range(70)) for number in (3, 4)
    ]
    made = []
    for text in files:
        Path("own.csv").write_text(text)
        made += [fake_row(trial, 0.8) for trial in planned(path) if trial.map]
    write_rows(Path("runs/small"), made)
    Path("own.csv").write_text(files[0])  # which no cache knows any more
    first = kfeat("rows", path, "--format", "jsonl").stdout
    shown = kfeat("plan", path, "--no-exact").stdout.splitlines()
    ids = [line.split()[0] for line in shown if "  done  " in line]
    assert len(ids) == 4
    assert sorted(json.loads(line)["id"] for line in first.splitlines()) == sorted(ids)
    Path("data").mkdir()
    Path("own.csv").rename("data/own.csv")
    path.write_text(path.read_text().replace("path: own.csv", "path: data/own.csv"))
    succeed("run", path, "-q", "--no-exact")
    assert kfeat("rows", path, "--format", "jsonl").stdout == first
    succeed("publish", path, "--partial")
