"""What holds for every map: scikit-learn's own checks, forms of input, blocks, threads, and the refusals."""

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import coo_array, csc_array, csr_array, issparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_info, threadpool_limits

from kfeat import maps
from kfeat.errors import DataError, ParameterError, UnsupportedKernelError
from kfeat.kernels import Gaussian, Laplacian, Linear, Polynomial
from kfeat.maps import MAPS, base
from kfeat.maps.blocks import one_blas_thread
from kfeat.parameters import HANDED_IN, parameter_model
from kfeat.testing import check_map
from tests.maps.variants import VARIANTS

each_variant = pytest.mark.parametrize("variant", VARIANTS, ids=lambda m: type(m).__name__)


@pytest.fixture(name="X", scope="module")
def sparse_looking_rows():
    """Rows of zeros and of numbers that float32 holds."""
    rng = np.random.default_rng(0)
    X = rng.random((40, 9)) * (rng.random((40, 9)) < 0.5) / 3
    return X.astype(np.float32).astype(float)


@pytest.fixture(
    scope="module", params=[v for v in VARIANTS if not v.sparse_output], ids=lambda m: type(m).__name__
)
def dense_map(request, X):
    """Every map whose features are dense, fitted to these rows."""
    return fitted(request.param, X)


@pytest.fixture(scope="module", params=VARIANTS, ids=lambda m: type(m).__name__)
def m(request, X):
    """Every map, fitted to these rows, for tests that do not change it."""
    return fitted(request.param, X)


def fitted(variant, X, random_state=0):
    return clone(variant).set_params(random_state=random_state).fit(X)


def dense(Z):
    """Features as an array in double precision, those of a sparse map too."""
    return np.asarray(Z.toarray() if issparse(Z) else Z, dtype=float)


def assert_same_kernel(actual, expected, eps=2**-52):
    """Have the same inner products: eigenvectors of a new fit may turn within the rounding."""
    actual, exact = map(dense, (actual, expected))
    norms = np.linalg.norm(exact, axis=1)
    assert (np.abs(actual @ actual.T - exact @ exact.T) <= 64 * eps * np.outer(norms, norms)).all()


def assert_close(actual, expected, eps=2**-52):
    """Agree to a few eps times the norm of each row, which is what BLAS promises."""
    actual, expected = map(dense, (actual, expected))
    norms = np.linalg.norm(expected, axis=1, keepdims=True)
    assert (np.abs(actual - expected) <= 16 * eps * norms).all()


FEW_PAIRS = {maps.PolynomialTensorSketch: {"n_rows": 30}}  # whose default takes most of a second for a fit


@parametrize_with_checks([cls(**FEW_PAIRS.get(cls, {})) for cls in MAPS.values()])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@each_variant
def test_a_map_keeps_its_promises(variant):
    """Bias and variance have tests of their own; no other check may stay open."""
    report = check_map(variant, variant.kernel, unbiased=False)
    assert all(check.held for check in report.checks[3:]), str(report)


def test_all_sparse_forms_give_the_features_of_dense_rows(m, X):
    for form in (csc_array, coo_array):
        assert_close(m.transform(form(X)), m.transform(X))


@each_variant
def test_integers_of_any_width_are_numbers(variant):
    X = np.random.default_rng(0).integers(0, 4, (40, 9)).astype(np.uint8)
    expected, whole = fitted(variant, X.astype(float)).transform(X.astype(float)), fitted(variant, X)
    for data in (X, X.astype(np.int64), csr_array(X)):
        # Products of many sums that nearly cancel, as Random Maclaurin's of high degrees, lose a few bits.
        assert_same_kernel(whole.transform(data), expected, eps=2**-48)


@pytest.mark.slow
@each_variant
def test_blocks_and_threads_do_not_change_the_features(variant, monkeypatch):
    X = np.random.default_rng(0).random((150, 9)) / 3
    m = fitted(variant, X)
    expected = m.transform(X)
    for rows in (1, 7, 64, 1000):
        monkeypatch.setattr(base, "rows_per_block", lambda *_, rows=rows: rows)
        for n_jobs in (1, 2, 3):
            m.set_params(n_jobs=n_jobs)
            assert_close(m.transform(X), expected)
            np.testing.assert_array_equal(dense(m.transform(X)), dense(m.transform(X)))
    assert_close(np.vstack([dense(m.transform(X[:31])), dense(m.transform(X[31:]))]), expected)


