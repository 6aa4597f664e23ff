"""`kfeat rows` and `kfeat rows merge` as a user meets them, on rows that no trial has run for."""

import io
import json
from pathlib import Path

import pandas as pd
import pytest

from kfeat.analysis.records import record
from kfeat.experiments.selectors import chosen
from kfeat.experiments.store import ROWS, read_rows, write_rows
from kfeat.render.rows import render_rows
from tests.cells import fake_row, planned
from tests.cli.commands import kfeat, refusal, succeed
from tests.experiments.rows import row


@pytest.fixture
def small(write):
    """The small config in the current folder, and a row for each of its five trials."""
    path = write()
    trials = planned(path)
    rows = [fake_row(trial, 0.5 + i / 10, learnt={"solver": {"eps": 0.1}}) for i, trial in enumerate(trials)]
    write_rows(Path("runs/small"), rows)
    return path


@pytest.mark.parametrize(
    ("wheres", "number"),
    [
        (["map=tensor_sketch"], 2),
        (["map=[tensor_sketch, exact]"], 3),
        (["map.n_components=64", "repeat=1"], 2),
        (["dataset=digits"], 5),
        (["accuracy=50.0"], 1),
        (["kernel.degree=2", "solver.eps=null"], 4),
        (["map=exact", "repeat=1"], 0),
    ],
)
def test_where_takes_parameters_and_quantities(small, wheres, number):
    words = [word for where in wheres for word in ("--where", where)]
    assert len(succeed("rows", small, "--format", "jsonl", *words).stdout.splitlines()) == number


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("mapp=tensor_sketch", "no row has 'mapp' (did you mean 'map'?)"),
        ("map=tensor_sketh", "no row has this value (did you mean 'tensor_sketch'?)"),
        ("map", "expected key=value"),
        ("map=[", "--where map=["),
    ],
)
def test_what_no_row_has_is_a_sentence(small, where, words):
    refused = kfeat("rows", small, "--where", where)
    assert refused.exit_code == 2
    assert words in refused.stderr
    assert not refused.stdout


def test_csv_and_lines_of_json_have_every_column_at_full_precision(small):
    found = pd.read_csv(io.StringIO(kfeat("rows", small, "--format", "csv").stdout))
    lines = [json.loads(line) for line in kfeat("rows", small, "--format", "jsonl").stdout.splitlines()]
    assert set(found.columns) == {key for line in lines for key in line}
    assert list(found["accuracy"]) == [line["accuracy"] for line in lines] == [50.0, 60.0, 70.0, 80.0, 90.0]
    assert list(found["learnt.solver.eps"]) == [0.1] * 5
    assert found["map.n_components"].isna().sum() == 1  # the exact machine's
    assert found["protocol.scale"][0] == '[{"divide": 16.0}]'
    assert list(found["seconds.train"]) == [0.5] * 5
    assert list(found["timed"]) == [True] * 5


def test_published_rows_stand_in_where_there_are_none_of_yours(small):
    Path("runs").rename("results")
    assert "the published rows of results" in succeed("rows", small).stderr
    assert kfeat("rows", small, "--results", "nowhere").exit_code == 2


def test_failed_and_stopped_trials_have_lines_too(small):
    first, second = planned(small)[:2]
    parts = {key: read_rows(Path("runs/small"))[first.id][key] for key in ("map", "kernel", "protocol")}
    ended = [row(first.id, "failed", **parts), row(second.id, "stopped", **parts)]
    write_rows(Path("runs/small"), ended)
    lines = [json.loads(line) for line in kfeat("rows", small, "--format", "jsonl").stdout.splitlines()]
    assert [(line["status"], line["reason"]) for line in lines] == [
        ("failed", "no reason"),
        ("stopped", "too long"),
    ]
    assert "accuracy" not in lines[0]


def test_rows_of_several_machines_are_merged_the_better_of_two():
    write_rows(Path("one/paper/table"), [row("a", "failed"), row("b", timed=False), row("c", accuracy=0.1)])
    write_rows(Path("two/paper/table"), [row("a"), row("d", "stopped")])
    write_rows(Path("two/other"), [row("e")])
    write_rows(Path("all/paper/table"), [row("b", accuracy=0.2), row("c", accuracy=0.3)])
    merged = succeed("rows", "merge", "one", "two", "--into", "all")
    assert "all/paper/table: 4 rows, 2 new, 0 better than before" in merged.stdout
    found = read_rows(Path("all/paper/table"))
    assert {key: (one["status"], one.get("accuracy")) for key, one in found.items()} == {
        "a": ("done", 0.5),
        "b": ("done", 0.2),
        "c": ("done", 0.3),
        "d": ("stopped", None),
    }
    assert set(read_rows(Path("all/other"))) == {"e"}
    write_rows(Path("three/other"), [row("e", accuracy=0.9), row("f")])
    write_rows(Path("all/other"), [row("e", "failed")])
    assert "2 rows, 1 new, 1 better" in kfeat("rows", "merge", "three", "--into", "all").stdout
    assert read_rows(Path("all/other"))["e"]["accuracy"] == 0.9
    before = Path("all/other", ROWS).read_bytes()
    assert "2 rows, 0 new, 0 better" in kfeat("rows", "merge", "three", "--into", "all").stdout
    assert Path("all/other", ROWS).read_bytes() == before


