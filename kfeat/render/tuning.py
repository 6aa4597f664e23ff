"""What a search has found: sentences, and tables of the candidates."""

from collections.abc import Mapping
from math import inf, isfinite
from typing import Any

from kfeat.analysis.names import in_words
from kfeat.experiments.component import read_component
from kfeat.own.candidates import solver_of
from kfeat.own.cost import training
from kfeat.own.result import Prefer, Scored, SearchResult, preferred, winner
from kfeat.render.numbers import MISSING
from kfeat.render.table import Table
from kfeat.text import counted

SHOWN = 12  # lines of the terminal's table
MOST_WEIGHTS, MOST_OUTSIDE = 3, 20  # named columns of a metric: with the largest weights, and with none
HEADERS = ("rows", "scale", "kernel", "map", "solver", "score", "spread", "seconds", "why not")
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
    """Return what comes first: nothing beats a constant, boosting is ahead, or a linear model was taken."""
    metric, best, lines = result.facts.metric, result.best, []
    kernel = result.kernel_method if best.candidate.linear else None
    untrained = kernel is not None and kernel.score > best.score
    if kernel and untrained:
        lucky = winner(result.scored) == best
        why = "by less than its spread over the folds" if lucky else "but there is no time to train it"
        lines.append(
            f"A LINEAR MODEL WAS TAKEN: {_method(kernel)}, scored better, {score_text(kernel.score, metric)} "
            f"on {kernel.n:,} rows, {why}; a longer --budget continues the search."
        )
    elif result.constant_is_as_good:
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
    elif best.candidate.linear and not lines:
        ahead = "A LINEAR MODEL IS AHEAD: no kernel method scored better."
        alone = (
            "ONLY A LINEAR MODEL HAS A SCORE: no kernel method was scored within the budget; a longer "
            "--budget continues the search."
        )
        lines.append(ahead if kernel else alone)
    return lines


def sentences(result: SearchResult, prefer: Prefer = "accuracy") -> list[str]:
    """Return what was found, a sentence each; what the budget left no time for is said to be missing.

    The last one says what of the search is preferred, unless that is simply the best.
    """
    metric, best = result.facts.metric, result.best

    def of(scored: Scored) -> str:
        return f"{score_text(scored.score, metric)} ± {spread_text(scored.sd, metric)}"

    by = "" if metric in ("accuracy", "r2") else f" by {title(metric)}"
    n, tried = result.rows.get(best, result.facts.n_train), {scored.candidate for scored in result.scored}
    lines = [
        *warnings_of(result),
        f"The best of {counted(len(tried), 'candidates')}{by} is {_method(best)}: {of(best)} by "
        f"cross-validation on {best.n:,} of {result.facts.n_train:,} training rows (mean and standard "
        "deviation of the folds).",
    ]
    if best in result.rows:
        lines.append(f"There was no time to train it on all of them, so it is trained on {n:,} random ones.")
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
        why = row.get("failed", f"the budget had no time to train on {n:,} training rows")
        lines.append(f"{tested}, the best has no score yet: {why}.")
    taken = preferred(result, prefer)
    if taken is None:
        lines.append("The config has boosting, as was preferred.")
    elif taken != result.trained:
        lines.append(f"The config has what was preferred, within half a point: {_method(taken)}.")
    elif taken != best:
        lines.append(f"The config has the best that was trained: {_method(taken)}.")
    elif "score" not in row:
        seconds = training(best, n)
        lines.append(f"The config has the best, whose training on {n:,} rows takes about {seconds:,.0f} s.")
    if taken is not None and result.ahead:
        lines.append("`--prefer boosting` writes a config with boosting.")
    elif taken is not None and prefer == "boosting":
        lines.append("Boosting is not ahead in each fold and by more than half a point, so it was not taken.")
    elif prefer == "linear" and taken == result.trained and not taken.candidate.linear:
        lines.append("No linear model is within half a point of the best, so none was taken.")
    return lines


def largest_weights(weights: Mapping[str, float]) -> list[str]:
    """Return a sentence with the largest weights of a learnt metric; none without a metric."""
    shares = [f"{name} ({100 * share:.0f} %)" for name, share in heaviest_first(weights) if share][
        :MOST_WEIGHTS
    ]
    return [f"Largest weights of the learnt metric: {', '.join(shares)}."] if shares else []


