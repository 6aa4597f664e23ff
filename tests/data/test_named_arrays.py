"""MATLAB and NumPy files: named arrays come out, and nothing that would have to be unpickled."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import savemat
from scipy.sparse import csc_array

from kfeat.data import load, load_raw
from kfeat.data.columns import Reading
from kfeat.data.formats import read_files
from kfeat.errors import DataError

X = np.array([[1.0, 2, 0], [3, 4, 5]])
Y = np.array([0, 1])


def saved(folder: Path, kind: str, **arrays: Any) -> Path:
    path = folder / f"file.{kind}"
    if kind == "npz":
        np.savez_compressed(path, **arrays)
    else:
        savemat(path, arrays)
    return path


def read(path: Path, **options: Any) -> Any:
    return read_files({"train": path}, Reading(**options))


@pytest.mark.parametrize("kind", ["npz", "mat"])
def test_arrays_by_their_usual_names(tmp_path: Path, kind: str) -> None:
    contents = read(saved(tmp_path, kind, X=X, y=Y, X_test=X[:1], y_test=Y[:1], other=Y))
    assert contents.parts["train"].X.tolist() == X.tolist()
    assert contents.parts["test"].X.tolist() == X[:1].tolist()
    assert contents.parts["test"].y.tolist() == [0]
    assert set(read(saved(tmp_path, kind, X=X, y=Y)).parts) == {"train"}


@pytest.mark.parametrize("kind", ["npz", "mat"])
def test_arrays_by_names_given(tmp_path: Path, kind: str) -> None:
    path = saved(tmp_path, kind, features=X.astype("f4"), labels=Y.astype("u1"))
    contents = read(path, variables={"X": "features", "y": "labels"})
    assert contents.parts["train"].X.tolist() == X.tolist()


def test_sparse_matlab_with_samples_in_columns(tmp_path: Path) -> None:
    contents = read(saved(tmp_path, "mat", X=csc_array(X.T), y=Y[None, :]), samples_in_columns=True)
    assert contents.parts["train"].X.tolist() == X.tolist()
    assert contents.parts["train"].y.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": X}, "expected an array y"),
        ({"y": Y}, "expected an array X"),
        ({"X": X, "y": Y, "X_test": X}, "expected an array y_test"),
        (
            {"X": X, "y": Y, "X_test": X[:, :1], "y_test": Y},
            "rows of 3 features as in the training part, got 1",
        ),
        ({"X": X, "y": np.arange(3)}, "label for each of its 2 rows, got 3"),
        ({"X": X * np.nan, "y": Y}, "row 1, column 1: expected a finite number, got nan"),
        ({"X": X * 1j, "y": Y}, "real numbers"),
        ({"X": X, "y": np.array(["a", "b"])}, "real numbers"),
        ({"X": np.array([[{}, 1], [2, 3]], dtype=object), "y": Y}, "pickle"),
        ({"X": np.zeros((2, 2, 2)), "y": Y}, "two axes"),
        ({"X": np.zeros((0, 2)), "y": np.zeros(0)}, "got 0 rows"),
    ],
)
def test_faults(tmp_path: Path, arrays: Any, message: str) -> None:
    path = saved(tmp_path, "npz", **arrays)
    with pytest.raises(DataError, match=message) as caught:
        read(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": X}, "expected an array y"),
        ({"X": X * 1j, "y": Y}, "complex"),
        ({"X": X, "y": np.array(["a", "b"])}, "numeric matrix"),
        ({"X": np.array([[{}, 1], [2, 3]], dtype=object), "y": Y}, "cell array"),
        ({"X": np.zeros((0, 2)), "y": np.zeros(0)}, "two axes"),
        ({"X": {"a": 1}, "y": Y}, "struct"),
    ],
)
def test_faults_of_matlab(tmp_path: Path, arrays: Any, message: str) -> None:
    path = saved(tmp_path, "mat", **arrays)
    with pytest.raises(DataError, match=message) as caught:
        read(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("index", [2**30, -5])
def test_sparse_indices_outside_of_the_matrix(tmp_path: Path, index: int) -> None:
    path = saved(
        tmp_path, "mat", X=csc_array(([1.0, 2.0], ([0x77, 3], [0, 1])), shape=(200, 2)), y=np.arange(200) % 2
    )
    content = path.read_bytes()
    assert content.count(np.int32(0x77).tobytes()) == 1
    path.write_bytes(content.replace(np.int32(0x77).tobytes(), np.int32(index).tobytes()))
    with pytest.raises(DataError, match="cannot be read as mat"):
        read(path)


class Trap:
    """Unpickling this writes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (open, (str(self.path), "w"))


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    trap = tmp_path / "sprung"
    path = saved(tmp_path, "npz", X=np.array([[Trap(trap)]], dtype=object), y=Y[:1])
    with pytest.raises(DataError, match="pickle"):
        read(path)
    assert not trap.exists()
    with np.load(path, allow_pickle=True) as archive:
        archive["X"].item().close()  # the trap does spring when unpickled
    assert trap.exists()


