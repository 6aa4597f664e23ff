"""What a search has found, as a web page with tables and figures."""

from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from itertools import cycle, zip_longest
from math import inf, isfinite
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kfeat.files import new_file
from kfeat.own.report import HeldOutAnswers
from kfeat.own.result import SearchResult
from kfeat.render.table import Table
from kfeat.render.tuning import (
    HEADERS,
    IN_PERCENT,
    candidates,
    heaviest_first,
    tests,
    title,
    weights_explained,
)
from kfeat.text import counted, plain

WIDTH, HEIGHT = 9.6, 4.2  # of two panels, in inches
MOST_NAMED, MOST_POINTS, LONGEST = 15, 2_000, 20  # columns or classes, points, letters of a name in a panel
MOST_WEIGHTS = 20  # columns of a metric in a panel
PAGE = """<!DOCTYPE html>
<!-- {mark}` -->
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{heading}</title>
<style>
body {{max-width: 60rem; margin: 2rem auto; padding: 0 1rem; font-family: sans-serif; line-height: 1.4}}
table {{display: block; overflow-x: auto; font-size: 0.85rem}}
th, td {{padding: 0.2rem 0.6rem; border-bottom: 1px solid #ccc; vertical-align: top}}
svg {{width: 100%; height: auto}}
</style>
</head>
<body>
<h1>{heading}</h1>
<ul>
{sentences}
</ul>
<h2>Trained on the training rows</h2>
{tests}
<h2>{shown}</h2>
<div role="img" aria-label="{shown}">{figure}</div>
<h2>All candidates</h2>
{candidates}
</body>
</html>
"""


def write_page(
    path: Path,
    mark: str,
    heading: str,
    lines: Sequence[str],
    result: SearchResult,
    answers: HeldOutAnswers | None,
) -> None:
    """Write the `lines`, the tables and the figures as a web page that begins with `mark` in a comment.

    Without answers it has the figure of the search alone.
    """
    if answers is None:
        lines = [*lines, "The budget had no time for figures of the test rows."]
    elif not answers.importances:
        lines = [*lines, "There were too few test rows, or no time, for the importance of columns."]
    lines = [*lines, *weights_explained(answers.weights if answers else {}, MOST_WEIGHTS)]
    text = PAGE.format(
        mark=mark,
        heading=escape(plain(heading)),
        sentences="\n".join(f"<li>{escape(plain(line))}</li>" for line in lines),
        tests=tests(result).html(),
        shown="The search, and the method on the test rows" if answers else "The search",
        figure=_figure(result, answers),
        candidates=Table(HEADERS, candidates(result), right=(0, 5, 6, 7)).html(),
    )
    with new_file(path, "the page of the search") as file:
        file.write(text.encode())


def _figure(result: SearchResult, answers: HeldOutAnswers | None) -> str:
    """Return the panels as one SVG."""
    import matplotlib
    from matplotlib.figure import Figure

    from kfeat.render.figures.style import RC
    from kfeat.render.figures.svg import as_svg

    draws: list[Callable[[Any, HeldOutAnswers], None]] = []
    if answers is not None:
        draws += [_confusion if answers.classes else _residuals]
        draws += [_calibration] * (answers.probabilities is not None)
        draws += [partial(_importances, metric=result.facts.metric)] * bool(answers.importances)
        draws += [_weights] * bool(answers.weights)
    with matplotlib.rc_context(RC):
        lines = 1 + len(draws) // 2
        figure = Figure(figsize=(WIDTH, HEIGHT * lines), layout="constrained")
        first, *panels = figure.subplots(lines, 2, squeeze=False).flat
        _search(first, result)
        for axes, draw in zip_longest(panels, draws):
            if draw is None or answers is None:
                axes.remove()
            else:
                draw(axes, answers)
        return as_svg(figure)


def _search(axes: Any, result: SearchResult) -> None:
    """Draw score against seconds of what was scored on the most rows, and the best in so many seconds."""
    from kfeat.render.figures.style import COLOURS, GREY, MARKERS, logarithmic

    metric, n = result.facts.metric, result.best.n
    factor = 100.0 if metric in IN_PERCENT else -1.0 if metric.startswith("neg_") else 1.0
    records = [
        (method.candidate.name.replace("_", " "), method.seconds, factor * method.score)
        for method in result.scored
        if not method.reason and method.n == n
    ]
    scored = pd.DataFrame(records, columns=["name", "seconds", "score"]).sort_values("seconds")
    best = scored["score"].cummin() if factor < 0 else scored["score"].cummax()
    axes.plot(scored["seconds"], best, drawstyle="steps-post", color=GREY, label="the best so far")
    for (name, points), colour, marker in zip(scored.groupby("name"), cycle(COLOURS), cycle(MARKERS)):
        axes.plot(points["seconds"], points["score"], marker, color=colour, label=name)
    if isfinite(row := result.boosting.get("score", -inf)):
        axes.axhline(factor * row, color="black", ls=":", label="boosting")
    logarithmic(axes, "x", [*scored["seconds"]])
    axes.set(
        title=f"Candidates on {n:,} training rows",
        xlabel="seconds of cross-validation, one value of C",
        ylabel=title(metric) + " (%)" * (metric in IN_PERCENT),
    )
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.2), ncols=2, fontsize=7)


