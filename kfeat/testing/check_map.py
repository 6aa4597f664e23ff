"""Check whether a feature map, of kfeat or of anybody, keeps what all maps of kfeat promise."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from traceback import extract_tb
from typing import Any

from kfeat.errors import ParameterError, Terminated, UnsupportedKernelError
from kfeat.testing.bias import FALSE_ALARMS
from kfeat.testing.promises import PROMISES
from kfeat.testing.setting import EndOfCheck, MapSetting, Outcome
from kfeat.text import printable


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
    setting = MapSetting(feature_map, kernel, unbiased)
    return MapReport(tuple(_checked(setting, promise, check) for promise, check in PROMISES.items()))


def _checked(setting: MapSetting, promise: str, check: Callable[[MapSetting], Outcome]) -> Check:
    try:
        return Check(promise, *check(setting))
    except (ParameterError, UnsupportedKernelError, KeyboardInterrupt, Terminated):
        raise
    except EndOfCheck as verdict:
        return Check(promise, *verdict.args)
    except BaseException as error:
        frames, module = extract_tb(error.__traceback__), sys.modules.get(type(setting.map).__module__)
        of_map = [frame for frame in frames if frame.filename == getattr(module, "__file__", None)]
        frame = (of_map or frames)[-1]
        place = f"{frame.filename}, line {frame.lineno}"
        return Check(promise, False, f"{place}: {type(error).__name__}: {printable(error)}")
