"""The ways to choose landmarks: their exact distributions, oracles, and what they do without enough rows."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import chisquare

from kfeat.errors import DataError, ParameterError
from kfeat.kernels import KERNELS, Gaussian, Linear
from kfeat.maps import Nystrom, landmarks
from kfeat.maps.landmarks import RULES, k_means, pivoted_cholesky, ridge_leverage_scores

ignore_rank = pytest.mark.filterwarnings("ignore::numpy.exceptions.RankWarning")
ignore_few = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
each_rule = pytest.mark.parametrize("rule", RULES)

X = np.random.default_rng(0).random((60, 4)) / 2.5

# Three chi-square tests: the right distribution fails one of them with probability 3e-4, over seeds.
SOUND, CAUGHT = 1e-4, 1e-12


class Given:
    """A kernel whose Gram matrix is given; its data are the numbers of the rows."""

    def __init__(self, K):
        self.K = K

    def __call__(self, A, B=None):
        rows = A[:, 0].astype(int)
        return self.K[np.ix_(rows, rows if B is None else B[:, 0].astype(int))]

    def diagonal(self, A):
        return np.diagonal(self.K)[A[:, 0].astype(int)]


def gram(n):
    """Return a Gram matrix with unequal diagonal and strong correlations, so that rejections are many."""
    A = np.random.default_rng(5).standard_normal((n, n)) + 1.5
    A *= np.array([3.0, 1.0, 2.0, 0.5, 1.0])[:n, None]
    return A @ A.T


def exact_distribution(K, c):
    """Return the probability of every sequence of c pivots, by going through all of them."""

    def extended(residual, sequence, probability):
        if len(sequence) == c:
            yield sequence, probability
            return
        weights = np.diagonal(residual) / np.trace(residual)
        for i in set(range(len(K))) - set(sequence):
            left = residual - np.outer(residual[i], residual[i]) / residual[i, i]
            yield from extended(left, (*sequence, i), probability * weights[i])

    return dict(extended(K, (), 1.0))


def p_value(block, K, c, draws=1500):
    """Return the chi-square test's p-value of drawn sequences of pivots against their exact distribution."""
    exact = exact_distribution(K, c)
    counts = dict.fromkeys(exact, 0)
    rng, numbers = np.random.default_rng(1), np.arange(len(K))[:, None]
    for _ in range(draws):
        counts[tuple(pivoted_cholesky(Given(K), numbers, c, rng, block)[0].tolist())] += 1
    expected, observed = draws * np.array([*exact.values()]), np.array([*counts.values()])
    rare = expected < 5
    return chisquare(
        [*observed[~rare], observed[rare].sum()], [*expected[~rare], expected[rare].sum()]
    ).pvalue


@pytest.mark.parametrize(("n", "c", "block"), [(4, 2, 1), (4, 2, 2), (5, 3, 6)])
def test_blocks_of_proposals_have_the_distribution_of_randomly_pivoted_cholesky(n, c, block):
    assert p_value(block, gram(n), c) > SOUND


def test_accepting_all_different_proposals_is_another_distribution(monkeypatch):
    def all_different(H, u, rounding):
        rows = H.tolist()
        return [i for i in range(len(H)) if rows[i] not in rows[:i]]

    monkeypatch.setattr(landmarks, "accepted_proposals", all_different)
    assert p_value(6, gram(4), 2) < CAUGHT


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize("block", [1, 5])
def test_the_cholesky_factor_of_the_pivots_is_the_approximation_of_nystrom(name, form, block):
    kernel = KERNELS[name]()
    pivots, F = pivoted_cholesky(kernel, form(X), 12, np.random.default_rng(0), block)
    assert len(set(pivots.tolist())) == len(pivots) == F.shape[1]
    fitted = Nystrom(kernel, landmarks=X[pivots]).fit(X)
    Z = fitted.transform(X)
    np.testing.assert_allclose(F @ F.T, Z @ Z.T, atol=1e-9)


