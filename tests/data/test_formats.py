"""Every format gives the numbers, words and labels that its files hold; nothing is unpickled."""

import gzip
import itertools
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csc_array, issparse

from kfeat.data import Reading, load, load_raw, read_rows
from kfeat.data.base import validated
from kfeat.data.formats import read_files
from kfeat.data.formats.idx import TYPES
from kfeat.data.sources import LoaderSource
from kfeat.errors import DataError
from kfeat.own.estimators import KernelRegressor
from tests.data.files import ARFF, dense, idx, loaded, mat, npz, write, zipped

CSV = "age,colour,income\n30,red,high\n40.5,blue,low\n50,red,low\n"
X, Y = np.array([[1.0, 2, 0], [3, 4, 5]]), np.array([0, 1])
ARRAYS = {"npz": npz, "mat": mat}


def read(path, **options):
    return read_files({"train": path}, Reading(**options))


@pytest.mark.parametrize(
    ("categorical", "rows"),
    [("ordinal", [[30, 1], [40.5, 0], [50, 1]]), ("one_hot", [[30, 0, 1], [40.5, 1, 0], [50, 0, 1]])],
)
def test_words_are_coded(tmp_path, categorical, rows):
    contents = read(write(tmp_path, CSV, "toy.csv"), target="income", categorical=categorical)
    assert_array_equal(dense(contents.parts["train"].X), rows)
    assert contents.parts["train"].y.tolist() == [0, 1, 1]
    assert (contents.task, contents.label_names) == ("classification", ("high", "low"))


def test_levels_give_the_order_and_make_words_of_numbers(tmp_path):
    levels = {"colour": ["red", "green", "blue"], "income": ["low", "high"]}
    path = write(tmp_path, CSV, "toy.csv")
    contents = read(path, target=-1, categorical="ordinal", levels=levels)
    assert contents.parts["train"].X.tolist() == [[30, 0], [40.5, 2], [50, 0]]
    assert contents.label_names == ("low", "high")
    assert contents.parts["train"].y.tolist() == [1, 0, 0]
    with pytest.raises(DataError, match="row 2, column colour: expected one of red, got 'blue'"):
        read(path, target=-1, categorical="ordinal", levels={"colour": ["red"]})
    path = write(tmp_path, "children,y\n3,10\n1,20\n", "a.csv")
    levels = {"children": ["1", "2", "3", "more"], "y": ["20", "10"]}
    contents = read(path, target="y", categorical="ordinal", levels=levels)
    assert contents.parts["train"].X.tolist() == [[2], [0]]
    assert (contents.parts["train"].y.tolist(), contents.label_names) == ([1, 0], ("20", "10"))


@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        ("a.csv", "1,2,0\n3,4,1\n", {"header": False, "target": 2}),
        ("a.csv.gz", "1,2,0\r\n3,4,1\r\n", {"header": False, "target": -1}),
        ("a.tsv", "u\tv\ty\n1\t2\t0\n3\t4\t1\n", {"target": "y"}),
        ("a.csv", "u;v;y\n1;2;0\n3;4;1\n", {"target": "y", "delimiter": ";"}),
        ("a.csv", "1 2  0 \n3 4 1\n\n", {"target": 2, "header": False, "delimiter": "whitespace"}),
        ("a.csv", '\ufeff"u", v, y\n1, 2, 0\n"3", 4, 1\n', {"target": "y"}),
        ("a.csv", "1,2,0\n3,4,1\n", {"columns": ["u", "v", "y"], "target": "y"}),
        ("a.csv", "p,q,r\n1,2,0\n3,4,1\n", {"header": True, "columns": ["u", "v", "y"], "target": "y"}),
        ("anything", "u,v,y\n\n1,2,0\n3,4,1", {"target": "y", "format": "csv"}),
    ],
)
def test_spellings_of_one_table(tmp_path, name, text, options):
    content = gzip.compress(text.encode()) if name.endswith(".gz") else text
    part = read(write(tmp_path, content, name), **options).parts["train"]
    assert part.X.tolist() == [[1, 2], [3, 4]]
    assert part.y.tolist() == [0, 1]


