"""Statistics of repeated runs: means, their errors and intervals, ratios of spreads, and growth."""

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, log, sqrt
from statistics import fmean, linear_regression, mean, stdev

from scipy import special

from kfeat.experiments.quantities import Quantity
from kfeat.experiments.row import Row

LEVEL = 0.95  # of every interval
FEW = 3
# The relative deviation that is assumed of fewer timed runs, with its degrees of freedom (see `time_error`):
# of times below, between and above these seconds.
TIME_LIMITS, TIME_DEVIATIONS, TIME_FREEDOM = (0.03, 1.0), (0.1, 0.2, 0.1), 3

Interval = tuple[float, float]
Error = tuple[float, float]  # a standard error, and its degrees of freedom
KNOWN: Error = (0.0, inf)  # of an exact number


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
        except OverflowError:  # of the sum: errors of a regression are not bounded
            middle = mean(values)
        return cls(middle, stdev(values) if len(values) > 1 else None, len(values))

    @classmethod
    def of_logs(cls, values: Sequence[float]) -> "Summary":
        """Return the geometric mean m of at least one value, and m times the standard deviation of the logs.

        It is 0 if a value is not positive, such as a time too short for the clock.
        """
        if min(values) <= 0 or len(values) == 1:  # exp(log(x)) would round
            return cls(max(0.0, min(values)), None, len(values))
        logs = cls.of([log(value) for value in values])
        middle = exp(logs.mean)
        return cls(middle, None if logs.sd is None else middle * logs.sd, logs.n)

    @property
    def error(self) -> Error | None:
        """Return the standard error sd / sqrt(n) with its degrees of freedom, or None for a single run."""
        return None if self.sd is None else (self.sd / sqrt(self.n), self.n - 1)


def welch_half_width(a: Error, b: Error = KNOWN, level: float = LEVEL) -> float:
    """Return t sqrt(a^2 + b^2), half the width of the interval of a difference of two means.

    t is the two-sided quantile at `level` of Student's distribution with the degrees of freedom of Welch and
    Satterthwaite, (a^2 + b^2)^2 / (a^4 / f_a + b^4 / f_b), for the standard errors a and b with f_a and f_b
    degrees of freedom. An exact number has the error 0.
    """
    scale = max(a[0], b[0])
    if scale == 0:
        return 0.0
    scaled = [(error / scale, freedom) for error, freedom in (a, b)]  # powers of large errors would overflow
    square = sum(error**2 for error, _ in scaled)
    loss = sum(error**4 / freedom for error, freedom in scaled if error)
    upper = 0.5 + level / 2
    quantile = special.stdtrit(square**2 / loss, upper) if loss > 0 else special.ndtri(upper)
    return float(quantile) * sqrt(square) * scale


def share_interval(hits: float, draws: float, level: float = LEVEL) -> Interval:
    """Return the interval of a probability, given the hits in independent draws.

    It is that of Clopper and Pearson, Biometrika 26 (1934): its ends are quantiles of beta distributions.
    """
    tail = (1 - level) / 2
    low = special.betaincinv(hits, draws - hits + 1, tail) if hits > 0 else 0.0
    high = special.betaincinv(hits + 1, draws - hits, 1 - tail) if hits < draws else 1.0
    return float(low), float(high)


def ratio_interval(
    a: float, error_a: Error, b: float, error_b: Error, level: float = LEVEL
) -> Interval | None:
    """Return the interval of a / b for two positive means: from a / b exp(-h) to a / b exp(h).

    h is the half-width of log a - log b, whose standard errors are those of a and b relative to the means.
    None if a mean is not positive, such as a time too short for the clock.
    """
    if a <= 0 or b <= 0:
        return None
    half = welch_half_width((error_a[0] / a, error_a[1]), (error_b[0] / b, error_b[1]), level)
    return (a / b * exp(-half), a / b * exp(half)) if half < 500 else (0.0, inf)


