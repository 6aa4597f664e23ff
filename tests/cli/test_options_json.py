"""`--format json`: one document on standard output, with what the text has and without NaN."""

import json
from pathlib import Path

import pytest

from kfeat.cli import output
from kfeat.experiments.store import write_rows
from kfeat.experiments.trial import header
from kfeat.maps import MAPS
from tests.cells import fake_row, planned
from tests.cli.commands import kfeat, refusal, succeed
from tests.survey.planted import plant


def document(*arguments, status=0):
    """The only thing on standard output, which has no NaN and no Infinity."""
    result = kfeat(*arguments, "--format", "json")
    assert result.exit_code == status, result.output
    return json.loads(result.stdout, parse_constant=pytest.fail)


@pytest.mark.parametrize("command", ["maps", "kernels", "solvers"])
def test_the_lists_are_those_of_the_text_and_a_name_gives_its_entry(command):
    everything = document(command)
    lines = succeed(command).stdout.splitlines()
    assert [item["name"] for item in everything] == [line for line in lines if not line.startswith(" ")]
    assert document(command, everything[1]["name"]) == everything[1]
    for item in everything:
        assert f"  {item['summary']}" in lines
        defaults = {parameter["name"]: parameter["default"] for parameter in item["parameters"]}
        assert {key: value for key, value in defaults.items() if value is not None} | {
            "name": item["name"]
        } == item["entry"]
        assert all(parameter["type"] and parameter["meaning"] for parameter in item["parameters"])


def test_facts_are_those_of_the_class():
    orf = document("maps", "orf")
    assert orf["kernels"] == ["gaussian"]
    assert {key: orf[key] for key in ("cost", "variance", "source", "use")} == MAPS["orf"].facts._asdict()
    assert orf["parameters"][0]["type"] == "int"
    assert document("solvers", "libsvm")["key_in_a_config"] == "solvers.exact"
    assert "did you mean 'orf'" in refusal("maps", "orff", "--format", "json")


def test_configs_have_a_name_a_title_and_a_file(write, monkeypatch):
    path = write()
    monkeypatch.setattr("kfeat.cli.reference.known_configs", lambda: path.parent)
    assert document("configs") == [{"name": "small", "title": "Digits, small", "path": str(path)}]


def test_a_plan_has_the_trials_and_the_totals_of_the_text(write):
    path = write()
    done, broken = planned(path)[:2]
    failed = {**header(broken), "status": "failed", "reason": "no luck"}
    write_rows(Path("runs/small"), [fake_row(done, 0.9), failed])
    plan = document("plan", path)
    (small,) = plan["experiments"]
    lines = succeed("plan", path).stdout.splitlines()[1:-1]
    assert [line.split()[0] for line in lines] == [trial["id"] for trial in small["trials"]]
    for line, trial in zip(lines, small["trials"], strict=True):
        assert line.endswith(trial["name"])
        assert trial["status"] == {done.id: "done", broken.id: "failed"}.get(trial["id"], "to run")
    first = small["trials"][0]
    assert (first["cell"], first["dataset"], first["repeat"]) == (done.cell, "digits", 0)
    assert (first["kernel"]["degree"], first["map"]["n_components"], first["solver"]["C"]) == (2, 64, 1)
    exact = small["trials"][-1]
    assert exact["map"] is None
    totals = plan["totals"]
    assert totals == pytest.approx(small["totals"])
    assert totals["seconds"] == pytest.approx(sum(trial["seconds"] for trial in small["trials"]))
    assert totals["pending_seconds"] == pytest.approx(totals["seconds"] - first["seconds"])
    assert totals["largest_bytes"] == max(trial["bytes"] for trial in small["trials"])
    assert document("plan", path, "--to-settle") == []
    assert "leave it out" in refusal("plan", path, "--missing", "--format", "json")


def test_a_check_without_rows_or_against_worse_ones_has_the_status_of_the_text(write):
    path = write()
    nothing = document("check", path, status=1)
    assert (nothing["passes"], nothing["experiments"][0]["passes"]) == (False, None)
    assert nothing["experiments"][0]["rows"] is None
    sketches = [trial for trial in planned(path) if trial.map and trial.map.name == "tensor_sketch"]
    rows = [fake_row(trial, score) for trial, score in zip(sketches, (0.85, 0.86), strict=True)]
    write_rows(Path("runs/small"), rows)
    write_rows(Path("other/small"), [fake_row(trial, 0.5) for trial in sketches])
    against = document("check", path, "--against", "other", status=1)["experiments"][0]
    assert [(item["cell"], item["verdict"]) for item in against["cells"]] == [("Tensor Sketch", "regressed")]
    assert against["cells"][0]["change"] == pytest.approx(35.5)


def test_advice_has_the_data_the_map_what_rules_lose_and_the_sentences(monkeypatch):
    plant(monkeypatch)
    Path("own.csv").write_text("a,b,buys\n" + "".join(f"{i % 7},{i % 5},{'ny'[i % 2]}\n" for i in range(100)))
    arguments = ("advise", "own.csv", "--target", "buys", "--rows", "16000", "--budget", "1s")
    advice = document(*arguments)
    assert (advice["n"], advice["d"], advice["task"]) == (16_000, 2, "classification")
    assert advice["advice"]["entry"] == {"name": "nystrom", "n_components": 256}
    assert len(advice["regret"]) == len(advice["others_lose_more"]["boosting"]) == 2
    assert advice["sentences"] == succeed(*arguments).stdout.splitlines()


def test_numbers_that_are_not_finite_become_null(capsys):
    output.show_json({"a": [float("inf"), float("nan"), 1.5]})
    assert json.loads(capsys.readouterr().out) == {"a": [None, None, 1.5]}
