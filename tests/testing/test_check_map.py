"""check_map finds each promise that a map breaks, and no other."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.kernel_approximation import Nystroem, PolynomialCountSketch, RBFSampler
from sklearn.utils import check_random_state

from kfeat.errors import ParameterError, UnsupportedKernelError
from kfeat.kernels import Gaussian, Polynomial
from kfeat.maps import ORF, Nystrom, RandomMaclaurin, TensorSketch
from kfeat.testing import bias, check_map, setting
from kfeat.testing.promises import PROMISES

KERNEL = Gaussian(0.5)


class Waves(TransformerMixin, BaseEstimator):
    """Random Fourier features of exp(-||x - y||^2 / 2)."""

    def __init__(self, n_components=60, random_state=None):
        self.n_components, self.random_state = n_components, random_state

    def fit(self, X, y=None):
        rng = np.random.default_rng(self.random_state)
        self.W_ = rng.standard_normal((X.shape[1], self.n_components // 2))
        return self

    def transform(self, X):
        phases = X @ self.W_
        return np.hstack([np.cos(phases), np.sin(phases)]) / np.sqrt(self.W_.shape[1])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class Louder(Waves):
    def transform(self, X):
        return np.sqrt(1.05) * super().transform(X)


class OneFrequency(Waves):
    def fit(self, X, y=None):
        super().fit(X)
        self.W_[:] = self.W_[:, :1]
        return self


class SparseInAnotherOrder(Waves):
    def transform(self, X):
        Z = super().transform(X)
        return Z if isinstance(X, np.ndarray) else Z[:, ::-1]


class SparseFitOtherwise(Waves):
    def fit(self, X, y=None):
        super().fit(X)
        self.W_ *= 1 if isinstance(X, np.ndarray) else 2
        return self


class DenseAlone(Waves):
    def fit(self, X, y=None):
        return super().fit(np.ascontiguousarray(X[:, ::-1]))  # SciPy has no such view of CSR


class Half(Waves):
    def transform(self, X):
        return super().transform(X).astype(np.float16 if X.dtype == np.float32 else float)


class SingleTagged(Waves):
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32", "float64"]
        return tags


class Unseeded(Waves):
    def fit(self, X, y=None):
        self.W_ = np.random.default_rng().standard_normal((X.shape[1], self.n_components // 2))
        return self


class DrawnInTransform(Waves):
    def transform(self, X):
        return super().transform(X) * np.random.default_rng().random()


class OneSeed(Waves):
    def fit(self, X, y=None):
        self.W_ = np.random.default_rng(0).standard_normal((X.shape[1], self.n_components // 2))
        return self


class Centred(Waves):
    def transform(self, X):
        Z = super().transform(X)
        return Z - Z.mean(axis=0)


class InPlace(Waves):
    def transform(self, X):
        X *= 2
        return super().transform(X)


class FitInPlace(Waves):
    def fit(self, X, y=None):
        super().fit(X)
        X *= 2
        return self


class Same(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X


class SeedOverwritten(Waves):
    def fit(self, X, y=None):
        self.random_state = check_random_state(self.random_state)
        self.W_ = self.random_state.standard_normal((X.shape[1], self.n_components // 2))
        return self


class Unpicklable(Waves):
    def fit(self, X, y=None):
        self.wave_ = lambda phases: np.cos(phases)
        return super().fit(X)


class StateLost(Waves):
    def __getstate__(self):
        return {**super().__getstate__(), "W_": np.ones_like(self.W_)}


class Raises(Waves):
    def transform(self, X):
        if X.dtype == np.float32:
            np.linalg.inv(np.zeros((2, 2)))
        return super().transform(X)


class PositiveAlone(Waves):
    def transform(self, X):
        if isinstance(X, np.ndarray) and X.min() < 0:
            raise ValueError("negative entries")
        return super().transform(X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


BROKEN = [
    (Louder, "unbiased", "the kernel is estimated 1.0"),
    pytest.param(OneFrequency, "variance of order 1 / D", r"falls as D\^-0\.0", marks=pytest.mark.slow),
    (SparseInAnotherOrder, "sparse rows as dense ones", "relative difference 1e"),
    (SparseFitOtherwise, "sparse rows as dense ones", "relative difference"),
    (DenseAlone, "sparse rows as dense ones", "test_check_map.py, line"),
    (Half, "float32 as float64", "relative difference"),
    (SingleTagged, "float32 as float64", "its tags promise float32"),
    (Unseeded, "the same draw on each call", "other features from a second fit"),
    (DrawnInTransform, "the same draw on each call", "a second transform"),
    (OneSeed, "the same draw on each call", "random_state=0 and random_state=1 give equal"),
    (Centred, "each row by itself", "relative difference"),
    (Same, "each row by itself", "share memory"),
    (InPlace, "rows unchanged", "transform changes"),
    (FitInPlace, "rows unchanged", "fit changes"),
    (SeedOverwritten, "clone and pickle", "a clone of the fitted map"),
    (Unpicklable, "clone and pickle", "pickle"),
    (StateLost, "clone and pickle", "its pickle"),
    (Raises, "float32 as float64", r"test_check_map.py, line \d+: LinAlgError: Singular matrix"),
]
RANDOM = {Louder, OneFrequency, OneSeed}


def checks_of(feature_map, kernel=KERNEL, **options):
    return {check.promise: check for check in check_map(feature_map, kernel, **options).checks}


@pytest.mark.parametrize(("faulty", "promise", "detail"), BROKEN)
def test_a_broken_promise_is_found(faulty, promise, detail):
    report = check_map(faulty(), KERNEL, unbiased=faulty in RANDOM)
    check = next(check for check in report.checks if check.promise == promise)
    assert check.held is False
    assert not report.passed
    assert re.search(detail, check.detail), check.detail


def test_a_map_that_keeps_them_passes_and_prints_its_numbers():
    rows = np.random.default_rng(0).random((3, 2))
    feature_map = Waves(random_state=rows)  # cloned and never fitted
    report = check_map(feature_map, KERNEL)
    lines = str(report).splitlines()
    assert report.passed
    assert [line for line in lines[:-1] if not line.startswith("pass  ")] == [
        "open  unbiased over all draws: not checked: it draws by `standard_normal`"
    ]
    assert "bias at 0 of 42 pairs, z = " in lines[0]
    assert lines[-1] == "False-alarm rate: at most 0.1 %."
    assert feature_map.random_state is rows
    assert not hasattr(feature_map, "W_")


def test_a_map_of_rows_without_negative_entries_gets_no_others():
    report = check_map(PositiveAlone(), lambda X, Y: KERNEL(X, Y))
    assert report.passed, str(report)
    assert report.checks[0].held


def test_the_same_map_gets_the_same_numbers():
    assert check_map(Waves(), KERNEL) == check_map(Waves(), KERNEL)


def test_what_is_not_promised_stays_open():
    held = {promise: check.held for promise, check in checks_of(Same(), unbiased=False).items()}
    assert [promise for promise, held in held.items() if held is None] == [
        "unbiased", "unbiased over all draws", "variance of order 1 / D", "sparse rows as dense ones",
    ]  # fmt: skip
    assert checks_of(OneSeed(), unbiased=False)["the same draw on each call"].held is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("feature_map", "kernel"),
    [
        (RBFSampler(gamma=0.5), KERNEL),
        (PolynomialCountSketch(degree=2, gamma=1.0, coef0=1), Polynomial(2, coef0=1.0)),
        (TensorSketch(), Polynomial(3, coef0=1.0)),  # takes the kernel
        (RandomMaclaurin(constant=False, degree_law="truncated"), Polynomial(2, coef0=1.0)),  # has an offset
    ],
)
def test_maps_of_scikit_learn_and_of_kfeat_pass(feature_map, kernel):
    report = check_map(feature_map, kernel)
    assert report.passed, str(report)
    assert report.checks[0].held


def test_a_map_that_learns_from_the_rows_passes_without_the_tests_of_bias():
    assert check_map(Nystroem(gamma=0.5), KERNEL, unbiased=False).passed


def test_a_projection_promises_no_unbiased_estimate():
    for feature_map in (Nystroem(gamma=0.5, n_components=20), Nystrom(), Nystrom(n_components=10)):
        checks = checks_of(feature_map)
        assert [promise for promise, check in checks.items() if check.held is False] == []
        for promise in ("unbiased", "unbiased over all draws", "variance of order 1 / D"):
            assert checks[promise].held is None
            assert checks[promise].detail.startswith("not promised: ")


def scaled(cls, factor):
    return type("Scaled", (cls,), {"transform": lambda self, X: factor * cls.transform(self, X)})


@pytest.mark.parametrize("factor", [0.95, 1.05])
@pytest.mark.parametrize("options", [{"gamma": 0.5}, {"kernel": KERNEL}])
def test_a_projection_with_a_wrong_scale_is_found(factor, options):
    faulty = scaled(Nystrom if "kernel" in options else Nystroem, np.sqrt(factor))
    check = checks_of(type("Scaled", (faulty,), {})(n_components=10, **options))["unbiased"]
    assert check.held is False
    assert f"as many rows as components, the kernel is estimated {factor:.3f} times" in check.detail


class OfIntegers(Waves):
    """Takes an integer alone as random_state, and any number from 2 on of components."""

    def fit(self, X, y=None):
        seed = self.random_state if isinstance(self.random_state, int) else 0
        self.random_ = np.random.RandomState(seed)
        self.W_ = self.random_.standard_normal((X.shape[1], self.n_components // 2))
        return self


class WithoutGenerator(OfIntegers):
    def fit(self, X, y=None):
        if not isinstance(self.random_state, int):
            raise TypeError("an integer, please")
        return super().fit(X)


class Even(Waves):
    def fit(self, X, y=None):
        if self.n_components < 4:
            raise ValueError("too few")
        return super().fit(X)


@pytest.mark.parametrize(
    ("feature_map", "reason"),
    [
        (OfIntegers(), "it draws nothing from a generator as its random_state"),
        (WithoutGenerator(), "TypeError: an integer, please"),
        (Even(), "ValueError: too few"),
    ],
)
def test_a_map_whose_draws_cannot_be_counted_is_not_checked_for_all_of_them(feature_map, reason):
    check = checks_of(feature_map)["unbiased over all draws"]
    assert (check.held, check.detail) == (None, f"not checked: {reason}")


class NotBelow(PositiveAlone):
    def __sklearn_tags__(self):
        return Waves.__sklearn_tags__(self)


def test_a_map_that_refuses_negative_entries_gets_none_without_a_tag():
    assert checks_of(NotBelow())["unbiased"].held


def test_too_few_seeds_leave_it_open(monkeypatch):
    monkeypatch.setattr(setting, "MOST_SEEDS", 200)
    check = checks_of(PolynomialCountSketch(degree=6, n_components=4, gamma=1.0), Polynomial(6))["unbiased"]
    assert check.held is None
    assert "200 seeds); only a factor of" in check.detail


def test_the_stated_share_of_correct_maps_fails(monkeypatch):
    """At half of 20 % for each kind of test, and the variance just as slow as allowed."""
    rng = np.random.default_rng(0)
    monkeypatch.setattr(bias, "FALSE_ALARMS", 0.2)
    scales = (1.0, 4 ** (-bias.LEAST_RATE / 2))
    draws = [[scale * rng.standard_normal((200, 22)) for scale in scales] for _ in range(500)]
    for check in (PROMISES["unbiased"], PROMISES["variance of order 1 / D"]):
        failed = np.mean([check(SimpleNamespace(errors=errors))[0] is False for errors in draws])
        assert 0.06 < failed < 0.14  # three standard errors


@pytest.mark.parametrize(
    ("feature_map", "kernel", "message"),
    [
        (Waves, KERNEL, "expected an object with fit, transform, get_params"),
        (Waves(), "gaussian", "expected a kernel such as"),
        (ORF(n_components=-1), KERNEL, "n_components: expected at least 1"),
        (ORF(), Polynomial(2), "ORF cannot approximate"),
    ],
)
def test_bad_input_is_refused(feature_map, kernel, message):
    with pytest.raises((ParameterError, UnsupportedKernelError), match=message):
        check_map(feature_map, kernel)
