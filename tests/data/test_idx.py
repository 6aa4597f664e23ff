"""IDX files: every type of value, and every way to be cut short."""

from pathlib import Path

import numpy as np
import pytest

from kfeat.data.columns import Reading
from kfeat.data.formats import read_files
from kfeat.data.formats.matrices import TYPES
from kfeat.errors import DataError
from tests.data.files import write

READING = Reading(format="idx")
IMAGES = np.arange(24).reshape(2, 3, 4)


def idx(array: np.ndarray, code: int = 8) -> bytes:
    head = bytes([0, 0, code, array.ndim]) + np.array(array.shape, ">u4").tobytes()
    return head + array.astype(TYPES[code]).tobytes()


def files(folder: Path, images: bytes, labels: bytes) -> dict[str, Path]:
    return {"train": write(folder, images, "images"), "train_labels": write(folder, labels, "labels")}


@pytest.mark.parametrize("code", TYPES)
def test_every_type(tmp_path: Path, code: int) -> None:
    part = read_files(files(tmp_path, idx(IMAGES, code), idx(np.array([3, 5]))), READING).parts["train"]
    assert part.X.tolist() == IMAGES.reshape(2, 12).tolist()
    assert part.X.dtype.isnative
    assert part.y.tolist() == [3, 5]


@pytest.mark.parametrize(
    ("images", "labels", "message"),
    [
        (
            idx(IMAGES)[:-1],
            idx(np.array([3, 5])),
            "expected 24 bytes of values for shape \\(2, 3, 4\\), got 23",
        ),
        (idx(IMAGES) + b"x", idx(np.array([3, 5])), "expected 24 bytes of values"),
        (idx(IMAGES)[:9], idx(np.array([3, 5])), "got 0"),
        (b"", idx(np.array([3, 5])), "expected an IDX header"),
        (b"\0\0\7\1\0\0\0\0", idx(np.array([3, 5])), "expected an IDX header"),
        (b"<html>", idx(np.array([3, 5])), "expected an IDX header"),
        (idx(IMAGES), idx(np.array([3])), "label for each of its 2 rows, got 1"),
        (idx(IMAGES), idx(IMAGES), "an array and a label per row"),
        (idx(np.array([1, 2])), idx(np.array([3, 5])), "an array and a label per row"),
    ],
)
def test_faults(tmp_path: Path, images: bytes, labels: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_files(files(tmp_path, images, labels), READING)


def test_labels_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="give `labels` too"):
        read_files({"train": write(tmp_path, idx(IMAGES))}, READING)
