"""Files for a model that exists are read block by block, and coded as its training rows were."""

import gzip

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import issparse

from kfeat.data import Reading, load_raw, read_rows
from kfeat.errors import DataError
from tests.data.files import dense, idx, loaded, mat, npz, write
from tests.fuzz.data_samples import FILES, Y

CSV = "age,colour,y\n1,red,a\n2,blue,b\n,red,a\n4,,b\n5,red,a\n"
OPTIONS = {"target": "y", "categorical": "one_hot", "missing": "mean"}


def learnt_values(folder, content=CSV, name="train.csv", **options):
    return loaded(folder, content, name, **options).coding


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """What is learnt from the first rows."""
    return learnt_values(tmp_path_factory.mktemp("known"), **OPTIONS)


def rows_of(path, options, coding, size=2):
    return list(read_rows(path, Reading(**options), coding, size))


def joined(blocks):
    return np.vstack([dense(block.X) for block in blocks])


@pytest.mark.usefixtures("mat_in_this_process")
@pytest.mark.parametrize("kind", FILES)
def test_every_format_gives_the_features_and_labels_of_training(tmp_path, kind):
    content, options = FILES[kind]
    path = write(tmp_path, content)
    source = {"path": str(path), **options}
    if options["format"] == "idx":
        source["labels"] = str(write(tmp_path, idx(Y), "labels"))
    raw = load_raw(source, cache=tmp_path / "cache")
    blocks = rows_of(path, options, raw.coding, size=5)
    n = len(raw.y)
    assert [block.start for block in blocks] == list(range(0, n, 5))
    assert_array_equal(joined(blocks), dense(raw.parts["train"].X))
    assert {issparse(block.X) for block in blocks} == {raw.coding.sparse}
    if options["format"] == "idx":
        assert all(block.y is None for block in blocks)
    else:
        assert_array_equal(np.concatenate([block.y for block in blocks]), raw.y)


def test_a_header_with_the_names_of_training_is_one_whatever_it_looks_like(tmp_path):
    coding = learnt_values(tmp_path, "2019,2020,2021,y\n1,2,3,0\n4,5,6,1\n", target="y")
    path = write(tmp_path, "2021,2019,2020\n3,1,2\n", "new.csv")
    assert joined(rows_of(path, {"target": "y"}, coding)).tolist() == [[1, 2, 3]]
    other = write(tmp_path, "2021,2019,2022\n3,1,2\n", "other.csv")
    with pytest.raises(DataError, match="its first line looks like data"):
        rows_of(other, {"target": "y"}, coding)


def test_the_target_may_be_missing_and_columns_come_in_any_order(tmp_path):
    coding = learnt_values(tmp_path, **OPTIONS)
    path = write(tmp_path, "colour,age\r\nred,7\r\n,\r\nblue,1\r\n", "new.csv")
    blocks = rows_of(path, OPTIONS, coding)
    assert joined(blocks).tolist() == [[7, 0, 1], [3, 0, 1], [1, 1, 0]]
    assert [block.y for block in blocks] == [None, None]


@pytest.mark.parametrize(
    ("target", "text"), [(-1, "1,x,5\n2,z,6\n"), (0, "5,1,x\n6,2,z\n"), (1, "1,5,x\n2,6,z\n")]
)
def test_without_a_header_columns_are_known_by_place(tmp_path, target, text):
    options = {"header": False, "target": target, "categorical": "ordinal"}
    coding = learnt_values(tmp_path, text, **options)
    (whole,) = rows_of(write(tmp_path, text, "new.csv"), options, coding)
    assert whole.X.tolist() == [[1, 0], [2, 1]]
    assert whole.y.tolist() == [5, 6]
    (without,) = rows_of(write(tmp_path, "1,x\n2,z\n", "new.csv"), options, coding)
    assert (without.X.tolist(), without.y) == ([[1, 0], [2, 1]], None)
    with pytest.raises(DataError, match="rows of 3 columns as in training, or 2 without the target, got 4"):
        rows_of(write(tmp_path, "1,x,1,1\n", "new.csv"), options, coding)


