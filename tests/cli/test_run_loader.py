"""A config whose data come from a loader: run, resumed, edited, other data, and what fails."""

import json
from pathlib import Path

import pytest

from kfeat.errors import ConfigError
from kfeat.experiments.config import load_experiment
from kfeat.experiments.store import read_rows
from kfeat.own.tune import setup_of
from kfeat.text import say_once
from tests.cli.commands import kfeat, refusal, succeed

LOADER = """\
from pathlib import Path

import numpy as np
from scipy.sparse import csc_matrix


def load():
    with Path("calls").open("a") as calls:
        calls.write(".")
    X = np.random.default_rng(0).random((80, 8)) * (np.arange(8) == np.arange(80)[:, None] % 8)
    return FORM(X), np.where(X.sum(axis=1) > float(Path("threshold").read_text()), "big", "small")


def broken():
    return 1 / 0


FORM = np.asarray
"""


STRINGS = """\
import numpy as np

from kfeat.kernels import ObjectKernel


def load():
    rng = np.random.default_rng(0)
    rows = ["".join(rng.choice(list("ACGT"), size=n)) for n in rng.integers(5, 12, size=80)]
    return rows, ["many" if row.count("A") > 2 else "few" for row in rows]


def counts(rows):
    return np.array([[row.count(letter) for letter in "ACGT"] for row in rows], dtype=float)


def shared():
    return ObjectKernel(lambda A, B: counts(A) @ counts(B).T)


def negative():
    return ObjectKernel(lambda A, B: -counts(A) @ counts(B).T)


def one_sided():
    return ObjectKernel(lambda A, B: counts(A)[:, :1] @ counts(B)[:, 1:2].T)


def hamming():
    return ObjectKernel(lambda A, B: np.array([[np.equal(list(a), list(b)).sum() for b in B] for a in A]))
"""


@pytest.fixture
def config(write, tmp_path):
    """The small config with a loader and its random splits; what the loader reads is in a file of its own."""
    say_once.cache_clear()
    (tmp_path / "my_data.py").write_text(LOADER)
    Path("threshold").write_text("0.4")
    return write(
        **{
            "dataset: digits": "dataset: {loader: my_data.py:load}",
            "{divide: 16}, split: {kind: sample, n_train: 300, n_test: 200, seed: 0}": "[unit_rows], "
            "split: {kind: fraction, train: 0.5, seed: 0}",
            "repeats: 2": "repeats: 1",
        }
    )


def calls():
    return len(Path("calls").read_text())


def test_it_runs_and_resumes_and_its_rows_name_their_code(config, caplog):
    ran = succeed("run", config)
    assert "3 trials, 0 done before, 3 to run" in ran.stderr
    assert caplog.messages.count("my_data.py is imported, since `dataset` names it") == 1
    assert calls() == 1  # the processes of the trials read what is kept
    rows = read_rows(Path("runs/small"))
    assert {row["dataset"] for row in rows.values()} == {"my_data.py:load"}
    assert all(row["source"]["version"].startswith("sha256:") for row in rows.values())
    assert "3 trials, 3 done before, 0 to run" in succeed("run", config).stderr
    # Neither another form of the same numbers nor an edit makes other data.
    Path("my_data.py").write_text(LOADER.replace("np.asarray", "csc_matrix"))
    assert succeed("report", config).stdout in ran.stdout
    assert "nothing is missing" in succeed("plan", config, "--missing").stdout
    succeed("check", config)
    succeed("explain", next(iter(rows)), config)
    assert calls() == 2
    assert "3 trials, 3 done before, 0 to run" in succeed("run", config).stderr
    assert read_rows(Path("runs/small")) == rows
    succeed("run", config, "--force", "-q")
    in_csr = read_rows(Path("runs/small"))
    assert {key: row["accuracy"] for key, row in in_csr.items()} == {
        key: row["accuracy"] for key, row in rows.items()
    }
    assert {row["source"]["version"] for row in in_csr.values()}.isdisjoint(
        row["source"]["version"] for row in rows.values()
    )


