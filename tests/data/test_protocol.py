"""The protocol: each switch does what it says, dense and sparse, and learns on the training rows only."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pydantic import ValidationError
from scipy.sparse import csr_array
from sklearn.preprocessing import PowerTransformer

from kfeat.data.preparation import apply_chain, learn_chain
from kfeat.data.prepare import learn, prepare
from kfeat.data.protocol import Protocol
from kfeat.errors import DataError
from tests.data.files import dense
from tests.data.toy import X, Y, protocol, raw

RNG = np.random.default_rng(1)

SCALINGS = [
    "none",
    "minmax",
    "minmax_symmetric",
    "maxabs",
    "zscore",
    "unit_rows",
    "global_norm",
    {"divide": 2.5},
    ["zscore", "global_norm"],
    ["minmax", {"divide": 3}, "unit_rows"],
]


@pytest.mark.parametrize("scale", SCALINGS, ids=str)
def test_sparse_is_dense(scale):
    with_dense = prepare(raw(), protocol(scale=scale), 0)
    with_sparse = prepare(raw(csr_array(X)), protocol(scale=scale), 0)
    assert_allclose(dense(with_sparse.X_train), with_dense.X_train, atol=1e-12)
    assert_allclose(dense(with_sparse.X_test), with_dense.X_test, atol=1e-12)


@pytest.mark.parametrize("scale", SCALINGS, ids=str)
@pytest.mark.parametrize("constant", ["keep", "drop"])
@pytest.mark.parametrize("sparse", [False, True])
def test_everything_is_learnt_on_the_training_rows(scale, constant, sparse):
    other = X.copy()
    other[60:] = 1000 * RNG.normal(size=(30, 5))
    kind = csr_array if sparse else np.asarray
    switches = protocol(scale=scale, constant_features=constant)
    ours, others = (prepare(raw(kind(data)), switches, 0) for data in (X, other))
    assert_array_equal(dense(ours.X_train), dense(others.X_train))
    assert not np.allclose(dense(ours.X_test), dense(others.X_test))


def test_scalings_by_their_formulas():
    T = X[:60]
    low, high = T.min(axis=0), T.max(axis=0)
    span = np.where(high > low, high - low, 1)
    spread = np.where(T.std(axis=0) > 0, T.std(axis=0), 1)
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    expected = {
        "minmax": (X - low) / span,
        "minmax_symmetric": 2 * (X - low) / span - 1,
        "maxabs": X / np.abs(T).max(axis=0),
        "zscore": (X - T.mean(axis=0)) / spread,
        "unit_rows": X / np.where(norms > 0, norms, 1),
        "global_norm": X / norms[:60].max(),
    }
    for scale, numbers in expected.items():
        data = prepare(raw(), protocol(scale=scale), 0)
        assert_allclose(np.vstack([data.X_train, data.X_test]), numbers, atol=1e-12, err_msg=scale)


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_maxabs_keeps_zeros_and_a_column_of_them(kind, dtype):
    signed = np.where(X > 3, -X, X)
    signed[:60, 2] = 0  # zeros in the training rows
    data = prepare(raw(kind(signed)), protocol(scale="maxabs", dtype=dtype), 0)
    assert data.X_train.dtype == data.X_test.dtype == dtype
    assert isinstance(data.X_train, csr_array) == (kind is csr_array)
    assert_array_equal(dense(data.X_train) == 0, signed[:60] == 0)
    assert_allclose(np.abs(dense(data.X_train)).max(axis=0), [1, 1, 0, 1, 1], rtol=1e-15)
    assert_array_equal(dense(data.X_test)[:, 2], signed[60:, 2].astype(dtype))


@pytest.mark.parametrize("step", ["zscore_numbers", "power"])
def test_columns_of_numbers_are_scaled_and_those_of_0_and_1_stay(step):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.lognormal(2, 1, 900), 1.0 * (rng.random(900) < 0.1), rng.normal(5, 3, 900)])
    chain = learn_chain(protocol(scale=step).scale, lambda: [X[:400], X[400:]])
    Z = apply_chain(chain, X)
    assert_array_equal(Z[:, 1], X[:, 1])
    assert_allclose(Z[:, [0, 2]].mean(axis=0), 0, atol=1e-9)
    assert_allclose(Z[:, [0, 2]].std(axis=0), 1, rtol=1e-9)
    if step == "power":  # learnt from all rows, since there are few
        assert_allclose(Z[:, [0, 2]], PowerTransformer().fit_transform(X[:, [0, 2]]))


@pytest.mark.parametrize("scale", SCALINGS, ids=str)
@pytest.mark.parametrize("constant", ["keep", "drop"])
@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_raw_rows_become_what_training_had_a_block_at_a_time(scale, constant, kind, monkeypatch):
    switches = Protocol.model_validate({"scale": scale, "constant_features": constant})
    data = prepare(raw(kind(X)), switches, 0)
    monkeypatch.setattr("kfeat.data.matrix.BLOCK_VALUES", 40)
    again = data.preparation.rows(kind(X[:60]))
    assert type(again) is type(data.X_train)
    assert again.dtype == np.float32
    assert_array_equal(dense(again), dense(data.X_train))


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_dtype_and_float32_of_large_offsets(kind):
    shifted = X + 1e8  # float32 would lose everything if it came before the scaling
    data = prepare(raw(kind(shifted)), Protocol.model_validate({"scale": "zscore"}), 0)
    assert data.X_train.dtype == np.float32
    assert_allclose(data.X_train, prepare(raw(), protocol(scale="zscore"), 0).X_train, atol=1e-4)


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_constant_features_dropped(kind):
    varying = X.copy()
    varying[:60, 3] = 7.0
    varying[70, 3] = 1.0  # varies in the test rows only
    data = prepare(raw(kind(varying)), protocol(constant_features="drop"), 0)
    assert_array_equal(dense(data.X_train), varying[:60][:, [0, 1, 2, 4]])
    assert_array_equal(dense(data.X_test), varying[60:][:, [0, 1, 2, 4]])
    with pytest.raises(DataError, match="every feature is constant"):
        prepare(raw(kind(np.ones((90, 2)))), protocol(constant_features="drop"), 0)


def test_binarisation():
    against = prepare(raw(), protocol(binarise={"positive": 2}), 0)
    assert_array_equal(against.y_train, np.where(Y[:60] == 2, 1, -1))
    halves = {tuple(prepare(raw(), protocol(binarise={"random_half": s}), 0).y_test) for s in range(20)}
    assert len(halves) > 2
    for half in halves:
        positive = {int(label) for label, sign in zip(Y[60:], half, strict=True) if sign == 1}
        negative = {int(label) for label, sign in zip(Y[60:], half, strict=True) if sign == -1}
        assert len(positive) == len(negative) == 2
        assert not positive & negative


@pytest.mark.parametrize(
    ("data", "switches", "message"),
    [
        (raw(n_train=None), {}, "no test file"),
        (raw(), {"split": {"kind": "sample", "n_train": 91}}, "expected 91 training rows, got 90"),
        (raw(), {"split": {"kind": "sample", "n_train": 80, "n_test": 11}}, "expected 11 test rows, got 10"),
        (raw(), {"split": {"kind": "sample", "n_train": 90}}, "too few"),
        (raw(), {"split": {"kind": "fraction", "train": 0.001}}, "too few"),
        (raw(y=np.zeros(90, int)), {}, "two classes"),
        (raw(), {"binarise": {"positive": 9}}, "no class 9; its classes are 0, 1, 2, 3"),
        (raw(), {"binarise": {"positive": "cat"}}, "no class 'cat'"),
        (raw(y=Y / 7, task="regression"), {"binarise": {"positive": 0}}, "regression"),
    ],
)
def test_impossible_demands(data, switches, message):
    with pytest.raises(DataError, match=message):
        prepare(data, protocol(**switches), 0)


@pytest.mark.parametrize(
    ("switches", "message"),
    [
        ({"scale": "minmix"}, "minmax"),
        ({"scale": {"divide": 0}}, "greater than 0"),
        ({"scale": {"by": 255}}, "divide"),
        ({"scale": ["zscore", 3]}, "zscore"),
        ({"split": "half"}, "official"),
        ({"split": {"kind": "fraction"}}, "train"),
        ({"split": {"kind": "fraction", "train": 1.0}}, "less than 1"),
        ({"split": {"kind": "sample", "n_train": "many"}}, "integer"),
        ({"split": {"kind": "official", "k": 5}}, "k"),
        ({"binarise": "all"}, "1 validation error.*\\n.*\\n.*'none'"),
        ({"binarise": {"random_half": "a"}}, "1 validation error.*\\n.*random_half"),
        ({"dtype": "float16"}, "float32"),
        ({"scaling": "none"}, "scaling"),
    ],
)
def test_protocols_are_parsed_strictly(switches, message):
    with pytest.raises(ValidationError, match=message):
        Protocol.model_validate(switches)


@pytest.mark.parametrize("scale", SCALINGS, ids=str)
def test_canonical_form_comes_back_and_does_not_depend_on_spelling(scale):
    ours = Protocol.model_validate(
        {"scale": scale, "split": {"kind": "fraction", "train": 0.6}, "binarise": {"random_half": 1}}
    )
    assert Protocol.model_validate(ours.model_dump(mode="json")) == ours
    assert hash(ours) == hash(Protocol.model_validate(ours.model_dump(mode="json")))
    assert Protocol() == Protocol.model_validate({"scale": ["none"], "split": {"kind": "official"}})


def test_what_is_learnt_is_learnt_without_the_rows_held_out_for_validation():
    switches = protocol(scale="minmax", split={"kind": "validation", "seed": 0})
    data = prepare(raw(np.arange(90.0)[:, None]), switches, 0)
    assert (data.X_train.min(), data.X_train.max(), len(data.y_test)) == (0.0, 1.0, 12)


COUNTS = np.random.default_rng(3).integers(1, 4, 60)


@pytest.mark.parametrize("scale", [*SCALINGS, "zscore_numbers", "power", ["power", "zscore"]], ids=str)
@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_a_row_of_weight_two_is_learnt_from_as_twice(scale, kind, monkeypatch):
    monkeypatch.setattr("kfeat.data.matrix.BLOCK_VALUES", 40)
    twice, switches = np.repeat(np.arange(60), COUNTS), protocol(scale=scale)
    weighted = learn(raw(kind(X)), switches, np.arange(60), None, COUNTS.astype(float))
    repeated = learn(raw(kind(X)), switches, twice, None)
    assert_allclose(dense(weighted.rows(kind(X))), dense(repeated.rows(kind(X))), atol=1e-9)
    plain = learn(raw(kind(X)), switches, np.arange(60), None)
    learns = any(word in str(scale) for word in ("zscore", "power"))
    assert learns == (abs(dense(plain.rows(X)) - dense(weighted.rows(X))).max() > 1e-3)


@pytest.mark.parametrize("step", ["zscore_numbers", "power"])
def test_weights_that_are_no_counts_are_learnt_from_by_equal_steps(step):
    """Ten thousand rows, more than a sample has, whose weights make a normal law of a uniform one."""
    x = np.linspace(-4, 4, 10_000)
    law = np.exp(-(x**2) / 2)
    for weights in (law, law / law.sum(), np.rint(100 * law) + 1):
        kept = weights > weights.max() / 50
        (transformer,) = learn_chain([step], lambda rows=x[kept][:, None]: [rows], weights[kept])
        z = transformer.transform(x[kept][:, None])[:, 0]
        assert np.average(z, weights=weights[kept]) == pytest.approx(0, abs=0.01)
        assert np.average(z**2, weights=weights[kept]) == pytest.approx(1, abs=0.02)


WIDE = RNG.normal(size=(600, 5)) * (RNG.random((600, 5)) < 0.7)
CLASSES = (np.sin(2 * WIDE[:, 1]) + 0.3 * WIDE[:, 3] > 0).astype(int)


@pytest.mark.parametrize(
    "scale",
    [["zscore", "learnt_metric"], ["zscore", "learnt_rotation"], "learnt_metric", "learnt_rotation"],
    ids=str,
)
@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_a_metric_is_learnt_on_the_training_rows_alone(scale, kind, monkeypatch):
    other, labels = WIDE.copy(), CLASSES.copy()
    other[500:], labels[500:] = 9.0, 1 - labels[500:]
    switches = protocol(scale=scale)
    ours, theirs = (
        prepare(raw(kind(rows), y, 500), switches, 0) for rows, y in ((WIDE, CLASSES), (other, labels))
    )
    assert_array_equal(dense(ours.X_train), dense(theirs.X_train))
    weights = ours.preparation.learnt_parameters()
    assert sorted(sorted(weights, key=weights.get)[-2:]) == ["weight.1", "weight.3"]
    monkeypatch.setattr("kfeat.data.matrix.BLOCK_VALUES", 40)
    again = prepare(raw(kind(WIDE), CLASSES, 500), switches, 0)
    assert_allclose(dense(again.X_train), dense(ours.X_train), rtol=1e-6, atol=1e-9)
    assert isinstance(ours.X_train, np.ndarray) == (kind is np.asarray or scale != "learnt_metric")


def test_a_metric_is_learnt_from_labels_as_the_protocol_makes_them():
    y = np.where(WIDE[:, 0] > 0.3, 2, CLASSES)  # the column 0 tells the class 2 alone
    kinds = {label: protocol(scale="learnt_metric", binarise={"positive": label}) for label in (1, 2)}
    top = {}
    for label, switches in kinds.items():
        weights = prepare(raw(WIDE, y, 500), switches, 0).preparation.learnt_parameters()
        top[label] = max(weights, key=weights.get)
    assert top == {1: "weight.1", 2: "weight.0"}


def test_a_learnt_metric_knows_columns_by_their_names_and_leaves_out_constant_ones():
    names = ["a", "b", "c", "d", "e"]
    wide = np.column_stack([WIDE[:, :2], np.ones(600), WIDE[:, 3:]])
    metric = learn(raw(wide, CLASSES, 500), protocol(scale="learnt_metric"), np.arange(500), None)
    assert list(metric.learnt_parameters(names)) == [f"weight.{name}" for name in names]
    assert metric.learnt_parameters(names)["weight.c"] == 0
    dropped = protocol(scale="learnt_metric", constant_features="drop")
    metric = learn(raw(wide, CLASSES, 500), dropped, np.arange(500), None)
    assert list(metric.learnt_parameters(names)) == ["weight.a", "weight.b", "weight.d", "weight.e"]
    assert metric.learnt_parameters().keys() == {"weight.0", "weight.1", "weight.3", "weight.4"}
    assert learn(raw(), protocol(scale="zscore"), np.arange(60), None).learnt_parameters() == {}
