"""A measure that kfeat has never met is one class: table, figure, claim and printed number take it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from kfeat.analysis.cells import summarise
from kfeat.analysis.judgement import judge_experiment
from kfeat.errors import ConfigError
from kfeat.experiments.config import load_experiment
from kfeat.experiments.measures import MEASURES, Measure, register
from kfeat.experiments.plan import plan
from kfeat.experiments.quantities import QUANTITIES, Quantity, at
from kfeat.experiments.row import from_line, to_line
from kfeat.experiments.run import fingerprints
from kfeat.experiments.trial import run_trial
from kfeat.render.figures.figure import figure_of
from kfeat.render.files import check_report, write_report

CONFIG = """\
title: A toy paper
dataset: digits
protocol: {scale: {divide: 16}, split: {kind: sample, n_train: 200, n_test: 100, seed: 0}}
kernel: {name: polynomial, degree: [1, 2]}
maps:
  - {name: tensor_sketch, n_components: [32, 256]}
measure: {name: norm_error, power: 2}
repeats: 3
reported:
  source: A paper
  runs: 3
  slack: 0.5
  numbers:
    - {for: {map.n_components: 256, kernel.degree: 1}, of: norm_error, mean: 0.1, where: Table 1}
claims:
  - text: the error shrinks with D
    where: Section 1
    ratio: [{map.n_components: 256}, {map.n_components: 32}]
    of: norm_error
    below: 1
  - text: it stays below the square root of 3
    where: Section 1
    value: {map: tensor_sketch}
    of: norm_error
    below: 1.8
table:
  lines: kernel
  columns:
    - {title: D, for: {map.n_components: 256}, show: n_components}
    - {title: TS, for: {map.n_components: 256}, show: norm_error}
    - {title: gain, for: {map.n_components: 256}, over: {map.n_components: 32}, show: norm_error}
figure: {kind: curves, y: [norm_error, live], x: n_components}
"""


class NormError(Measure):
    """The root mean square of (||z(x)||^2 / k(x, x) - 1), to the power given."""

    keys: ClassVar[frozenset[str]] = frozenset({"norm_error"})
    quantities: ClassVar[tuple[Quantity, ...]] = (
        Quantity("norm_error", "error of the norm", at("norm_error"), spec=".3f", better="lower", score=True,
                 note="over the training rows, {spread}"),
    )  # fmt: skip

    def __init__(self, power: int = 1) -> None:
        self.power = power

    def of(self, feature_map: Any, X: Any, clock: Any, seed: int) -> dict[str, Any]:
        with clock("map_fit"):
            Z = feature_map.fit(X).transform(X)
        errors = (Z**2).sum(axis=1) / feature_map.kernel_.diagonal(X) - 1
        return {"norm_error": float((errors**2).mean() ** (self.power / 2)), "columns": {
            "live": int((Z != 0).any(axis=0).sum()), "zero": 0, "constant": 0,
        }}  # fmt: skip


@pytest.fixture
def toy() -> Iterator[None]:
    """The measure, known for one test."""
    register("norm_error")(NormError)
    yield
    del MEASURES["norm_error"], QUANTITIES["norm_error"]


@pytest.mark.usefixtures("toy")
def test_a_new_measure_has_its_table_figure_claims_and_printed_number(tmp_path: Path) -> None:
    path = tmp_path / "toy.yaml"
    path.write_text(CONFIG)
    experiment = load_experiment(path)
    check_report(experiment)
    trials = plan(experiment, fingerprints(experiment, offline=True))
    rows = [run_trial(trial, threads=1, alone=True, mirror=None, offline=True) for trial in trials]
    read = {row["id"]: from_line(to_line(row)) for row in rows}
    assert {row["status"] for row in read.values()} == {"done"}
    assert {row["measure"]["power"] for row in read.values()} == {2}

    cells = summarise(experiment, trials, read)
    write_report(experiment, cells, tmp_path / "out")
    table = (tmp_path / "out" / "table.md").read_text()
    large = next(c for c in cells if c.trial.describe()["map.n_components"] == 256)
    assert large.score is not None
    first = next(line for line in table.splitlines() if line.startswith("| <x, y> "))
    ours, papers, score = (field.strip() for field in first.split("|")[2:5])
    assert ours == papers == "256"  # the paper's D is that of its printed number
    assert score == f"{large.score.mean:.3f} ± {large.score.sd:.3f}"
    assert "error of the norm: over the training rows, mean ± standard deviation" in table

    judgement = judge_experiment(experiment, cells, {})
    assert [item.verdict for item in judgement.claims] == ["reproduced", "reproduced"]
    assert judgement.numbers[0].verdict == "within the slack"
    figure = figure_of(experiment, cells)
    labels = {axes.get_ylabel() for axes in figure.axes}
    assert {"error of the norm", "live features"} <= labels


@pytest.mark.parametrize("where", ["of: norm_eror", "of: kernel.degre", "of: nonsense"])
@pytest.mark.usefixtures("toy")
def test_a_quantity_that_nobody_declared_is_refused_with_the_nearest(tmp_path: Path, where: str) -> None:
    path = tmp_path / "toy.yaml"
    path.write_text(CONFIG.replace("of: norm_error\n    below: 1\n", f"{where}\n    below: 1\n"))
    with pytest.raises(ConfigError, match=r"claims\[0\].of: unknown quantity"):
        load_experiment(path)
