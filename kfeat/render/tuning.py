"""What a search has found: sentences, a table of the candidates, a figure, and files below runs/."""

from collections.abc import Mapping, Sequence
from math import inf, isfinite
from pathlib import Path
from typing import Any

from kfeat.analysis.names import in_words
from kfeat.experiments.component import read_component
from kfeat.files import replacing_together
from kfeat.own.candidates import solver_of
from kfeat.own.search import Scored, SearchResult, grown
from kfeat.render.table import MISSING, Table, bullets
from kfeat.text import plain

SHOWN = 12  # lines of the terminal's table
HEADERS = ("rows", "scale", "kernel", "map", "solver", "score", "spread", "seconds")
WIDTH, HEIGHT = 6.4, 3.9  # of the figure, in inches
IN_PERCENT = ("accuracy", "balanced_accuracy")
SHORT = {
    "r2": "R²",
    "roc_auc": "AUC",
    "f1": "F1",
    "f1_macro": "macro F1",
}


def title(metric: str) -> str:
    """Return the name of a metric in words."""
    return SHORT.get(metric, metric.removeprefix("neg_").replace("_", " "))


def score_text(value: float, metric: str) -> str:
    """Return an accuracy in percent, or another score with its name; an error is above 0."""
    if metric in IN_PERCENT:
        return f"{100 * value:.2f} %"
    return f"{title(metric)} {spread_text(-value if metric.startswith('neg_') else value, metric)}"


def spread_text(value: float, metric: str) -> str:
    """Return a standard deviation or a difference in the unit of `score_text`."""
    if metric in IN_PERCENT:
        return f"{100 * value:.2f}"
    return f"{value:.4g}" if metric.startswith("neg_") else f"{value:.4f}"


def warnings_of(result: SearchResult) -> list[str]:
    """Return what comes first: nothing beats a constant, or boosting is ahead."""
    metric, best, lines = result.facts.metric, result.best, []
    if result.constant_is_as_good:
        constant = "the mean" if result.facts.task == "regression" else "always the most frequent class"
        lines.append(
            f"NOTHING IS BETTER THAN A CONSTANT: {constant} has {score_text(result.constant, metric)}, the "
            f"best {score_text(best.score, metric)} ({title(metric)}); another --metric, other columns or "
            "more rows may help."
        )
    if result.ahead:
        row = result.boosting
        seconds = f" in {row['test']['train']:.1f} s" if "train" in row["test"] else ""
        lines.append(
            f"BOOSTING IS AHEAD: scikit-learn's HistGradientBoosting has {score_text(row['score'], metric)}"
            f"{seconds}, ahead by {spread_text(result.ahead, metric)}, on the same folds."
        )
    return lines


def sentences(result: SearchResult) -> list[str]:
    """Return what was found, a sentence each; what the budget left no time for is said to be missing."""
    metric, best = result.facts.metric, result.best

    def of(scored: Scored) -> str:
        return f"{score_text(scored.score, metric)} ± {spread_text(scored.sd, metric)}"

    by = "" if metric in ("accuracy", "r2") else f" by {title(metric)}"
    n = len({scored.candidate for scored in result.scored})
    lines = [
        *warnings_of(result),
        f"The best of {n} candidates{by} is {_method(best)}: {of(best)} by cross-validation on "
        f"{best.n:,} of {result.facts.n_train:,} training rows (mean and standard deviation of the folds).",
    ]
    if result.before is not None:
        scores = f"The config's own kernel and map score {of(result.before)} there, with C chosen likewise."
        same = result.before.candidate == best.candidate
        lines.append("It is the config's own kernel and map." if same else scores)
    else:
        reasons = [
            scored.reason for scored in result.scored if scored.candidate in result.own and scored.reason
        ]
        lines.append(
            f"The config's own kernel and map have no score there{f' ({reasons[0]})' if reasons else ''}."
        )
    if result.exact is None:
        lines.append("No exact kernel method was scored within the budget.")
    elif result.exact.candidate != best.candidate:
        lines.append(
            f"On {result.exact.n:,} training rows the best exact kernel method scores {of(result.exact)}."
        )
    tested = f"On the {result.facts.n_test:,} test rows, by which nothing was chosen"
    row = result.tests.get(best, {})
    if "score" in row:
        lines.append(f"{tested}, the best scores {score_text(row['score'], metric)}.")
    else:
        why = row.get("failed", "the budget had no time to train on all training rows")
        lines.append(f"{tested}, the best has no score yet: {why}.")
    if result.trained != best:
        lines.append(f"The config has the best that was trained on all of them: {_method(result.trained)}.")
    elif "score" not in row:
        seconds = best.seconds * grown(best, result.facts.n_train)
        lines.append(f"The config has the best, whose training on all rows takes about {seconds:,.0f} s.")
    return lines


