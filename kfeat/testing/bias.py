"""The statistics of a map's bias and of the fall of its variance, with a limit on false alarms."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

FALSE_ALARMS = 1e-3  # at most, of the whole check; half for the tests of bias, half for that of the rate
FACTOR, POWER = 1.05, 0.99  # such a factor on the estimated kernel is found with this probability
LEAST_RATE, BAD_RATE = 0.9, 0.5  # of D^-rate; a map may have to round the parts of D
BIAS_ROUNDING = 1e-6  # the features may be in float32

Array = NDArray[Any]


def limit_of(errors: list[Array]) -> float:
    """Return the largest |z| that a map without bias may have."""
    n_tests = len(errors) * errors[0].shape[1]
    return float(stats.t.isf(FALSE_ALARMS / 2 / n_tests / 2, len(errors[0]) - 1))


def factor_found(errors: list[Array]) -> float:
    """Return the factor, minus 1, that is found with probability POWER."""
    deviation = np.std(errors[-1][:, -1], ddof=1) / np.sqrt(len(errors[-1]))
    return float((limit_of(errors) + stats.norm.ppf(POWER)) * deviation)


def fall(errors: list[Array]) -> tuple[float, float]:
    """Return the exponent of the variance's fall from D to 4 D, and its margin; 0 and 0 without one."""
    squares = [((e - e.mean(axis=0))[:, :-1] ** 2).sum(axis=1) for e in errors]
    if len(squares) == 1 or min(s.mean() for s in squares) < BIAS_ROUNDING**2:
        return 0.0, 0.0
    deviation = np.hypot(*(np.std(s, ddof=1) / s.mean() / np.sqrt(len(s)) for s in squares)) / np.log(4)
    rate = np.log(squares[0].mean() / squares[1].mean()) / np.log(4)
    return float(rate), float(stats.norm.isf(FALSE_ALARMS / 2) * deviation)


def signal(errors: Array, limit: float) -> Array:
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
