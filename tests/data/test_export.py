"""A dataset as a CSV file, which a reader gets back as it was."""

from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from scipy.sparse import csr_array

from kfeat.data import export
from kfeat.data.dataset import Raw
from kfeat.data.export import check_csv_size, column_names, write_csv
from kfeat.data.matrix import Part
from kfeat.errors import DataError

X = np.array([[1.0, 0.1, 0.0], [-2.0, 1 / 3, 1e-300], [3.0, 5.0, 0.0], [2.0**52, -7.25, 4.0]])


def raw(parts=(3, 1), y=(0, 1, 1, 0), task="classification", sparse=False, **more):
    """Rows of X in parts of these sizes."""
    matrix, y, cut = csr_array(X) if sparse else X, np.array(y), parts[0]
    train, test = Part(matrix[:cut], y[:cut]), Part(matrix[cut:], y[cut:])
    return Raw("own", task, {"train": train, "test": test} if parts[1] else {"train": train}, **more)


def text(data, rows):
    file = StringIO()
    write_csv(data, np.array(rows), file)
    return file.getvalue()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("parts", [(3, 1), (4, 0)])
def test_numbers_come_back_and_whole_columns_have_no_point(sparse, parts, monkeypatch):
    monkeypatch.setattr("kfeat.data.matrix.BLOCK_VALUES", 6)  # two rows at a time
    written = text(raw(parts, sparse=sparse), range(4))
    assert written.splitlines()[:2] == ["x0,x1,x2,label", "1,0.1,0.0,0"]
    back = np.loadtxt(StringIO(written), delimiter=",", skiprows=1)
    np.testing.assert_array_equal(back, np.column_stack([X, [0, 1, 1, 0]]))
    assert text(raw(parts, sparse=sparse), [1, 3]).count("\n") == 3


def test_classes_have_their_names_and_targets_their_digits():
    named = raw(label_names=("no, thanks", "yes"), columns=("a", "b", "c"), target="buys")
    lines = text(named, [0, 1]).splitlines()
    assert lines[0] == "a,b,c,buys"
    assert [line.split(",", 3)[3] for line in lines[1:]] == ['"no, thanks"', "yes"]
    assert text(raw(y=(0.1, 2.0, 3.0, 4.0), task="regression"), [0]).endswith(",0.1\n")


@pytest.mark.parametrize(
    ("columns", "target", "task", "names"),
    [
        (("a", "b", "c"), "d", "classification", (["a", "b", "c"], "d")),
        (("0", "1", "2"), "3", "classification", (["x0", "x1", "x2"], "label")),
        ((), None, "regression", (["x0", "x1", "x2"], "target")),
    ],
)
def test_columns_have_their_names_or_a_letter_and_a_number(columns, target, task, names):
    assert column_names(replace(raw(task=task), columns=columns, target=target)) == names


def test_a_file_that_would_be_too_large_is_refused_with_its_size(monkeypatch):
    check_csv_size(raw())
    size = len(text(raw(), range(4)))
    monkeypatch.setattr(export, "MOST_BYTES", size)
    check_csv_size(raw())
    monkeypatch.setattr(export, "MOST_BYTES", size - 1)
    with pytest.raises(
        DataError, match="4 rows x 3 features would take about 0 MB, more than 0 MB; a config"
    ):
        check_csv_size(raw())