def spread_ratio_interval(a: Summary, b: Summary, level: float = LEVEL) -> Interval | None:
    """Return the F interval of r = sd(a) / sd(b), for normally distributed runs.

    It is r / sqrt(F) at the two quantiles F for n_a - 1 and n_b - 1 degrees of freedom; None if one of the
    two has no spread.
    """
    if not a.sd or not b.sd:
        return None
    freedom = (a.n - 1, b.n - 1)
    low, high = (a.sd / b.sd / sqrt(special.fdtri(*freedom, 0.5 + side * level / 2)) for side in (1, -1))
    return float(low), float(high)


def growth_exponent(
    points: Sequence[tuple[float, float | None]],
    level: float = LEVEL,
    errors: Sequence[Error | None] = (),
) -> tuple[float, Interval | None] | None:
    """Return e of y ~ x^e, and its interval, by least squares of log y on log x.

    It is fitted over the upper half of the x, at least two; the interval is Student's of a slope. Two points
    have no residual: their interval is that of log(y_2 / y_1) / log(x_2 / x_1) by the `errors` of both means,
    if they are known. None if a y there is missing or not positive, such as a time too short for the clock.
    """
    errors = errors or [None] * len(points)
    ordered = sorted(zip(points, errors, strict=True), key=lambda item: item[0][0])
    upper = ordered[min(len(ordered) // 2, len(ordered) - 2) :]
    values = [value for (_, value), _ in upper if value is not None and value > 0]
    if len(values) < len(upper):
        return None
    x, y = [log(at) for (at, _), _ in upper], [log(value) for value in values]
    slope, intercept = linear_regression(x, y)
    freedom = len(x) - 2
    if freedom == 0:
        known = [error for _, error in upper if error is not None]
        ratio = ratio_interval(values[1], known[1], values[0], known[0], level) if len(known) == 2 else None
        if ratio is None or not ratio[0] > 0:
            return slope, None
        return slope, (log(ratio[0]) / (x[1] - x[0]), log(ratio[1]) / (x[1] - x[0]))
    left = sum((b - intercept - slope * a) ** 2 for a, b in zip(x, y, strict=True))
    error = sqrt(left / freedom / sum((a - fmean(x)) ** 2 for a in x))
    half = welch_half_width((error, freedom), level=level)
    return slope, (slope - half, slope + half)


def time_error(time: Summary, least: float = 0.0) -> Error:
    """Return the standard error of a geometric mean time (`Summary.of_logs`), with its degrees of freedom.

    For fewer than three runs, the standard deviation is the larger of their own and one of TIME_DEVIATIONS,
    or `least`, times the mean. These are learnt from the published cells with at least three timed runs: for
    95 % of the pairs of runs of a cell, the interval of their ratio contains 1. If the deviations of cells
    have a scaled inverse chi-square distribution with f degrees of freedom, a time has Student's distribution
    with f of them; its likelihood is largest near f = 3 for times above a second. (With 10 % above a second
    and 25 % below, taken as certain, that interval contained 1 for 99 % of the pairs below 0.03 s, 95 % up to
    a second, and 85 % above.)
    """
    if time.error is not None and time.n >= FEW:
        return time.error
    assumed = max(TIME_DEVIATIONS[bisect(TIME_LIMITS, time.mean)], least)
    return max(assumed * time.mean, time.sd or 0.0) / sqrt(time.n), TIME_FREEDOM


def error_with_ties(summary: Summary, quantity: Quantity, rows: Sequence[Row]) -> Error | None:
    """Return the standard error of a mean of random runs; if all have the same value, that of their rounding.

    An accuracy is a count of test rows, so different runs may have the same one. A share of n rows is rounded
    to whole rows, with a standard deviation of 1 / (n sqrt(12)). If all runs have the same predictions,
    nothing is rounded.
    """
    if summary.error is None or summary.sd or len({row.get("predictions") for row in rows}) == 1:
        return summary.error
    return resolution(quantity, rows) / sqrt(summary.n), summary.n - 1


def resolution(quantity: Quantity, rows: Sequence[Row]) -> float:
    """Return the standard deviation, in per cent, of rounding a share of the test rows to whole rows."""
    return 100 / min(row["n_test"] for row in rows) / sqrt(12) if quantity.of_rows else 0.0
