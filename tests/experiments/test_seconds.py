"""The seconds that trials are said to take, beside those that the published ones took."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kfeat.data.shapes import Shape
from kfeat.experiments.seconds import TRIAL, PastSeconds, formula, seconds_of_row
from kfeat.experiments.workload import Workload, of_row
from tests.experiments.rows import row

RESULTS = Path(__file__).parents[2] / "results"


def published() -> dict[Path, list[dict[str, Any]]]:
    """A third of the published rows, those that are done, by file."""
    found = defaultdict(list)
    for path in sorted(RESULTS.rglob("trials.jsonl")):
        for one in map(json.loads, path.read_text(encoding="utf-8").splitlines()[::3]):
            if one["status"] == "done":
                found[path].append(one)
    return found


def test_the_formula_is_near_and_past_rows_of_other_cells_are_nearer() -> None:
    """In a ratio of seconds, with what every trial takes added to both."""
    by_formula, by_past = [], []
    for rows in published().values():
        known = set(list(dict.fromkeys(one["cell"] for one in rows))[::2])
        past = PastSeconds(one for one in rows if one["cell"] in known)
        for one in rows:
            work, taken = of_row(one), seconds_of_row(one) + TRIAL
            by_formula.append(formula(work) / taken)
            if one["cell"] not in known:
                expected = past.of(one["cell"], work)
                assert expected is not None
                by_past.append(expected / taken)
    assert share_within(10, by_formula) > 0.95
    assert share_within(3, by_formula) > 0.75
    assert share_within(3, by_past) > 0.9


def share_within(factor: float, ratios: list[float]) -> float:
    return float((np.abs(np.log(ratios)) < np.log(factor)).mean())


def exact(n_train: int) -> Workload:
    shape = Shape(n_train, 100, 64)
    return Workload("mine", shape, 4, {"name": "linear"}, None, {"name": "libsvm"}, None)


def test_a_cell_takes_the_mean_of_its_rows() -> None:
    past = PastSeconds(
        row(str(i), seconds={"train": {"cpu": cpu, "wall": 9.0}}) for i, cpu in enumerate((2, 4))
    )
    assert past.of("c", exact(1000)) == 3.0
    assert past.of("c", None) == 3.0


def test_another_cell_of_its_kind_takes_its_formula_by_their_ratio() -> None:
    done = row("a", n_train=1000, n_test=100, n_features=64, dataset="mine")
    one, four = (PastSeconds([done]).of("other", exact(n)) for n in (1000, 4000))
    assert one == pytest.approx(1.0 + TRIAL)  # the row's seconds, by the same formula
    assert four == pytest.approx(one * formula(exact(4000)) / formula(exact(1000)))
    unlike = PastSeconds([row("a", map={"name": "nystrom", "version": 3})])
    assert unlike.of("other", exact(1000)) == formula(exact(1000))


def test_one_that_was_stopped_takes_its_limit_at_least() -> None:
    past = PastSeconds([row("a", "stopped", limit_s=3600.0)])
    assert past.of("c", exact(1000)) == 3600.0
    assert past.of("c", None) == 3600.0
    assert past.of("other", None) is None


CHANGED: list[dict[str, Any]] = [
    {"solver": {"name": "newton_cv", "version": 9, "Cs": [1.0]}},
    {"solver": {"name": "ridge_cv", "version": 9}},
    {"map": {"name": "tensor_sketch", "version": 9, "n_components": "many"}},
    {"map": {"name": "tensor_sketch", "version": 9, "n_components": -5}},
    {"map": {"name": "tensor_sketch", "version": 9, "n_components": 10**400}},
    {"map": {"name": "random_maclaurin", "version": 9, "degree_law": "geometric"}},
    {"map": {"name": "stacked", "version": 9, "maps": 3}},
    {"protocol": {"version": 9, "dtype": "float99"}},
    {"solve": None},
]


@pytest.mark.parametrize("changed", CHANGED)
def test_a_row_of_another_version_tells_of_its_own_cell_alone(changed: dict[str, Any]) -> None:
    past = PastSeconds([row("a", seconds={"train": {"cpu": 7.0, "wall": 9.0}}, **changed)])
    assert past.of("c", None) == 7.0
    expected = past.of("other", exact(1000))
    assert expected is not None
    assert 0 < expected < 3600