@ignore_rank
@ignore_few
@each_rule
@pytest.mark.parametrize("name", KERNELS)
def test_every_rule_takes_every_kernel_and_zero_rows(rule, name):
    rows = np.vstack([X, np.zeros((3, 4)), 1.1 * X[:5]])
    for form, dtype in ((csr_array, np.float32), (np.asarray, np.float64)):
        fitted = Nystrom(KERNELS[name](), 15, rank=3, landmarks=rule, random_state=0)
        Z = fitted.fit(form(rows.astype(dtype))).transform(form(rows.astype(dtype)))
        assert Z.dtype == dtype
        assert Z.shape == (68, 3)
        indices = fitted.landmark_indices_
        assert (np.diff(indices) > 0).all()
        expected = form(rows.astype(dtype))[indices]
        assert abs(fitted.landmarks_ - expected).max() == 0


@ignore_few
@pytest.mark.parametrize("rule", ["kmeans++", "rpcholesky"])
def test_fewer_different_rows_than_landmarks_give_as_many_columns(rule):
    rows = np.repeat(X[:6], 10, axis=0)
    fitted = Nystrom(Gaussian(), 15, landmarks=rule, random_state=0)
    with pytest.warns(match="numerical rank 6 on the landmarks instead of the requested 15"):
        fitted.fit(rows)
    assert fitted.rank_ == 6
    assert rule != "rpcholesky" or len(fitted.landmark_indices_) == 6
    Z = fitted.transform(X[:6])
    np.testing.assert_allclose(Z @ Z.T, Gaussian()(X[:6]), atol=1e-8)


def test_leverage_scores_on_all_rows_are_the_exact_ones():
    kernel, r = Gaussian(2.0), 0.3
    K = kernel(X)
    exact = np.diagonal(K @ np.linalg.inv(K + r * np.eye(60)))
    np.testing.assert_allclose(ridge_leverage_scores(kernel, X, X, np.ones(60), r), exact, rtol=1e-9)
    tripled = ridge_leverage_scores(kernel, X, np.vstack([X] * 3), np.full(180, 3**-0.5), r)
    np.testing.assert_allclose(tripled, exact, rtol=1e-9)
    assert (ridge_leverage_scores(kernel, X, X[::3], np.ones(20), r) > exact - 1e-12).all()


@pytest.mark.parametrize("rule", ["kmeans++", "leverage", "rpcholesky"])
def test_rules_that_look_at_the_data_find_a_small_group_that_uniform_sampling_misses(rule):
    rng = np.random.default_rng(0)
    rows = np.vstack([0.1 * rng.standard_normal((990, 3)), 5 + 0.1 * rng.standard_normal((10, 3))])

    def found(rule):
        drawn = (RULES[rule](Gaussian(), rows, 20, np.random.default_rng(seed)) for seed in range(20))
        return sum((indices >= 990).any() for indices in drawn)

    assert found("uniform") < 10
    assert found(rule) >= 18


def test_kmeans_plus_plus_is_scikit_learns():
    from sklearn.cluster import kmeans_plusplus

    seed = int(np.random.default_rng(0).integers(2**31 - 1))
    expected = kmeans_plusplus(X, 9, random_state=seed)[1]
    np.testing.assert_array_equal(k_means(Linear(), X, 9, np.random.default_rng(0)), np.sort(expected))


def test_a_factor_that_does_not_fit_in_memory_is_refused(monkeypatch):
    monkeypatch.setattr("psutil.virtual_memory", lambda: type("Memory", (), {"available": 1000}))
    with pytest.raises(ParameterError, match="the Cholesky factor of 60 rows by 10 landmarks takes 4,800 by"):
        Nystrom(n_components=10, landmarks="rpcholesky").fit(X)
    with pytest.raises(ParameterError, match="a copy of the data in double precision takes 1,920 bytes"):
        Nystrom(n_components=10, landmarks="kmeans++").fit(X)


def test_rows_whose_kernel_is_zero_are_no_landmarks_and_do_no_harm():
    X = np.zeros((200, 6))
    X[::2] = np.random.default_rng(0).standard_normal((100, 6))
    for seed in range(20):
        chosen = RULES["leverage"](Linear(), X, 3, np.random.default_rng(seed))
        assert len(chosen) == 3
        assert not (chosen % 2).any()
    with pytest.raises(DataError, match="is 0 on all rows"):
        RULES["leverage"](Linear(), np.zeros((20, 3)), 3, np.random.default_rng(0))
