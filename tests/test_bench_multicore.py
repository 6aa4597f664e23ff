"""The bench of liblinear-multicore, as far as it can be without that package."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from kfeat.errors import KfeatError
from kfeat.solvers import Liblinear
from scripts.bench import multicore


@pytest.mark.parametrize("classes", [2, 3])
def test_a_package_trains_in_a_process_of_its_own_to_the_objective_that_kfeat_reports(
    classes, tmp_path, monkeypatch
):
    monkeypatch.setattr(multicore, "CALLS", 1)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 5))
    y = X[:, :classes].argmax(axis=1)
    np.savez(tmp_path / "data.npz", X=X, y=y)
    spec = find_spec("liblinear")
    assert spec
    assert spec.origin
    found = multicore.trained(str(Path(spec.origin).parents[1]), tmp_path / "data.npz", "-s 2 -c 0.5 -q")
    assert found["objective"] == pytest.approx(Liblinear(2, C=0.5).fit(X, y).objective_, rel=1e-9)
    assert 0 < found["seconds"] < 10


def test_without_the_package_the_part_is_left_out(monkeypatch):
    monkeypatch.delenv("LIBLINEAR_MULTICORE", raising=False)
    with pytest.raises(KfeatError, match="LIBLINEAR_MULTICORE does not name a folder"):
        list(multicore.run(1))
