"""The benchmarks: their pages, their parts, and liblinear-multicore as far as it can be tested without it."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from kfeat.errors import KfeatError
from kfeat.solvers import Liblinear
from scripts.bench import multicore
from scripts.bench.__main__ import PARTS
from scripts.bench.harness import Timings
from scripts.bench.report import record, save_part, save_summary, table

ROWS = [
    {"threads": 1, "what": "map : other", "kfeat_s": 0.5, "ratio": 4.0, "target": ">= 2x", "met": True},
    {"threads": 1, "what": "map : slow one", "kfeat_s": 0.5, "ratio": 1.0, "target": ">= 2x", "met": False},
    {"threads": 1, "what": "memory", "note": "12 MB", "own": "x"},
]


def test_the_spread_is_that_of_the_ratios_round_by_round():
    found = Timings({"kfeat": [1.0, 2.0, 4.0], "other": [8.0, 4.0, 16.0]})
    assert found == {"kfeat": 2.0, "other": 8.0}
    assert found.spread("other", "kfeat") == "2 to 8"
    assert found.spread("other", "kfeat", share=10) == "20 to 80"


def test_a_table_has_the_columns_that_any_row_has_and_dashes_elsewhere():
    head, _, *lines = table(ROWS).splitlines()
    columns = [cell.strip() for cell in head.strip("|").split("|")]
    assert columns == [
        "threads", "what : beside whom", "kfeat (s)", "speed-up", "target", "met", "note", "own",
    ]  # fmt: skip
    assert [cell.strip() for cell in lines[2].strip("|").split("|")][2:] == ["–"] * 4 + ["12 MB", "x"]


def test_the_summary_has_a_line_for_each_part_and_what_missed_its_target(tmp_path):
    save_part("maps", record("Maps beside\nothers.\n\nMore.", ROWS, 90), tmp_path)
    save_part("data", record("Loading.", ROWS[:1], 30), tmp_path)
    save_summary(tmp_path)
    text = (tmp_path / "README.md").read_text()
    lines = {line.split("|")[1].strip(): line for line in text.splitlines() if line.startswith("|")}
    cells = [cell.strip() for cell in lines["[maps](maps.md)"].split("|")[2:-1]]
    assert cells == ["Maps beside others.", "3", "2", "1 of 2", "1.5"]
    missed = text[text.index("## Missed targets") : text.index("## How to read")]
    assert "maps: map : slow one" in missed
    assert "data" not in missed
    assert "Maps beside" in (tmp_path / "maps.md").read_text()


def test_a_part_is_a_file_with_a_function_run():
    assert {"maps", "fourier", "sketches", "solvers", "data", "engine"} <= set(PARTS)
    assert not {"harness", "report", "dp_rfs"} & set(PARTS)


def test_a_package_trains_in_a_process_of_its_own_to_the_objective_that_kfeat_reports(tmp_path, monkeypatch):
    monkeypatch.setattr(multicore, "CALLS", 1)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 5))
    y = X[:, :3].argmax(axis=1)
    np.savez(tmp_path / "data.npz", X=X, y=y)
    folder = str(Path(find_spec("liblinear").origin).parents[1])
    found = multicore.trained(folder, tmp_path / "data.npz", "-s 2 -c 0.5 -q")
    assert found["objective"] == pytest.approx(Liblinear(2, C=0.5).fit(X, y).objective_, rel=1e-9)
    assert 0 < found["seconds"] < 10


def test_without_the_package_the_part_is_left_out(monkeypatch):
    monkeypatch.delenv("LIBLINEAR_MULTICORE", raising=False)
    with pytest.raises(KfeatError, match="LIBLINEAR_MULTICORE does not name a folder"):
        list(multicore.run(1))
