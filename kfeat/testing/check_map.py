"""Check whether a feature map, of kfeat or of anybody, keeps what all maps of kfeat promise."""

import pickle
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from traceback import extract_tb
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.linalg import eigvalsh
from scipy.sparse import csr_array, issparse, vstack
from sklearn.base import clone
from sklearn.utils import get_tags

from kfeat.errors import ParameterError, Terminated, UnsupportedKernelError
from kfeat.kernels import Kernel
from kfeat.kernels.base import canonical
from kfeat.testing.outcomes import NotEnumerableError, outcomes
from kfeat.text import printable

FALSE_ALARMS = 1e-3  # at most, of the whole check; half for the tests of bias, half for that of the rate
FACTOR, POWER = 1.05, 0.99  # such a factor on the estimated kernel is found with this probability
LEAST_RATE, BAD_RATE = 0.9, 0.5  # of D^-rate; a map may have to round the parts of D
LEAST_SEEDS, MOST_SEEDS = 200, 1000
PROJECTION_SEEDS = 20  # draws that must all stay below the kernel
ROUNDING = 1e-10  # of a row's norm: more than BLAS leaves open, less than float32 would lose
SINGLE_ROUNDING = 1e-4
BIAS_ROUNDING = 1e-6  # the features may be in float32

Array = NDArray[Any]
Outcome = tuple[bool | None, str]


@dataclass(frozen=True)
class Check:
    """A promise, whether it held (None: it does not apply, or is undecided), and the numbers behind that."""

    promise: str
    held: bool | None
    detail: str

    def __str__(self) -> str:
        word = {True: "pass", False: "FAIL", None: "open"}[self.held]
        return f"{word}  {self.promise}: {self.detail}"


