"""What a search has found: sentences, a table of the candidates, and files below runs/."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kfeat.errors import StoreError
from kfeat.experiments.component import Component, in_words, read_component
from kfeat.render.escapes import csv_text
from kfeat.render.replacing import Replacing
from kfeat.render.terminal import table
from kfeat.tuning.candidates import solver_of
from kfeat.tuning.halving import FOLDS, Scored
from kfeat.tuning.search import Found

SHOWN = 12  # lines of the terminal's table
HEADERS = ("rows", "kernel", "map", "solver", "score", "spread", "seconds")


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
        f"Best of {len({one.candidate.key for one in found.scored})} candidates by {FOLDS}-fold "
        f"cross-validation on {rows}: {of(best)} (mean and standard deviation of the folds)."
    ]
    if found.before is not None and found.before.candidate.key != best.candidate.key:
        said.append(f"The config's own kernel and map score {of(found.before)} there, C chosen for them too.")
    elif found.before is not None:
        said.append("It is the config's own kernel and map.")
    else:
        own = [one.reason for one in found.scored if one.candidate.own and one.reason]
        said.append(f"The config's own kernel and map have no score there{f' ({own[0]})' if own else ''}.")
    if found.exact is not None and found.beside is not None:
        said.append(
            f"On {found.exact.n:,} training rows the exact machine on its kernel scores {of(found.exact)}, "
            f"the map {of(found.beside)}."
        )
    else:
        why = found.failed.get("exact", "the budget had no time for it")
        said.append(f"The exact machine was not scored: {why}.")
    tested = f"On the {found.facts.n_test:,} test rows, by which nothing was chosen"
    if found.test is None:
        why = found.failed.get("test", "the budget had no time to train on all training rows")
        said.append(f"{tested}, it has no score yet: {why}.")
    else:
        said.append(f"{tested}, it scores {score_text(found.test, regression)}.")
    return said


def ranked(scored: Sequence[Scored]) -> list[Scored]:
    """Return the candidates, those on the most rows first, the best of them first."""
    return sorted(scored, key=lambda one: (-one.n, -one.score, one.seconds))


def terminal(found: Found, width: int | None) -> str:
    """Return the best candidates as a table that fits a terminal."""
    shown = ranked(found.scored)[:SHOWN]
    lines = [_line(one, found.facts.task == "regression") for one in shown]
    return table(HEADERS, lines, width, text=(1, 2, 3), right=(0, 5, 6))


def _line(one: Scored, regression: bool) -> list[str]:
    parts = [f"{one.n:,}", *_names(one)]
    if one.reason:
        return [*parts, one.ended, "–", f"{one.seconds:.2f}"]
    return [*parts, score_text(one.score, regression), spread_text(one.sd, regression), f"{one.seconds:.2f}"]


def _names(one: Scored) -> list[str]:
    """Return kernel, map and solver in words."""
    candidate = one.candidate
    solver = {"name": candidate.loss} if one.reason else solver_of(candidate.loss, one.value, {})
    kernel, feature_map = (
        read_component(entry, part) for part, entry in (("kernel", candidate.kernel), ("map", candidate.map))
    )
    values = [f"{key}={value:g}" if key in ("C", "alpha") else str(value) for key, value in solver.items()]
    return [in_words(kernel), _with_size(feature_map), " ".join(values)]


def _with_size(feature_map: Component) -> str:
    """Return a map in words, with D where it is the default too."""
    text, size = in_words(feature_map), feature_map.parameters.get("n_components")
    return text if size is None or "n_components" in feature_map.given else f"{text} n_components={size}"


def markdown(found: Found) -> str:
    """Return the sentences and the table of all candidates."""
    regression = found.facts.task == "regression"
    lines = [[*_line(one, regression), one.reason] for one in ranked(found.scored)]
    cells = [[*HEADERS, "why not"], ["---"] * (len(HEADERS) + 1), *lines]
    rows = ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in cells]
    return "\n".join([*(f"- {one}" for one in sentences(found)), "", *rows, ""])


def as_csv(found: Found) -> str:
    """Return every number of all candidates at full precision."""
    out = io.StringIO()
    writer: Any = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["rows", "kernel", "map", "loss", "own", "C_or_alpha", "score", "sd", "seconds", "failed"]
    )
    for one in ranked(found.scored):
        names = [csv_text(name) for name in _names(one)[:2]]
        numbers = ["", "", ""] if one.reason else [one.value, one.score, one.sd]
        line = [one.n, *names, one.candidate.loss, one.candidate.own, *numbers]
        writer.writerow([*line, round(one.seconds, 3), csv_text(one.reason)])
    return out.getvalue()


def write_report(found: Found, title: str, folder: Path) -> None:
    """Write table.csv, table.md, figure.svg and figure.png below `folder`, all or none of them."""
    from kfeat.render.figures.tuning import draw_search

    with Replacing() as replacing:
        new = replacing.beside(folder)
        try:
            (new / "table.csv").write_text(as_csv(found), encoding="utf-8")
            (new / "table.md").write_text(markdown(found), encoding="utf-8")
            draw_search(found, title, [new / "figure.svg", new / "figure.png"])
        except OSError as error:
            raise StoreError(f"{folder}: cannot be written ({error.strerror})") from None
