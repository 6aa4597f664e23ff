"""Kernels of objects: strings in the exact solvers and in Nystrom, and what is refused."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from kfeat.errors import DataError, ParameterError, UnsupportedKernelError
from kfeat.kernels import Linear, ObjectKernel
from kfeat.maps import Nystrom, TensorSketch
from kfeat.solvers import KernelRidge, Libsvm, Newton, Svc

LETTERS = "ACGT"


def counts(A):
    """Return how often each letter and each pair of equal neighbours occurs in the strings."""
    pairs = [2 * letter for letter in LETTERS]
    return np.array([[text.count(part) for part in [*LETTERS, *pairs]] for text in A], dtype=float)


def shared(A, B):
    """Return the inner products of these counts."""
    return counts(A) @ counts(B).T


@pytest.fixture(scope="module")
def strings():
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list(LETTERS), size=rng.integers(5, 12))) for _ in range(120)]
    y = np.array(["yes" if text.count("A") > text.count("C") else "no" for text in X])
    return X, y


def test_its_values_are_those_of_the_function(strings):
    X, _ = strings
    kernel = ObjectKernel(shared)
    assert np.array_equal(kernel(X), shared(X, X))
    assert np.array_equal(kernel(X[:3], np.array(X[3:8], dtype=object)), shared(X[:3], X[3:8]))
    assert np.array_equal(kernel.diagonal(X), np.diagonal(shared(X, X)))
    some = np.array(X[:4], dtype=object)
    assert kernel(some, some).shape == (4, 4)  # two lists of objects are no two rows of numbers
    assert kernel.formula == "shared"


@pytest.mark.parametrize("make", [Libsvm, Svc, KernelRidge], ids=lambda make: make.__name__)
def test_exact_solvers_agree_with_the_vectors_of_the_kernel(strings, make):
    X, y = strings
    targets = counts(X)[:, 0] if make is KernelRidge else y
    objects = make(ObjectKernel(shared)).fit(X[:90], targets[:90])
    vectors = make(Linear()).fit(counts(X[:90]), targets[:90])
    ours, theirs = objects.predict(X[90:]), vectors.predict(counts(X[90:]))
    if make is KernelRidge:
        assert np.allclose(ours, theirs)
    else:
        assert np.mean(ours == theirs) > 0.95
        assert objects.score(X[90:], y[90:]) > 0.8
    again = pickle.loads(pickle.dumps(objects))
    assert np.array_equal(again.predict(X[90:]), ours)


@pytest.mark.parametrize("landmarks", ["uniform", "leverage", "rpcholesky"])
def test_nystrom_is_exact_with_enough_landmarks(strings, landmarks):
    X, y = strings
    feature_map = Nystrom(ObjectKernel(shared), n_components=60, landmarks=landmarks, random_state=0)
    with pytest.warns(np.exceptions.RankWarning, match="numerical rank"):
        Z = feature_map.fit_transform(X)
    assert np.allclose(Z @ Z.T, shared(X, X))
    assert np.allclose(feature_map.transform(pd.Series(X[:5])), Z[:5])
    assert make_pipeline(clone(feature_map).set_params(rank=5), Newton()).fit(X, y).score(X, y) > 0.8


def test_maps_of_vectors_refuse_it(strings):
    with pytest.raises(UnsupportedKernelError, match=r"TensorSketch cannot approximate .*nystrom"):
        TensorSketch(ObjectKernel(shared)).fit(strings[0])
    with pytest.raises(ParameterError, match=r"'kmeans\+\+' need vectors"):
        Nystrom(ObjectKernel(shared), n_components=5, landmarks="kmeans++").fit(strings[0])


def hamming(A, B):
    return np.array([[np.equal(list(a), list(b)).sum() for b in B] for a in A])


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda A, B: counts(A)[:, :1] @ (counts(B)[:, 1:2] + 1).T, "is not symmetric"),
        (lambda A, B: -shared(A, B), r"not positive semi-definite: on 120 rows its least eigenvalue is -"),
        (lambda A, B: shared(A, B)[:, :1], r"an array of shape \(120, 1\) for 120 and 120 objects"),
        (lambda A, B: shared(A, B) * np.nan, "values that are not finite"),
        (lambda A, B: [a < b for a in A for b in [None]], "cannot compare these objects: TypeError"),
        (hamming, "hamming cannot compare these objects: ValueError"),
    ],
    ids=["asymmetric", "indefinite", "shape", "nan", "incomparable", "lengths"],
)
def test_a_bad_function_is_a_sentence(strings, function, message):
    for subject in (Libsvm(ObjectKernel(function)), Nystrom(ObjectKernel(function), n_components=5)):
        with pytest.raises(DataError, match=message):
            subject.fit(*strings)


def test_other_rows_are_refused(strings):
    X, y = strings
    with pytest.raises(DataError, match="expected a list or an array of objects, got str"):
        Libsvm(ObjectKernel(shared)).fit("ACGT", y)
    with pytest.raises(ParameterError, match="expected a function of two lists, got 3"):
        Libsvm(ObjectKernel(3)).fit(X, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        Libsvm(ObjectKernel(shared)).fit(X, y[:-1])


def test_complex_values_are_refused(strings):
    def rotated(A, B):
        return shared(A, B) * (1 + 1j)

    with pytest.raises(DataError, match="rotated returned complex numbers: a kernel has real values"):
        Svc(ObjectKernel(rotated)).fit(*strings)