def test_a_merge_that_cannot_be_is_refused_before_anything_is_written():
    write_rows(Path("one/a"), [row("a")])
    write_rows(Path("one/b"), [row("b", accuracy="high")])
    assert "accuracy: expected a number" in refusal("rows", "merge", "one", "--into", "all")
    write_rows(Path("runs/b"), [row("b")])
    for arguments, words in (
        (("one/a", "--into", "runs"), "--into runs/a"),
        (("one/a", "--into", "all"), "would find its rows in all: name the folder above it, or --into all/a"),
        (("nowhere", "--into", "all"), "expected rows"),
        (("one", "--into", "one/inner"), "lies within"),
        (("one",), "--into"),
    ):
        assert words in refusal("rows", "merge", *arguments)
    assert not Path("all").exists()
    succeed("rows", "merge", "one/a", "--into", "all/a")
    assert Path("all/a/trials.jsonl").is_file()


def test_a_merge_that_the_disk_does_not_take_leaves_the_rows(monkeypatch):
    write_rows(Path("one/a"), [row("x"), row("y")])
    write_rows(Path("all/a"), [row("a")])
    before = Path("all/a", ROWS).read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        refused = kfeat("rows", "merge", "one", "--into", "all")
    assert refused.exit_code == 2
    assert "No space left" in refused.stderr
    assert Path("all/a", ROWS).read_bytes() == before
    succeed("rows", "merge", "one", "--into", "all")
    assert set(read_rows(Path("all/a"))) == {"a", "x", "y"}


@pytest.mark.parametrize("odd", [10**400, -(10**30), [1, [2]], {"a": 1}, "x", True, []], ids=repr)
@pytest.mark.parametrize("form", ["table", "csv", "jsonl"])
def test_values_that_nobody_expects_are_shown_as_they_are(odd, form):
    solve = {"n_support": odd, "n_iter": odd, "objective": odd}
    parts = {"solve": solve, "map": {"name": "m", "version": 1, "n_components": odd}}
    records = [record(row(key, **parts)) for key in "ab"]
    assert records[0]["map.n_components"] == odd
    assert render_rows(records, form, 80)


def test_where_finds_a_number_as_the_table_shows_it():
    found = succeed("rows", "quickstart", "--format", "jsonl").stdout
    numbers = [json.loads(line)["accuracy"] for line in found.splitlines()]
    for number in numbers:
        shown = f"{number:.2f}"
        rows = succeed("rows", "quickstart", "--where", f"accuracy={shown}", "--format", "jsonl").stdout
        found = {json.loads(line)["accuracy"] for line in rows.splitlines()}
        assert number in found
        assert {f"{one:.2f}" for one in found} == {shown}


def test_where_takes_an_exact_number_before_those_that_round_to_it():
    records = [{"solver.C": C} for C in (0.1, 0.05, 0.125)]
    assert chosen(records, ["solver.C=0.1"]) == [{"solver.C": 0.1}]
    assert chosen(records[1:], ["solver.C=0.1"]) == records[1:]


def test_where_takes_a_text_that_looks_like_a_number(small):
    hosts = ["12345678", "12e45678", "01234567", "1e3", "nine"]
    made = read_rows(Path("runs/small")).values()
    rows = [
        {**row, "environment": {**row["environment"], "host": host}}
        for row, host in zip(made, hosts, strict=True)
    ]
    write_rows(Path("runs/small"), rows)
    for host in hosts:
        shown = succeed("rows", small, "--format", "jsonl", "--where", f"host={host}")
        assert shown.stdout.count(host) == len(shown.stdout.splitlines()) == 1
    both = kfeat("rows", small, "--format", "jsonl", "--where", "host=['12345678', nine]")
    assert len(both.stdout.splitlines()) == 2
    assert "there are: 12345678, 12e45678" in kfeat("rows", small, "--where", "host=7").stderr