def test_features_stream_into_a_memory_map(dense_map, X, tmp_path):
    m = dense_map
    shape = (len(X), len(m.get_feature_names_out()))
    on_disk = np.lib.format.open_memmap(tmp_path / "features.npy", "w+", np.float64, shape)
    assert m.transform(X, out=on_disk) is on_disk
    on_disk.flush()
    np.testing.assert_array_equal(np.load(tmp_path / "features.npy"), m.transform(X))


def test_an_output_that_does_not_fit_is_refused(X):
    sketch = fitted(maps.TensorSketch(), X)
    readonly = np.empty((40, 100))
    readonly.flags.writeable = False
    for out in (np.empty((40, 99)), np.empty((40, 100), np.float32), [[0.0]], readonly):
        with pytest.raises(DataError, match=r"out: expected a writeable array of float64 \(40, 100\), got"):
            sketch.transform(X, out=out)


def test_a_source_of_random_numbers_goes_on(X):
    state = np.random.RandomState(0)
    one, two = (fitted(maps.TensorSketch(), X, random_state=state).transform(X) for _ in range(2))
    assert not np.array_equal(one, two)


@pytest.mark.parametrize("name", MAPS)
def test_every_map_has_a_yaml_form_a_default_kernel_and_a_version(name):
    cls = MAPS[name]
    assert cls.algorithm_version >= 1
    assert cls.supports(cls.default_kernel)
    assert all(cls.__dict__["facts"])
    assert not HANDED_IN & set(parameter_model(cls).model_fields)
    if "n_components" not in parameter_model(cls).model_fields:
        return
    for bad in (0, -3, 2.5, "many"):
        with pytest.raises(ParameterError, match=f"{cls.__name__}: n_components"):
            cls(n_components=bad).fit(np.ones((3, 2)))


def test_bad_data_are_refused(m, X):
    with pytest.raises(ValueError, match=r"X has 8 features, but \w+ is expecting 9 features"):
        m.transform(X[:, :8])
    for bad, message in ((np.nan, "contains NaN"), (np.inf, "contains infinity"), (1j, "Complex data")):
        with pytest.raises(ValueError, match=message):
            clone(m).fit(X + bad)
        with pytest.raises(ValueError, match=message):
            m.transform(X + bad)


def test_an_output_in_which_the_rows_lie_is_refused_and_one_beside_them_is_not(dense_map, X):
    m = dense_map
    expected = m.transform(X)
    d, D = X.shape[1], expected.shape[1]
    both = np.hstack([X, np.zeros((len(X), D))])
    np.testing.assert_array_equal(m.transform(both[:, :d], out=both[:, d:]), expected)
    with pytest.raises(DataError, match="shares memory with X"):
        m.transform(both[:, :d], out=both[:, :D])


def test_a_fit_that_fails_leaves_no_fitted_map(X):
    feature_map = maps.RandomBinning(n_components=5, random_state=0).fit(X)
    with pytest.raises(DataError):
        feature_map.fit(1e100 * X)
    with pytest.raises(NotFittedError):
        feature_map.transform(X)


@pytest.mark.parametrize("sequence", ["halton", "sobol", "lattice", "digital_net"])
def test_numbers_of_numpy_are_numbers(sequence, X):
    plain, *others = (
        maps.RandomFourier(n_components=n, sequence=sequence, random_state=0).fit_transform(X)
        for n in (20, np.int64(20), np.int32(20))
    )
    for other in others:
        np.testing.assert_array_equal(other, plain)
    kernels = (Polynomial(2, coef0=0.5), Polynomial(2, coef0=np.float64(0.5)))
    np.testing.assert_array_equal(
        *(maps.TensorSRHT(one, 20, random_state=0).fit_transform(X) for one in kernels)
    )


def test_transforms_that_overlap_leave_blas_its_threads():
    def threads() -> set[int]:
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    with threadpool_limits(2, "blas"):
        before = threads()
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        within = threads()
        second.__exit__(None, None, None)
        assert (within, threads()) == ({1}, before)


GAUSSIAN_MAPS = [maps.Fastfood, maps.ORF, maps.SORF]
SHAPES = [(2_000, 5_000, 5_000, 2), (100_000, 20, 100, 2), (4, 10, 1_000_000, 2)]  # n, d, D, degree
TREES = [(1_000, 5_000, 5_000, 5), (50_000, 20, 100, 16), (4, 10, 1_000_000, 2)]
SKETCHES = [
    *(
        (cls, *shape)
        for cls in (maps.TensorSketch, maps.ComplexTensorSketch, maps.TensorSRHT)
        for shape in SHAPES
    ),
    *((maps.RecursiveSketch, *shape) for shape in TREES),
]