@dataclass(frozen=True)
class MapReport:
    """The checks of a map; printed, it has a line for each and the false-alarm rate."""

    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether no promise is broken."""
        return all(check.held is not False for check in self.checks)

    def __str__(self) -> str:
        return "\n".join([*map(str, self.checks), f"False-alarm rate: at most {100 * FALSE_ALARMS:g} %."])


def check_map(feature_map: Any, kernel: Any, *, unbiased: bool | None = None) -> MapReport:
    """Check whether a map keeps what all maps of kfeat promise; a map that raises an exception does not.

    The tests of bias compare <z(x), z(y)> + `kernel_offset_` with k(x, y) for all pairs of six rows. The map
    is fitted to these rows, or to more if it needs more. There are as many seeds as find a factor of 1.05
    with probability 0.99. Where 1,000 are too few, the promise is open, and the line names the factor that
    would be found. The mean of a map that draws integers alone, such as hashes and signs, is also taken over
    all draws at D = 2 or 1, if there are 1,000 at most.

    A promise that does not apply is open, and its line gives the reason. A map that learns from the rows and
    never exceeds the kernel is a projection, such as Nystrom. It promises no unbiased estimate.

    A test of one's own is `report = check_map(Mine(), kernel)` and `assert report.passed, str(report)`.
    Raises ParameterError and UnsupportedKernelError as kfeat's kernels and maps do.

    Parameters
    ----------
    feature_map : scikit-learn transformer
        The map with its parameters, which is only cloned. `random_state` gets the seeds, and `kernel` the
        kernel, if the map has this parameter and it is None. Without `n_components` there is no rate.
    kernel : Kernel
        The kernel that the map approximates.
    unbiased : bool, optional
        Whether the map promises E <z(x), z(y)> = k(x, y) with a variance of order 1 / D. None: what the map
        says by its attribute `bias`, the reason for a bias; without the attribute it promises both.

    Examples
    --------
    Random Fourier features, and the same without their factor 2:

    >>> import numpy as np
    >>> from sklearn.base import BaseEstimator, TransformerMixin
    >>> from kfeat.kernels import Gaussian
    >>> from kfeat.testing import check_map
    >>> class Waves(TransformerMixin, BaseEstimator):
    ...     def __init__(self, gamma=0.5, factor=2.0, n_components=100, random_state=None):
    ...         self.gamma, self.factor, self.n_components = gamma, factor, n_components
    ...         self.random_state = random_state
    ...     def fit(self, X, y=None):
    ...         rng = np.random.default_rng(self.random_state)
    ...         self.W_ = rng.normal(0, np.sqrt(2 * self.gamma), (X.shape[1], self.n_components))
    ...         self.b_ = rng.uniform(0, 2 * np.pi, self.n_components)
    ...         return self
    ...     def transform(self, X):
    ...         return np.sqrt(self.factor / self.n_components) * np.cos(X @ self.W_ + self.b_)
    >>> print(check_map(Waves(), Gaussian(0.5)).checks[0])  # doctest: +ELLIPSIS
    pass  unbiased: bias at 0 of 42 pairs, z = 2.3 (limit 4.5, 200 seeds); a factor of 1.020 would ...
    >>> print(check_map(Waves(factor=1.0), Gaussian(0.5)).checks[0])  # doctest: +ELLIPSIS
    FAIL  unbiased: bias at 42 of 42 pairs, z = ...; the kernel is estimated 0.502 times
    """
    methods = ("fit", "transform", "get_params")
    if isinstance(feature_map, type) or not all(hasattr(feature_map, name) for name in methods):
        raise ParameterError(f"expected an object with {', '.join(methods)}, got {feature_map!r}")
    if not callable(kernel):
        raise ParameterError(f"expected a kernel such as kfeat.kernels.Gaussian(0.5), got {kernel!r}")
    setting = _Setting(feature_map, kernel, unbiased)
    return MapReport(tuple(_checked(setting, promise, check) for promise, check in PROMISES.items()))


class _Verdict(Exception):  # noqa: N818
    """Ends a check; its arguments are an Outcome."""


@dataclass(frozen=True)
class _Setting:
    """A map, its kernel, and the rows that it is fitted to and tried on."""

    map: Any
    kernel: Any
    asked: bool | None  # whether to test the bias; None: if the map promises none

    @cached_property
    def parameters(self) -> dict[str, Any]:
        return dict(self.map.get_params(deep=False))

    @property
    def D(self) -> int:  # noqa: N802
        """The size of the map; 0 if it has no parameter for it."""
        D = self.parameters.get("n_components")
        return int(D) if isinstance(D, int | np.integer) else 0

    @cached_property
    def train(self) -> Array:
        return _sparse_rows(40 + 4 * self.D, seed=0)  # enough for landmarks

    @cached_property
    def test(self) -> Array:
        """New rows, and rows of the fit: features may be 0 on all others, such as those of unseen bins."""
        return np.vstack([_sparse_rows(12, seed=1), self.train[:12]])

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
        fits = [self.fitted(X=_sparse_rows(n, seed)).transform(self.train) for seed in (0, 3)]
        return _distance(*fits) > SINGLE_ROUNDING

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
            raise _Verdict(False, on_all)
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
        rows = _sparse_rows(self.D, seed=4) + 0.01 if self.D else self.pairs
        fitted = self.fitted(X=rows)
        kernel = self.kernel.resolve(rows) if isinstance(self.kernel, Kernel) else self.kernel
        K, G = np.asarray(kernel(rows, rows)), _estimates(fitted, rows)
        scale = float((G * K).sum() / (K**2).sum())
        return scale if np.linalg.norm(G - scale * K) <= BIAS_ROUNDING * np.linalg.norm(K) else None

    def _below(self) -> bool:
        """Return whether K - Z Z^T has no negative eigenvalue, in each of some draws."""
        K = np.asarray(self.exact(self.pairs, self.pairs))
        fits = (self.fitted(seed, self.fit_rows) for seed in range(PROJECTION_SEEDS))
        least = (eigvalsh(K - _estimates(fitted, self.pairs))[0] for fitted in fits)
        return all(value >= -BIAS_ROUNDING * K.max() for value in least)

    @cached_property
    def first(self) -> Any:
        return self.fitted()

    @cached_property
    def features(self) -> Any:
        return _features(self.first, self.test)

    @property
    def forms(self) -> list[Callable[[Any], Any]]:
        """The forms of rows that the map takes."""
        return [np.array, csr_array] if get_tags(self.map).input_tags.sparse else [np.array]

    def fitted(self, seed: int = 0, X: Any = None, **parameters: Any) -> Any:
        if "random_state" in self.parameters:
            parameters["random_state"] = seed
        if "kernel" in self.parameters and self.parameters["kernel"] is None:
            parameters["kernel"] = self.kernel
        with warnings.catch_warnings(action="ignore"):  # these rows are only made for the check
            return clone(self.map).set_params(**parameters).fit(self.train if X is None else X)

    @cached_property
    def errors(self) -> list[Array]:
        """The errors of all seeds at D, and at 4 D: of the 21 pairs, and of the factor on the kernel.

        That of a pair is relative to sqrt(k(x, x) k(y, y)). The factor, less 1, is the one that explains the
        errors of different rows best. The number of seeds depends only on the variances of the first ones,
        so that the tests keep their level.
        """
        if self.no_promise:
            raise _Verdict(None, self.no_promise)
        K, upper = np.asarray(self.exact(self.pairs, self.pairs)), np.triu_indices(6)
        norms = np.sqrt(np.outer(np.diagonal(K), np.diagonal(K)))
        cosines = np.triu(K / norms, 1)
        sizes = [{}, {"n_components": 4 * self.D}] if self.D else [{}]

        def of_seed(seed: int, size: dict[str, int]) -> Array:
            fitted = self.fitted(seed, self.fit_rows, **size)
            error = (_estimates(fitted, self.pairs) - K) / norms
            return np.append(error[upper], (error * cosines).sum() / (cosines**2).sum())

        def of(seeds: range) -> list[Array]:
            return [np.array([of_seed(seed, size) for seed in seeds]) for size in sizes]

        first = of(range(LEAST_SEEDS))
        short = max(_factor_found(first) / (FACTOR - 1), _fall(first)[1] / (LEAST_RATE - BAD_RATE))
        n_seeds = int(min(1.2 * LEAST_SEEDS * short**2, MOST_SEEDS))  # the variance is only estimated
        more = of(range(LEAST_SEEDS, n_seeds)) if n_seeds > LEAST_SEEDS else []
        return [np.vstack(both) for both in zip(first, more, strict=True)] if more else first


def _limit(errors: list[Array]) -> float:
    """Return the largest |z| that a map without bias may have."""
    n_tests = len(errors) * errors[0].shape[1]
    return float(stats.t.isf(FALSE_ALARMS / 2 / n_tests / 2, len(errors[0]) - 1))


def _factor_found(errors: list[Array]) -> float:
    """Return the factor less 1 that is found with probability POWER."""
    deviation = np.std(errors[-1][:, -1], ddof=1) / np.sqrt(len(errors[-1]))
    return float((_limit(errors) + stats.norm.ppf(POWER)) * deviation)


def _fall(errors: list[Array]) -> tuple[float, float]:
    """Return the exponent of the variance's fall from D to 4 D, and its margin; 0 and 0 without one."""
    squares = [((e - e.mean(axis=0))[:, :-1] ** 2).sum(axis=1) for e in errors]
    if len(squares) == 1 or min(s.mean() for s in squares) < BIAS_ROUNDING**2:
        return 0.0, 0.0
    deviation = np.hypot(*(np.std(s, ddof=1) / s.mean() / np.sqrt(len(s)) for s in squares)) / np.log(4)
    rate = np.log(squares[0].mean() / squares[1].mean()) / np.log(4)
    return float(rate), float(stats.norm.isf(FALSE_ALARMS / 2) * deviation)


