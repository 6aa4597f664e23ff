"""What is wrong with a file of any format is told with the file, the line and the column, and what to set."""

import numpy as np
import pytest

from kfeat.data import load_raw
from kfeat.errors import DataError
from tests.data.files import ARFF, idx, mat, npz, write

X, Y = np.array([[1.0, 2, 0], [3, 4, 5]]), np.array([0, 1])
OBJECTS = np.array([[{}, 1], [2, 3]], dtype=object)
IMAGES, LABELS = np.arange(24).reshape(2, 3, 4), np.array([3, 5])
HEADER = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + bytes(384)  # 124 bytes of text, 2.0, byte order
ONE_HOT = {"categorical": "one_hot"}

# name of a file -> options, and contents with more options and what is said of them
FAULTS = {
    "bad.csv": ({"target": "y"}, [
        ("a,b,y\n1,2,0\n1,2\n", {}, "line 3: expected 3 columns, got 2"),
        ("a,b,y\n1,2,0\n\n1,2,3,4\n", {}, "line 4: expected 3 columns, got 4"),
        ("a,b,y\n1,2,3,4\n1,2,3,4\n", {}, "line 2: expected 3 columns, got 4"),
        ("a,b,y\n1,,0\n", {}, "row 1, column b: expected a number or word in every cell, got a missing"),
        ("a,b,y\n1,2,0\n-inf,3,0\n", {}, "row 2, column a: expected a finite number, got '-inf'"),
        ("a,b,y\n1e400,1,0\n2,3,1\n", {}, "row 1, column a: expected a finite number, got 'inf'"),
        ("a,b,y\n1,2,0\n1,3,nan\n", {}, "row 2, column y: .* got a missing value"),
        ("a,b,y\n1,2,0\n1,two,0\n", {}, r"row 2, column b: .* 'two' \(1 of 2 rows are numbers\); set `cat"),
        ('a,y\n2,z\n"3,25",x\n', ONE_HOT, r"column a: .* got '3,25' \(1 of 2 rows are"),
        ("a,y\n1,2020-01-31\n2,2020-02-01\n", {}, "column y: expected a number, got '2020-01-31'"),
        ("a,b,income\n1,2,0\n", {"target": "incom"}, r"no column 'incom' \(did you mean 'income'\?\)"),
        ("size,y\n1,0\n", {"levels": {"Size": ["1"]}}, r"no column 'Size' \(did you mean 'size'\?\)"),
        ("a,b,y\n1,2,0\n", {"target": 3}, "target below 3"),
        ("a,b,y\n1,2,0\n", {"target": None}, "expected `target`.* columns a, b, y"),
        ("1,2,0\n3,4,1\n", {"target": 2}, "first line looks like data"),
        ("5.1,3.5,setosa\n4.9,3.0,setosa\n", {"target": -1}, "first line looks like data.* set `header`"),
        ("0.0,0.0,0.0,1.5,a\n0.0,0.0,1.0,2.5,b\n", {"target": -1}, "looks like data"),
        ("39,13,a,b,c,d,y\n50,13,b,c,b,e,n\n", {"target": -1, **ONE_HOT}, "looks like data"),
        ("", {}, "empty file"),
        ("a,b,y\n", {}, "lines of data below the header"),
        ("y\n1\n", {}, "0 columns"),
        ("a,y\n\xff\xfe,1\n".encode("latin-1"), {}, "expected UTF-8 text .* save it again as UTF-8"),
        ("a,b,y\n1,2,high\n2,3,low\n", {"task": "regression"}, "targets of a regression, got words"),
        ("<!DOCTYPE html>\n<html><p>a, b</p></html>\n", {}, "an HTML page"),
        ("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n", {}, "a Git LFS pointer"),
        ("a,y\n1,0\n", {"drop": ["b"]}, "`drop`: no column 'b'; it has the columns a, y"),
        ("a,y\n1,0\n", {"drop": ["y"]}, "the target to be kept, got it in `drop`"),
        ("a,y\n1,0\n", {"drop": [7]}, "`drop` below 2"),
        ("a,y\n1,0\n", {"drop": [0]}, "0 columns"),
        ("a,y\n1,0\n,1\nold,1\n", {"missing": "mean"}, "row 3, column a: expected numbers, got 'old'"),
        ("a,b,a,y\n1,2,3,0\n4,5,6,1\n", {}, "once in its first line, got more than one a; name all"),
        ("a;b;y\n1;2;0\n3;4;1\n", {}, r"got one in every line; set `delimiter: ';'`, .* into 3"),
        ("a;b;y\n1,5;2;0\n3,25;4;1\n", {}, "line 2: expected 1 column, got 2; set `delimiter: ';'`"),
        ("a;y\n1,5;0\n3,25;1\n", {"delimiter": ";"}, "row 1, column a: .* '1,5'; set `decimal: ','`, leave"),
        ('a,y\n"1,250",z\n900,x\n', ONE_HOT, "column a: .* got '1,250' .*; set `thousands"),
        ("a,y\n$1.20,z\n$3,x\n", ONE_HOT, r"got '\$1.20'; write plain numbers"),
        ("a,y\n12 %,z\n3 %,x\n", ONE_HOT, "got '12 %'; write plain numbers"),
        ("a,y\n\u22121.5,z\n3,x\n", ONE_HOT, "write plain numbers"),
        ("a,y\n1_000,z\n3,x\n", ONE_HOT, "got '1_000' .*; write plain numbers"),
        ("a,y\n1/31/2020,z\n2/1/2020,x\n", ONE_HOT, "got '1/31/2020'; write dates as 2020-01-31"),
        ("# by a tool\na,b,y\n1,2,0\n", {}, "line 2: expected 1 column, got 3; the first line is no header"),
        ("sep=;\na;b;y\n1;2;0\n3;4\n", {}, "line 4: expected 3 columns, got 2"),
        ("a,y\n1.250,z\n1.260.000,x\n", ONE_HOT, r"set `decimal: ','` and `thousands: \.`"),
        ("a,y\n1,z\n-,x\n3,x\n", ONE_HOT, r"if '-' is a missing cell, set `missing_values: \{a: \['-'\]\}`"),
        ("a,y\n1,z\n2,x\n", {"missing_values": {"c": ["-"]}}, "`missing_values`: no column 'c'"),
        ("a\tb\ty\n1\t2\t0\n", {}, r'set `delimiter: "\\t"`, .* into 3'),
        ("a b y\n1 2 0\n3  4 1\n", {}, "set `delimiter: whitespace`, .* into 3"),
    ]),
    "bad.arff": ({"target": "income", "categorical": "ordinal"}, [
        (ARFF.replace("30,red,high", "?,red,high"), {}, "row 1, column age: expected a number or word"),
        (ARFF.replace("40.5,blue", "40.5,?"), {}, "row 2, column colour"),
        (ARFF.replace("40.5,blue", "40.5,pink"), {}, "pink"),
        (ARFF.replace("{low, high}", "string"), {}, "cannot be read"),
        (ARFF.replace("30,red,high", "30,red"), {}, "cannot be read|expected"),
        (ARFF.replace("@data", ""), {}, "cannot be read|rows"),
        (ARFF.replace("30", "thirty"), {}, "cannot be read"),
        (ARFF.split("30")[0] + "{0 30, 2 low}\n", {}, "sparse ARFF, .* SparseToNonSparse"),
    ]),
    "bad.svm": ({}, [
        ("1 1:1\n1 3:1 2:1\n", {}, "line 2, column 7: expected indices to rise, got 2 after 3"),
        ("1 2:1 2:1\n", {}, "line 1, column 7: expected indices to rise, got 2 after 2"),
        ("1 -3:1\n", {}, "line 1, column 3: expected a whole index from 1, got '-3'"),
        ("1 0:1\n", {}, "line 1, column 3: expected a whole index from 1, got '0'; scikit-learn counts from"),
        ("1 1.5:1\n", {}, "line 1, column 3: expected a whole index from 1, got '1.5'"),
        ("1 1:one\n", {}, "line 1, column 3: expected a number as the value of feature 1, got 'one'"),
        ("1 1:\n", {}, "line 1, column 3: expected a number as the value of feature 1, got ''"),
        ("1 1:1\n1:1 2:1\n", {}, "line 2, column 1: expected a label first, got '1:1'"),
        ("\ufeff1 1:1\n", {}, "begins with a byte order mark; save it as UTF-8 without one"),
        ("yes 1:1\n", {}, "line 1, column 1: expected a numeric label, got 'yes'"),
        ("1 7\n", {}, "line 1, column 3: expected index:value, got '7'"),
        ("", {}, "empty|no values at all"),
        ("# nothing\n", {}, "no values at all"),
        ("1\n2\n", {}, "no values at all"),
        ("1 1:1 2:nan\n", {}, "row 1, column 2: expected a finite number, got nan"),
        ("1 1:1\n2 1:1e999\n", {}, "row 2, column 1: expected a finite number, got inf"),
        ("1 1:1\ninf 1:1\n", {}, "row 2, column of the labels: expected a finite number, got inf"),
        ("1 99999999999999999999:1\n", {}, "line 1, column 3|cannot be read"),
        ("<html><body>1 1:1</body></html>", {}, "an HTML page"),
        ("1 1:1 2000000000:1\n-1 2:1\n", {}, "expected feature indices up to 100,000,000, got 2,000,000,000"),
    ]),
    "bad.npz": ({}, [
        (npz(X=X), {}, "expected an array y"),
        (npz(y=Y), {}, "expected an array X"),
        (npz(X=X, y=Y, X_test=X), {}, "expected an array y_test"),
        (npz(X=X, y=Y, X_test=X[:, :1], y_test=Y), {}, "rows of 3 features as in the training part, got 1"),
        (npz(X=X, y=np.arange(3)), {}, "expected a label for each row, got 2 rows and 3 labels"),
        (npz(X=X[:1], y=Y), {}, "expected a label for each row, got 1 row and 2 labels"),
        (npz(X=X, y=Y[:1]), {}, "expected a label for each row, got 2 rows and 1 label"),
        (npz(X=X[:, :0], y=Y), {}, "got 2 rows and 0 columns"),
        (npz(X=X[:, :1], y=Y, X_test=X, y_test=Y), {}, "rows of 1 feature as in the training part, got 3"),
        (npz(X=X * np.nan, y=Y), {}, "row 1, column 1: expected a finite number, got nan"),
        (npz(X=X * 1j, y=Y), {}, "real numbers"),
        (npz(X=X, y=np.array(["a", "b"])), {}, "real numbers"),
        (npz(X=OBJECTS, y=Y), {}, "pickle"),
        (npz(X=np.zeros((2, 2, 2)), y=Y), {}, "two axes"),
        (npz(X=np.zeros((0, 2)), y=np.zeros(0)), {}, "got 0 rows"),
        (npz(X=X, y=Y)[:300], {}, r"bad\.npz"),
        (b"not this", {}, r"expected a \.npz file, which is a zip"),
        (npz(features=X, label=Y), {}, r"an array X, got features, label; .* `variables: \{X: features"),
        (npz(features=X, label=Y), {"variables": {"X": "features", "y": "labels"}}, r"mean 'label'\?"),
    ]),
    "bad.mat": ({}, [
        (mat(X=X), {}, "expected an array y"),
        (mat(X=X * 1j, y=Y), {}, "complex"),
        (mat(X=X, y=np.array(["a", "b"])), {}, "numeric matrix"),
        (mat(X=OBJECTS, y=Y), {}, "cell array"),
        (mat(X=np.zeros((0, 2)), y=np.zeros(0)), {}, "two axes"),
        (mat(X={"a": 1}, y=Y), {}, "struct"),
        (mat(X=X, y=Y)[:200], {}, r"bad\.mat"),
        (b"not this", {}, r"bad\.mat"),
        (HEADER, {}, r"expected MATLAB version 7 or earlier, got 7\.3; save it with -v7"),
        (mat(features=X, label=Y), {}, r"an array X, got features, label; .* `variables: \{X: features"),
    ]),
    "bad.idx": ({"labels": idx(LABELS)}, [
        (idx(IMAGES)[:-1], {}, r"expected 24 bytes of values for shape \(2, 3, 4\), got 23"),
        (idx(IMAGES) + b"x", {}, "expected 24 bytes of values"),
        (idx(IMAGES)[:9], {}, "got 0"),
        (b"", {}, "empty|expected an IDX header"),
        (b"\0\0\7\1\0\0\0\0", {}, "expected an IDX header"),
        (b"<html>", {}, "an HTML page"),
        (idx(IMAGES), {"labels": idx(LABELS[:1])}, "a label for each row, got 2 rows and 1 label"),
        (idx(IMAGES), {"labels": idx(IMAGES)}, "an array and a label per row"),
        (idx(LABELS), {}, "an array and a label per row"),
        (idx(IMAGES), {"labels": None}, "give `labels` too"),
    ]),
    "bad.parquet": ({"target": "y"}, [(text, {}, "cannot be read as parquet") for text in (b"", b"PAR1")]),
}  # fmt: skip
CASES = [(name, options | more, content, message) for name, (options, cases) in FAULTS.items()
         for content, more, message in cases]  # fmt: skip


@pytest.mark.usefixtures("mat_in_this_process")
@pytest.mark.parametrize(("name", "options", "content", "message"), CASES, ids=range(len(CASES)))
def test_faults_are_named(tmp_path, name, options, content, message):
    path, source = write(tmp_path, content, name), {**options}
    if source.get("labels"):
        source["labels"] = str(write(tmp_path, source["labels"], "labels"))
    with pytest.raises(DataError, match=message) as caught:
        load_raw({"path": str(path), **source}, cache=tmp_path / "cache")
    assert str(tmp_path) in str(caught.value)