def assert_small_memory(unfitted, X, D, limit):
    fitted, out = unfitted.fit(X[:100]), np.empty((X.shape[0], D), np.float32)
    tracemalloc.start()
    fitted.transform(X, out=out)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < limit * 2**20


@pytest.mark.parametrize(("cls", "n", "d", "D", "degree"), SKETCHES)
def test_working_memory_is_small_whatever_the_shape(cls, n, d, D, degree):
    unfitted = cls(Polynomial(degree, coef0=1.0), D, random_state=0, n_jobs=2)
    assert_small_memory(unfitted, np.ones((n, d), dtype=np.float32), D, 64)


@pytest.mark.parametrize("cls", GAUSSIAN_MAPS)
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_the_memory_beyond_the_output_is_that_of_blocks(cls, form):
    X = form(np.random.default_rng(0).random((3000, 784), dtype=np.float32))
    assert_small_memory(cls(n_components=2000, random_state=0), X, 2000, 10)  # all phases have 12 MB


def test_many_factors_do_not_need_much_memory():
    X = np.random.default_rng(0).random((1000, 50)).astype(np.float32)
    unfitted = maps.RandomMaclaurin(Gaussian(2.0), 1000, "proportional", random_state=0)
    assert_small_memory(unfitted, X, 1000, 64)
    assert unfitted.n_factors_.mean() > 50


@pytest.mark.parametrize(
    ("unfitted", "message"),
    [
        (maps.TensorSketch(Gaussian()), r"TensorSketch cannot approximate Gaussian\(\); maps that can: "),
        (maps.TensorSketch("polynomial"), r"expected a kernel such as Polynomial\(.*\), got 'polynomial'"),
        *((cls(kernel), rf"{cls.__name__} cannot .* maps that can: .*nystrom")
          for cls in GAUSSIAN_MAPS for kernel in (Laplacian(0.1), Polynomial(2))),
        (maps.RandomFourier(Linear()), r"maps that can: .*nystrom, .*tensor_sketch"),
        (maps.PositiveFeatures(Laplacian()), r"PositiveFeatures cannot approximate Laplacian\(\)"),
        (maps.SES(Polynomial(2)), "SES cannot approximate Polynomial"),
        (maps.BayesianQuadrature(Laplacian()), "cannot approximate Laplacian.*random_fourier"),
    ],
)  # fmt: skip
def test_other_kernels_are_refused_with_the_maps_that_can(unfitted, message, X):
    with pytest.raises(UnsupportedKernelError, match=message):
        unfitted.fit(X)


@pytest.mark.parametrize("cls", GAUSSIAN_MAPS)
def test_a_map_that_does_not_fit_in_memory_is_refused(cls, monkeypatch):
    monkeypatch.setattr("kfeat.memory.USABLE", 1e-6)
    with pytest.raises(ParameterError, match=r"frequencies takes [\d,]+ bytes, .* free: take fewer"):
        cls(n_components=2000).fit(np.ones((3, 1024)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: maps.Nystrom(gamma=1), r"belongs to the kernel, as in Nystrom\(Gaussian\(gamma=1\)\)"),
        (lambda: maps.ORF(gamma=np.float64(0.5)), r"as in ORF\(Gaussian\(gamma=0.5\)\)"),
        (lambda: maps.TensorSketch(degree=3), r"as in TensorSketch\(Polynomial\(degree=3\)\)"),
        (lambda: maps.ORF(degree=3), "^ORF: unknown parameter 'degree'$"),
        (
            lambda: maps.ORF(n_component=3),
            r"unknown parameter 'n_component' \(did you mean 'n_components'\?\)",
        ),
    ],
)
def test_an_unknown_parameter_is_told_where_it_belongs(call, message):
    with pytest.raises(TypeError, match=message):
        call()


@pytest.mark.parametrize(
    ("feature_map", "message"),
    [
        (maps.Nystrom("rbf"), r"Nystrom: expected a kernel such as Gaussian\(gamma=1.0\), got 'rbf'"),
        (maps.Nystrom("laplacian"), r"such as Laplacian\(gamma=1.0\), got 'laplacian'"),
        (maps.ORF("poly"), r"such as Gaussian\(gamma=1.0\), got 'poly'"),
        (maps.Nystrom(np.int64(3)), "got 3$"),
        (maps.TensorSketch(Gaussian(np.float64(2))), r"cannot approximate Gaussian\(gamma=2.0\)"),
    ],
)
def test_what_is_no_kernel_of_the_map_is_told_which_is(feature_map, message, X):
    with pytest.raises(UnsupportedKernelError, match=message):
        feature_map.fit(X)
