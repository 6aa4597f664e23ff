"""`kfeat.read_rows`: rows of folders and of configs as a data frame."""

import doctest
import io
from pathlib import Path

import pandas as pd
import pytest

import kfeat
from kfeat.analysis import records
from kfeat.errors import ConfigError, StoreError
from kfeat.experiments.store import write_rows
from tests.cells import fake_row, planned
from tests.cli.commands import succeed
from tests.experiments.rows import row


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_config_gives_the_columns_and_values_of_rows_as_csv(write):
    path = write()
    rows = [fake_row(trial, 0.5 + i / 10) for i, trial in enumerate(planned(path))]
    write_rows(Path("runs/small"), rows)
    frame = kfeat.read_rows("small.yaml")
    csv = pd.read_csv(io.StringIO(succeed("rows", path, "--format", "csv").stdout)).convert_dtypes()
    pd.testing.assert_frame_equal(frame, csv, check_dtype=False)
    assert list(frame["accuracy"]) == [50.0, 60.0, 70.0, 80.0, 90.0]
    assert frame["map.n_components"].isna().sum() == 1  # the exact machine's


@pytest.mark.parametrize("name", ["quickstart", "configs/quickstart", "configs/quickstart.yaml"])
def test_a_name_gives_the_published_rows_until_there_are_rows_of_yours(name):
    published = kfeat.read_rows(name)
    assert len(published) == 7
    (trial, *_) = planned(Path(records.__file__).parents[2] / "configs/quickstart.yaml")
    write_rows(Path("runs/quickstart"), [fake_row(trial, 0.25)])
    assert kfeat.read_rows(name)[["id", "accuracy"]].to_numpy().tolist() == [[trial.id, 25.0]]


def test_a_folder_gives_all_rows_below_it_and_of_each_trial_the_best():
    write_rows(Path("runs/paper/table"), [row("a", "failed"), row("b", timed=False), row("c")])
    write_rows(Path("runs/other"), [row("a"), row("b", accuracy=0.25), row("d", "stopped")])
    frame = kfeat.read_rows(Path("runs")).set_index("id")
    assert frame["status"].to_dict() == {"a": "done", "b": "done", "c": "done", "d": "stopped"}
    assert frame.loc["b", "accuracy"] == 25.0
    assert sorted(kfeat.read_rows("runs/other")["id"]) == ["a", "b", "d"]


def test_a_place_without_rows_is_refused_in_a_sentence(write):
    write()
    Path("empty").mkdir()
    write_rows(Path("runs/other"), [row("a")])
    for place, error, words in (
        ("empty", StoreError, "empty: expected rows (trials.jsonl) or configs below this folder"),
        ("quickstrat", ConfigError, "no such file (did you mean 'quickstart'?); `kfeat configs` lists"),
        ("small.yaml", StoreError, "no rows of small.yaml in runs and results; `kfeat run small.yaml` makes"),
        ("runs/other/trials.jsonl", StoreError, "expected the folder of the rows; give runs/other"),
    ):
        with pytest.raises(error) as refused:
            kfeat.read_rows(place)
        assert words in str(refused.value)


def test_the_example_of_the_docstring_is_true():
    example = doctest.testmod(records)
    assert example.attempted > 3
    assert not example.failed
