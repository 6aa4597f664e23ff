"""What comes in as a sparse matrix: duplicates are summed, and what is damaged is refused, everywhere."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import bsr_array, coo_array, csc_array, csr_array

from kfeat.diagnostics import gram_matrix
from kfeat.errors import DataError
from kfeat.kernels import KERNELS, Laplacian, Linear, Polynomial
from kfeat.kernels.operands import as_operand, canonical
from kfeat.maps import MAPS, Nystrom
from kfeat.solvers import SOLVERS, KernelRidge, Ridge, RidgeCV
from tests.fuzz.library_inputs import csr, doubled, put
from tests.solvers.problems import features, labels

X = 0.4 * features(40, 6, density=0.5)
y = labels(X, 2)


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_sum_duplicates(name):
    kernel = KERNELS[name]()
    twice = doubled(X)
    close(kernel(twice), kernel(X))
    close(kernel(twice, X[:7]), kernel(X, X[:7]))
    close(kernel.diagonal(twice), kernel.diagonal(X))
    assert twice.nnz == 2 * np.count_nonzero(X)  # the caller's matrix stays as it was


@pytest.mark.parametrize("name", MAPS)
def test_maps_sum_duplicates(name):
    fitted = [MAPS[name](random_state=0).fit(A) for A in (X, doubled(X))]
    grams = [gram_matrix(m.transform(B)) for m in fitted for B in (X, doubled(X))]
    for G in grams[1:]:  # Nystrom's features may turn within the rounding, inner products do not
        np.testing.assert_allclose(G, grams[0], atol=1e-7)


@pytest.mark.parametrize("name", SOLVERS)
def test_solvers_sum_duplicates(name):
    plain, twice = SOLVERS[name]().fit(X, y), SOLVERS[name]().fit(doubled(X), y)
    close(twice.predict(doubled(X)), plain.predict(X))


def test_landmarks_and_batches_are_checked_too():
    fitted, twice = (Nystrom(landmarks=rows).fit(X) for rows in (X[:9], doubled(X[:9])))
    close(twice.transform(X), fitted.transform(X))
    for solver in (Ridge(), RidgeCV(folds=3)):
        close(solver.fit_batches([(doubled(X), y)]).coef_, solver.fit_batches([(X, y)]).coef_)
        with pytest.raises(DataError, match="batches of 6 features and of 1"):
            solver.fit_batches([(X, y), (X[:, :1], y)])


def test_index_arrays_of_any_width_are_taken():
    wide = csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    close(Laplacian()(wide), Laplacian()(X))
    assert canonical(wide).indices.dtype == np.int32
    assert wide.indices.dtype == np.int64


DAMAGED = {
    "a column beyond the last": csr(indices=put(10**6)),
    "a negative column": csr(indices=put(-5)),
    "pointers that fall": csr(indptr=put(10**6)),
    "pointers that end at 0": csr(indptr=lambda p: np.where(np.arange(len(p)) == 2, 9, 0)),
    "negative pointers": csr(indptr=put(-4, 0)),
    "too few pointers": csr(indptr=lambda p: p[:-3]),
    "pointers beyond the data": csr(indptr=put(10**6, -1)),
    "too few values": csr(data=lambda data: data[:4]),
    "indices that are not integers": csr(indices=lambda i: i + 0.5),
    "a row beyond the last, CSC": csr(csc_array, indices=put(10**6)),
    "a block beyond the last, BSR": csr(lambda X: bsr_array(X, blocksize=(2, 2)), indices=put(10**6)),
    "a row beyond the last, COO": csr(coo_array, row=put(10**6)),
}


@pytest.mark.parametrize("what", DAMAGED)
def test_damaged_matrices_are_refused_before_c_code_sees_them(what):
    matrix = DAMAGED[what](X)
    fitted, solver = Nystrom().fit(X), KernelRidge().fit(X, y)
    uses = [as_operand, Linear(), Polynomial().diagonal, lambda M: Linear()(X, M)]
    uses += [Nystrom().fit, fitted.transform, fitted.diagnose, Nystrom(landmarks=matrix).fit]
    uses += [lambda M: KernelRidge().fit(M, y), solver.predict, lambda M: Ridge().fit_batches([(M, y)])]
    for use in uses:
        with pytest.raises(DataError, match="is damaged"):
            use(matrix)


def test_a_fitted_machine_does_not_change_with_the_array_it_was_fitted_to():
    for make, use in (
        (lambda rows: KernelRidge().fit(rows, y), lambda machine: machine.predict(X)),
        (lambda rows: Nystrom(landmarks=rows[:9]).fit(X), lambda fitted: fitted.transform(X)),
    ):
        for form in (np.asarray, csr_array):
            rows = form(X.copy())
            fitted = make(rows)
            before = use(fitted)
            if form is csr_array:
                rows.data *= 2
            else:
                rows *= 2
            np.testing.assert_array_equal(use(fitted), before)


def test_columns_of_several_types_are_numbers_and_words_are_none():
    frame = pd.DataFrame({"a": [True, False], "b": [0.1, 0.2], "c": pd.array([1, 2], dtype="Int64")})
    np.testing.assert_array_equal(as_operand(frame), [[1, 0.1, 1], [0, 0.2, 2]])
    for cell in ("word", pd.NA):
        with pytest.raises(DataError, match="rows of real numbers"):
            as_operand(frame.assign(d=pd.Series([1, cell], dtype=object)))
