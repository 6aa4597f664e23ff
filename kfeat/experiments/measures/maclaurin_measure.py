"""The measure that compares a map with the bounds of Kar & Karnick 2012."""

from collections.abc import Callable, Iterator
from math import inf
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Gt, Lt
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone

from kfeat.diagnostics import sampled_rows
from kfeat.errors import ParameterError
from kfeat.experiments.measures import Clock, Measure, register
from kfeat.experiments.measures.maclaurin_bounds import (
    BlackBox,
    Bound,
    compositional_bound,
    estimator_bound,
    estimator_slope,
    fourier_black_box,
    informative_from,
    kernel_slope,
    least_error,
    maclaurin_black_box,
    pair_bound,
    uniform_bound,
)
from kfeat.experiments.quantities import Quantity, at
from kfeat.kernels import Compositional, DotProductKernel
from kfeat.kernels.distances import exact_distances
from kfeat.maps import CompositionalMaclaurin, RandomFourier, RandomMaclaurin
from kfeat.maps.random_maclaurin import value_at

Numbers = NDArray[np.float64]
Statement = Literal["lemma_4", "lemma_5", "lemma_6", "lemma_7", "pair", "theorem_8", "theorem_9"]
STEP = 1e-5  # of the central differences, beside points of size 1


@register("maclaurin_bound")
class MaclaurinBound(Measure):
    """The ratio of a measured value of a map to its bound by Kar & Karnick (AISTATS 2012) on ||x||_1 <= R.

    The points are `n_rows` sampled rows, scaled so that the largest 1-norm among them is R = `radius`, and
    the corners R e_i of the ball. The map is drawn `n_draws` times. The ratio by `statement`, with the
    formulas of `kfeat.experiments.measures.maclaurin_bounds`, as `printed` or corrected:

    lemma_4: the largest |Z(x) Z(y)| of one feature over C.
    lemma_5: the largest |E(x, y) - E(x', y')| / r over 2 L, with E the error of all features, r the larger of
    ||x - x'|| and ||y - y'||, and L the sum of Lemmas 6 and 7.
    lemma_6: the largest ||grad_x k(x, y)|| over its bound, without features.
    lemma_7: the largest ||grad_x Z(x) Z(y)|| of one feature over its bound.
    pair: the error that a share `delta` of the draws exceeds, over the error that the bound for one pair
    promises with probability 1 - delta; for the worst pair.
    theorem_8, theorem_9: the same for the largest error over all pairs and the uniform bounds of
    RandomMaclaurin and CompositionalMaclaurin.

    A bound that holds gives at most 1, up to the error of the draws. `promised_error` is the promised error
    itself, and `informative_from` the D from which it is below f(R^2), the kernel's largest value. A bound
    that is vacuous for every D has neither.
    """

    keys: ClassVar[frozenset[str]] = frozenset({"bound"})
    quantities: ClassVar[tuple[Quantity, ...]] = (
        Quantity(
            "bound_reached", "measured over the bound", at("bound", "reached"), spec=".3g", score=True,
            note="the largest value measured over its bound, {spread}; at most 1 if the bound holds",
        ),
        Quantity(
            "promised_error", "promised error", at("bound", "promised_error"), spec=".3g", score=True,
            note="the error that the bound promises with probability 1 - delta, {spread}",
        ),
        Quantity(
            "informative_from", "informative from D =", at("bound", "informative_from"),
            spec=".0f", score=True,
            note="the D from which the promised error is below the largest value of the kernel, {spread}",
        ),
    )  # fmt: skip

    statement: Statement
    printed: bool = True
    radius: Annotated[float, Gt(0), Lt(inf)] = 1.0
    delta: Annotated[float, Gt(0), Lt(1)] = 0.05
    n_rows: Annotated[int, Ge(3)] = 30
    n_draws: Annotated[int, Ge(2)] = 40

    def of(self, feature_map: Any, X: Any, clock: Clock, seed: int) -> dict[str, Any]:
        """Return the ratio to the bound on rows sampled from X (n, d), for a row."""
        self._check(feature_map)
        rows, _ = sampled_rows(X, self.n_rows, seed)
        x = points(rows, self.radius)
        with clock("draws"):
            numbers = self._numbers(feature_map, x)
        return {"bound": numbers, "columns": None}

    def _check(self, feature_map: Any) -> None:
        expected = CompositionalMaclaurin if self.statement == "theorem_9" else RandomMaclaurin
        given = feature_map.get_params(deep=False)
        fits = type(feature_map) is expected and given["degree_law"] == "geometric" and given["constant"]
        if not fits or given.get("h01"):
            raise ParameterError(
                f"maclaurin_bound: {self.statement} is about {expected.__name__} with "
                f"degree_law='geometric', the constant and no exact columns, got {feature_map!r}"
            )

    def _numbers(self, feature_map: Any, x: Numbers) -> dict[str, float]:
        maps = self._draws(feature_map, x)
        if self.statement in ("pair", "theorem_8", "theorem_9"):
            return self._tail(maps, x)
        first = next(maps)
        kernel, d = first.kernel_, x.shape[1]
        of_kernel, of_law = (kernel, self.radius), (feature_map.base, self.printed)
        if self.statement == "lemma_6":
            return {"reached": largest_slope(kernel, x) / kernel_slope(*of_kernel, self.printed)}
        if self.statement == "lemma_5":
            largest = max(largest_change(drawn, x) for drawn in (first, *maps))
            L = kernel_slope(*of_kernel, self.printed) + estimator_slope(*of_kernel, d, *of_law)
            return {"reached": largest / (2 * L)}
        if self.statement == "lemma_4":
            largest = max(float((features(drawn, x) ** 2).max()) for drawn in (first, *maps))
            return {"reached": largest / estimator_bound(*of_kernel, *of_law)}
        largest = max(largest_estimator_slope(drawn, x) for drawn in (first, *maps))
        return {"reached": largest / estimator_slope(*of_kernel, d, *of_law)}

    def _draws(self, feature_map: Any, x: Numbers) -> Iterator[Any]:
        for i in range(self.n_draws):
            yield clone(feature_map).set_params(random_state=[feature_map.random_state, i]).fit(x)

    def _tail(self, maps: Iterator[Any], x: Numbers) -> dict[str, float]:
        """Return the error that is exceeded with probability delta over the error that the bound promises."""
        first = next(maps)
        K = first.kernel_(x)
        errors = np.array([np.abs(Z @ Z.T - K) for Z in (drawn.transform(x) for drawn in (first, *maps))])
        if self.statement != "pair":
            errors = errors.max(axis=(1, 2))
        exceeded = float(np.quantile(errors, 1 - self.delta, axis=0, method="higher").max())
        bound_of = self._bound_of(first, x.shape[1])
        promised = least_error(bound_of, first.n_components, self.delta)
        start = informative_from(bound_of, largest_value(first.kernel_, self.radius), self.delta)
        numbers = {"promised_error": promised, "informative_from": float(start)}
        finite = {name: number for name, number in numbers.items() if number < inf}
        return {"reached": exceeded / promised} | finite

    def _bound_of(self, fitted: Any, d: int) -> Callable[[float], Bound]:
        """Return the bound by the error eps."""
        kernel, R, p, printed = fitted.kernel_, self.radius, fitted.base, self.printed
        if self.statement == "pair":
            return lambda eps: pair_bound(kernel, R, eps, p, printed)
        if self.statement == "theorem_8":
            return lambda eps: uniform_bound(kernel, R, d, eps, p, printed)
        box = black_box(fitted.inner_, R, d)
        return lambda eps: compositional_bound(kernel, box, R, d, eps, p, printed)


