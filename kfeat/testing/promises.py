"""What all maps of kfeat promise: a function for each promise says whether it is kept."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse, vstack
from sklearn.base import clone
from sklearn.utils import get_tags

from kfeat.kernels import Kernel
from kfeat.testing.bias import (
    BAD_RATE,
    BIAS_ROUNDING,
    FACTOR,
    LEAST_RATE,
    Array,
    factor_found,
    fall,
    limit_of,
    signal,
)
from kfeat.testing.outcomes import NotEnumerableError, outcomes
from kfeat.testing.setting import (
    SINGLE_ROUNDING,
    MapSetting,
    Outcome,
    distance,
    estimates,
    features_of,
    gram_matrices,
)
from kfeat.text import printable

ROUNDING = 1e-10  # of a row's norm: more than BLAS leaves open, less than float32 would lose


def _bias(setting: MapSetting) -> Outcome:
    errors, limit, least = setting.errors, limit_of(setting.errors), factor_found(setting.errors)
    n_seeds, mean = len(errors[0]), np.mean(errors, axis=1)
    z = np.array([signal(of_size, limit) for of_size in errors])
    detail = (
        f"bias at {(z[:, :-1] > limit).sum()} of {z[:, :-1].size} pairs, z = {min(z.max(), 999):.1f} "
        f"(limit {limit:.1f}, {n_seeds} seeds)"
    )
    if z.max() > limit:
        return False, f"{detail}; the kernel is estimated {1 + mean[-1, -1]:.3f} times"
    if least > FACTOR - 1:
        return None, f"{detail}; only a factor of {1 + least:.2f} would be found"
    return True, f"{detail}; a factor of {1 + least:.3f} would be found"


def _every_draw(setting: MapSetting) -> Outcome:
    if setting.no_promise:
        return None, setting.no_promise
    rows = np.array([[1.0, 0.5], [0.25, 1.0], [0.75, 0.0]])
    kernel = setting.kernel.resolve(rows) if isinstance(setting.kernel, Kernel) else setting.kernel
    K, reasons = np.asarray(kernel(rows, rows)), []
    for D in (2, 1) if "n_components" in setting.parameters else (None,):
        size: dict[str, Any] = {} if D is None else {"n_components": D}

        def product(random_state: Any, size: dict[str, Any] = size) -> Array:
            return estimates(setting.fitted(random_state, rows, **size), rows)

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


def _order(setting: MapSetting) -> Outcome:
    rate, margin = fall(setting.errors)
    if not margin:
        reason = "the estimates do not vary" if setting.D else "the map has no n_components that is a number"
        return None, f"not checked: {reason}"
    broken, shown = rate + margin < LEAST_RATE, rate - margin > BAD_RATE
    return False if broken else shown or None, f"the variance falls as D^-{rate:.2f}, up to ± {margin:.2f}"


def _sparse(setting: MapSetting) -> Outcome:
    if csr_array not in setting.forms:
        return None, "not checked: its tags say that it takes none"
    rows, again = csr_array(setting.test), setting.fitted(X=csr_array(setting.train))
    Z, refitted = features_of(setting.first, rows), features_of(again, rows)
    return _near([(Z, setting.features), gram_matrices(refitted, setting.features)], ROUNDING)


def _single(setting: MapSetting) -> Outcome:
    fitted = setting.fitted(X=np.float32(setting.train))
    forms: list[Callable[[Any], Any]] = [*setting.forms, np.asfortranarray]
    singles = [features_of(fitted, form(np.float32(setting.test))) for form in forms]
    promised = "float32" in get_tags(setting.map).transformer_tags.preserves_dtype
    if promised and any(single.dtype != np.float32 for single in singles):
        return False, "its tags promise float32, and features of float32 rows are not"
    return _near([gram_matrices(single, setting.features) for single in singles], SINGLE_ROUNDING)


def _draw(setting: MapSetting) -> Outcome:
    if "random_state" in setting.parameters and _equal(setting, {"": setting.fitted(seed=1)})[0]:
        equal, reason = "random_state=0 and random_state=1 give equal features", setting.no_promise
        return (None, f"{equal}; it may draw nothing") if reason else (False, equal)
    return _equal(setting, {"a second transform": setting.first, "a second fit": setting.fitted()})


def _apart(setting: MapSetting) -> Outcome:
    rows = setting.test.copy()
    Z = setting.first.transform(rows)
    if not issparse(Z) and np.shares_memory(Z, rows):
        return False, "the features share memory with the rows"
    by_row = [features_of(setting.first, rows[i : i + 1]) for i in range(len(rows))]
    stack = vstack if any(map(issparse, by_row)) else np.vstack
    return _near([(stack(by_row), setting.features)], ROUNDING)


def _unchanged(setting: MapSetting) -> Outcome:
    for form in setting.forms:
        X, rows = form(setting.train), form(setting.test)
        setting.fitted(X=X).transform(rows)
        for name, now, before in (("fit", X, setting.train), ("transform", rows, setting.test)):
            changed = int((now != before).sum())
            if changed:
                return False, f"{name} changes {changed} of their entries"
    return True, "fit and transform leave them as they are"


def _copies(setting: MapSetting) -> Outcome:
    copy, loaded = clone(setting.first), pickle.loads(pickle.dumps(setting.first))
    return _equal(setting, {"a clone of the fitted map": copy.fit(setting.train), "its pickle": loaded})


PROMISES: dict[str, Callable[[MapSetting], Outcome]] = {
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


def _equal(setting: MapSetting, others: dict[str, Any]) -> Outcome:
    Z = {name: features_of(fitted, setting.test) for name, fitted in others.items()}
    different = [name for name in Z if not _same(Z[name], setting.features)]
    return not different, f"other features from {' and '.join(different)}" if different else "equal features"


def _same(A: Any, B: Any) -> bool:
    """Return whether two feature matrices have the same shape and numbers."""
    return A.shape == B.shape and distance(A, B) == 0


def _near(pairs: list[tuple[Any, ...]], limit: float) -> Outcome:
    """Return whether the matrices of each pair are equal up to `limit`, by Frobenius norms."""
    if any(A.shape != B.shape for A, B in pairs):
        return False, f"features have the shapes {', '.join(str(A.shape) for A in pairs[0])}"
    largest = max(distance(A, B) for A, B in pairs)
    return largest <= limit, f"relative difference {largest:.0e} (limit {limit:.0e})"