def test_labels_in_a_file_of_their_own(tmp_path):
    files = {"train": write(tmp_path, "1 2\n3 4\n", "x"), "train_labels": write(tmp_path, "-1\n1\n", "y")}
    reading = Reading(format="csv", header=False, delimiter="whitespace")
    assert read_files(files, reading).parts["train"].y.tolist() == [-1, 1]
    write(tmp_path, "-1\n1\n1\n", "y")
    with pytest.raises(DataError, match="a label for each row, got 2 rows and 3 labels"):
        read_files(files, reading)
    with pytest.raises(DataError, match="got both"):
        read_files(files, reading.model_copy(update={"target": 0}))


def test_one_file_cut_in_two(tmp_path):
    path = write(tmp_path, "1,2,0\n3,4,1\n5,6,1\n", "a.csv")
    parts = read(path, header=False, target=-1, n_train=2).parts
    assert parts["train"].X.tolist() == [[1, 2], [3, 4]]
    assert parts["test"].X.tolist() == [[5, 6]]
    with pytest.raises(DataError, match="more than n_train = 3 rows, got 3"):
        read(path, header=False, target=-1, n_train=3)


def test_every_double_survives(tmp_path):
    numbers = [0.1 + 0.2, 1 / 3, 5e-324, sys.float_info.max, -sys.float_info.min, 123456789.123456789]
    text = "x,y\n" + "".join(f"{number!r},1\n" for number in numbers)
    assert read(write(tmp_path, text, "a.csv"), target="y").parts["train"].X[:, 0].tolist() == numbers


def test_arff_has_its_words_in_the_order_declared(tmp_path):
    contents = read(write(tmp_path, ARFF, "toy.arff"), target="income", categorical="ordinal")
    assert contents.parts["train"].X.tolist() == [[30, 0], [40.5, 2]]
    assert contents.parts["train"].y.tolist() == [1, 0]
    assert contents.label_names == ("low", "high")


@pytest.mark.parametrize("words", ["{low, high}", "{ low,high }", "{low , high}", "{low,\thigh}"])
def test_blanks_between_the_words_of_arff(tmp_path, words):
    text = f"@relation r\n@attribute a numeric\n@attribute y\t{words}\n@data\n1,low\n2,high\n3, high\n"
    contents = read(write(tmp_path, text, "toy.arff"), target="y")
    assert contents.parts["train"].y.tolist() == [0, 1, 1]
    assert contents.label_names == ("low", "high")


def test_svmlight(tmp_path):
    text = "+1 1:0.5 3:-2e1 # a comment\n\n-1 2:1\n1\n"
    contents = read(write(tmp_path, gzip.compress(text.encode())), format="svmlight")
    part = contents.parts["train"]
    assert part.X.tolist() == [[0.5, 0, -20], [0, 1, 0], [0, 0, 0]]
    assert part.y.tolist() == [1, -1, 1]
    assert (part.y.dtype, contents.task) == (np.int64, "classification")
    many = "".join(f"{i / 10} 1:{i}\n" for i in range(30))
    contents = read(write(tmp_path, many), format="svmlight")
    assert (contents.parts["train"].y.dtype, contents.task) == (np.float64, "regression")


def test_train_and_test_are_equally_wide_and_stored_alike(tmp_path):
    files = {"train": write(tmp_path, "1 1:1\n2 3:1\n", "a"), "test": write(tmp_path, "1 40:2\n", "b")}
    parts = read_files(files, Reading(format="svmlight")).parts
    assert (parts["train"].X.shape, parts["test"].X.shape) == ((2, 40), (1, 40))
    assert issparse(parts["train"].X)
    wide = read_files(files, Reading(format="svmlight", n_features=50)).parts
    assert wide["test"].X.shape == (1, 50)
    with pytest.raises(DataError, match="indices up to 39, got 40"):
        read_files(files, Reading(format="svmlight", n_features=39))
    quarter = "1 " + " ".join(f"{j}:1" for j in range(1, 41, 4)) + "\n"
    write(tmp_path, quarter * 9, "a")
    parts = read_files(files, Reading(format="svmlight")).parts
    assert isinstance(parts["train"].X, np.ndarray)
    assert isinstance(parts["test"].X, np.ndarray)


