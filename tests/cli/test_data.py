"""The data commands, offline: what is there, what is missing, and what to do about it."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kfeat.data import export, load_raw
from tests.cli.commands import kfeat


def data(*arguments):
    return kfeat("data", *arguments)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("KFEAT_CACHE", str(tmp_path / "cache"))


def line(result, name):
    return next(text for text in result.stdout.splitlines() if text.startswith(f"{name} "))


def test_list_and_info_name_every_dataset():
    listed = data("list")
    assert listed.exit_code == 0
    for name in ("adult", "mnist", "gisette", "covertype", "cpu", "census", "years", "digits"):
        assert line(listed, name)
        assert data("info", name).exit_code == 0
    assert "stand-in for gisette" in data("info", "gisette_mnist").stdout
    assert "none is published" in data("info", "census").stdout


def test_a_dataset_that_cannot_be_had_says_where_to_put_it(tmp_path):
    result = data("fetch", "digits", "gisette", "--offline")
    assert result.exit_code == 2
    assert "digits: verified" in result.stdout
    assert str(tmp_path / "cache" / "gisette" / "gisette_train.data") in result.stderr
    assert "KFEAT_MIRROR" in result.stderr


@pytest.mark.parametrize("arguments", [["fetch"], ["verify", "--all", "digits"], ["clean"]])
def test_names_or_all_but_not_both_or_neither(arguments):
    result = data(*arguments)
    assert result.exit_code == 2
    assert "give --all" in result.stderr


@pytest.mark.parametrize("command", ["fetch", "verify", "info", "path", "clean"])
def test_an_unknown_dataset_is_named_with_its_neighbour(command):
    result = data(command, "adlt")
    assert result.exit_code == 2
    assert "did you mean 'adult'" in result.stderr


@pytest.mark.data
def test_fetch_verify_spoil_and_clean(mirror, tmp_path):
    assert "adult: verified" in data("fetch", "adult", "--mirror", mirror, "--offline").stdout
    assert " yes " in line(data("list"), "adult")
    assert data("verify", "adult").exit_code == 0
    assert data("verify", "--all").exit_code == 0
    file = Path(data("path", "adult").stdout.strip()) / "a9a"
    file.write_bytes(file.read_bytes()[:-1] + b"!")
    spoilt = data("verify", "adult")
    assert spoilt.exit_code == 2
    assert "SHA-256" in spoilt.stderr
    assert data("clean", "--all").exit_code == 0
    assert not file.exists()


def test_an_export_has_all_rows_or_those_that_train_and_those_that_test():
    X = load_raw("digits").parts["train"].X
    whole = data("export", "digits", "all.csv")
    assert whole.stdout == "all.csv: 1,797 rows, 64 features; the target is label\n"
    found = pd.read_csv("all.csv")
    np.testing.assert_array_equal(found.drop(columns="label"), X)
    parted = data("export", "digits", "own.csv", "--test", "new.csv", "--quiet")
    assert (parted.exit_code, parted.output) == (0, "")
    own, new = pd.read_csv("own.csv"), pd.read_csv("new.csv")
    assert 4 <= len(own) / len(new) <= 4.1
    assert new["label"].nunique() == 10
    both = pd.concat([own, new]).sort_values([*own]).reset_index(drop=True)
    pd.testing.assert_frame_equal(both, found.sort_values([*own]).reset_index(drop=True))


@pytest.mark.parametrize(
    "arguments", [["old.csv"], ["own.csv", "--test", "old.csv"], ["a.csv", "--test", "a.csv"]]
)
def test_an_export_replaces_no_file(arguments):
    Path("old.csv").write_text("mine")
    result = data("export", "digits", *arguments)
    assert (result.exit_code, result.stderr) == (
        2,
        f"kfeat: {arguments[-1]} exists; give another name, or remove it\n",
    )
    assert [path.name for path in Path().glob("*.csv")] == ["old.csv"]
    assert Path("old.csv").read_text() == "mine"


def test_an_export_of_too_many_rows_or_of_no_known_dataset_is_one_sentence(monkeypatch):
    monkeypatch.setattr(export, "MOST_BYTES", 250_000)
    told = data("export", "digits", "own.csv").stderr
    assert "digits: a CSV file of 1,797 rows x 64 features would take about 0 MB, more than 0 MB" in told
    assert "`dataset: digits`" in told
    assert "did you mean 'digits'" in data("export", "digts", "own.csv").stderr
    assert not Path("own.csv").exists()
