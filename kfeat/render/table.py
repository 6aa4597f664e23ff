"""The tables of an experiment, for the terminal, Markdown, LaTeX and CSV: the paper's own, then all cells."""

from collections.abc import Collection, Mapping, Sequence
from math import floor, isfinite, log10
from typing import Any

from kfeat.analysis.cells import PHASES, Cell, Shown, by_setting, exact_of
from kfeat.analysis.names import Names, formulas
from kfeat.experiments.config import Experiment
from kfeat.experiments.paper import PRINTED_TIMES, TableLayout
from kfeat.experiments.quantities import CLOCKS, SCORE, Quantity
from kfeat.experiments.selectors import matches
from kfeat.render import text
from kfeat.render.escapes import latex, markdown
from kfeat.render.layout import mirror, ratio_columns
from kfeat.render.notes import cautions, notes, scores
from kfeat.render.protocol import ranking
from kfeat.render.tables import Table, bullets, paragraph
from kfeat.render.text import MISSING, Ratio, ratio
from kfeat.text import plain

# From so many lines on, the cells of each setting have a table of their own.
LONG = 40
_PLACE = ("dataset", "kernel")
_TIME_TITLES = [one.title for one in PRINTED_TIMES.values()]
# Columns of the CSV that stand there only where they have something to say.
_OCCASIONAL = ("paper_test_time", "not_converged", "busy")


def render(experiment: Experiment, cells: Sequence[Cell], style: str, width: int | None = None) -> str:
    """Return the report's tables as text; `style` is `terminal`, `markdown` or `latex`.

    A terminal has `width` characters a line, or no limit. Raises ConfigError where a column of the paper's
    table selects several cells.
    """
    kernels = formulas(cells)

    def written(table: Table) -> str:
        if style == "latex":
            return table.latex(kernels)
        return table.markdown() if style == "markdown" else table.terminal(width)

    title = experiment.title
    layout = _layout(experiment, cells)
    tables = [mirror(layout, cells)] if layout else []
    tables += [ranking(experiment, cells)] if experiment.ranking else []
    parts = [written(table) for table in tables]
    parts += [_heading("All cells", style, 2)] if tables else []
    for place, table in _tables(experiment, cells, spread=style != "terminal"):
        if place:
            parts.append(_heading(place, style, 3, kernels))
        parts.append(written(table))
    body = "\n\n".join(parts)
    if style == "latex":
        head = "".join(f"% {plain(line)}\n" for line in (title, *notes(experiment, cells)))
        return f"{head}{body}\n"
    if style == "markdown":
        return f"# {markdown(title)}\n\n{body}\n\n{bullets(notes(experiment, cells), markdown)}\n"
    said = [paragraph(line, "", width) if width else plain(line) for line in cautions(experiment, cells)]
    return "\n".join([plain(title), "", body, "", *said])


def _layout(experiment: Experiment, cells: Sequence[Cell]) -> TableLayout | None:
    """Return the layout of the paper's table; of a changed plan, with the columns that still have cells."""
    layout = experiment.table
    if layout is None or not experiment.changed:
        return layout
    chosen = [one for one in layout.columns if any(matches(one.cell, cell.trial) for cell in cells)]
    return layout.model_copy(update={"columns": chosen}) if chosen else None


def _heading(title: str, style: str, level: int, kernels: Collection[str] = ()) -> str:
    if style == "latex":
        return rf"\paragraph{{{latex(title, kernels)}}}"
    return f"{'#' * level} {markdown(title)}" if style == "markdown" else plain(title)


def _tables(experiment: Experiment, cells: Sequence[Cell], spread: bool) -> list[tuple[str, Table]]:
    """Return the tables of all cells with their titles: one, or one per setting where it would be long."""
    found = records(experiment, cells, spread)
    if len(found) <= LONG:
        return [("", _table(found))] if found else []
    parts: dict[str, list[dict[str, str]]] = {}
    for record in found:
        title = ", ".join(record[key] for key in _PLACE if key in record)
        rest = {key: value for key, value in record.items() if key not in _PLACE}
        parts.setdefault(title, []).append(rest)
    return [(title, _table(lines)) for title, lines in parts.items()]


def _table(found: Sequence[dict[str, str]]) -> Table:
    left = sum(key in (*_PLACE, "method") for key in found[0])
    headers = [f"{key} (s)" if key in PHASES else key for key in found[0]]
    lines = [list(record.values()) for record in found]
    return Table(headers, lines, range(left), range(left, len(headers)), left)


def records(experiment: Experiment, cells: Sequence[Cell], spread: bool = False) -> list[dict[str, str]]:
    """Return one mapping of column -> text for each cell, without the columns that say nothing here.

    With `spread`, seconds have their standard deviation, for which a terminal is too narrow.
    """
    kinds = scores(cells)
    names = Names(cells)
    found = [_record(cell, names, peers, kinds, spread) for peers in by_setting(cells) for cell in peers]
    hidden = {
        "dataset": len({r["dataset"] for r in found}) == 1,
        "kernel": len({r["kernel"] for r in found}) == 1,
        "difference": not any(cell.reported for cell in cells),
        **{column: _empty(column, found) for column in ("paper", *_TIME_TITLES, "live features")},
    }
    if all(cell.trial.measure for cell in cells):  # of maps alone: nothing is trained, and not all are timed
        hidden |= {phase: _empty(phase, found) for phase in PHASES}
        hidden["speed-up"] = True
    return [{key: value for key, value in record.items() if not hidden.get(key)} for record in found]


def _empty(column: str, found: Sequence[dict[str, str]]) -> bool:
    return all(record[column] == MISSING for record in found)


