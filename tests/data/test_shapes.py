"""The shape that is told beforehand is that of the data once they are loaded."""

import pytest

from kfeat.data import FileSource, Protocol, load
from kfeat.data.shapes import Shape
from kfeat.data.sources import RegisteredSource
from kfeat.data.sources.generators import Normal

SPLITS = [
    {"kind": "all"},
    {"kind": "all", "max_train": 20},
    {"kind": "all", "max_train": 20, "max_test": 7},
    {"kind": "fraction", "train": 0.29},
    {"kind": "fraction", "train": 0.6, "max_train": 30, "max_test": 9},
    {"kind": "sample", "n_train": 30},
    {"kind": "sample", "n_train": 30, "n_test": 11, "max_train": 10},
    {"kind": "fraction", "train": 0.6, "file": "train"},
    {"kind": "official"},
    {"kind": "official", "max_train": 12, "max_test": 5},
    {"kind": "in_order", "n_train": 90},
    {"kind": "in_order", "n_train": 90, "n_test": 3},
    {"kind": "in_order", "n_train": 90, "test_from": 95},
    {"kind": "in_order", "n_train": 90, "test_from": "test_file"},
]


@pytest.fixture
def source(tmp_path):
    """A sparse file of 101 rows to train and one of 37 to test."""
    for name, n in (("train", 101), ("test", 37)):
        lines = [f"{1 if i % 3 else -1} {i % 8 + 1}:{i + 1} {i % 8 + 2}:2\n" for i in range(n)]
        (tmp_path / name).write_text("".join(lines))
    return FileSource(
        path=str(tmp_path / "train"), test=str(tmp_path / "test"), format="svmlight", n_features=40
    )


@pytest.mark.parametrize("split", SPLITS, ids=str)
@pytest.mark.parametrize("scale", ["none", "unit_rows", "zscore"])
def test_rows_columns_and_stored_values_are_those_of_the_data(source, split, scale):
    protocol = Protocol.model_validate({"split": split, "scale": scale})
    data = load(source, protocol)
    shape = source.shape_under(protocol)
    assert (shape.n_train, shape.n_features) == data.X_train.shape
    assert (shape.n_test, shape.n_features) == data.X_test.shape
    assert shape.stored == pytest.approx(1.0 if scale == "zscore" else 2 / 40)


def test_the_registry_and_generators_say_it_without_any_file():
    mnist = RegisteredSource(name="mnist").shape_under(Protocol())
    assert (mnist.n_train, mnist.n_test, mnist.n_features, mnist.stored) == (60_000, 10_000, 784, 1.0)
    assert len(mnist.classes) == 10
    assert sum(mnist.classes) == pytest.approx(1)
    binary = RegisteredSource(name="mnist").shape_under(
        Protocol.model_validate({"binarise": {"positive": 8}})
    )
    assert binary.classes == (0.5, 0.5)
    drawn = Normal(name="normal", n=50, d=3)
    protocol = Protocol.model_validate({"split": "all"})
    assert drawn.shape_under(protocol) == Shape(50, 50, 3, generated=150)
