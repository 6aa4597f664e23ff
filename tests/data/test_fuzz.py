"""Any bytes at all give data or a KfeatError, never another exception."""

import bz2
import contextlib
import gzip
import io
import lzma
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.io import savemat
from scipy.sparse import csc_array

from kfeat.data.archives import extract_member
from kfeat.data.formats import read_files
from kfeat.data.reading import Reading
from kfeat.errors import KfeatError
from tests.data.test_archives import tgz, zipped
from tests.data.test_idx import idx

X = np.array([[1.5, 0, 2], [0, -3, 0], [1, 1, 1]])
Y = np.array([0, 1, 1])


def npz() -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, X=X, y=Y)
    return buffer.getvalue()


def mat(compressed: bool) -> bytes:
    buffer = io.BytesIO()
    savemat(buffer, {"X": csc_array(X), "y": Y}, do_compression=compressed)
    return buffer.getvalue()


CSV = b'a,b c,y\n1,red,0\n-2.5e3,blue,1\n7,"red",1\n'
ARFF = (
    b"@relation r\n@attribute a numeric\n@attribute 'b c' {red,blue}\n@attribute y {0,1}\n"
    b"@data\n1,red,0\n2,blue,1\n"
)
SAMPLES: dict[str, tuple[bytes, dict[str, Any]]] = {
    "svmlight": (b"+1 1:0.5 3:-2e1 # c\n-1 2:1\n1 qid:3 1:1\n", {"format": "svmlight"}),
    "csv": (CSV, {"format": "csv", "target": "y", "categorical": "one_hot"}),
    "csv numbers": (b"1,2,3\n4,5,6\n", {"format": "csv", "target": 0, "header": False}),
    "blanks": (
        b"1 2 3\n4 5 6 \n",
        {"format": "csv", "target": 0, "header": False, "delimiter": "whitespace"},
    ),
    "tsv": (CSV.replace(b",", b"\t"), {"format": "tsv", "target": -1, "categorical": "ordinal"}),
    "arff": (ARFF, {"format": "arff", "target": "y", "categorical": "ordinal"}),
    "mat": (mat(compressed=False), {"format": "mat"}),
    "mat compressed": (mat(compressed=True), {"format": "mat"}),
    "npz": (npz(), {"format": "npz"}),
    "idx": (idx(np.arange(12).reshape(3, 2, 2)), {"format": "idx"}),
}
PACKS = [bytes, gzip.compress, bz2.compress, lzma.compress]


@st.composite
def damaged(draw: st.DrawFn, sample: bytes) -> bytes:
    """A good file with some bytes replaced, cut out, doubled or put in."""
    content = bytearray(sample)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        stop = min(len(content), start + draw(st.integers(0, 8)))
        piece = draw(st.one_of(st.binary(max_size=8), st.just(bytes(content[start:stop]) * 2)))
        content[start:stop] = piece
    return bytes(content)


def check(content: bytes, options: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, labels = Path(folder) / "file", Path(folder) / "labels"
        path.write_bytes(content)
        labels.write_bytes(idx(Y))
        files = {"train": path, "train_labels": labels} if options["format"] == "idx" else {"train": path}
        try:
            contents = read_files(files, Reading(**options))
        except KfeatError as error:
            assert str(path) in str(error)  # noqa: PT017
        else:
            part = contents.parts["train"]
            assert part.X.ndim == 2
            assert len(part.y) == part.X.shape[0] > 0


quick = settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_are_read(name: str) -> None:
    content, options = SAMPLES[name]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "file").write_bytes(content)
        (Path(folder) / "labels").write_bytes(idx(Y))
        files = {"train": Path(folder) / "file"}
        if name == "idx":
            files["train_labels"] = Path(folder) / "labels"
        assert read_files(files, Reading(**options)).parts["train"].X.shape[0] >= 2


@pytest.mark.parametrize("name", SAMPLES)
@quick
@given(data=st.data())
def test_any_bytes(name: str, data: st.DataObject) -> None:
    check(data.draw(st.binary(max_size=200)), SAMPLES[name][1])


@pytest.mark.parametrize("name", SAMPLES)
@settings(quick, max_examples=150)
@given(data=st.data())
def test_damaged_files(name: str, data: st.DataObject) -> None:
    content, options = SAMPLES[name]
    check(data.draw(damaged(content)), options)


@pytest.mark.parametrize("pack", PACKS[1:], ids=["gzip", "bz2", "xz"])
@quick
@given(data=st.data())
def test_damaged_wrappers(pack: Any, data: st.DataObject) -> None:
    content, options = SAMPLES["svmlight"]
    check(data.draw(damaged(pack(content * 50))), options)


@pytest.mark.parametrize("pack", [tgz, zipped])
@settings(quick, max_examples=300)
@given(data=st.data())
def test_damaged_archives(pack: Any, data: st.DataObject) -> None:
    content = data.draw(damaged(pack({"a/data.txt": b"1,2\n" * 30, "readme": b"-"})))
    with tempfile.TemporaryDirectory() as folder:
        archive, target = Path(folder) / "archive", Path(folder) / "target"
        archive.write_bytes(content)
        with contextlib.suppress(KfeatError):
            extract_member(archive, "data.txt", target, 1000)
        assert {path.name for path in Path(folder).iterdir()} <= {"archive", "target"}


@settings(quick, max_examples=150)
@given(text=st.text(alphabet="0123456789.:-+e #,\n\tnaif\"'", max_size=60))
def test_texts_that_look_like_data(text: str) -> None:
    for name in ("svmlight", "csv", "csv numbers", "blanks", "tsv"):
        check(text.encode(), SAMPLES[name][1])
