"""Reading svmlight files: good ones as scikit-learn does, bad ones with the line and column at fault."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import issparse

from kfeat.data.columns import Reading
from kfeat.data.formats import read_files
from kfeat.errors import DataError
from tests.data.files import write

READING = Reading(format="svmlight")


def test_numbers_come_out(tmp_path: Path) -> None:
    text = "+1 1:0.5 3:-2e1 # a comment\n\n-1 2:1\n1\n"
    contents = read_files({"train": write(tmp_path, gzip.compress(text.encode()))}, READING)
    part = contents.parts["train"]
    assert part.X.tolist() == [[0.5, 0, -20], [0, 1, 0], [0, 0, 0]]
    assert part.y.tolist() == [1, -1, 1]
    assert part.y.dtype == np.int64
    assert contents.task == "classification"


def test_train_and_test_are_equally_wide_and_sparse_stays_sparse(tmp_path: Path) -> None:
    files = {"train": write(tmp_path, "1 1:1\n2 3:1\n", "a"), "test": write(tmp_path, "1 40:2\n", "b")}
    parts = read_files(files, READING).parts
    assert parts["train"].X.shape == (2, 40)
    assert parts["test"].X.shape == (1, 40)
    assert issparse(parts["train"].X)
    wide = read_files(files, Reading(format="svmlight", n_features=50)).parts
    assert wide["test"].X.shape == (1, 50)
    with pytest.raises(DataError, match="indices up to 39, got 40"):
        read_files(files, Reading(format="svmlight", n_features=39))


def test_many_real_labels_are_a_regression(tmp_path: Path) -> None:
    path = write(tmp_path, "".join(f"{i / 10} 1:{i}\n" for i in range(30)))
    contents = read_files({"train": path}, READING)
    assert contents.task == "regression"
    assert contents.parts["train"].y.dtype == np.float64


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 1:1\n1 3:1 2:1\n", "line 2, column 7: expected indices to rise, got 2 after 3"),
        ("1 2:1 2:1\n", "line 1, column 7: expected indices to rise, got 2 after 2"),
        ("1 -3:1\n", "line 1, column 3: expected a whole index from 1, got '-3'"),
        (
            "1 0:1\n",
            "line 1, column 3: expected a whole index from 1, got '0'; scikit-learn counts from 1 with",
        ),
        ("1 1.5:1\n", "line 1, column 3: expected a whole index from 1, got '1.5'"),
        ("1 1:one\n", "line 1, column 3: expected a number as the value of feature 1, got 'one'"),
        ("1 1:\n", "line 1, column 3: expected a number as the value of feature 1, got ''"),
        ("1 1:1\n1:1 2:1\n", "line 2, column 1: expected a label first, got '1:1'"),
        ("yes 1:1\n", "line 1, column 1: expected a numeric label, got 'yes'"),
        ("1 7\n", "line 1, column 3: expected index:value, got '7'"),
        ("", "no values at all"),
        ("# nothing\n", "no values at all"),
        ("1\n2\n", "no values at all"),
        ("1 1:1 2:nan\n", "row 1, column 2: expected a finite number, got nan"),
        ("1 1:1\n2 1:1e999\n", "row 2, column 1: expected a finite number, got inf"),
        ("1 1:1\ninf 1:1\n", "row 2, column of the labels: expected a finite number, got inf"),
        ("1 99999999999999999999:1\n", "line 1, column 3|cannot be read"),
        ("<html><body>1 1:1</body></html>", "line 1, column 1"),
    ],
)
def test_faults_are_named_with_line_and_column(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(DataError, match=message) as caught:
        read_files({"train": path}, READING)
    assert str(path) in str(caught.value)


def test_parts_are_stored_alike(tmp_path: Path) -> None:
    rows = ["1 " + " ".join(f"{j}:1" for j in range(1, 41, 4)) + "\n"] * 9  # a quarter is not zero
    files = {"train": write(tmp_path, "".join(rows), "a"), "test": write(tmp_path, "1 1:1 40:1\n", "b")}
    parts = read_files(files, READING).parts
    assert isinstance(parts["train"].X, np.ndarray)
    assert isinstance(parts["test"].X, np.ndarray)


def test_absurd_indices_are_refused_at_once(tmp_path: Path) -> None:
    path = write(tmp_path, "1 1:1 2000000000:1\n-1 2:1\n", "wide.svm")
    with pytest.raises(
        DataError, match=r"wide\.svm: expected feature indices up to 100,000,000, got 2,000,000,000"
    ):
        read_files({"train": path}, Reading())