def test_svmlight_without_labels(tmp_path):
    coding = learnt_values(tmp_path, "1 1:5 3:2\n-1 2:1 4:1\n1 1:1\n", name="train.svm")
    (rows,) = rows_of(write(tmp_path, "1:5 # x\n2:7\n", "new.svm"), {}, coding)
    assert dense(rows.X).tolist() == [[5, 0, 0, 0], [0, 7, 0, 0]]
    assert rows.y is None
    with pytest.raises(DataError, match="feature indices up to 4 as in training, got 9"):
        rows_of(write(tmp_path, "1 9:5\n", "new.svm"), {}, coding)
    with pytest.raises(DataError, match=r"new\.svm, line 2, column 3: expected index:value, got 'x'"):
        rows_of(write(tmp_path, "1 1:5\n1 x\n", "new.svm"), {}, coding)
    with pytest.raises(DataError, match=r"new\.svm: cannot be read as svmlight"):  # not: a label first
        rows_of(write(tmp_path, "1:5\n2:x\n", "new.svm"), {}, coding)


@pytest.mark.usefixtures("mat_in_this_process")
@pytest.mark.parametrize("kind", ["npz", "mat"])
def test_named_arrays_without_labels(tmp_path, kind):
    packed = {"npz": npz, "mat": mat}[kind]
    coding = learnt_values(tmp_path, packed(X=np.eye(3), y=np.arange(3)), f"train.{kind}")
    blocks = rows_of(write(tmp_path, packed(X=2 * np.eye(3), other=np.ones(1)), f"new.{kind}"), {}, coding)
    assert_array_equal(joined(blocks), 2 * np.eye(3))
    assert [block.y for block in blocks] == [None, None]
    path = write(tmp_path, packed(X=np.eye(3), y=np.arange(2)), f"new.{kind}")
    with pytest.raises(DataError, match="a label for each row, got 3 rows and 2 labels"):
        rows_of(path, {}, coding)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("age,colour\n1,red\n2,red\n3,red\nx,pink\n", "row 4, column age: expected a number, got 'x'"),
        ("age,color\n1,red\n", "missing: colour; not known: color"),
        ("age,colour\n1,red\n1,red\n1\n", "line 4: expected 2 columns, got 1"),
        ("age,colour\n1,red\n1,red\n1,red,red\n", "line 4: expected 2 columns, got 3"),
        ("age,colour,y\n1,red,c\n", "row 1, column y: expected one of a, b, got 'c'"),
        ("age,colour,y\n1,red,\n", "row 1, column y: expected a value, got a missing cell"),
        ("age,colour\n", "lines of data below the header"),
        ("", "empty file"),
    ],
)
def test_faults_name_the_file_and_the_row(tmp_path, known, text, message):
    path = write(tmp_path, text, "new.csv")
    with pytest.raises(DataError, match=message) as caught:
        rows_of(path, OPTIONS, known)
    assert str(caught.value).startswith(str(path))


def test_compressed_files_and_other_formats_serve_the_same_model(tmp_path):
    options = {"target": "y"}
    coding = learnt_values(tmp_path, "a,b,y\n1,2,0\n3,4,1\n", **options)
    (packed,) = rows_of(write(tmp_path, gzip.compress(b"b,a\n2,1\n"), "new.csv.gz"), options, coding)
    assert packed.X.tolist() == [[1, 2]]
    (arrays,) = rows_of(write(tmp_path, npz(X=np.array([[1, 2]])), "new.npz"), {}, coding)
    assert arrays.X.tolist() == [[1, 2]]


@pytest.mark.parametrize(
    ("name", "line", "end", "message"),
    [
        ("long.csv", "1.25,2.5\n", "1,2,3\n", "line 30002: expected 2 columns, got 3"),
        ("long.svm", "1 1:1.25 2:2.5\n", "1 x\n", "line 30002, column 3: expected index:value"),
    ],
)
def test_blocks_are_read_as_they_are_asked_for(tmp_path, name, line, end, message):
    coding = learnt_values(tmp_path, "a,b,y\n1,2,0\n3,4,1\n", target="y")
    path = write(tmp_path, ("a,b\n" if name.endswith("csv") else "1 1:1\n") + line * 30_000 + end, name)
    blocks = read_rows(path, Reading(), coding, 1000)
    assert next(blocks).X.shape == (1000, 2)  # the file as a whole cannot be read
    with pytest.raises(DataError, match=message):
        list(blocks)