@pytest.mark.parametrize("kind", ["npz", "mat"])
def test_cut_and_foreign_files(tmp_path: Path, kind: str) -> None:
    path = saved(tmp_path, kind, X=np.arange(4000.0).reshape(400, 10), y=np.arange(400) % 2)
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], b"not this"):
        path.write_bytes(content)
        with pytest.raises(DataError, match=str(path)):
            read(path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "svmlight", "target": 1}, "target: no option of the format svmlight"),
        ({"format": "npz", "delimiter": ","}, "delimiter: no option of the format npz"),
        ({"format": "xlsx"}, "svmlight"),
        ({"format": "csv", "categorical": "binary"}, "ordinal"),
        ({"n_features": 0}, "greater than or equal to 1"),
    ],
)
def test_options_are_checked(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Reading(**options)


def test_matlab_7_3_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "file.mat"  # the header alone: 124 bytes of text, the version 2.0, the byte order
    path.write_bytes(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + bytes(384))
    with pytest.raises(DataError, match=r"expected MATLAB version 7 or earlier, got 7\.3; save it with -v7"):
        read(path)


def damaged_sparse(folder: Path) -> Path:
    """A .mat file that crashes SciPy's reader: eight of its bytes stand twice, and the last eight are cut."""
    X = csc_array((np.ones(480), (np.arange(480) * 7 % 60, np.arange(480) // 12)))
    path = saved(folder, "mat", y=np.arange(60) % 2, X=X)
    whole = path.read_bytes()
    path.write_bytes(whole[:900] + whole[900:908] + whole[900:-8])
    return path


def test_a_crash_of_the_reader_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"file\.mat: cannot be read as mat \(SciPy's reader ended with signal"
    ):
        read(damaged_sparse(tmp_path))


def test_a_script_without_a_main_guard_can_read(tmp_path: Path) -> None:
    """SciPy reads .mat files in a process of its own."""
    path = saved(tmp_path, "mat", X=X, y=Y)
    code = (
        "from kfeat.data import load_raw\n"
        f"raw = load_raw({{'path': {str(path)!r}}}, cache={str(tmp_path / 'cache')!r})\n"
        "print(raw.parts['train'].X.sum())"
    )
    (tmp_path / "script.py").write_text(f"import sys; sys.path[:0] = {sys.path!r}\n{code}\n")
    run = subprocess.run(
        [sys.executable, tmp_path / "script.py"], capture_output=True, text=True, check=False
    )
    assert (run.stdout, run.stderr) == ("15.0\n", "")


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("kind", ["f2", "f8", "u4", "g"])
def test_every_order_and_precision_of_numbers(tmp_path: Path, order: str, kind: str) -> None:
    path = saved(tmp_path, "npz", X=X.astype(np.dtype(kind).newbyteorder(order)), y=Y.astype(order + "i4"))
    half = {"split": {"kind": "all"}}
    data = load({"path": str(path)}, half, cache=tmp_path / "cache")
    assert data.X_train.tolist() == X.tolist()
    assert data.X_train.dtype == np.float32
    part = load_raw({"path": str(path)}, cache=tmp_path / "cache").parts["train"]
    assert part.X.dtype.isnative
    assert part.X.dtype.char not in "eg"