def _method(scored: Scored) -> str:
    scale, kernel, feature_map, solver = _names(scored)
    method = "a linear model" if scored.candidate.linear else f"{feature_map}, {kernel}"
    return f"{method}, with {solver}, scale {scale}"


def _names(scored: Scored) -> list[str]:
    """Return scaling, kernel, map and solver in words."""
    candidate = scored.candidate
    feature_map = MISSING if candidate.linear else "exact"
    solver = {"name": candidate.loss} if scored.reason else solver_of(candidate, scored.value, {})
    if candidate.map is not None:
        component = read_component(candidate.map, "map")
        feature_map, size = in_words(component), component.parameters.get("n_components")
        if size is not None and "n_components" not in component.given:  # where it is the default
            feature_map += f" n_components={size}"
    values = [
        f"{key}={value:g}" if key in ("C", "alpha", "bias") else str(value) for key, value in solver.items()
    ]
    kernel = in_words(read_component(candidate.kernel, "kernel"))
    return [candidate.scale, kernel, feature_map, " ".join(values)]


def tests(result: SearchResult, width: int | None) -> str:
    """Return a table of what was trained on all training rows, beside boosting on the same folds."""
    metric, lines = result.facts.metric, []
    most = "the most accurate" if metric == "accuracy" else "the best"
    for scored, row in result.tests.items():
        names = [most] * (scored == result.best)
        names += ["the quickest within half a point"] * (scored == result.quickest)
        names += ["linear model"] * scored.candidate.linear
        names = names or (["exact"] if scored.candidate.exact else ["fewest features"])
        lines.append([", ".join(names), _method(scored), *_numbers(scored.score, row, metric)])
    row = result.boosting
    score = row.get("score", -inf)
    why = row.get("failed", "" if row else "the budget had no time for it")
    method = "HistGradientBoosting of scikit-learn" + (f" ({why})" if why else "")
    lines.append(["boosting", method, *_numbers(score, row.get("test", {}), metric)])
    headers = ("trained on all training rows", "method", f"folds: {title(metric)}", "test", "train (s)",
               "1,000 rows (s)")  # fmt: skip
    return Table(headers, lines, (0, 1), (2, 3, 4, 5)).terminal(width)


def _numbers(score: float, row: Mapping[str, Any], metric: str) -> list[str]:
    """Return the scores on the folds and the test rows, and the seconds; what has no time is missing."""
    folds = score_text(score, metric) if isfinite(score) else MISSING
    if "score" not in row:
        return [folds, MISSING, MISSING, MISSING]
    return [folds, score_text(row["score"], metric), f"{row['train']:.2f}", f"{row['predict']:.4f}"]


def ended(scored: Scored) -> str:
    """Return in a word how a candidate without a score ended."""
    return "too long" if scored.took_too_long else "failed"


def candidates(result: SearchResult) -> list[tuple[Scored, list[str]]]:
    """Return the candidates with their lines of a table, first the best of those on the most rows."""
    metric, lines = result.facts.metric, []
    for scored in sorted(result.scored, key=lambda scored: (-scored.n, -scored.score, scored.seconds)):
        score, spread = score_text(scored.score, metric), spread_text(scored.sd, metric)
        if scored.reason:
            score, spread = ended(scored), MISSING
        line = [f"{scored.n:,}", *_names(scored), score, spread, f"{scored.seconds:.2f}"]
        lines.append((scored, line))
    return lines


