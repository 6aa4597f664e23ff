"""The derivations of `sketch_bounds` against a proved formula; its measures on maps, some of them broken."""

from itertools import product

import numpy as np
import pytest

from kfeat.errors import DataError, ParameterError, UnsupportedKernelError
from kfeat.experiments.measures import sketch_bounds
from kfeat.experiments.measures.map_size import MapSize
from kfeat.experiments.measures.sketch_bounds import (
    Pairs,
    corrected,
    exact_variance,
    extended,
    lemma_6,
    lemma_7,
    lemma_10,
    partners,
    tensor_error,
    tensor_power,
    with_parameters,
)
from kfeat.experiments.measures.sketch_measures import BoundRatio, EstimateMoments
from kfeat.kernels import Gaussian, Linear, Polynomial
from kfeat.maps import Nystrom, RandomFourier, RandomMaclaurin, TensorSketch
from tests.experiments.rows import measured
from tests.maps.test_tensor_sketch import tensor_sketch_variance

X = np.array([[1.0, 1.0], [0.7, -1.3], [1.0, 0.5], [0.7, -1.3], [1.0, 1.0], [1.0, 0.0]])
Y = np.array([[1.0, 1.0], [0.4, 2.0], [0.3, 1.0], [2.0, 0.9], [1.0, -1.0], [1.0, 1.0]])
LIKE = np.array([True, False, True, False, False, True])  # <x, y>^2 >= sum x_i^2 y_i^2


def pairs_of(x, y, degree, D):
    return Pairs(np.atleast_2d(x), np.atleast_2d(y), degree, D)


def variance_of(pairs):
    """The variance of each pair, which test_tensor_sketch.py proves by all hash tables and all signs."""
    return np.array(
        [tensor_sketch_variance(x, y, pairs.degree, pairs.D) for x, y in zip(pairs.x, pairs.y, strict=True)]
    )