@pytest.mark.parametrize("code", TYPES)
def test_every_type_of_idx(tmp_path, code):
    images, labels = np.arange(24).reshape(2, 3, 4), write(tmp_path, idx(np.array([3, 5])), "labels")
    part = loaded(tmp_path, idx(images, code), format="idx", labels=str(labels)).parts["train"]
    assert part.X.tolist() == images.reshape(2, 12).tolist()
    assert part.X.dtype.isnative
    assert part.y.tolist() == [3, 5]


@pytest.mark.usefixtures("mat_in_this_process")
@pytest.mark.parametrize("kind", ARRAYS)
def test_arrays_by_their_usual_names_and_by_names_given(tmp_path, kind):
    content = ARRAYS[kind](X=X, y=Y, X_test=X[:1], y_test=Y[:1], other=Y)
    parts = loaded(tmp_path, content, f"a.{kind}").parts
    assert parts["train"].X.tolist() == X.tolist()
    assert (parts["test"].X.tolist(), parts["test"].y.tolist()) == (X[:1].tolist(), [0])
    content = ARRAYS[kind](features=X.astype("f4"), labels=Y.astype("u1"))
    parts = loaded(tmp_path, content, f"b.{kind}", variables={"X": "features", "y": "labels"}).parts
    assert parts["train"].X.tolist() == X.tolist()
    assert set(parts) == {"train"}


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("kind", ["f2", "f8", "u4", "g"])
def test_every_order_and_precision_of_numbers(tmp_path, order, kind):
    content = npz(X=X.astype(np.dtype(kind).newbyteorder(order)), y=Y.astype(order + "i4"))
    source = {"path": str(write(tmp_path, content, "a.npz"))}
    data = load(source, {"split": {"kind": "all"}}, cache=tmp_path / "cache")
    assert data.X_train.tolist() == X.tolist()
    assert data.X_train.dtype == np.float32
    part = load_raw(source, cache=tmp_path / "cache").parts["train"]
    assert part.X.dtype.isnative
    assert part.X.dtype.char not in "eg"