def weights_explained(weights: Mapping[str, float], drawn: int) -> list[str]:
    """Return sentences on all weights of a learnt metric, of which so many are drawn."""
    if not weights:
        return []
    lines = [
        "Learnt weights: the mean square of the predictor's derivative by each scaled column, as a share of "
        "their sum (of a rotation, the diagonal of its matrix). They are a scale of distances and not an "
        "importance: correlated columns share a weight, and a column that is left out may still matter."
    ]
    inside = [pair for pair in heaviest_first(weights) if pair[1]]
    if more := inside[drawn:]:
        together = 100 * sum(share for _, share in more)
        lines.append(f"Not drawn: {counted(len(more), 'columns')} with {together:.2g} % together.")
    if outside := [name for name, share in weights.items() if not share]:
        names = ", ".join(outside[:MOST_OUTSIDE])
        names += f" and {len(outside) - MOST_OUTSIDE:,} more" if len(outside) > MOST_OUTSIDE else ""
        lines.append(f"Left out, with a weight of 0: {names}.")
    return lines


def heaviest_first(weights: Mapping[str, float]) -> list[tuple[str, float]]:
    """Return columns and their weights, the largest first."""
    return sorted(weights.items(), key=lambda item: -item[1])


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
        feature_map, D = in_words(component), component.parameters.get("n_components")
        if D is not None and "n_components" not in component.given:  # where it is the default
            feature_map += f" n_components={D}"
    values = [
        f"{key}={value:g}" if key in ("C", "alpha", "bias") else str(value) for key, value in solver.items()
    ]
    kernel = in_words(read_component(candidate.kernel, "kernel"))
    return [candidate.scale, kernel, feature_map, " ".join(values)]


def tests(result: SearchResult) -> Table:
    """Return a table of what was trained in the end, beside boosting on the same folds."""
    metric, lines = result.facts.metric, []
    most = "the most accurate" if metric == "accuracy" else "the best"
    for scored, row in result.tests.items():
        names = [most] * (scored == result.best)
        names += ["the quickest within half a point"] * (scored == result.quickest)
        names += ["linear model"] * scored.candidate.linear
        names = names or (["exact"] if scored.candidate.exact else ["fewest features"])
        on = f", on {result.rows[scored]:,} rows" if scored in result.rows else ""
        lines.append([", ".join(names), _method(scored) + on, *_numbers(scored.score, row, metric)])
    row = result.boosting
    score = row.get("score", -inf)
    why = row.get("failed", "" if row else "the budget had no time for it")
    method = "HistGradientBoosting of scikit-learn" + (f" ({why})" if why else "")
    lines.append(["boosting", method, *_numbers(score, row.get("test", {}), metric)])
    headers = ("trained on the training rows", "method", f"folds: {title(metric)}", "test", "train (s)",
               "1,000 rows (s)")  # fmt: skip
    return Table(headers, lines, (0, 1), (2, 3, 4, 5))


def _numbers(score: float, row: Mapping[str, Any], metric: str) -> list[str]:
    """Return the scores on the folds and the test rows, and the seconds; what has no time is missing."""
    folds = score_text(score, metric) if isfinite(score) else MISSING
    if "score" not in row:
        return [folds, MISSING, MISSING, MISSING]
    return [folds, score_text(row["score"], metric), f"{row['train']:.2f}", f"{row['predict']:.4f}"]


def ended(scored: Scored) -> str:
    """Return in a word how a candidate without a score ended."""
    return "too long" if scored.took_too_long else "failed"


def candidates(result: SearchResult) -> list[list[str]]:
    """Return the lines of a table of the candidates, first the best of those on the most rows."""
    metric, lines = result.facts.metric, []
    for scored in sorted(result.scored, key=lambda scored: (-scored.n, -scored.score, scored.seconds)):
        score, spread = score_text(scored.score, metric), spread_text(scored.sd, metric)
        if scored.reason:
            score, spread = ended(scored), MISSING
        numbers = score, spread, f"{scored.seconds:.2f}", scored.reason
        lines.append([f"{scored.n:,}", *_names(scored), *numbers])
    return lines


def terminal(result: SearchResult, width: int | None) -> str:
    """Return the best candidates as a table that fits a terminal."""
    lines = [line[:-1] for line in candidates(result)[:SHOWN]]
    return Table(HEADERS[:-1], lines, range(1, 5), (0, 6, 7)).terminal(width)
