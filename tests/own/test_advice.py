"""The maps of a first config: the advised one, or those that the user names."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from kfeat.data.dataset import Raw
from kfeat.data.matrix import Part
from kfeat.experiments.component import read_component
from kfeat.own.advice import first_maps, sizes
from tests.survey.planted import plant


def raw(n, sparse=False):
    """Rows of 10 features, of which half are 0."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((n, 10)) < 0.5, 0, rng.normal(size=(n, 10)))
    part = Part(csr_array(X) if sparse else X, np.arange(n) % 2)
    return Raw("own", "classification", {"train": part})


@pytest.mark.parametrize(
    ("n", "names", "maps"),
    [
        (63, None, {}),
        (64, None, {"nystrom": 64}),
        (255, None, {"nystrom": 64}),
        (256, None, {"nystrom": 256}),
        (30, ["orf", "nystrom"], {"orf": 30, "nystrom": 30}),
        (63, ["orf"], {"orf": 63}),
        (256, ["orf"], {"orf": 256}),
    ],
)
@pytest.mark.parametrize("sparse", [False, True])
def test_the_first_maps_have_no_more_features_than_rows(monkeypatch, n, names, maps, sparse):
    plant(monkeypatch)
    data = raw(n, sparse)
    found, why = first_maps(data, n, names)
    assert {one["name"]: one["n_components"] for one in found} == maps
    assert f"for {n} training rows" in why
    for one in found:
        Z = read_component(one, "map").build(random_state=0).fit_transform(data.parts["train"].X)
        assert Z.shape[0] == n


def test_sizes_are_rows_of_which_some_train_and_features():
    assert sizes(raw(1200), 960) == "1,200 rows (960 for training), 10 features"