class Trap:
    """Unpickling this writes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def test_nothing_is_unpickled(tmp_path):
    trap = tmp_path / "sprung"
    path = write(tmp_path, npz(X=np.array([[Trap(trap)]], dtype=object), y=Y[:1]), "a.npz")
    with pytest.raises(DataError, match="pickle"):
        read(path)
    assert not trap.exists()
    with np.load(path, allow_pickle=True) as archive:
        archive["X"].item().close()  # the trap does spring when unpickled
    assert trap.exists()


@pytest.mark.usefixtures("mat_in_this_process")
@pytest.mark.parametrize("index", [2**30, -5])
def test_sparse_indices_outside_of_the_matrix(tmp_path, index):
    whole = mat(X=csc_array(([1.0, 2.0], ([0x77, 3], [0, 1])), shape=(200, 2)), y=np.arange(200) % 2)
    assert whole.count(np.int32(0x77).tobytes()) == 1
    content = whole.replace(np.int32(0x77).tobytes(), np.int32(index).tobytes())
    with pytest.raises(DataError, match=r"a\.mat"):
        loaded(tmp_path, content, "a.mat")


def test_a_crash_of_scipys_reader_is_a_sentence(tmp_path):
    """Eight bytes of the file stand twice, and the last eight are cut."""
    sparse = csc_array((np.ones(480), (np.arange(480) * 7 % 60, np.arange(480) // 12)))
    whole = mat(y=np.arange(60) % 2, X=sparse)
    with pytest.raises(DataError, match=r"a\.mat: cannot be read as mat \(SciPy's reader ended with signal"):
        loaded(tmp_path, whole[:900] + whole[900:908] + whole[900:-8], "a.mat")


@pytest.mark.slow
def test_a_script_without_a_main_guard_reads_mat_in_a_process(tmp_path):
    path = write(tmp_path, mat(X=csc_array(X.T), y=Y[None, :]), "a.mat")
    source = {"path": str(path), "samples_in_columns": True}
    code = (
        "from kfeat.data import load_raw\n"
        f"raw = load_raw({source!r}, cache={str(tmp_path / 'cache')!r})\n"
        "print(raw.parts['train'].X.tolist(), raw.y.tolist())"
    )
    (tmp_path / "script.py").write_text(f"import sys; sys.path[:0] = {sys.path!r}\n{code}\n")
    run = subprocess.run(
        [sys.executable, tmp_path / "script.py"], capture_output=True, text=True, check=False
    )
    assert (run.stdout, run.stderr) == ("[[1.0, 2.0, 0.0], [3.0, 4.0, 5.0]] [0, 1]\n", "")


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
def test_options_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        Reading(**options)


PARQUET = {"target": "y", "categorical": "one_hot", "missing": "most_frequent"}


def test_parquet_gives_what_csv_gives_and_is_streamed(tmp_path):
    pytest.importorskip("pyarrow", reason="pip install pyarrow")
    frame = pd.DataFrame(
        {
            "age": [1, None, 3],
            "colour": ["red", "blue", None],
            "ok": [True, False, True],
            "y": ["a", "b", "a"],
        }
    )
    path = tmp_path / "toy.parquet"
    frame.to_parquet(path, engine="pyarrow", index=False, row_group_size=1)
    frame.to_csv(tmp_path / "toy.csv", index=False)
    raw, other = (
        load_raw({"path": str(tmp_path / name), **PARQUET}, cache=tmp_path / "cache")
        for name in ("toy.parquet", "toy.csv")
    )
    assert raw.fingerprint == other.fingerprint
    assert raw.columns == other.columns == ("age", "colour", "ok")
    assert raw.parts["train"].X.tolist() == [[1, 0, 1, 1], [1, 1, 0, 0], [3, 1, 0, 1]]  # blue before red
    blocks = list(read_rows(path, Reading(**PARQUET), raw.coding, 2))
    assert np.vstack([block.X for block in blocks]).tolist() == raw.parts["train"].X.tolist()
    assert np.concatenate([block.y for block in blocks]).tolist() == raw.y.tolist()
    frame.assign(day=pd.to_datetime(["2020-01-01"] * 3)).to_parquet(path, engine="pyarrow", index=False)
    raw = load_raw({"path": str(path), **PARQUET}, cache=tmp_path / "cache")
    assert raw.parts["train"].X[0].tolist() == [1, 0, 1, 1, 2020, 1, 2, 18262]
    whole = path.read_bytes()
    for content in (whole[:100], whole[:-9], whole[: len(whole) // 2]):
        with pytest.raises(DataError, match=r"toy\.parquet: cannot be read as parquet"):
            loaded(tmp_path, content, "toy.parquet", **PARQUET)


def test_missing_pyarrow_is_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataError, match=r"pyarrow, which is not installed; `pip install pyarrow`"):
        loaded(tmp_path, b"PAR1", "toy.parquet", **PARQUET)


def test_one_file_in_an_archive_is_read(tmp_path):
    for name in ("t.csv.zip", "t.zip", "data.csv"):  # the last has a wrong ending
        content = zipped({"folder/t.csv": CSV, "folder/": b"", "__MACOSX/folder/._t.csv": b"x"})
        raw = loaded(tmp_path, content, name, target="income", categorical="ordinal")
        assert raw.parts["train"].X.tolist() == [[30, 1], [40.5, 0], [50, 1]]
    packed = write(tmp_path, zipped({"a.npz": npz(X=X, y=Y)}), "a.npz.zip")
    assert read(packed).parts["train"].X.tolist() == X.tolist()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "t.csv.zip",
            zipped({"a.csv": CSV, "b.csv": CSV}),
            "one file in the archive, got 2: a.csv, b",
        ),
        ("t.zip", zipped({"a.csv": CSV, "b.csv": CSV}), "one file in the archive, got 2: a.csv, b"),
        ("t.csv.zip", zipped({}), "expected one file in the archive, got none"),
        ("t.csv.zip", zipped({"a.csv": CSV})[:-30], "cut short or corrupt"),
        ("t.csv.zip", zipped({"a.csv": CSV}).replace(b"blue", b"BLUE"), "cut short or corrupt .*CRC"),
        ("t.csv", zipped({"xl/workbook.xml": "", "xl/styles.xml": ""}), "save the sheet as `CSV UTF-8`"),
        (
            "t.feather",
            b"ARROW1",
            r"\.feather files cannot be read; .* `pandas.read_feather\(FILE\)",
        ),
        ("t.json", b"{}", r"\.json files cannot be read"),
        ("t.parquet.gz", gzip.compress(b"PAR1", mtime=0), "unpack it"),
    ],
    ids=itertools.count(),  # an archive has the time in it, and each process would name its test otherwise
)
def test_archives_and_formats_that_cannot_be_read_are_named(tmp_path, name, content, message):
    with pytest.raises(DataError, match=f"{name}: .*{message}"):
        loaded(tmp_path, content, name, target="income")


def test_zstandard_is_read_and_a_broken_stream_named(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
    packed = pa.compress(CSV.encode(), codec="zstd", asbytes=True)
    options = {"target": "income", "categorical": "ordinal"}
    assert loaded(tmp_path, packed, "t.csv.zst", **options).columns == ("age", "colour")
    with pytest.raises(DataError, match="cut short or corrupt"):
        loaded(tmp_path, packed[:-9], "cut.csv.zst", **options)


@pytest.mark.parametrize("dtype", ["timedelta64[ns]", "duration[us][pyarrow]"])
def test_durations_are_numbers_of_seconds(tmp_path, dtype):
    pytest.importorskip("pyarrow", reason="pip install pyarrow")
    hours = [0.5, 1.25, None, 3] * 4
    frame = pd.DataFrame(
        {"wait": pd.Series(pd.to_timedelta(hours, unit="h")).astype(dtype), "y": ["a", "b", "a", "b"] * 4}
    )
    frame.to_parquet(tmp_path / "t.parquet")
    raw = read(tmp_path / "t.parquet", target="y", missing="mean")
    assert raw.coding.kinds == {"wait": "number"}
    assert raw.parts["train"].X[:4].ravel().tolist() == [1800, 4500, 5700, 10800]
    assert raw.coding.matrix(frame[["wait"]]).tolist() == raw.parts["train"].X.tolist()
    waits = read(tmp_path / "t.parquet", target="wait", categorical="one_hot", missing="drop")
    assert (waits.task, waits.y[:3].tolist()) == ("regression", [1800, 4500, 10800])
    (tmp_path / "load.py").write_text(
        "import pandas as pd\n"
        f"frame = pd.read_parquet({str(tmp_path / 't.parquet')!r}).dropna()\n"
        "def load():\n    return frame[['wait']], frame['wait']\n"
    )
    loader = validated(LoaderSource, {"loader": f"{tmp_path / 'load.py'}:load"}, "dataset")
    raw = load_raw(loader, cache=tmp_path / "cache")
    assert (raw.task, raw.y[:2].tolist(), raw.parts["train"].X[:2].tolist()) == (
        *("regression", [1800, 4500]),
        [[1800], [4500]],
    )
    model = KernelRegressor(budget=1).fit(frame.dropna()[["wait"]][:4], frame.dropna()["wait"][:4])
    assert 0 < model.predict(frame.dropna()[["wait"]][:1])[0] < 20_000
