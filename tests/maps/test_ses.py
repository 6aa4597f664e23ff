"""SES weights: the normal equations against all pairs by brute force, what they gain, and the refusals."""

import numpy as np
import pytest
from scipy.optimize import nnls
from scipy.sparse import csr_array

from kfeat.errors import DataError, KfeatError, ParameterError
from kfeat.kernels import Gaussian, Laplacian
from kfeat.maps import RandomFourier
from kfeat.maps.learnt_weights import SES
from kfeat.maps.weighted_fourier import all_pairs, nonnegative_minimum, sampled_pairs

X = np.random.default_rng(0).standard_normal((60, 3))
KERNEL = Gaussian(0.5)


def cosines(m, A, B):
    """Return the design matrix of all pairs (a, b), one row each, straight from the definition."""
    differences = (A[:, None] - B[None]).reshape(-1, A.shape[1])
    c = np.cos(differences @ m.frequencies_)
    for column, offset in zip(range(m.n_components // 2, c.shape[1]), m.offsets_, strict=True):
        waves = [np.sqrt(2) * np.cos(rows @ m.frequencies_[:, column] + offset) for rows in (A, B)]
        c[:, column] = np.multiply.outer(*waves).ravel()
    return c


def brute_force(m, A, B, kernel=KERNEL):
    c, k = cosines(m, A, B), kernel(A, B).ravel()
    return c.T @ c / len(k), c.T @ k / len(k), (k**2).mean()


@pytest.fixture(params=[40, 41, 1], ids=lambda D: f"D={D}")
def m(request):
    return SES(KERNEL, request.param, random_state=0).fit(X)


def test_the_equations_of_all_pairs_are_those_of_the_design_matrix(m):
    n_held = 12
    found = all_pairs(X, m._waves(X), KERNEL, m.frequencies_.shape[1], n_held)
    for equations, rows in zip(found, (X[:n_held], X[n_held:], X), strict=True):
        for actual, expected in zip(
            (equations.A, equations.b, equations.K2), brute_force(m, rows, rows), strict=True
        ):
            np.testing.assert_allclose(actual, expected, rtol=1e-11, atol=1e-13)
    w = np.random.default_rng(1).random(m.frequencies_.shape[1])
    error = KERNEL(X).ravel() - cosines(m, X, X) @ w
    relative = np.linalg.norm(error) / np.linalg.norm(KERNEL(X))
    assert found[2].relative_error(w) == pytest.approx(relative, rel=1e-9)


@pytest.mark.parametrize("D", [40, 41])
def test_the_equations_of_sampled_pairs_tend_to_those_of_all(D):
    """Drawn in proportion to the norm of their cosines and weighted by its inverse: unbiased."""
    m = SES(KERNEL, D, random_state=0).fit(X)
    found = sampled_pairs(X, m._waves(X), KERNEL, m._factors(), 200_000, np.random.default_rng(1))
    A, b, K2 = brute_force(m, X, X)
    np.testing.assert_allclose(found.A, A, atol=0.01)
    np.testing.assert_allclose(found.b, b, atol=0.01)
    np.testing.assert_allclose(found.K2, K2, rtol=0.01)


@pytest.mark.parametrize("seed", range(20))
def test_nonnegative_minimum_is_scipys(seed):
    rng = np.random.default_rng(seed)
    C, t = rng.standard_normal((60, 40)), rng.standard_normal(60)
    expected, _ = nnls(C, t)
    A, b = C.T @ C, C.T @ t
    for start in (None, rng.random(40) < 0.5, np.zeros(40, dtype=bool)):
        np.testing.assert_allclose(nonnegative_minimum(A, b, start), expected, atol=1e-9)


@pytest.mark.parametrize("D", [40, 41])
def test_weights_are_the_ridge_solution_over_all_pairs(D):
    signed = SES(KERNEL, D, sign="signed", regularisation=0.01, random_state=0).fit(X)
    A, b, _ = brute_force(signed, X, X)
    w = np.linalg.solve(A + 0.01 * np.eye(len(b)), b)
    np.testing.assert_allclose(signed.weights_, w, rtol=1e-9)
    at_least_0 = SES(KERNEL, D, regularisation=0.01, random_state=0).fit(X).weights_
    L = np.linalg.cholesky(A + 0.01 * np.eye(len(b)))
    np.testing.assert_allclose(at_least_0, nnls(L.T, np.linalg.solve(L, b))[0], atol=1e-10)
    assert (w < 0).any()
    absolute = SES(KERNEL, D, sign="absolute", regularisation=0.01, random_state=0).fit(X).weights_
    np.testing.assert_allclose(absolute, np.abs(w), atol=1e-10)


def test_uniform_shrinkage_is_theorem_2s_factor():
    """The least risk of a multiple of an unbiased estimate with variance V: k^2 / (k^2 + V), summed."""
    factors = [
        SES(KERNEL, 20, shrinkage="uniform", regularisation=0.0, random_state=seed).fit(X).weights_.sum()
        for seed in range(200)
    ]
    K = KERNEL(X)
    V = (1 + KERNEL(2 * X) - 2 * K**2) / 20
    assert np.mean(factors) == pytest.approx((K**2).sum() / (K**2 + V).sum(), abs=0.01)
    assert np.mean(factors) < 0.97


@pytest.mark.parametrize("D", [40, 41, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_plain_weights_give_the_plain_map_bit_for_bit(D, dtype):
    plain = RandomFourier(KERNEL, D, random_state=0).fit(X)
    weighted = SES(KERNEL, D, random_state=0).fit(X)
    np.testing.assert_array_equal(weighted.frequencies_, plain.frequencies_)
    weighted.weights_ = weighted.plain_weights()
    assert weighted.weights_.sum() == pytest.approx(1)
    rows = X.astype(dtype)
    np.testing.assert_array_equal(weighted.transform(rows), plain.transform(rows))


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Laplacian(0.3)], ids=["gaussian", "laplacian"])
@pytest.mark.parametrize("n_pairs", ["all", 1600])
def test_weights_lower_the_kernel_error_on_other_rows(kernel, n_pairs):
    rng = np.random.default_rng(3)
    train, test = rng.standard_normal((2, 400, 3))
    plain, weighted = (
        one.fit(train).diagnose(test).relative_frobenius.value
        for one in (
            RandomFourier(kernel, 200, random_state=0),
            SES(kernel, 200, n_pairs=n_pairs, random_state=0),
        )
    )
    assert weighted < 0.8 * plain


def test_what_the_fit_learns_is_reported():
    m = SES(KERNEL, 40, random_state=0).fit(X)
    learnt = m.learnt_parameters()
    assert 0 < learnt["weight_sum"] < 1  # shrunk
    assert learnt["negative_share"] == 0
    assert learnt["zero_share"] == (m.weights_ == 0).mean()
    assert learnt["regularisation"] == m.regularisation_ > 0
    assert 0 < learnt["held_out_error"] < 1
    strong = SES(KERNEL, 40, regularisation=10.0, random_state=0).fit(X).learnt_parameters()
    assert strong["weight_sum"] < learnt["weight_sum"]


def test_the_regularisation_is_chosen_by_the_error_on_held_out_rows():
    m = SES(KERNEL, 40, random_state=0).fit(X)
    chosen = m.held_out_error_
    for other in (10.0, m.regularisation_ * 10**0.5):
        given = SES(KERNEL, 40, regularisation=other, random_state=0).fit(X)
        assert given.held_out_error_ >= chosen


def test_signed_weights_have_a_kernel_but_no_features():
    signed = SES(KERNEL, 40, sign="signed", random_state=0).fit(X)
    assert (signed.weights_ < 0).any()
    expected = (cosines(signed, X, X[:5]) @ signed.weights_).reshape(60, 5)
    np.testing.assert_allclose(signed.approximate_kernel(X, X[:5]), expected, atol=1e-12)
    with pytest.raises(ParameterError, match=r"SES: signed weights have no square roots.*approximate_kernel"):
        signed.transform(X)
    with pytest.raises(ValueError, match="X has 2 features, but SES is expecting 3"):
        signed.approximate_kernel(X[:, :2])
    m = SES(KERNEL, 41, random_state=0).fit(X)
    Z = m.transform(X)
    np.testing.assert_allclose(m.approximate_kernel(csr_array(X)), Z @ Z.T, atol=1e-12)


@pytest.mark.parametrize(
    ("parameters", "rows", "message"),
    [
        (
            {"n_pairs": 3601},
            X,
            "SES: expected n_pairs of at most 3,600, since 60 rows have no more, got 3,601",
        ),
        ({"n_pairs": 101, "n_rows": 10}, X, "at most 100, since 10 rows"),
        ({"n_pairs": 0}, X, "SES: n_pairs"),
        ({"n_rows": 1}, X, "SES: n_rows"),
        ({"regularisation": -1.0}, X, "SES: regularisation"),
        ({"sign": "positive"}, X, "SES: sign"),
        ({}, X[:1], r"SES learns from pairs of rows: expected at least 2 rows, got n_samples=1"),
        ({}, np.ones((5, 2)), "SES learns from rows that differ, but all 5 are the same"),
        ({"regularisation": 0.0, "n_components": 2000, "sign": "signed"}, X, "singular in double precision"),
    ],
)
def test_bad_input_is_refused(parameters, rows, message):
    with pytest.raises((ParameterError, DataError), match=message) as caught:
        SES(KERNEL, **parameters).fit(rows)
    assert isinstance(caught.value, KfeatError)


@pytest.mark.data
@pytest.mark.slow
def test_weights_gain_on_cpu_what_was_measured(mirror):
    """At 256 frequencies and the median bandwidth, rows z-scored: 0.049 plain, 0.025 to 0.03 with weights."""
    from kfeat.data import load

    rows = np.asarray(load("cpu", mirror=mirror).X_train, dtype=float)
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    rows = rows[np.random.default_rng(0).permutation(len(rows))]
    errors = {
        type(m).__name__: m.fit(rows[:4000]).diagnose(rows[4000:]).relative_frobenius.value
        for m in (RandomFourier(Gaussian("median"), 512, random_state=0),
                  SES(Gaussian("median"), 512, random_state=0))
    }  # fmt: skip
    assert 0.040 < errors["RandomFourier"] < 0.055
    assert 0.022 < errors["SES"] < 0.033
