"""Parquet gives what the same table gives as CSV; without pyarrow, a sentence says what to install."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from kfeat.data import Reading, load_raw, read_rows
from kfeat.errors import DataError

FRAME = pd.DataFrame(
    {"age": [1, None, 3], "colour": ["red", "blue", None], "ok": [True, False, True], "y": ["a", "b", "a"]}
)
OPTIONS: dict[str, Any] = {"target": "y", "categorical": "one_hot", "missing": "most_frequent"}


def saved(folder: Path, frame: pd.DataFrame, **options: Any) -> Path:
    pytest.importorskip("pyarrow", reason="pip install pyarrow")
    path = folder / "toy.parquet"
    frame.to_parquet(path, engine="pyarrow", **options)
    return path


def test_the_same_numbers_as_from_csv(tmp_path: Path) -> None:
    path = saved(tmp_path, FRAME, index=False)
    FRAME.to_csv(tmp_path / "toy.csv", index=False)
    first, second = (
        load_raw({"path": str(each), **OPTIONS}, cache=tmp_path / "cache")
        for each in (path, tmp_path / "toy.csv")
    )
    assert first.fingerprint == second.fingerprint
    assert first.columns == second.columns == ("age", "colour", "ok")
    assert first.parts["train"].X.tolist() == [[1, 0, 1, 1], [1, 1, 0, 0], [3, 1, 0, 1]]  # blue before red


def test_it_is_streamed(tmp_path: Path) -> None:
    path = saved(tmp_path, FRAME, index=False, row_group_size=1)
    raw = load_raw({"path": str(path), **OPTIONS}, cache=tmp_path / "cache")
    assert raw.coding is not None
    blocks = list(read_rows(path, Reading(**OPTIONS), raw.coding, 2))
    assert np.vstack([block.X for block in blocks]).tolist() == raw.parts["train"].X.tolist()
    assert np.concatenate([block.y for block in blocks]).tolist() == raw.y.tolist()


def test_dates_and_damage(tmp_path: Path) -> None:
    frame = FRAME.assign(day=pd.to_datetime(["2020-01-01"] * 3))
    path = saved(tmp_path, frame, index=False)
    raw = load_raw({"path": str(path), **OPTIONS}, cache=tmp_path / "cache")
    assert raw.parts["train"].X[0].tolist() == [1, 0, 1, 1, 2020, 1, 2, 18262]
    whole = path.read_bytes()
    for content in (b"", b"PAR1", whole[:100], whole[:-9], whole[: len(whole) // 2]):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"toy\.parquet: cannot be read as parquet"):
            load_raw({"path": str(path), **OPTIONS}, cache=tmp_path / "cache")


def test_missing_pyarrow_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = tmp_path / "toy.parquet"
    path.write_bytes(b"PAR1")
    with pytest.raises(DataError, match=r"pyarrow, which is not installed; `pip install pyarrow`"):
        load_raw({"path": str(path), **OPTIONS}, cache=tmp_path / "cache")
