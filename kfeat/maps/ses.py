"""Weights of Fourier features by least squares on pairs of rows, with shrinkage (Chang et al. 2017)."""

from math import inf
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Lt
from numpy.random import Generator
from numpy.typing import NDArray

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
        held, fitted, final = self._equations(rows, rng)
        if self.regularisation == "held_out":
            self.held_out_error_ = inf
            self._choose(fitted, held)
        else:
            self.regularisation_ = float(self.regularisation)
            self.held_out_error_ = held.relative_error(self._solve(fitted, self.regularisation_))
        return self._solve(final, self.regularisation_)

    def _equations(self, rows: Any, rng: Generator) -> tuple[PairEquations, ...]:
        """Return the equations of the held out pairs, of the other pairs, and of those for the final fit."""
        waves, m = self._waves(rows), rows.shape[0]
        if self.n_pairs == "all":
            return all_pairs(rows, waves, self.kernel_, self.frequencies_.shape[1], max(m // HELD_OUT, 1))
        check_pairs("SES", self.n_pairs, rows)
        fitted, held = (
            sampled_pairs(rows, waves, self.kernel_, self._factors(), size, rng)
            for size in (self.n_pairs, max(self.n_pairs // HELD_OUT, MIN_HELD_OUT))
        )
        return held, fitted, fitted

    def _choose(self, fitted: PairEquations, held: PairEquations) -> None:
        """Set regularisation_ to the value of the grid after which the error on held out pairs rises."""
        start = None
        for regularisation in GRID:
            w = self._solve(fitted, regularisation, start)
            error = held.relative_error(w)
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