def _record(
    cell: Cell, names: Names, peers: Sequence[Cell], kinds: Sequence[Quantity], spread: bool
) -> dict[str, str]:  # fmt: skip
    exact, ours, theirs, live = exact_of(cell, peers), cell.score, cell.reported, cell.mean("live")
    quantity = cell.named(SCORE) if cell.rows else kinds[0]
    score, times = MISSING, theirs.times if theirs else {}
    if ours:
        score = quantity.text(ours.mean, ours.sd) + text.UNCONVERGED * cell.shown(SCORE).unconverged
    timed = f", {cell.timed_runs} timed" if 0 < cell.timed_runs < len(cell.rows) else ""  # not all of them
    seconds = {phase: _seconds(cell, phase, spread) for phase in PHASES}
    if cell.bound:  # it stands where most of the time goes
        seconds["train" if cell.trial.solver else "map"] = text.shown(cell.bound, text.seconds)
    return {
        "dataset": names.dataset(cell),
        "kernel": names.kernel(cell),
        "method": names.in_setting(cell),
        **{kind.heading: score if kind == quantity else MISSING for kind in kinds},
        "paper": quantity.text(theirs.mean, theirs.sd) if theirs else MISSING,
        "difference": quantity.change(ours.mean - theirs.mean) if ours and theirs else MISSING,
        **seconds,
        "speed-up": text.marked(ratio(exact, cell, "fit").number, text.factor),
        **{one.title: times.get(name, MISSING) for name, one in PRINTED_TIMES.items()},
        "live features": MISSING if live is None else f"{live:.0f}",
        "runs": f"{len(cell.rows)}/{len(cell.trials)}{timed}",
    }


def _seconds(cell: Cell, phase: str, spread: bool) -> str:
    found = cell.of(phase) if spread else None
    return text.shown(cell.shown(phase), lambda value: text.seconds(value, found.sd if found else None))


def render_csv(experiment: Experiment, cells: Sequence[Cell]) -> str:
    """Return every number of the table, of four digits at least, one line per cell.

    A ratio of the paper's table stands on the line of the cell by which it divides, with the ends of its 95 %
    interval. Where any of them is from a busy machine, a last column says which, and where a solver did not
    converge, one before it in how many runs.
    """
    layout = _layout(experiment, cells)
    ratios = ratio_columns(layout, cells) if layout else {}
    names = Names(cells)
    lines = [_flat(cell, names, peers, ratios) for peers in by_setting(cells) for cell in peers]
    silent = [key for key in _OCCASIONAL if not any(line[key] for line in lines)]
    lines = [{key: value for key, value in line.items() if key not in silent} for line in lines]
    return Table.of(lines).csv()


def _flat(
    cell: Cell, names: Names, peers: Sequence[Cell], ratios: Mapping[str, Mapping[Cell, Ratio]]
) -> dict[str, Any]:
    trial, reported = cell.trial, cell.reported
    speed_up = ratio(exact_of(cell, peers), cell, "fit")
    score, times = cell.score, reported.times if reported else {}
    line: dict[str, Any] = {
        "cell": trial.cell,
        "dataset": names.dataset(cell),
        "kernel": trial.kernel.formula,
        "method": names.method(cell),
        "metric": (cell.named(SCORE) if cell.rows else scores(names.cells)[0]).heading,
        "mean": score and _rounded(score.mean, 6),
        "sd": score and score.sd and _rounded(score.sd, 6),
        "runs": len(cell.rows),
        "planned": len(cell.trials),
        "timed_runs": cell.timed_runs,
        "paper_mean": reported and reported.mean,
        "paper_sd": reported and reported.sd,
        **{f"paper_{one.key}": times.get(name) for name, one in PRINTED_TIMES.items()},
        "paper_where": reported and reported.where,
        **_flat_ratio("speed_up", speed_up),
    }
    own = {title: found.get(cell, Ratio(Shown(None))) for title, found in ratios.items()}
    for title, found in own.items():
        line |= _flat_ratio(title, found)
    for clock, suffix in CLOCKS.items():
        for phase in PHASES:
            seconds = cell.of(f"{phase}{suffix}", busy=True)
            line[f"{phase}_{clock}_seconds"] = seconds and _rounded(seconds.mean, 4)
            line[f"{phase}_{clock}_seconds_sd"] = seconds and seconds.sd and _rounded(seconds.sd, 4)
    line["stopped_after_seconds"] = (cell.bound and not cell.rows and cell.bound.value) or None
    line |= {f"{kind}_features": cell.mean(kind) for kind in ("live", "zero", "constant")}
    busy: list[str] = [*(phase for phase in PHASES if cell.is_busy(phase))]
    busy += [title for title, found in {"speed-up": speed_up, **own}.items() if found.number.busy]
    busy += ["stopped"] * bool(cell.bound and cell.bound.busy)
    return line | {"not_converged": len(cell.unconverged), "busy": " ".join(busy)}


def _flat_ratio(name: str, found: Ratio) -> dict[str, float | None]:
    """Return a ratio and the ends of its interval; one that is only a bound has no number."""
    value = None if found.number.sign else found.number.value
    numbers = (value, *(found.interval or (None, None)))
    keys = (name, f"{name}_low", f"{name}_high")
    return {key: number and _rounded(number, 3) for key, number in zip(keys, numbers, strict=True)}


def _rounded(number: float, decimals: int) -> float:
    """Return a number with so many decimals, a small one with four digits that are not 0."""
    if not number or not isfinite(number):
        return number
    return round(number, max(decimals, 3 - floor(log10(abs(number)))))
