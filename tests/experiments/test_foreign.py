"""What kfeat does around classes by their places, without a run."""

import numpy as np
import pytest

from kfeat.errors import CodeError
from kfeat.experiments.component import read_component
from kfeat.kernels import Gaussian
from kfeat.solvers.class_weights import with_codes

X, y = np.random.default_rng(0).random((40, 3)), np.arange(40) % 2
SOURCE = """
class Solver:
    def fit(self, X, y): return self
    def predict(self, X): return X[:, :2]


class Kernel:
    def __call__(self, X, Y): return X @ X.T
"""


def built(part, name, **parameters):
    return read_component({"name": name, **parameters}, part).build(kernel=Gaussian(0.5), random_state=3)


@pytest.fixture
def _code(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wrong.py").write_text(SOURCE)


def test_what_a_config_gives_comes_before_what_the_trial_hands_in():
    named = "sklearn.kernel_approximation:Nystroem"
    given = built("map", named, kernel="linear", random_state=7).transformer.get_params()
    assert (given["kernel"], given["gamma"], given["random_state"]) == ("linear", None, 7)
    assert built("map", named).transformer.random_state == 3


@pytest.mark.usefixtures("_code")
def test_shapes_that_do_not_fit_are_refused_with_the_line():
    with pytest.raises(
        CodeError, match=r"wrong\.py, line 2: Solver\.predict returned the shape \(40, 2\) for 40"
    ):
        built("solver", "wrong.py:Solver").fit(X, y).predict(X)
    with pytest.raises(CodeError, match=r"line 7: Kernel returned the shape \(40, 40\) for 40 and 5 rows"):
        built("kernel", "wrong.py:Kernel")(X, X[:5])
    with pytest.raises(CodeError, match=r"for 40 and 1 row$"):
        built("kernel", "wrong.py:Kernel")(X, X[:1])


def test_a_solver_that_has_not_converged_says_so():
    ended = {
        n: built("solver", "sklearn.linear_model:LogisticRegression", max_iter=n).fit(X, y) for n in (1, 500)
    }
    assert ended[1].converged_ is False
    assert ended[1].n_iter_ == 1
    assert not hasattr(ended[500], "converged_")


def test_a_transformer_that_needs_targets_gets_them():
    feature_map = built("map", "sklearn.discriminant_analysis:LinearDiscriminantAnalysis")
    assert feature_map.fit(X, y).transform(X).shape == (40, 1)


def test_weights_of_classes_may_name_words():
    solver = built("solver", "sklearn.linear_model:LogisticRegression", class_weight={"no": 1, "yes": 9})
    assert with_codes(solver, ["no", "yes"]).estimator.class_weight == {0: 1, 1: 9}
