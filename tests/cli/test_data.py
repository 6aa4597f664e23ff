"""The data commands, offline: what is there, what is missing, and what to do about it."""

from pathlib import Path

import pytest

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
