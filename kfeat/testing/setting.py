"""A map under test, the rows that it is fitted to and tried on, and what it makes of them."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh
from scipy.sparse import csr_array, issparse
from sklearn.base import clone
from sklearn.utils import get_tags

from kfeat.kernels import Kernel
from kfeat.kernels.operands import canonical
from kfeat.testing.bias import BAD_RATE, BIAS_ROUNDING, FACTOR, LEAST_RATE, Array, factor_found, fall

LEAST_SEEDS, MOST_SEEDS = 200, 1000
PROJECTION_SEEDS = 20  # draws that must all stay below the kernel
SINGLE_ROUNDING = 1e-4
Outcome = tuple[bool | None, str]


class EndOfCheck(Exception):  # noqa: N818
    """Ends a check; its arguments are an Outcome."""


@dataclass(frozen=True)
class MapSetting:
    """A map, its kernel, and the rows that it is fitted to and tried on."""

    map: Any
    kernel: Any
    asked: bool | None  # whether to test the bias; None: if the map promises none

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the map, by name."""
        return dict(self.map.get_params(deep=False))

    @property
    def D(self) -> int | None:  # noqa: N802
        """The number of components; None if the map has no such parameter, or no number in it."""
        D = self.parameters.get("n_components")
        return int(D) if isinstance(D, int | np.integer) else None

    @cached_property
    def train(self) -> Array:
        """The rows of a fit, enough for landmarks."""
        return sparse_rows(40 + 4 * (self.D or 0), seed=0)

    @cached_property
    def test(self) -> Array:
        """New rows, and rows of the fit: features may be 0 on all others, such as those of unseen bins."""
        return np.vstack([sparse_rows(12, seed=1), self.train[:12]])

    @cached_property
    def pairs(self) -> Array:
        """The six rows on whose pairs the bias is tested; without negative entries if the map takes none."""
        rows = np.random.default_rng(2).random((6, 9)) ** 2
        rows *= (np.linspace(0.5, 1.5, 6) / np.linalg.norm(rows, axis=1))[:, None]
        signed = rows.copy()
        signed[4:, ::2] *= -1
        if get_tags(self.map).input_tags.positive_only or self._refuses(signed, unless=rows):
            return rows
        return signed

    def _refuses(self, rows: Array, unless: Array) -> bool:
        """Return whether the map raises ValueError for these rows, and not for the others."""
        for X, answer in ((rows, False), (unless, True)):
            try:
                self.fitted(X=np.vstack([X, self.train])).transform(X)
            except ValueError:
                continue
            return answer
        return False

    @cached_property
    def fit_rows(self) -> Array:
        """The rows of the pairs, to which a map that learns is fitted; with more if these are too few."""
        try:
            self.fitted(X=self.pairs)
        except Exception:
            return np.vstack([self.pairs, self.train])
        return self.pairs

    @cached_property
    def exact(self) -> Any:
        """The kernel, with its bandwidth as a number."""
        return self.kernel.resolve(self.fit_rows) if isinstance(self.kernel, Kernel) else self.kernel

    @cached_property
    def learns(self) -> bool:
        """Whether the same seed gives other features after a fit to other rows."""
        n = len(self.train)
        fits = [self.fitted(X=sparse_rows(n, seed)).transform(self.train) for seed in (0, 3)]
        return distance(*fits) > SINGLE_ROUNDING

    @cached_property
    def no_promise(self) -> str:
        """Why no test of the bias applies; empty if one does. Ends the check if a learnt scale is wrong."""
        if self.asked is False:
            return "not tested, as asked"
        declared = "" if self.asked else str(getattr(self.map, "bias", ""))
        if not self.learns:
            return declared and f"not promised: {declared}"
        scale = self._scale()
        if scale is not None and abs(scale - 1) > BIAS_ROUNDING:
            on_all = f"with as many rows as components, the kernel is estimated {scale:.3f} times"
            raise EndOfCheck(False, on_all)
        if declared:
            return f"not promised: {declared}"
        if not self.asked and self._below():
            return (
                "not promised: the map learns from the rows and never exceeds the kernel, as a projection "
                "such as Nystrom"
            )
        return ""

    def _scale(self) -> float | None:
        """Return c if Z Z^T = c K on as many rows as components, so that all can be landmarks; else None."""
        rows = sparse_rows(self.D, seed=4) + 0.01 if self.D else self.pairs
        fitted = self.fitted(X=rows)
        kernel = self.kernel.resolve(rows) if isinstance(self.kernel, Kernel) else self.kernel
        K, G = np.asarray(kernel(rows, rows)), estimates(fitted, rows)
        scale = float((G * K).sum() / (K**2).sum())
        return scale if np.linalg.norm(G - scale * K) <= BIAS_ROUNDING * np.linalg.norm(K) else None

    def _below(self) -> bool:
        """Return whether K - Z Z^T has no negative eigenvalue, in each of some draws."""
        K = np.asarray(self.exact(self.pairs, self.pairs))
        fits = (self.fitted(seed, self.fit_rows) for seed in range(PROJECTION_SEEDS))
        least = (eigvalsh(K - estimates(fitted, self.pairs))[0] for fitted in fits)
        return all(value >= -BIAS_ROUNDING * K.max() for value in least)

    @cached_property
    def first(self) -> Any:
        """The map fitted with seed 0."""
        return self.fitted()

    @cached_property
    def features(self) -> Any:
        """Its features of the test rows."""
        return features_of(self.first, self.test)

    @property
    def forms(self) -> list[Callable[[Any], Any]]:
        """The forms of rows that the map takes."""
        return [np.array, csr_array] if get_tags(self.map).input_tags.sparse else [np.array]

    def fitted(self, seed: int = 0, X: Any = None, **parameters: Any) -> Any:
        """Return a copy of the map with this seed and these parameters, fitted to X or `train`."""
        if "random_state" in self.parameters:
            parameters["random_state"] = seed
        if "kernel" in self.parameters and self.parameters["kernel"] is None:
            parameters["kernel"] = self.kernel
        with warnings.catch_warnings(action="ignore"):  # these rows are only made for the check
            return clone(self.map).set_params(**parameters).fit(self.train if X is None else X)

    @cached_property
    def errors(self) -> list[Array]:
        """The errors of all seeds at D, and at 4 D: of the 21 pairs, and of the factor on the kernel.

        That of a pair is relative to sqrt(k(x, x) k(y, y)). The factor, minus 1, is the one that explains the
        errors of different rows best. The number of seeds depends only on the variances of the first ones,
        so that the tests keep their level.
        """
        if self.no_promise:
            raise EndOfCheck(None, self.no_promise)
        K, upper = np.asarray(self.exact(self.pairs, self.pairs)), np.triu_indices(6)
        norms = np.sqrt(np.outer(np.diagonal(K), np.diagonal(K)))
        cosines = np.triu(K / norms, 1)
        sizes = [{}, {"n_components": 4 * self.D}] if self.D else [{}]

        def of_seed(seed: int, size: dict[str, int]) -> Array:
            fitted = self.fitted(seed, self.fit_rows, **size)
            error = (estimates(fitted, self.pairs) - K) / norms
            return np.append(error[upper], (error * cosines).sum() / (cosines**2).sum())

        def of(seeds: range) -> list[Array]:
            return [np.array([of_seed(seed, size) for seed in seeds]) for size in sizes]

        first = of(range(LEAST_SEEDS))
        short = max(factor_found(first) / (FACTOR - 1), fall(first)[1] / (LEAST_RATE - BAD_RATE))
        n_seeds = int(min(1.2 * LEAST_SEEDS * short**2, MOST_SEEDS))  # the variance is only estimated
        more = of(range(LEAST_SEEDS, n_seeds)) if n_seeds > LEAST_SEEDS else []
        return [np.vstack(both) for both in zip(first, more, strict=True)] if more else first