def _signal(errors: Array, limit: float) -> Array:
    """Return |z| of the means of these columns of errors, to be compared with `limit`.

    Rare events make a sample skewed, and its variance too small where few of them, or none, are seen. So a
    mean on the side where they are missing is divided by the wider quantile of Hall (1992, section 3.9). An
    error that is the same in all draws may be one event less than once in n / log(1 / level) draws.
    """
    n = len(errors)
    mean, deviation = errors.mean(axis=0), errors.std(axis=0, ddof=1)
    constant = deviation <= BIAS_ROUNDING
    skewness = np.where(constant, 0, stats.skew(np.where(constant, 0, errors), axis=0))
    wider = np.maximum(-np.sign(mean) * np.nan_to_num(skewness), 0) * (2 * limit**2 + 1) / (6 * np.sqrt(n))
    unseen = -stats.norm.logsf(limit) / n * np.ptp(errors[:, :-1], axis=0).max(initial=0)
    excess = np.abs(mean) - np.where(constant, max(unseen, BIAS_ROUNDING), BIAS_ROUNDING)
    of_mean = np.maximum(deviation / np.sqrt(n), 1e-300) * (1 + wider / limit)
    return np.asarray(np.maximum(excess, 0) / of_mean)


def _bias(setting: _Setting) -> Outcome:
    errors, limit, found = setting.errors, _limit(setting.errors), _factor_found(setting.errors)
    n_seeds, mean = len(errors[0]), np.mean(errors, axis=1)
    z = np.array([_signal(of_size, limit) for of_size in errors])
    detail = (
        f"bias at {(z[:, :-1] > limit).sum()} of {z[:, :-1].size} pairs, z = {min(z.max(), 999):.1f} "
        f"(limit {limit:.1f}, {n_seeds} seeds)"
    )
    if z.max() > limit:
        return False, f"{detail}; the kernel is estimated {1 + mean[-1, -1]:.3f} times"
    if found > FACTOR - 1:
        return None, f"{detail}; only a factor of {1 + found:.2f} would be found"
    return True, f"{detail}; a factor of {1 + found:.3f} would be found"