def test_other_data_of_the_same_code_run_again(config):
    succeed("run", config, "-q")
    first = set(read_rows(Path("runs/small")))
    Path("threshold").write_text("0.6")
    assert "3 trials, 0 done" in succeed("plan", config).stdout
    ran = succeed("run", config, "-q").stdout
    Path("my_data.py").unlink()
    assert succeed("report", config, "-q").stdout in ran
    rows = read_rows(Path("runs/small"))
    assert len(rows) == 6
    assert len({row["fingerprint"] for row in rows.values()}) == 2
    assert first < set(rows)


def test_a_loader_that_fails_ends_its_own_config_only(config, tmp_path):
    other = tmp_path / "other.yaml"
    other.write_text(config.read_text().replace(":load", ":broken"))
    sentence = "my_data.py:broken failed: my_data.py, line 15: ZeroDivisionError: division by zero"
    assert sentence in refusal("run", other)
    ran = kfeat("run", other, config)
    assert ran.exit_code == 2
    assert f"kfeat: {other}: {sentence}" in ran.stderr
    assert "small: 3 trials, 0 done before, 3 to run" in ran.stderr
    assert len(read_rows(Path("runs/small"))) == 3


def test_a_search_calls_the_loader_anew_and_no_code_refuses_it(config):
    for _ in range(2):
        setup_of(load_experiment(config), seed=0)
    assert calls() == 2
    refused = refusal("run", config, "--no-code")
    assert "small.yaml, line 2, dataset.loader: 'my_data.py:load' is code, which --no-code refuses" in refused


@pytest.fixture
def of_strings(tmp_path):
    """Return a function that writes a config of strings with this kernel."""
    say_once.cache_clear()
    (tmp_path / "strings.py").write_text(STRINGS)

    def written(kernel):
        halves = {"kind": "fraction", "train": 0.5, "seed": 0}
        config = {
            "title": "Strings",
            "dataset": {"loader": "strings.py:load"},
            "protocol": {"split": halves},
            "kernel": {"name": kernel},
            "maps": [{"name": "nystrom", "n_components": 4}],
            "solvers": {"mapped": {"name": "newton"}, "exact": {"name": "libsvm"}},
            "repeats": 1,
        }
        path = tmp_path / "strings.yaml"
        path.write_text(json.dumps(config))  # which is YAML
        return path

    return written


def test_strings_run_with_a_kernel_of_objects(of_strings):
    path = of_strings("strings.py:shared")
    succeed("run", path, "-q")
    mapped, exact = sorted(read_rows(Path("runs/strings")).values(), key=lambda row: row["map"] is None)
    assert mapped["accuracy"] > 0.9
    assert exact["accuracy"] > 0.9
    path.write_text(path.read_text().replace("strings.py:shared", "gaussian"))
    with pytest.raises(ConfigError, match="a search needs rows of numbers, and these are strings"):
        setup_of(load_experiment(path), seed=0)


@pytest.mark.parametrize(
    ("kernel", "sentence"),
    [
        ("strings.py:negative", "is not positive semi-definite: on 80 rows its least eigenvalue is -"),
        ("strings.py:one_sided", "is not symmetric: k(x, y) and k(y, x) differ by"),
        ("strings.py:hamming", "cannot compare these objects: ValueError"),
        ("gaussian", "expected rows of real numbers, shape (n, d), got <U11 of shape (80, 1)"),
    ],
)
def test_what_is_no_kernel_of_the_strings_is_refused(kernel, sentence, of_strings):
    refused = refusal("run", of_strings(kernel), "-q")
    assert sentence in refused
    assert "Traceback" not in refused
    assert not Path("runs/strings/trials.jsonl").exists()


def test_the_loaders_of_packages_are_listed(monkeypatch):
    monkeypatch.setattr("kfeat.place.entry_points", lambda group: {"toy": f"{group}:load"})
    (line,) = (line for line in succeed("data", "list").stdout.splitlines() if line.startswith("toy "))
    assert line.endswith("kfeat.datasets:load")