def _confusion(axes: Any, answers: HeldOutAnswers) -> None:
    """Draw the number of rows by label and prediction."""
    from sklearn.metrics import ConfusionMatrixDisplay

    names = [shortened(name) for name in answers.classes]
    known = answers.known < len(names)  # labels of test rows alone are none of the classes
    ConfusionMatrixDisplay.from_predictions(
        answers.known[known], answers.predicted[known], labels=range(len(names)), display_labels=names,
        include_values=len(names) <= MOST_NAMED, colorbar=False, cmap="Blues", ax=axes,
        xticks_rotation="vertical" if len(names) > 4 else "horizontal",
    )  # fmt: skip
    axes.grid(visible=False)
    axes.set_title(f"Predictions of {counted(len(answers.known), 'rows')}")


def _residuals(axes: Any, answers: HeldOutAnswers) -> None:
    """Draw target - prediction against the prediction."""
    from sklearn.metrics import PredictionErrorDisplay

    PredictionErrorDisplay.from_predictions(
        answers.known, y_pred=answers.predicted, kind="residual_vs_predicted", subsample=MOST_POINTS,
        random_state=0, ax=axes, scatter_kwargs={"marker": ".", "alpha": 0.5},
    )  # fmt: skip
    axes.set_title(f"Residuals of {counted(len(answers.known), 'rows')}")


def _calibration(axes: Any, answers: HeldOutAnswers) -> None:
    """Draw how often a probability comes true: that of the last of two classes, else of the predicted one."""
    from sklearn.calibration import CalibrationDisplay

    assert answers.probabilities is not None
    two = len(answers.classes) == 2
    chosen = np.ones_like(answers.known) if two else answers.probabilities.argmax(axis=1)
    probability = answers.probabilities[np.arange(len(chosen)), chosen]
    CalibrationDisplay.from_predictions(
        answers.known == chosen, probability, n_bins=10, strategy="quantile", ax=axes, name="held-out rows"
    )
    what = shortened(answers.classes[-1]) if two else "the most probable class"
    axes.set(title="Calibration", xlabel=f"probability of {what}", ylabel="share of rows")


def _importances(axes: Any, answers: HeldOutAnswers, metric: str) -> None:
    """Draw by how much the metric falls if a column is shuffled, for the columns that matter most."""
    from kfeat.render.figures.style import COLOURS

    most = sorted(answers.importances.items(), key=lambda item: -item[1][0])[:MOST_NAMED][::-1]
    factor = 100.0 if metric in IN_PERCENT else 1.0
    falls, spreads = (factor * np.array(numbers) for numbers in zip(*(pair for _, pair in most), strict=True))
    axes.barh([shortened(name) for name, _ in most], falls, xerr=spreads, color=COLOURS[0], height=0.6)
    axes.set(
        title=f"Importance of columns, {counted(answers.n_shuffled, 'rows')}",
        xlabel=f"{title(metric)} lost by shuffling the column" + " (points)" * (factor > 1),
    )


def _weights(axes: Any, answers: HeldOutAnswers) -> None:
    """Draw the largest weights of a learnt metric."""
    from kfeat.render.figures.style import COLOURS

    inside = [pair for pair in heaviest_first(answers.weights) if pair[1]]
    names, shares = zip(*inside[:MOST_WEIGHTS], strict=True)
    places = np.arange(len(names))[::-1]
    axes.barh(places, 100 * np.array(shares), color=COLOURS[2], height=0.6)
    axes.set_yticks(places, [shortened(name) for name in names])
    of = f", the largest of {len(inside)}" if len(inside) > len(names) else ""
    axes.set(
        title=f"Learnt weights of {counted(len(names), 'columns')}{of}",
        xlabel="share of the mean square of the derivative (%)",
    )


def shortened(name: str) -> str:
    """Return a name for a label of an axis."""
    return plain(name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…")
