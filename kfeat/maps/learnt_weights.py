"""Learnt weights of Fourier features: shrunk least squares, Bayesian quadrature (Chang et al. 2017)."""

import warnings
from math import inf
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Gt, Lt
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky
from scipy.linalg.lapack import dpocon, dpotri

from kfeat.diagnostics import column_counts
from kfeat.errors import ParameterError
from kfeat.kernels import Gaussian
from kfeat.maps.base import Array, Facts, register
from kfeat.maps.weighted_fourier import (
    PairEquations,
    Sign,
    WeightedFourier,
    all_pairs,
    check_pairs,
    sampled_pairs,
    weights_by,
)
from kfeat.text import counted

GRID = [10.0 ** (1 - step / 2) for step in range(13)]  # values of the regularisation: 10 to 1e-5
HELD_OUT = 5  # one row in so many is held out, or one pair for so many sampled pairs
MIN_HELD_OUT = 1000  # sampled pairs; with fewer the choice is too random


@register("ses")
class SES(WeightedFourier):
    """Fourier features with the weights of the Stein effect shrinkage estimator (Chang et al. 2017, Alg. 1).

    The weights w of z(x) = (sqrt(w_1) cos <v_1, x>, ..., sqrt(w_1) sin <v_1, x>, ...) minimise

    mean over pairs of (k(x, y) - sum_i w_i cos <v_i, x - y>)^2 + regularisation ||w||^2  (equation 6),

    over pairs of rows of the data in `fit`, including the pairs x = y. They are biased towards 0, and their
    sum is below 1: by Theorem 2, an unbiased estimate of a value k with variance V has the least risk when it
    is multiplied by k^2 / (k^2 + V).

    Parameters
    ----------
    kernel : any shift-invariant kernel, default exp(-||x - y||^2)
    n_components : int, default 100
        The number D of features, of D / 2 frequencies.
    sequence, scrambling : as in RandomFourier, defaults "mc" and "published"
        How the frequencies are drawn.
    shrinkage : {"nonuniform", "uniform"}, default "nonuniform"
        "uniform" multiplies all weights of the plain map by one number, which improves little.
    sign : {"nonnegative", "absolute", "signed"}, default "nonnegative"
        Features need square roots of the weights. "nonnegative" is the least squares over weights of at least
        0, "absolute" has the absolute values of unrestricted least squares, which can be useless. "signed"
        does not change those, but allows only `approximate_kernel`.
    n_pairs : int or "all", default "all"
        All m^2 pairs of m = n_rows rows take O(m D^2 + m^2 D) operations, as about 10 D sampled pairs do, and
        give a smaller error. A number draws that many pairs, in proportion to the norms of their cosines
        (the rows of the sketch, section 4). With as many pairs as frequencies the weights can be worse than
        the plain ones; 16 times more are enough.
    n_rows : int, default 2000
        The number of rows of X to learn from, drawn without replacement; all rows if X has fewer.
    regularisation : float or "held_out", default "held_out"
        "held_out" tries 10 down to 1e-5 in steps of sqrt(10) until the error on held out pairs rises. With
        "all" pairs, these are the pairs of every fifth row; then the weights are fitted to all rows. With
        sampled pairs, they are other sampled pairs, a fifth as many, but at least 1000.
    random_state, n_jobs : see FeatureMap

    Attributes
    ----------
    weights_ : ndarray of shape (number of frequencies,)
        The weights; those of the plain map are 2 / D.
    regularisation_ : float
        The given or chosen regularisation.
    held_out_error_ : float
        The relative error sqrt(sum (k - estimate)^2 / sum k^2) on held out pairs, of a fit without them.
    frequencies_, offsets_ : ndarray
        Those of RandomFourier.

    Examples
    --------
    >>> import numpy as np
    >>> from kfeat.kernels import Gaussian
    >>> from kfeat.maps import SES, RandomFourier
    >>> X, kernel = np.random.default_rng(0).standard_normal((400, 3)), Gaussian(gamma=0.5)
    >>> plain = RandomFourier(kernel, 100, random_state=0).fit(X[:300]).diagnose(X[300:])
    >>> weighted = SES(kernel, 100, random_state=0).fit(X[:300]).diagnose(X[300:])
    >>> weighted.relative_frobenius.value < plain.relative_frobenius.value / 1.5
    True
    """

    facts = Facts(
        cost="d D / 2",
        variance="that of random_fourier, less what least squares on pairs takes away; biased, by design",
        source="Chang, Li, Yang & Poczos 2017, Algorithm 1",
        use="fewer Fourier features for a kernel error, on data like those of its fit, which is slower",
    )

    shrinkage: Literal["nonuniform", "uniform"] = "nonuniform"
    sign: Sign = "nonnegative"
    n_pairs: Annotated[int, Ge(1)] | Literal["all"] = "all"
    n_rows: Annotated[int, Ge(2)] = 2000
    regularisation: Annotated[float, Ge(0), Lt(inf)] | Literal["held_out"] = "held_out"

    def learnt_parameters(self) -> dict[str, float]:
        """Return the regularisation, the error on held out pairs, and the statistics of the weights."""
        learnt = {"regularisation": self.regularisation_, "held_out_error": self.held_out_error_}
        return {**learnt, **super().learnt_parameters()}

    def _learn(self, X: Any, rng: Generator) -> Array:
        rows = self._sampled(X, self.n_rows, rng)
        held_out, fitted, final = self._equations(rows, rng)
        if self.regularisation == "held_out":
            self.held_out_error_ = inf
            self._choose(fitted, held_out)
        else:
            self.regularisation_ = float(self.regularisation)
            self.held_out_error_ = held_out.relative_error(self._solve(fitted, self.regularisation_))
        return self._solve(final, self.regularisation_)

    def _equations(self, rows: Any, rng: Generator) -> tuple[PairEquations, ...]:
        """Return the equations of the held out pairs, of the other pairs, and of those for the final fit."""
        waves, m = self._waves(rows), rows.shape[0]
        if self.n_pairs == "all":
            return all_pairs(rows, waves, self.kernel_, self.frequencies_.shape[1], max(m // HELD_OUT, 1))
        check_pairs("SES", self.n_pairs, rows)
        fitted, held_out = (
            sampled_pairs(rows, waves, self.kernel_, self._factors(), size, rng)
            for size in (self.n_pairs, max(self.n_pairs // HELD_OUT, MIN_HELD_OUT))
        )
        return held_out, fitted, fitted

    def _choose(self, fitted: PairEquations, held_out: PairEquations) -> None:
        """Set regularisation_ to the value of the grid after which the error on held out pairs rises."""
        start = None
        for regularisation in GRID:
            w = self._solve(fitted, regularisation, start)
            error = held_out.relative_error(w)
            if error > self.held_out_error_:
                return
            self.regularisation_, self.held_out_error_, start = regularisation, error, w > 0

    def _solve(
        self, pairs: PairEquations, regularisation: float, start: NDArray[np.bool_] | None = None
    ) -> Array:
        """Return the weights; the search for weights of at least 0 starts with those in `start` above 0."""
        if self.shrinkage == "uniform":
            plain = self.plain_weights()
            factor = plain @ pairs.b / (plain @ pairs.A @ plain + regularisation * plain @ plain)
            return plain * factor.clip(min=0)
        A = pairs.A.copy()
        A.flat[:: len(A) + 1] += regularisation
        return weights_by(self.sign, A, pairs.b, start)


LENGTHS = [2.0 ** (step / 2) for step in range(-2, 5)]  # lengths to try, in units of sqrt(d): 0.5 to 4
IDENTITY = 1e-3  # if the prior's largest correlation is below it, the prior has no information
SINGULAR = 1e-13  # below this reciprocal condition number the weights are only rounding errors


@register("bayesian_quadrature")
class BayesianQuadrature(WeightedFourier):
    """Fourier features of the Gaussian kernel with the weights of Bayesian quadrature (Chang et al., sec. 3).

    k(x, y) is the integral of f(v) = cos <v, x - y> / s over v ~ N(0, I), with s = 1 / sqrt(2 gamma). Let f
    be a Gaussian process of mean 0 and covariance exp(-||v - v'||^2 / (2 L^2)). Then the posterior mean of
    the integral is sum_i w_i f(v_i) with w = (K + jitter I)^-1 z, where K is the covariance of the f(v_i) and

    z_i = (L^2 / (1 + L^2))^(d/2) exp(-||v_i||^2 / (2 (1 + L^2)))

    their covariance with the integral. Since cosines are even, K is the covariance of even functions,
    (exp(-||v - v'||^2 / (2 L^2)) + exp(-||v + v'||^2 / (2 L^2))) / 2, which does not change z. The same
    weights are used for all x and y. They are biased: the prior's mean 0 makes their sum less than 1.

    Parameters
    ----------
    kernel : Gaussian, default exp(-||x - y||^2)
    n_components : int, default 100
        The number D of features, of D / 2 frequencies.
    sequence, scrambling : as in RandomFourier, defaults "mc" and "published"
        How the frequencies are drawn.
    length : float or {"pairs", "marginal_likelihood"}, default "pairs"
        L / sqrt(d), which is useful from about 0.7 to 2. "pairs" chooses, from 0.5 to 4 in steps of sqrt(2),
        the one whose weights have the least squared error on `n_pairs` pairs of rows. "marginal_likelihood"
        chooses the one with the largest likelihood of the values cos <v_i, (x - y) / s> of these pairs, as
        independent draws from the prior times a common variance.
    jitter : float, default 0.001
        This is added to the diagonal of K; it limits rounding errors at long lengths.
    sign : {"nonnegative", "absolute", "signed"}, default "nonnegative"
        Features need square roots of the weights. "nonnegative" minimises the posterior variance over weights
        of at least 0, "absolute" has the absolute values of the weights w, which can be useless. "signed"
        does not change w, but allows only `approximate_kernel`.
    n_pairs : int, optional
        The number of pairs, drawn in proportion to the norms of their cosines; None: 1000, or all pairs if
        there are fewer.
    n_rows : int, default 2000
        The number of rows of X from which pairs are drawn; all rows if X has fewer.
    random_state, n_jobs : see FeatureMap

    Attributes
    ----------
    weights_ : ndarray of shape (number of frequencies,)
        The weights; those of the plain map are 2 / D.
    length_ : float
        The length in units of sqrt(d).
    frequencies_, offsets_ : ndarray
        Those of RandomFourier.

    Examples
    --------
    >>> import numpy as np
    >>> from kfeat.kernels import Gaussian
    >>> from kfeat.maps import BayesianQuadrature, RandomFourier
    >>> X, kernel = np.random.default_rng(0).standard_normal((200, 2)), Gaussian(gamma=0.5)
    >>> plain = RandomFourier(kernel, 40, random_state=0).fit(X).diagnose(X)
    >>> weighted = BayesianQuadrature(kernel, 40, random_state=0).fit(X).diagnose(X)
    >>> weighted.relative_frobenius.value < plain.relative_frobenius.value / 2
    True
    """

    facts = Facts(
        cost="d D / 2",
        variance="with the weights no longer an average: biased, and less varying where the prior fits",
        source="Chang, Li, Yang & Poczos 2017, section 3",
        use="the Gaussian kernel in few dimensions; in many it gains little, and ses more",
    )
    approximates = Gaussian

    length: Annotated[float, Gt(0), Lt(inf)] | Literal["marginal_likelihood", "pairs"] = "pairs"
    jitter: Annotated[float, Ge(0), Lt(inf)] = 1e-3
    sign: Sign = "nonnegative"
    n_pairs: Annotated[int, Ge(1)] | None = None
    n_rows: Annotated[int, Ge(2)] = 2000

    def learnt_parameters(self) -> dict[str, float]:
        """Return the length in units of sqrt(d), and the statistics of the weights."""
        return {"length": self.length_, **super().learnt_parameters()}

    def _learn(self, X: Any, rng: Generator) -> Array:
        v = self.frequencies_ / np.sqrt(2 * float(self.kernel_.gamma))
        if not isinstance(self.length, str):
            self.length_ = float(self.length)
            return self._weights(v, self.length_)
        rows = self._sampled(X, self.n_rows, rng)
        _warn_of_constant_columns(rows)
        n_pairs = min(1000, rows.shape[0] ** 2) if self.n_pairs is None else self.n_pairs
        check_pairs("BayesianQuadrature", n_pairs, rows)
        pairs = sampled_pairs(rows, self._waves(rows), self.kernel_, self._factors(), n_pairs, rng)
        return self._by_data(v, pairs)

    def _by_data(self, v: Array, pairs: PairEquations) -> Array:
        """Return the weights of the best length for these pairs, and set length_."""
        losses, refusals = {}, []
        for length in LENGTHS:
            try:
                losses[length] = self._loss(v, length, pairs)
            except ParameterError as error:
                refusals.append(error)
        if not losses:
            raise refusals[0]
        self.length_ = min(losses, key=losses.__getitem__)
        return self._weights(v, self.length_)

    def _loss(self, v: Array, length: float, pairs: PairEquations) -> float:
        if self.length == "pairs":
            return pairs.relative_error(self._weights(v, length))
        return negative_log_likelihood(self._prior(v, length)[2], pairs.A)

    def _weights(self, v: Array, length: float) -> Array:
        K, z, _ = self._prior(v, length)
        return weights_by(self.sign, K, z)

    def _prior(self, v: Array, length: float) -> tuple[Array, Array, Array]:
        """Return K + jitter I, z, and the Cholesky factor of K + jitter I, for frequencies v (d, n).

        Raises ParameterError if the values are independent under the prior, or if K + jitter I is singular.
        """
        K = even_covariance(v, length**2 * len(v))
        deviations = np.sqrt(K.diagonal())
        correlations = K / np.outer(deviations, deviations)
        np.fill_diagonal(correlations, 0)
        if K.size > 1 and correlations.max() < IDENTITY:
            raise ParameterError(
                f"BayesianQuadrature: at length={length:g} no two of the {len(K):,} frequencies are "
                "correlated, and the weights vanish: use a larger length, about 1"
            )
        K.flat[:: len(K) + 1] += self.jitter
        try:
            L = cholesky(K, lower=True, check_finite=False)
            singular = dpocon(L, np.abs(K).sum(axis=0).max(), uplo="L")[0] < SINGULAR
        except LinAlgError:
            singular = True
        if singular:
            raise ParameterError(
                f"BayesianQuadrature: the prior's covariance at length={length:g} and jitter={self.jitter:g} "
                "is singular in double precision: take a shorter length (about 1) or more jitter (about 1e-3)"
            )
        return K, kernel_mean(v, length**2 * len(v)), L


def _warn_of_constant_columns(rows: Any) -> None:
    """Warn if columns of the rows are constant: they carry no information, but the prior counts them in d."""
    constant = rows.shape[1] - column_counts(rows).live
    if constant:
        warnings.warn(
            f"BayesianQuadrature: {counted(constant, 'constant columns')} among {rows.shape[1]:,}: as "
            "dimensions of the prior they only reduce the correlation of the frequencies; drop them "
            "(constant_features: drop in a config's protocol)",
            UserWarning,
            stacklevel=5,  # of the call to fit
        )


def even_covariance(v: Array, L2: float) -> Array:
    """Return the covariance of f(v_i) and f(v_j) for even f, v of shape (d, n) and L2 = L^2."""
    products = v.T @ v
    squares = np.add.outer(products.diagonal(), products.diagonal())
    products *= 2
    near, far = (squares - products).clip(min=0), squares + products
    return (np.exp(near / (-2 * L2)) + np.exp(far / (-2 * L2))) / 2


def kernel_mean(v: Array, L2: float) -> Array:
    """Return z: the covariance of f(v_i) and the integral of f over N(0, I)."""
    log_factor = -len(v) / 2 * np.log1p(1 / L2)
    return np.exp(log_factor - (v**2).sum(axis=0) / (2 * (1 + L2)))


def negative_log_likelihood(L: Array, A: Array) -> float:
    """Return (log det K + n log tr(K^-1 A)) / n, K = L L^T: log likelihood times -2 / n, plus a constant.

    A is the mean of f f^T over functions f ~ N(0, s^2 K) that are known at n places, and s^2 has its maximum
    likelihood value, tr(K^-1 A) / n.
    """
    inverse = np.tril(dpotri(L, lower=1)[0])
    trace = 2 * np.vdot(inverse, A) - inverse.diagonal() @ A.diagonal()
    return float(2 * np.log(L.diagonal()).mean() + np.log(trace))