def _every_draw(setting: _Setting) -> Outcome:
    if setting.no_promise:
        return None, setting.no_promise
    rows = np.array([[1.0, 0.5], [0.25, 1.0], [0.75, 0.0]])
    kernel = setting.kernel.resolve(rows) if isinstance(setting.kernel, Kernel) else setting.kernel
    K, reasons = np.asarray(kernel(rows, rows)), []
    for D in (2, 1) if "n_components" in setting.parameters else (None,):
        size: dict[str, Any] = {} if D is None else {"n_components": D}

        def product(random_state: Any, size: dict[str, Any] = size) -> Array:
            return _estimates(setting.fitted(random_state, rows, **size), rows)

        try:
            known = list(outcomes(product))
        except NotEnumerableError as error:
            reasons.append(str(error))
            continue
        except Exception as error:  # such as one that takes no generator, or no map as small as this
            reasons.append(f"{type(error).__name__}: {printable(error)}")
            continue
        if len(known) == 1 and "random_state" in setting.parameters:
            return None, "not checked: it draws nothing from a generator as its random_state"
        largest = np.abs(sum(p * value for p, value in known) - K).max() / K.max()
        shown = f"of all {len(known):,} draws" + f" at D = {D}" * (D is not None)
        return bool(largest < BIAS_ROUNDING), f"the mean {shown} has a relative error of {largest:.0e}"
    return None, f"not checked: {reasons[0]}"


def _order(setting: _Setting) -> Outcome:
    rate, margin = _fall(setting.errors)
    if not margin:
        reason = "the estimates do not vary" if setting.D else "the map has no n_components that is a number"
        return None, f"not checked: {reason}"
    broken, shown = rate + margin < LEAST_RATE, rate - margin > BAD_RATE
    return False if broken else shown or None, f"the variance falls as D^-{rate:.2f}, up to ± {margin:.2f}"


def _sparse(setting: _Setting) -> Outcome:
    if csr_array not in setting.forms:
        return None, "not checked: its tags say that it takes none"
    rows, again = csr_array(setting.test), setting.fitted(X=csr_array(setting.train))
    Z, refitted = _features(setting.first, rows), _features(again, rows)
    return _near([(Z, setting.features), _gram_matrices(refitted, setting.features)], ROUNDING)


def _single(setting: _Setting) -> Outcome:
    fitted = setting.fitted(X=np.float32(setting.train))
    forms: list[Callable[[Any], Any]] = [*setting.forms, np.asfortranarray]
    singles = [_features(fitted, form(np.float32(setting.test))) for form in forms]
    promised = "float32" in get_tags(setting.map).transformer_tags.preserves_dtype
    if promised and any(single.dtype != np.float32 for single in singles):
        return False, "its tags promise float32, and features of float32 rows are not"
    return _near([_gram_matrices(single, setting.features) for single in singles], SINGLE_ROUNDING)


def _draw(setting: _Setting) -> Outcome:
    if "random_state" in setting.parameters and _equal(setting, {"": setting.fitted(seed=1)})[0]:
        equal, reason = "random_state=0 and random_state=1 give equal features", setting.no_promise
        return (None, f"{equal}; it may draw nothing") if reason else (False, equal)
    return _equal(setting, {"a second transform": setting.first, "a second fit": setting.fitted()})


def _apart(setting: _Setting) -> Outcome:
    rows = setting.test.copy()
    Z = setting.first.transform(rows)
    if not issparse(Z) and np.shares_memory(Z, rows):
        return False, "the features share memory with the rows"
    by_row = [_features(setting.first, rows[i : i + 1]) for i in range(len(rows))]
    stack = vstack if any(map(issparse, by_row)) else np.vstack
    return _near([(stack(by_row), setting.features)], ROUNDING)


def _unchanged(setting: _Setting) -> Outcome:
    for form in setting.forms:
        X, rows = form(setting.train), form(setting.test)
        setting.fitted(X=X).transform(rows)
        for name, now, before in (("fit", X, setting.train), ("transform", rows, setting.test)):
            changed = int((now != before).sum())
            if changed:
                return False, f"{name} changes {changed} of their entries"
    return True, "fit and transform leave them as they are"


