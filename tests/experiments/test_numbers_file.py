"""Printed numbers from a table beside the config: cells, values, and files that cannot be used."""

import gzip

import pytest
import yaml

from kfeat.errors import ConfigError
from kfeat.experiments.config import load_experiment
from kfeat.experiments.paper import reported_numbers
from kfeat.experiments.plan import plan

TABLE = """method\tdata\tR\tsigma\tperf\tsd\tseconds
fourier\tmoons\t8\t0.79\t81.50\t0.3\t1.25
fourier\tmoons\t16\t2\t85\t\t2
exact\tmoons\t1\t2\t90.25\t\t
"""
FILE = {
    "file": "published.tsv",
    "rows": {"method": "fourier"},
    "for": {"map": "random_fourier"},
    "columns": {"dataset": "data", "map.n_components": "R", "kernel.bandwidth": "sigma"},
    "names": {"data": {"moons": "magic"}},
    "mean": "perf",
    "where": "Figure 2, {data}, R = {R}",
}


def numbers(folder, changes=(), table=TABLE, name="published.tsv"):
    content = gzip.compress(table.encode()) if name.endswith(".gz") else table.encode()
    (folder / name).write_bytes(content)
    config = {
        "title": "x",
        "dataset": "magic",
        "kernel": {"name": "gaussian", "bandwidth": 2.0},
        "maps": [{"name": "random_fourier", "n_components": 16}],
        "solvers": {"mapped": {"name": "liblinear"}},
        "reported": {"source": "a paper", "runs": 3, "files": [FILE | dict(changes)]},
    }
    path = folder / "x.yaml"
    path.write_text(yaml.safe_dump(config))
    return load_experiment(path).reported.numbers


def test_a_row_of_the_file_is_a_printed_number(tmp_path):
    first, second = numbers(tmp_path)
    assert first.cell == {
        "map": "random_fourier", "dataset": "magic", "map.n_components": 8, "kernel.bandwidth": 0.79
    }  # fmt: skip
    assert (first.mean, first.where, first.of, first.sd) == (81.5, "Figure 2, moons, R = 8", "score", None)
    assert second.cell["kernel.bandwidth"] == 2
    assert second.times == {}


def test_columns_of_spreads_and_seconds_may_have_gaps(tmp_path):
    first, second = numbers(tmp_path, {"sd": "sd", "time": "seconds"}.items())
    assert (first.sd, first.times) == (0.3, {"fit": "1.25 s"})
    assert (second.sd, second.times) == (None, {"fit": "2 s"})


@pytest.mark.parametrize(("name", "mark"), [("a.csv", ","), ("a.csv.gz", ","), ("a.tsv.gz", "\t")])
def test_other_files_say_the_same(tmp_path, name, mark):
    table = TABLE.replace("\t", mark)
    assert numbers(tmp_path, {"file": name}.items(), table, name) == numbers(tmp_path)


def test_what_was_tried_on_differences_is_that_of_each_number(tmp_path):
    assert {number.unexplained for number in numbers(tmp_path)} == {None}
    some = numbers(tmp_path, {"unexplained": "on other rows"}.items())
    assert {number.unexplained for number in some} == {"on other rows"}


def test_a_list_selects_any_of_its_values(tmp_path):
    some = {"rows": {"method": ["fourier", "exact"], "R": [1, 16]}, "for": {}}
    assert [number.mean for number in numbers(tmp_path, some.items())] == [85, 90.25]


def test_a_cell_of_the_config_has_its_number(tmp_path):
    numbers(tmp_path)
    experiment = load_experiment(tmp_path / "x.yaml")
    (trial, *_) = plan(experiment, {"magic": "0"})
    assert reported_numbers(experiment.reported, trial)["score"].mean == 85


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"file": "other.tsv"}, "other.tsv: cannot be read"),
        ({"file": "../published.tsv"}, "expected the name of a file in this one's folder"),
        ({"file": "x.yaml"}, "expected a .tsv or .csv, or .gz of one"),
        ({"mean": "pref"}, "no column 'pref' (did you mean 'perf'?); there are method, data"),
        ({"columns": {"dataset": "set"}}, "no column 'set'"),
        ({"columns": {"map.n_compnents": "R"}}, "no trial has the key 'map.n_compnents'"),
        ({"rows": {"method": "nystrom"}}, "no row has {'method': 'nystrom'}"),
        ({"rows": {}, "mean": "seconds"}, "published.tsv:4: expected a number in 'seconds' (got '')"),
        ({"where": "Figure {page}"}, "where: expected columns of published.tsv in braces"),
        ({"sd": "sd", "rows": {"R": 8}, "of": "scroe"}, "scroe"),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path, changes, told):
    with pytest.raises(ConfigError) as error:
        numbers(tmp_path, changes.items())
    assert told in str(error.value).replace("\n", " ")
    assert "x.yaml" in str(error.value)


def test_a_row_with_a_field_too_few_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"published.tsv:3: expected 7 fields"):
        numbers(tmp_path, table=TABLE.replace("85\t\t2\n", "85\n"))
