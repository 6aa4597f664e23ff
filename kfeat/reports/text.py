"""How tables print numbers."""

from kfeat.reports.cells import ACCURACY, Metric

MISSING = "–"


def seconds(value: float | None, more_than: float | None = None) -> str:
    """Return seconds without their unit, as a column that names it has them; or `> ` and a lower bound."""
    if value is None:
        return MISSING if more_than is None else f"> {seconds(more_than)}"
    return f"{value:.3f}" if value < 1 else f"{value:.1f}"


def time(value: float | None, more_than: float | None = None) -> str:
    """Return seconds as Pham & Pagh print times: `8.1 secs`, `6.7 mins`, `> 1.5 hours` for a lower bound."""
    if value is None:
        return MISSING if more_than is None else f"> {time(more_than)}"
    if value < 0.995:
        return f"{value:.2g} secs"
    for size, unit in ((1, "secs"), (60, "mins")):
        if value / size < 59.95:
            return f"{value / size:.1f} {unit}"
    return f"{value / 3600:.1f} hours"


def ratio(over: float | None, under: float | None, more_than: float | None = None) -> str:
    """Return over / under to three digits, such as `49.2×` and `1612×`, `> 12×` for a lower bound of over."""
    if over is None and more_than is not None and under:
        return f"> {ratio(more_than, under)}"
    if over is None or not under:
        return MISSING
    value = over / under
    return f"{value:.0f}×" if value >= 100 else f"{value:.3g}×"


def short(value: float | None) -> str:
    """Return a number to three digits."""
    return MISSING if value is None else f"{value:.3g}"


def count(value: float | None) -> str:
    """Return a mean number of things without decimals."""
    return MISSING if value is None else f"{value:.0f}"


def score(metric: Metric, mean: float, sd: float | None) -> str:
    """Return a score with its unit, for a table whose columns do not name it."""
    return metric.text(mean, sd) + (" %" if metric is ACCURACY else "")
