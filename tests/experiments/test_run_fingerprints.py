"""The plan of a report comes from configs and rows: no data are loaded, and what nobody knows is unknown."""

import pytest

from kfeat.data import FileSource, LoaderSource, RegisteredSource, fingerprint
from kfeat.data.sources.generators import DrawnAtOnce
from kfeat.data.sources.large_quadric import LargeQuadric
from kfeat.experiments.config import load_experiment
from kfeat.experiments.run import plan_from_rows
from kfeat.experiments.trial import header
from tests.experiments.rows import row

LOAD_FILES = FileSource.load


@pytest.fixture(autouse=True)
def _no_data(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("data were loaded")

    for kind in (DrawnAtOnce, FileSource, LargeQuadric, LoaderSource, RegisteredSource):
        monkeypatch.setattr(kind, "load", refuse)


def contents(path, dataset, *rows):
    """The hashes of the data in the plan."""
    experiment = load_experiment(path, [f"dataset={dataset}"])
    return {trial.fingerprint for trial in plan_from_rows(experiment, rows)}


def test_a_pinned_hash_counts_whatever_rows_say(write):
    generated = {"name": "dense", "n": 50, "d": 4}
    assert contents(write(), "digits", row("1", fingerprint="x")) == {fingerprint("digits")}
    assert contents(write(), str(generated)) == {fingerprint(generated)}
    pin = "a" * 64
    assert contents(write(), f"{{path: my.csv, fingerprint: {pin}}}") == {pin}
    assert contents(write(), f"{{name: gisette, fingerprint: {pin}}}", row("1", dataset="gisette")) == {pin}


def test_what_nobody_pinned_is_what_its_latest_row_names(write, caplog, monkeypatch):
    rows = [row("1", dataset="gisette", fingerprint="old"), row("2", dataset="gisette", fingerprint="new")]
    assert contents(write(), "gisette", *rows) == {"new"}
    own = load_experiment(write(), ["dataset={path: my.csv}"])
    source = header(plan_from_rows(own, [])[0])["source"]
    mine = row("1", dataset="my.csv", source=source, fingerprint="mine")
    other = row("2", dataset="my.csv", source={**source, "path": "other/my.csv"}, fingerprint="other")
    assert contents(write(), "{path: my.csv}", mine, other) == {"mine"}
    older = {key: value for key, value in source.items() if key != "missing"}  # a newer option
    assert contents(write(), "{path: my.csv}", {**mine, "source": older}, other) == {"mine"}
    registered = row("4", dataset="my.csv", fingerprint="registered")
    assert contents(write(), "{path: my.csv}", registered) == {None}
    again = {**mine, "id": "5", "fingerprint": "newer"}
    caplog.clear()
    # Of several contents the file itself decides.
    monkeypatch.setattr(FileSource, "load", LOAD_FILES)
    assert contents(write(), "{path: my.csv}", again, mine) == {"mine"}
    assert "my.csv: its rows come from 2 different versions of the data, and the file itself" in caplog.text
