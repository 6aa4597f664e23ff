"""What tests of model files share."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from kfeat.maps import TensorSketch
from kfeat.own import KernelModel
from kfeat.solvers import Newton
from tests.own.forging import X, forge, y


@pytest.fixture(scope="package")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of a small model."""
    path = tmp_path_factory.mktemp("whole") / "model"
    KernelModel(TensorSketch(n_components=8, random_state=0), Newton(), scale="zscore").fit(X, y).save(path)
    return path.read_bytes()


@pytest.fixture
def forged(tmp_path: Path) -> Callable[..., Path]:
    """Write a model whose content somebody changed, with every hash as it should be."""
    return partial(forge, path=tmp_path / "forged")