def _copies(setting: _Setting) -> Outcome:
    copy, loaded = clone(setting.first), pickle.loads(pickle.dumps(setting.first))
    return _equal(setting, {"a clone of the fitted map": copy.fit(setting.train), "its pickle": loaded})


PROMISES: dict[str, Callable[[_Setting], Outcome]] = {
    "unbiased": _bias,
    "unbiased over all draws": _every_draw,
    "variance of order 1 / D": _order,
    "sparse rows as dense ones": _sparse,
    "float32 as float64": _single,
    "the same draw on each call": _draw,
    "each row by itself": _apart,
    "rows unchanged": _unchanged,
    "clone and pickle": _copies,
}


def _checked(setting: _Setting, promise: str, check: Callable[[_Setting], Outcome]) -> Check:
    try:
        return Check(promise, *check(setting))
    except (ParameterError, UnsupportedKernelError, KeyboardInterrupt, Terminated):
        raise
    except _Verdict as verdict:
        return Check(promise, *verdict.args)
    except BaseException as error:
        frames, module = extract_tb(error.__traceback__), sys.modules.get(type(setting.map).__module__)
        of_map = [frame for frame in frames if frame.filename == getattr(module, "__file__", None)]
        frame = (of_map or frames)[-1]
        place = f"{frame.filename}, line {frame.lineno}"
        return Check(promise, False, f"{place}: {type(error).__name__}: {printable(error)}")


def _sparse_rows(n: int, seed: int) -> Array:
    """Return rows of numbers that float32 holds, half of which are 0."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 9)) * (rng.random((n, 9)) < 0.5)
    return X.astype(np.float32).astype(np.float64)


def _features(fitted: Any, rows: Any) -> Any:
    """Return the features as an array, or as CSR if they are sparse.

    Ends the check unless they are finite, with a row for each.
    """
    Z = fitted.transform(rows)
    Z = canonical(Z) if issparse(Z) else np.asarray(Z)
    if Z.ndim != 2 or Z.shape[0] != rows.shape[0] or Z.dtype.kind not in "fiub":
        raise _Verdict(False, f"{rows.shape[0]} rows have features of shape {Z.shape} and type {Z.dtype}")
    if not np.isfinite(Z.data if issparse(Z) else Z).all():
        finite = np.isfinite(np.asarray(Z.sum(axis=1))).sum()
        raise _Verdict(False, f"{Z.shape[0] - finite} of {Z.shape[0]} rows have no finite features")
    return Z


def _estimates(fitted: Any, rows: Any) -> Array:
    """Return the map's estimates of the kernel between all rows."""
    G = _gram_matrices(_features(fitted, rows))[0]
    return np.asarray(G + getattr(fitted, "kernel_offset_", 0.0))


def _equal(setting: _Setting, others: dict[str, Any]) -> Outcome:
    Z = {name: _features(fitted, setting.test) for name, fitted in others.items()}
    different = [name for name in Z if not _same(Z[name], setting.features)]
    return not different, f"other features from {' and '.join(different)}" if different else "equal features"


def _same(A: Any, B: Any) -> bool:
    """Return whether two feature matrices have the same shape and numbers."""
    return A.shape == B.shape and _distance(A, B) == 0


def _distance(A: Any, B: Any) -> float:
    """Return ||A - B|| / ||B|| by Frobenius norms, never making CSR dense; inf for two shapes."""
    if A.shape != B.shape:
        return np.inf
    difference, size = (float(np.linalg.norm(M.data if issparse(M) else M)) for M in (A - B, B))
    return difference / max(1e-300, size)


def _gram_matrices(*features: Any) -> tuple[Array, ...]:
    """Return all inner products: in another fit, eigenvectors may turn within the rounding."""
    products = (Z @ Z.T for Z in features)
    return tuple(product.toarray() if issparse(product) else product for product in products)


def _near(pairs: list[tuple[Any, ...]], limit: float) -> Outcome:
    """Return whether the matrices of each pair are equal up to `limit`, by Frobenius norms."""
    if any(A.shape != B.shape for A, B in pairs):
        return False, f"features have the shapes {', '.join(str(A.shape) for A in pairs[0])}"
    largest = max(_distance(A, B) for A, B in pairs)
    return largest <= limit, f"relative difference {largest:.0e} (limit {limit:.0e})"
