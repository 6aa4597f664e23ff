"""Statistics of repeated runs: means, their intervals, ratios of spreads, growth; each defined here once."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from statistics import fmean, linear_regression, mean, stdev

from scipy.special import fdtri, stdtrit

LEVEL = 0.95  # of every interval

Interval = tuple[float, float]


@dataclass(frozen=True)
class Summary:
    """The mean of n runs and their sample standard deviation, which is None for a single run."""

    mean: float
    sd: float | None
    n: int

    @classmethod
    def of(cls, values: Sequence[float]) -> "Summary":
        """Return mean and standard deviation of at least one value."""
        try:
            middle = fmean(values)
        except OverflowError:  # of the sum: errors of a regression have no upper end
            middle = mean(values)
        return cls(middle, stdev(values) if len(values) > 1 else None, len(values))

    @property
    def standard_error(self) -> float | None:
        """Return sd / sqrt(n), or None for a single run."""
        return None if self.sd is None else self.sd / sqrt(self.n)


def welch_half_width(
    error_a: float, n_a: int, error_b: float, n_b: int, level: float = 0.5 + LEVEL / 2
) -> float:
    """Return t sqrt(a^2 + b^2) for two means of n_a and n_b runs with the standard errors a and b.

    t is the quantile at `level` of Student's distribution with the degrees of freedom of Welch and
    Satterthwaite, (a^2 + b^2)^2 / (a^4 / (n_a - 1) + b^4 / (n_b - 1)). A mean that is known exactly has the
    error 0.
    """
    scale = max(error_a, error_b)
    if scale == 0:
        return 0.0
    a, b = error_a / scale, error_b / scale  # powers of large errors would overflow
    freedom = (a**2 + b**2) ** 2 / sum(e**4 / (n - 1) for e, n in ((a, n_a), (b, n_b)) if e > 0)
    return float(stdtrit(freedom, level)) * sqrt(a**2 + b**2) * scale


def spread_ratio_interval(a: Summary, b: Summary) -> Interval | None:
    """Return the 95 % F interval of r = sd(a) / sd(b), which takes the runs as normally distributed.

    It is r / sqrt(F) at the two quantiles F for n_a - 1 and n_b - 1 degrees of freedom; None where one of the
    two has no spread.
    """
    if not a.sd or not b.sd:
        return None
    freedom = (a.n - 1, b.n - 1)
    low, high = (a.sd / b.sd / sqrt(fdtri(*freedom, 0.5 + side * LEVEL / 2)) for side in (1, -1))
    return float(low), float(high)


def ratio_interval(a: Summary, b: Summary) -> Interval | None:
    """Return the 95 % interval of the ratio of two positive means, such as times; None for a single run.

    It is exp(log(mean_a / mean_b) +- h), with Welch's half width h of the relative standard errors
    e = sd / (sqrt(n) mean), which are those of the logarithms to first order.
    """
    if a.standard_error is None or b.standard_error is None or min(a.mean, b.mean) <= 0:
        return None
    half = welch_half_width(a.standard_error / a.mean, a.n, b.standard_error / b.mean, b.n)
    return a.mean / b.mean * exp(-half), a.mean / b.mean * exp(half)


def growth_exponent(points: Sequence[tuple[float, float | None]]) -> float | None:
    """Return e of y ~ x^e by least squares of log y on log x over the upper half of the x, at least two.

    None if a y there is missing, or not positive: a time too short for the clock.
    """
    ordered = sorted(points, key=lambda point: point[0])
    upper = ordered[min(len(ordered) // 2, len(ordered) - 2) :]
    y = [value for _, value in upper if value is not None and value > 0]
    if len(y) < len(upper):
        return None
    return linear_regression([log(x) for x, _ in upper], [log(value) for value in y]).slope
