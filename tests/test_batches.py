"""Solvers on rows in batches, or on Dask arrays: the answers of arrays, a batch at a time."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import kfeat.batches
from kfeat.batches import ArrayBatches, MappedBatches, stored
from kfeat.errors import DataError, ParameterError, SolverError
from kfeat.maps import TensorSketch
from kfeat.solvers import Liblinear, Libsvm, Newton, Ridge, RidgeCV
from kfeat.solvers.newton_system import design
from tests.solvers.problems import features, labels, problem, values


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """Batches of a few rows, so that every test has many, the last of them a short one."""
    monkeypatch.setattr(kfeat.batches, "BATCH_BYTES", 2**13)
    monkeypatch.setattr(kfeat.batches, "WHOLE_BLOCKS", 7)


@pytest.fixture(scope="module")
def mapped():
    """A fitted map and rows for it."""
    X = np.random.default_rng(0).random((900, 6)).astype(np.float32)
    return TensorSketch(n_components=40, random_state=0).fit(X), X


@pytest.mark.parametrize("wrap", [np.asarray, ArrayBatches])
@pytest.mark.parametrize("make", [np.asarray, csr_array])
@pytest.mark.parametrize("bias", [-1.0, 3.0])
def test_products_with_rows_are_those_of_the_matrix_with_its_bias(make, wrap, bias):
    rng = np.random.default_rng(0)
    X, h = features(900, 7, density=0.5), rng.random(900) * (rng.random(900) < 0.4)
    A = np.hstack([X, np.full((900, 1), bias)]) if bias >= 0 else X
    rows, some = design(make(X) if make is csr_array and wrap is np.asarray else wrap(make(X)), bias), h > 0
    for ours, B, g in ((rows, A, h), (rows.take(np.flatnonzero(some)), A[some], h[some])):
        assert ours.shape == B.shape
        W, R = rng.standard_normal((B.shape[1], 2)), rng.standard_normal((len(B), 2))
        np.testing.assert_allclose(ours.matvec(W), B @ W, atol=1e-10)
        np.testing.assert_allclose(ours.matvec(W[:, 0]), B @ W[:, 0], atol=1e-10)
        np.testing.assert_allclose(ours.rmatvec(R), B.T @ R, atol=1e-10)
        np.testing.assert_allclose(ours.rmatvec(R[:, 0]), B.T @ R[:, 0], atol=1e-10)
        np.testing.assert_allclose(ours.squares, (B**2).sum(axis=0), atol=1e-10)
        np.testing.assert_allclose(ours.gram(), B.T @ B, atol=1e-9)
        np.testing.assert_allclose(ours.gram(g), B.T @ (g[:, None] * B), atol=1e-9)
        np.testing.assert_allclose(ours.hessian_product(g, W[:, 1]), B.T @ (g * (B @ W[:, 1])), atol=1e-9)
    nothing = rows.take(np.arange(0))
    assert not nothing.gram(np.zeros(0)).any()
    assert not nothing.rmatvec(np.zeros((0, 2))).any()


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("classes", [2, 3])
def test_newton_on_batches_has_the_solution_of_the_array(loss, classes):
    X = features(1500, 20)
    y = np.array(["a", "b", "c"])[labels(X, classes)]
    T = features(300, 20, seed=5)
    options = {"C": 2.0, "eps": 1e-7, "bias": 1.0, "class_weight": {"a": 2.0}}
    whole = Newton(loss, **options).fit(X, y)
    batched = Newton(loss, **options).fit(ArrayBatches(X), y)
    np.testing.assert_allclose(batched.coef_, whole.coef_, atol=1e-6)
    np.testing.assert_allclose(batched.intercept_, whole.intercept_, atol=1e-6)
    assert batched.objective_ == pytest.approx(whole.objective_, rel=1e-10)
    assert batched.converged_
    assert np.array_equal(batched.predict(ArrayBatches(T)), batched.predict(T))
    assert np.array_equal(batched.classes_, whole.classes_)


@pytest.mark.parametrize("n", [60, 600])
def test_newton_on_features_mapped_again_at_every_pass(mapped, n):
    """Also where classes can be separated, and Newton goes along growing costs."""
    feature_map, X = mapped
    X = X[:n]
    Z = feature_map.transform(X)
    y = labels(X, 3)
    whole = Newton(C=10.0, eps=1e-6).fit(Z, y)
    batched = Newton(C=10.0, eps=1e-6).fit(MappedBatches(feature_map, X), y)
    assert batched.objective_ == pytest.approx(whole.objective_, rel=1e-5)
    np.testing.assert_allclose(
        batched.decision_function(Z), whole.decision_function(Z), atol=1e-3 * abs(whole.coef_).max()
    )


def test_ridge_on_batches_has_the_solution_of_the_array(mapped):
    feature_map, X = mapped
    Z, y = feature_map.transform(X), values(X)
    whole, batched = Ridge(alpha=0.1).fit(Z, y), Ridge(alpha=0.1).fit(MappedBatches(feature_map, X), y)
    np.testing.assert_allclose(batched.coef_, whole.coef_, rtol=1e-5, atol=1e-6)
    assert batched.objective_ == pytest.approx(whole.objective_, rel=1e-7)
    np.testing.assert_allclose(batched.predict(MappedBatches(feature_map, X)), whole.predict(Z), atol=1e-5)


def test_ridge_chooses_alpha_on_batches(mapped):
    feature_map, X = mapped
    Z, y = feature_map.transform(X), values(X)
    parts = [(Z[a:b], y[a:b]) for a, b in zip(range(0, 900, 300), range(300, 901, 300), strict=True)]
    batched = RidgeCV().fit(MappedBatches(feature_map, X), y)
    assert batched.alpha_ == RidgeCV().fit_batches(parts).alpha_
    assert batched.n_features_in_ == 40
    with pytest.raises(ParameterError, match="give folds"):
        RidgeCV(folds=None).fit(ArrayBatches(Z), y)


def test_features_are_never_held_all_at_once(mapped):
    feature_map, X = mapped
    sizes = []
    whole = MappedBatches(feature_map, X, observe=lambda Z: sizes.append(Z.nbytes))
    Newton().fit(whole, labels(X, 2))
    Ridge().fit(whole, values(X))
    assert max(sizes) <= kfeat.batches.BATCH_BYTES < 900 * 40 * 4 / 10


def test_features_in_a_file_without_a_name_are_those_of_the_map(mapped, tmp_path):
    feature_map, X = mapped
    Z = stored(MappedBatches(feature_map, X), tmp_path / "new")
    np.testing.assert_allclose(Z, feature_map.transform(X), atol=1e-6)
    assert list((tmp_path / "new").iterdir()) == []
    whole, mapped_file = Liblinear(2).fit(np.array(Z), labels(X, 2)), Liblinear(2).fit(Z, labels(X, 2))
    assert np.array_equal(whole.coef_, mapped_file.coef_)


def test_what_does_not_fit_together_is_refused(mapped):
    X, y = problem(50, 3, classes=2)
    for solver in (Liblinear(), Libsvm()):
        with pytest.raises(DataError, match="needs all rows at once"):
            solver.fit(ArrayBatches(X), y)
    with pytest.raises(DataError, match="a target for each row of the batches, 50 in all; got 1"):
        list(ArrayBatches(X).each(np.dot, y[:1]))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        Newton().fit(ArrayBatches(X), y[1:])
    with pytest.raises(ValueError, match="contains NaN"):
        Ridge().fit(ArrayBatches(X), np.full(50, np.nan))
    with pytest.raises(DataError, match="fitted to 3 features, and the batches have 2"):
        Newton().fit(X, y).predict(ArrayBatches(X[:, :2]))
    X[20, 1] = np.nan
    with pytest.raises(DataError, match="not finite"):
        Ridge().fit(ArrayBatches(X), values(X[:, :1]))
    with pytest.raises(SolverError, match="overflow"):
        Newton().fit(ArrayBatches(X), y)


def test_a_file_for_which_there_is_no_room_is_refused(tmp_path):
    huge = ArrayBatches(np.broadcast_to(np.zeros(1), (2**20, 2**20)))
    with pytest.raises(DataError, match=r"bytes cannot be created in .*free some space, or set KFEAT_CACHE"):
        stored(huge, tmp_path)


def rows_of(client, X, chunks):
    import dask.array as da

    return client.persist(da.from_array(X, chunks=chunks))


@pytest.mark.slow
@pytest.mark.usefixtures("cold_processes")
def test_dask_arrays_give_the_answers_of_arrays():
    distributed = pytest.importorskip("distributed")
    X = features(3000, 20)
    y, t = labels(X, 3), values(X)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        chunked = rows_of(client, X, (640, 9))
        newton = Newton("logistic", eps=1e-7, bias=1.0).fit(chunked, y)
        ridge = Ridge(alpha=0.1).fit(chunked, t)
        predicted = newton.predict(chunked)
        assert len({worker for held in client.who_has(chunked).values() for worker in held}) == 2
    whole = Newton("logistic", eps=1e-7, bias=1.0).fit(X, y)
    np.testing.assert_allclose(newton.coef_, whole.coef_, atol=1e-6)
    np.testing.assert_allclose(ridge.coef_, Ridge(alpha=0.1).fit(X, t).coef_, atol=1e-10)
    assert np.array_equal(predicted, newton.predict(X))


def test_dask_arrays_need_chunks_of_known_size():
    da = pytest.importorskip("dask.array")
    X = da.from_array(features(50, 3), chunks=(20, 3))
    with pytest.raises(DataError, match="compute_chunk_sizes"):
        Ridge().fit(X[X[:, 0] > 0], np.zeros(50))


def test_batches_of_whole_numbers_are_batches_of_numbers():
    X = np.random.default_rng(0).integers(-3, 4, size=(60, 4))
    y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
    plain = Newton().fit(X.astype(np.float64), y).coef_
    for rows in (X, X.astype(np.int8), X.astype(np.float16), csr_array(X)):
        np.testing.assert_allclose(Newton().fit(ArrayBatches(rows), y).coef_, plain, rtol=1e-6)
    np.testing.assert_allclose(
        Newton().fit(ArrayBatches(X > 0), y).coef_, Newton().fit(X > 0, y).coef_, rtol=1e-6
    )