def terminal(result: SearchResult, width: int | None) -> str:
    """Return the best candidates as a table that fits a terminal."""
    lines = [line for _, line in candidates(result)[:SHOWN]]
    return Table(HEADERS, lines, range(1, 5), (0, 6, 7)).terminal(width)


def write_report(result: SearchResult, heading: str, folder: Path) -> None:
    """Write table.csv, table.md, figure.svg and figure.png below `folder`, all or none of them."""
    table = Table([*HEADERS, "why not"], [[*line, scored.reason] for scored, line in candidates(result)])
    records = [
        dict(zip(HEADERS, line, strict=True))
        | {"rows": scored.n, "score": scored.score, "spread": scored.sd, "seconds": round(scored.seconds, 3)}
        | {"own": scored.candidate in result.own, "why not": scored.reason}
        for scored, line in candidates(result)
    ]
    with replacing_together() as beside:
        new = beside(folder)
        (new / "table.csv").write_text(Table.of(records).csv(), encoding="utf-8")
        page = f"{bullets(sentences(result), str)}\n\n{table.markdown()}\n"
        (new / "table.md").write_text(page, encoding="utf-8")
        _draw(result, heading, [new / "figure.svg", new / "figure.png"])


def _draw(result: SearchResult, heading: str, paths: Sequence[Path]) -> None:
    """Draw score against seconds of what was scored on the most rows, with rings around the best."""
    import matplotlib
    from matplotlib.figure import Figure

    from kfeat.render.figures.marks import RC, logarithmic, save, shared_legend, wrapped

    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
        axes = figure.add_subplot()
        metric = result.facts.metric
        candidates = [scored for scored in result.scored if not scored.reason and scored.n == result.best.n]
        handles = _marks(axes, result, candidates, 100.0 if metric in IN_PERCENT else 1.0)
        logarithmic(axes, "x", [scored.seconds for scored in candidates])
        axes.set_xlabel(f"seconds of cross-validation on {result.best.n:,} training rows, one value of C")
        sign = " (negative)" if metric.startswith("neg_") else " (%)" if metric in IN_PERCENT else ""
        axes.set_ylabel(f"cross-validated {title(metric)}{sign}")
        figure.suptitle(wrapped(plain(heading), WIDTH - 0.1, 1.05))
        shared_legend(figure, handles, WIDTH)
        save(figure, paths)


def _marks(axes: Any, result: SearchResult, candidates: Sequence[Scored], factor: float) -> list[Any]:
    """Draw a mark per candidate by kernel and map; return what the legend names."""
    from matplotlib.lines import Line2D

    from kfeat.render.figures.marks import COLOURS, MARKERS

    names = dict.fromkeys(scored.candidate.name for scored in candidates)
    styles: dict[str, dict[str, Any]] = {
        name: {"color": COLOURS[i % len(COLOURS)], "marker": MARKERS[i % len(MARKERS)]}
        for i, name in enumerate(names)
    }
    for scored in candidates:
        style = styles[scored.candidate.name]
        axes.plot([scored.seconds], [factor * scored.score], alpha=0.7, **style)
    handles = [
        Line2D([], [], ls="none", label=name.replace("_", " "), **style) for name, style in styles.items()
    ]
    ring: dict[str, Any] = {"marker": "o", "color": "black", "fillstyle": "none", "ls": "none"}
    quickest = result.quickest or result.best
    for scored, size, label in (
        (result.best, 9, "the most accurate"),
        (quickest, 13, "the quickest to predict"),
    ):
        axes.plot([scored.seconds], [factor * scored.score], zorder=4, ms=size, **ring)
        handles.append(Line2D([], [], label=label, ms=size, **ring))
    return handles