def sparse_rows(n: int, seed: int) -> Array:
    """Return rows of numbers that float32 holds, half of which are 0."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 9)) * (rng.random((n, 9)) < 0.5)
    return X.astype(np.float32).astype(np.float64)


def features_of(fitted: Any, rows: Any) -> Any:
    """Return the features as an array, or as CSR if they are sparse.

    Ends the check unless they are finite, with a row for each.
    """
    Z = fitted.transform(rows)
    Z = canonical(Z) if issparse(Z) else np.asarray(Z)
    if Z.ndim != 2 or Z.shape[0] != rows.shape[0] or Z.dtype.kind not in "fiub":
        raise EndOfCheck(False, f"{rows.shape[0]} rows have features of shape {Z.shape} and type {Z.dtype}")
    if not np.isfinite(Z.data if issparse(Z) else Z).all():
        finite = np.isfinite(np.asarray(Z.sum(axis=1))).sum()
        raise EndOfCheck(False, f"{Z.shape[0] - finite} of {Z.shape[0]} rows have no finite features")
    return Z


def estimates(fitted: Any, rows: Any) -> Array:
    """Return the map's estimates of the kernel between all rows."""
    G = gram_matrices(features_of(fitted, rows))[0]
    return np.asarray(G + getattr(fitted, "kernel_offset_", 0.0))


def distance(A: Any, B: Any) -> float:
    """Return ||A - B|| / ||B|| by Frobenius norms, never making CSR dense; inf for two shapes."""
    if A.shape != B.shape:
        return np.inf
    difference, size = (float(np.linalg.norm(M.data if issparse(M) else M)) for M in (A - B, B))
    return difference / max(1e-300, size)


def gram_matrices(*features: Any) -> tuple[Array, ...]:
    """Return all inner products: in another fit, eigenvectors may turn within the rounding."""
    products = (Z @ Z.T for Z in features)
    return tuple(product.toarray() if issparse(product) else product for product in products)
