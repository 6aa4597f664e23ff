"""A pickle of another version warns, as scikit-learn's do."""

import pickle

import pytest
from sklearn.exceptions import InconsistentVersionWarning

from kfeat.kernels import Gaussian, base
from kfeat.maps import RandomFourier
from kfeat.own import KernelModel
from kfeat.solvers import Newton


@pytest.mark.parametrize("estimator", [Gaussian(), RandomFourier(), Newton(), KernelModel(solver=Newton())])
def test_a_pickle_of_another_version_warns(estimator, monkeypatch):
    pickled = pickle.dumps(estimator)
    assert pickle.loads(pickled).get_params(deep=False).keys() == estimator.get_params(deep=False).keys()
    monkeypatch.setattr(base, "version", lambda name: "0.0.1")
    with pytest.warns(InconsistentVersionWarning, match=r"version 0\.0\.1 of kfeat"):
        pickle.loads(pickled)