@pytest.mark.parametrize(("degree", "D"), [*product((1, 2, 3), (1, 2, 3, 64))])
def test_the_variance_is_the_one_over_all_hashes_and_signs(degree, D):
    pairs = pairs_of(X, Y, degree, D)
    np.testing.assert_allclose(pairs.kernel, (X * Y).sum(axis=1) ** degree)
    np.testing.assert_allclose(exact_variance(pairs), variance_of(pairs), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("D", [2, 3, 50])
def test_for_one_sketch_all_are_lemma_2_and_within_lemma_3(D):
    pairs = pairs_of(X, Y, 1, D)
    i, j = np.array([[0, 1], [1, 0]])  # all i != j
    lemma_2 = (X[:, i] ** 2 * Y[:, j] ** 2 + X[:, i] * Y[:, i] * X[:, j] * Y[:, j]).sum(axis=1) / D
    np.testing.assert_allclose(exact_variance(pairs), lemma_2, atol=1e-12)
    np.testing.assert_allclose(extended(pairs), lemma_2, atol=1e-12)
    assert (lemma_2 <= lemma_6(pairs)).all()


@pytest.mark.parametrize("degree", [1, 2])
def test_the_extended_versions_bound_is_the_variance_with_two_buckets(degree):
    pairs = pairs_of(X, Y, degree, 2)
    np.testing.assert_allclose(variance_of(pairs), extended(pairs), atol=1e-12)


def test_the_extended_versions_bound_holds_for_points_that_are_alike_and_no_others():
    """With three buckets: equality only at a point with one feature; x = (1, 1), y = (1, -1) would have 0."""
    pairs = pairs_of(X, Y, 2, 3)
    variance = variance_of(pairs)
    assert ((pairs.inner**2 >= pairs.overlap) == LIKE).all()
    np.testing.assert_array_equal(variance <= extended(pairs) + 1e-12, LIKE)
    assert extended(pairs)[4] == 0 < 1.7 < variance[4]
    assert (variance <= corrected(pairs) + 1e-12).all()
    np.testing.assert_allclose(corrected(pairs)[LIKE], extended(pairs)[LIKE])
    assert variance[0] > lemma_6(pairs)[0]


def test_the_corrected_bound_is_between_the_variance_and_the_worst_case():
    rng = np.random.default_rng(0)
    for degree, D, d in product((1, 2, 3, 4, 5), (1, 2, 3, 64, 65), (1, 2, 20)):
        x, y = rng.standard_normal((2, 200, d))
        for pairs in (
            pairs_of(x, y, degree, D),
            pairs_of(x, x, degree, D),
            pairs_of(abs(x), abs(y), degree, D),
        ):
            assert (exact_variance(pairs) <= corrected(pairs) * (1 + 1e-9) + 1e-12).all()
            worst = (3**degree - 1) * pairs.norms**degree / D
            assert (corrected(pairs) <= worst * (1 + 1e-9)).all()


def test_lemma_7_is_chebyshevs_inequality_with_lemma_6():
    pairs = pairs_of([[0.6, 0.8]], [[1.0, 0.0]], 2, 50)  # the cosine is 0.6
    errors, bounds = lemma_7(pairs, 1)
    np.testing.assert_allclose(errors[:, 0], np.array([0.25, 0.5, 1, 2]) * 0.36)
    np.testing.assert_allclose(bounds[:, 0], 2 / (50 * np.array([0.25, 0.5, 1, 2]) ** 2 * 0.6**4))


def test_lemma_10_takes_the_least_delta_that_its_conditions_allow():
    for d, degree, D in ((400, 4, 1024), (400, 2, 1024), (20, 3, 64), (5, 1, 10**6)):
        x = np.ones((1, d)) / np.sqrt(d)
        errors, bounds = lemma_10(pairs_of(x, x, degree, D), 1)
        for eps, delta in zip(errors[:, 0], bounds[:, 0] / 2, strict=True):
            u = np.log(1 / delta)
            slack = [D - 72 * u / eps**2, eps / (18 * np.sqrt(u * np.log(D / delta))) - d ** (-degree / 2)]
            assert min(slack) == pytest.approx(0, abs=1e-6 * D)
            assert max(slack) > 0


def test_lemma_10_says_nothing_below_50_features_or_of_rows_with_few_values():
    spread, few = np.ones((1, 10**6)) / 10**3, np.ones((1, 14)) / np.sqrt(14)
    assert (lemma_10(pairs_of(spread, spread, 2, 49), 1)[1] > 1).all()
    assert (lemma_10(pairs_of(spread, spread, 2, 60), 1)[1] < 1).any()
    for D in (50, 200, 1000, 10**5, 10**7):
        assert (lemma_10(pairs_of(few, few, 2, D), 1)[1] > 1).all()


def test_lemma_4_holds_for_the_tensor_product_and_for_no_other(monkeypatch):
    np.testing.assert_array_equal(tensor_power(np.array([[1.0, 3.0]]), 2), [[1, 3, 3, 9]])
    x, y = np.random.default_rng(0).standard_normal((2, 10, 6))
    for degree in (1, 2, 3, 4):
        for pairs in (pairs_of(x, y, degree, 1), pairs_of(x, x, degree, 1)):
            assert tensor_error(pairs) < 1
    monkeypatch.setattr(sketch_bounds, "tensor_power", lambda x, degree: x**degree)
    assert tensor_error(pairs_of(x, y, 2, 1)) > 1e6
    with pytest.raises(DataError, match="the tensor product of the pairs takes"):
        tensor_error(pairs_of(x, y, 40, 1))


POINTS = np.random.default_rng(0).random((40, 20))
UNIT = POINTS / np.linalg.norm(POINTS, axis=1, keepdims=True)
UNBIASED = 8.0  # Of one z^2, which pairs that go together come down to, 0.5 % are larger.


class ScaledSketch(TensorSketch):
    """Estimates of 1.2 k(x, y): a bias."""

    def transform(self, X, out=None):
        return np.sqrt(1.2) * super().transform(X)


class SharedHashSketch(TensorSketch):
    """All count sketches have the hashes and signs of the first."""

    def _draw(self, X, rng):
        width = super()._draw(X, rng)
        self.buckets_ = np.repeat(self.buckets_[:1], len(self.buckets_), axis=0)
        self.signs_ = np.repeat(self.signs_[:1], len(self.signs_), axis=0)
        return width


class HalfSketch(TensorSketch):
    """Hashes into half of the buckets."""

    def _draw(self, X, rng):
        width = super()._draw(X, rng)
        self.buckets_ //= 2
        return width


class UnsignedSketch(TensorSketch):
    """Every sign is 1."""

    def _draw(self, X, rng):
        width = super()._draw(X, rng)
        self.signs_ = np.abs(self.signs_)
        return width


def of(measure, cls=TensorSketch, degree=1, D=64, **kernel):
    """What the measure says of a map with the seed 0."""
    feature_map = cls(kernel=Polynomial(degree, **kernel), n_components=D, random_state=0)
    return measured(measure, feature_map, UNIT)


def moments(cls, degree, cosine, n_draws=300, **kernel):
    return of(EstimateMoments(n_draws=n_draws, cosine=cosine), cls, degree, **kernel)["estimate"]


def ratio(lemma, cls=TensorSketch, degree=1, D=64, **more):
    return float(of(BoundRatio(lemma, **{"n_draws": 100} | more), cls, degree, D)["bound_ratio"])


def test_tensor_sketch_is_unbiased_and_has_its_exact_variance():
    found = moments(TensorSketch, 2, 0.5, coef0=1.0, gamma=0.7)
    assert 0.8 < found["variance_ratio"] < 1.25
    assert found["squared_bias"] < UNBIASED


@pytest.mark.parametrize(
    ("cls", "degree", "cosine"),
    [(ScaledSketch, 1, 1.0), (ScaledSketch, 2, 0.5), (SharedHashSketch, 2, 1.0), (UnsignedSketch, 1, 0.5)],
)
def test_a_planted_bias_is_seen(cls, degree, cosine):
    assert moments(cls, degree, cosine)["squared_bias"] > 2 * UNBIASED


def test_the_relative_error_grows_as_the_cosine_to_the_power_of_minus_2p():
    for degree in (1, 2, 3):
        near, far = (moments(TensorSketch, degree, cosine, 60)["relative_variance"] for cosine in (0.1, 0.05))
        assert np.log2(far / near) == pytest.approx(2 * degree, rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("cosine", [1.0, 0.5, 0.1])
def test_what_holds_stays_below_its_bound(cosine):
    for degree in (1, 2):
        assert ratio("corrected", degree=degree, cosine=cosine, n_draws=200) < 1.1
        assert ratio(7, degree=degree, cosine=cosine, n_draws=200) < 1
        assert ratio(8, degree=degree, cosine=cosine, n_draws=200) < 1
        assert ratio(9, degree=degree, cosine=cosine, n_draws=200) < 1
    assert ratio(6, degree=1, cosine=cosine, n_draws=200) < 1.1


def test_a_broken_map_goes_beyond_the_bounds():
    assert ratio(6, HalfSketch, cosine=0.5) > 1.5
    assert ratio("corrected", UnsignedSketch, cosine=0.5) > 2
    assert ratio(7, UnsignedSketch, D=16) > 1
    scaled = (cls(Polynomial(1), n_components=1, random_state=0) for cls in (TensorSketch, ScaledSketch))
    small = [measured(BoundRatio(8, n_draws=60), each, POINTS[:, :2]) for each in scaled]
    assert [each["bound_ratio"] for each in small] == [pytest.approx(1), pytest.approx(1.2)]


def test_lemma_4_is_about_the_pairs_alone():
    assert ratio(4, degree=3, cosine=0.5, n_draws=2) == ratio(4, HalfSketch, 3, cosine=0.5, n_draws=2) < 1


def test_lemma_6_fails_where_the_extended_bound_holds():
    assert ratio("extended", degree=3) < 0.9 < 1.5 < ratio(6, degree=3)


def test_lemma_10_fails_for_random_maclaurin_where_its_conditions_hold():
    wide = np.random.default_rng(1).random((10, 400))
    rows = wide / np.linalg.norm(wide, axis=1, keepdims=True)
    found = {}
    for cls in (TensorSketch, RandomMaclaurin):
        feature_map = cls(Polynomial(3), n_components=1024, random_state=0)
        found[cls] = measured(BoundRatio(10, n_draws=40), feature_map, rows)
    assert found[TensorSketch]["bound_ratio"] < 1
    assert found[RandomMaclaurin]["bound_ratio"] > 1
    assert found[RandomMaclaurin]["least_bound"] < 0.1


def test_partners_have_the_norm_and_the_angle():
    rows = POINTS[:5]
    for cosine in (0.1, 0.5, 0.99):
        y = partners(rows, cosine)
        norms = np.linalg.norm(rows, axis=1)
        np.testing.assert_allclose(np.linalg.norm(y, axis=1), norms)
        np.testing.assert_allclose((rows * y).sum(axis=1), cosine * norms**2)
    assert partners(rows, 1.0) is rows
    points = with_parameters(rows, Polynomial(3, gamma=0.5, coef0=2.0))
    np.testing.assert_allclose((points @ points.T) ** 3, Polynomial(3, gamma=0.5, coef0=2.0)(rows))


def test_a_measure_that_cannot_be_taken_says_why():
    with pytest.raises(ParameterError, match="cosine must be 1, got 0\\.5"):
        ratio(10, cosine=0.5)
    with pytest.raises(ParameterError, match="at least sketches = 16, got 3"):
        ratio(9, n_draws=3)
    with pytest.raises(DataError, match="not parallel to each other"):
        partners(np.ones((4, 3)), 0.5)
    fourier = RandomFourier(Gaussian(1.0), n_components=8, random_state=0)
    with pytest.raises(UnsupportedKernelError, match="polynomial kernels, got Gaussian"):
        measured(BoundRatio(6, n_draws=2), fourier, UNIT)


def size(feature_map, rows=UNIT):
    return measured(MapSize(), feature_map, rows)


def test_the_size_of_a_map_is_that_of_its_arrays():
    sketch = TensorSketch(Polynomial(3), n_components=1000, random_state=0)
    found = size(sketch)
    assert found["map_bytes"] == sketch.buckets_.nbytes + sketch.signs_.nbytes
    assert found["map_bits"] == 3 * 21 * (10 + 1)  # p (d + 1) hashes of ceil(log2 D) bits, and signs
    maclaurin = RandomMaclaurin(Polynomial(2, coef0=1), n_components=50, random_state=0)
    assert size(maclaurin)["map_bytes"] >= maclaurin.signs_.nbytes + 3 * 50 * 8
    nystrom = Nystrom(Linear(), n_components=10, random_state=0)
    assert size(nystrom)["map_bytes"] >= 10 * 20 * 8
