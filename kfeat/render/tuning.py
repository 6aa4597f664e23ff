"""What a search has found: sentences, a table of the candidates, and files below runs/."""

from collections.abc import Sequence
from pathlib import Path

from kfeat.experiments.component import Component, in_words, read_component
from kfeat.own.candidates import solver_of
from kfeat.own.halving import Scored
from kfeat.own.search import Found
from kfeat.render.escapes import csv_table, markdown_table
from kfeat.render.replacing import Replacing
from kfeat.render.terminal import table

SHOWN = 12  # lines of the terminal's table
HEADERS = ("rows", "scale", "kernel", "map", "solver", "score", "spread", "seconds")


def score_text(value: float, regression: bool) -> str:
    """Return an accuracy in percent, or R²."""
    return f"R² {value:.4f}" if regression else f"{100 * value:.2f} %"


def spread_text(value: float, regression: bool) -> str:
    """Return a standard deviation in the unit of `score_text`."""
    return f"{value:.4f}" if regression else f"{100 * value:.2f}"


def sentences(found: Found) -> list[str]:
    """Return what was found, a sentence each; what the budget left no time for is said to be missing."""
    regression, best = found.facts.task == "regression", found.best

    def of(one: Scored) -> str:
        return f"{score_text(one.score, regression)} ± {spread_text(one.sd, regression)}"

    rows = f"{best.n:,} of {found.facts.n_train:,} training rows"
    said = [
        f"The best of {len({one.candidate.key for one in found.scored})} candidates is {_method(best)}: "
        f"{of(best)} by cross-validation on {rows} (mean and standard deviation of the folds)."
    ]
    if found.before is not None and found.before.candidate.key != best.candidate.key:
        said.append(
            f"The config's own kernel and map score {of(found.before)} there, with C chosen likewise."
        )
    elif found.before is not None:
        said.append("It is the config's own kernel and map.")
    else:
        own = [one.reason for one in found.scored if one.candidate.key in found.own and one.reason]
        said.append(f"The config's own kernel and map have no score there{f' ({own[0]})' if own else ''}.")
    if found.exact is None:
        said.append("No exact kernel method was scored within the budget.")
    elif found.exact.candidate != best.candidate:
        said.append(
            f"On {found.exact.n:,} training rows the best exact kernel method scores {of(found.exact)}."
        )
    tested = f"On the {found.facts.n_test:,} test rows, by which nothing was chosen"
    if not found.tests or found.tests[0].scored != best:
        why = found.failed or "the budget had no time to train on all training rows"
        said.append(f"{tested}, the best has no score yet: {why}.")
    else:
        said.append(f"{tested}, the best scores {score_text(found.tests[0].score, regression)}.")
    return said


def _method(one: Scored) -> str:
    """Return a candidate in words."""
    scale, kernel, feature_map, solver = _names(one)
    return f"{feature_map}, {kernel}, with {solver}, scale {scale}"


def tests(found: Found, width: int | None) -> str:
    """Return a table of what was trained on all training rows: the best, the quickest, the exact method."""
    roles = []
    for one in found.tests:
        names = ["the most accurate"] * (one.scored == found.best) + ["the quickest within half a point"] * (
            one == found.quickest
        )
        roles.append(names or (["exact"] if one.scored.candidate.exact else ["fewest features"]))
    regression = found.facts.task == "regression"
    lines = [
        [
            ", ".join(role),
            _method(one.scored),
            score_text(one.score, regression),
            f"{one.train:.2f}",
            f"{one.predict:.4f}",
        ]
        for role, one in zip(roles, found.tests, strict=True)
    ]
    headers = ("trained on all training rows", "method", "test score", "train (s)", "1,000 rows (s)")
    return table(headers, lines, width, text=(0, 1), right=(2, 3, 4))


def ended(one: Scored) -> str:
    """Return in a word how a candidate without a score ended."""
    return "too long" if one.took_too_long else "failed"


def ranked(scored: Sequence[Scored]) -> list[Scored]:
    """Return the candidates, those on the most rows first, the best of them first."""
    return sorted(scored, key=lambda one: (-one.n, -one.score, one.seconds))


def terminal(found: Found, width: int | None) -> str:
    """Return the best candidates as a table that fits a terminal."""
    shown = ranked(found.scored)[:SHOWN]
    lines = [_line(one, found.facts.task == "regression") for one in shown]
    return table(HEADERS, lines, width, text=(1, 2, 3, 4), right=(0, 6, 7))


def _line(one: Scored, regression: bool) -> list[str]:
    parts = [f"{one.n:,}", *_names(one)]
    if one.reason:
        return [*parts, ended(one), "–", f"{one.seconds:.2f}"]
    return [*parts, score_text(one.score, regression), spread_text(one.sd, regression), f"{one.seconds:.2f}"]


def _names(one: Scored) -> list[str]:
    """Return scaling, kernel, map and solver in words."""
    candidate = one.candidate
    solver = {"name": candidate.loss} if one.reason else solver_of(candidate, one.value, {})
    kernel = read_component(candidate.kernel, "kernel")
    feature_map = "exact" if candidate.map is None else _with_size(read_component(candidate.map, "map"))
    values = [f"{key}={value:g}" if key in ("C", "alpha") else str(value) for key, value in solver.items()]
    return [candidate.scale, in_words(kernel), feature_map, " ".join(values)]


def _with_size(feature_map: Component) -> str:
    """Return a map in words, with D where it is the default too."""
    text, size = in_words(feature_map), feature_map.parameters.get("n_components")
    return text if size is None or "n_components" in feature_map.given else f"{text} n_components={size}"


def markdown(found: Found) -> str:
    """Return the sentences and the table of all candidates."""
    regression = found.facts.task == "regression"
    lines = [[*_line(one, regression), one.reason] for one in ranked(found.scored)]
    table_of_all = markdown_table([*HEADERS, "why not"], lines)
    return "\n".join([*(f"- {one}" for one in sentences(found)), "", table_of_all, ""])


def as_csv(found: Found) -> str:
    """Return every number of all candidates at full precision."""
    return csv_table(
        [
            {
                "rows": one.n,
                **dict(zip(("scale", "kernel", "map"), _names(one)[:3], strict=True)),
                "loss": one.candidate.loss,
                "own": one.candidate.key in found.own,
                "C_or_alpha": None if one.reason else one.value,
                "score": None if one.reason else one.score,
                "sd": None if one.reason else one.sd,
                "seconds": round(one.seconds, 3),
                "failed": one.reason,
            }
            for one in ranked(found.scored)
        ]
    )


def write_report(found: Found, title: str, folder: Path) -> None:
    """Write table.csv, table.md, figure.svg and figure.png below `folder`, all or none of them."""
    from kfeat.render.figures.tuning import draw_search

    with Replacing() as replacing:
        new = replacing.beside(folder)
        (new / "table.csv").write_text(as_csv(found), encoding="utf-8")
        (new / "table.md").write_text(markdown(found), encoding="utf-8")
        draw_search(found, title, [new / "figure.svg", new / "figure.png"])
