"""Datasets made of the files of others: Gisette's stand-in, and Covertype in LIBSVM's form."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kfeat.data import recipes
from kfeat.data.dataset import Raw
from kfeat.data.loading import load_raw
from kfeat.data.matrix import Part
from kfeat.data.sources import RegisteredSource


def toy_mnist():
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (9000, 784)).astype(np.uint8) * (rng.random((9000, 784)) < 0.4)
    labels = np.arange(9000) % 2 * 5 + 4
    parts = {"train": Part(images[:8000], labels[:8000]), "test": Part(images[8000:], labels[8000:])}
    return Raw("mnist", "classification", parts)


@pytest.mark.slow
def test_stand_in_for_gisette_has_its_make():
    made = recipes.gisette_mnist(toy_mnist())
    train, test = made.parts["train"], made.parts["test"]
    assert (train.X.shape, test.X.shape) == ((6000, 5000), (1000, 5000))
    assert np.unique(train.y, return_counts=True)[1].tolist() == [3000, 3000]
    assert np.unique(test.y, return_counts=True)[1].tolist() == [500, 500]
    assert (train.X.min(), train.X.max(), train.X.dtype.kind) == (0, 999, "i")
    assert_array_equal(recipes.gisette_mnist(toy_mnist()).parts["test"].X, test.X)
    rows = {row.tobytes() for row in train.X}
    assert not any(row.tobytes() in rows for row in test.X)
    # every feature has a twin with the same values in another order: one of the two is the probe
    sums = np.sort(np.vstack([train.X, test.X]).sum(axis=0, dtype=np.int64))
    assert_array_equal(sums[::2], sums[1::2])


def test_real_features_are_pixels_and_products():
    images = toy_mnist().parts["train"].X[:50]
    features = recipes.real_features(images, np.random.default_rng(1))
    area = images.reshape(-1, 28, 28)[:, 3:18, 4:24].reshape(50, -1) / 255
    pixels = {np.rint(999 * pixel).astype(np.int16).tobytes() for pixel in area.T}
    assert all(column.tobytes() in pixels for column in features[:, : recipes.N_PIXELS].T)
    products = {
        np.rint(999 * area[:, i] * area[:, j]).astype(np.int16).tobytes()
        for i in range(300)
        for j in range(300)
    }
    assert all(column.tobytes() in products for column in features[:, recipes.N_PIXELS :].T)


def test_covertype_is_scaled_as_libsvm_does():
    part = Part(np.array([[1.0, 0], [2, 1], [4, 0]]), np.array([1, 2, 7]))
    uci = Raw("covertype_uci", "classification", {"train": part})
    made = recipes.covertype_binary(uci).parts["train"]
    assert made.X.tolist() == [[0, 0], [0.333333, 1], [1, 0]]
    assert made.y.tolist() == [1, 2, 1]


@pytest.mark.data
@pytest.mark.slow
def test_covertype_is_the_same_from_both_forms(mirror, real_cache):
    for name in ("covertype", "covertype_uci"):
        load_raw(name, mirror=mirror, cache=real_cache, offline=True)
    source = RegisteredSource(name="covertype")
    form = source.entry.forms[1]
    assert source.read(form, form.paths(real_cache)).fingerprint == source.entry.fingerprint