def black_box(inner: Any, radius: float, d: int) -> BlackBox:
    """Return the constants of Theorem 9 for a fitted inner map of a CompositionalMaclaurin."""
    if isinstance(inner, RandomFourier):
        return fourier_black_box(inner.kernel_, d)
    if isinstance(inner, RandomMaclaurin) and inner.degree_law == "geometric":
        return maclaurin_black_box(inner.kernel_, radius, d, inner.base)
    raise ParameterError(
        "maclaurin_bound: theorem_9 needs an inner map whose constants are known: RandomFourier, or "
        f"RandomMaclaurin with degree_law='geometric', got {inner!r}"
    )


def points(rows: Any, radius: float) -> Numbers:
    """Return rows (m, d) with their largest 1-norm scaled to `radius`, followed by the corners radius e_i."""
    x = np.asarray(rows.toarray() if issparse(rows) else rows, dtype=np.float64)
    largest = np.abs(x).sum(axis=1).max()
    if largest == 0:
        raise ParameterError("maclaurin_bound: all sampled rows are zero; take other data")
    return np.vstack([x * (radius / largest), radius * np.eye(x.shape[1])])


def features(fitted: Any, x: Numbers) -> Numbers:
    """Return Z_i(x) of single features, without the 1 / sqrt(D), shape (m, D)."""
    return np.asarray(fitted.transform(x)) * np.sqrt(fitted.n_components)


def slopes(function: Callable[[Numbers], Numbers], x: Numbers) -> Numbers:
    """Return the norms of the gradients at x (m, d) of functions (m, D), by central differences."""
    changes = [function(x + step) - function(x - step) for step in STEP * np.eye(x.shape[1])]
    norms: Numbers = np.linalg.norm(changes, axis=0) / (2 * STEP)
    return norms


def largest_slope(kernel: DotProductKernel, x: Numbers) -> float:
    """Return the largest ||grad_x k(x, y)|| among the points."""
    return float(slopes(lambda at: kernel(at, x), x).max())


def largest_estimator_slope(fitted: Any, x: Numbers) -> float:
    """Return the largest ||grad_x Z_i(x)|| |Z_i(y)| among the features and points."""
    steep = slopes(lambda at: features(fitted, at), x).max(axis=0)
    return float((steep * np.abs(features(fitted, x)).max(axis=0)).max())


def largest_change(fitted: Any, x: Numbers) -> float:
    """Return the largest |E(x, y) - E(x', y')| / r among the points, r = max(||x - x'||, ||y - y'||)."""
    Z = np.asarray(fitted.transform(x))
    errors, distances = Z @ Z.T - fitted.kernel_(x), exact_distances(x, x)
    largest = 0.0
    for of_x, from_x in zip(errors, distances, strict=True):
        changes = np.abs(of_x[:, None, None] - errors)  # by y, x' and y'
        r = np.maximum(from_x[:, None], distances[:, None, :])
        largest = max(largest, float((changes[r > 0] / r[r > 0]).max()))
    return largest


def largest_value(kernel: Any, radius: float) -> float:
    """Return the largest k(x, x) on the ball: f(R^2), or that of the inner kernel inside the outer series."""
    if not isinstance(kernel, Compositional):
        return value_at(kernel, radius**2)
    outer, inner = kernel.parts()
    return value_at(outer, largest_value(inner, radius) if isinstance(inner, DotProductKernel) else 1.0)
