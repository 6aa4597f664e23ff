"""The tables of an experiment: the paper's own, then one of all cells.

They are for the terminal, Markdown, LaTeX and CSV.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import floor, isfinite, log10
from typing import Any

from kfeat.analysis.cells import PHASES, Cell, Shown, best_of, by_setting, exact_of, grouped
from kfeat.analysis.names import Names, formulas
from kfeat.experiments.config import Experiment
from kfeat.experiments.layout import TableLayout
from kfeat.experiments.paper import PRINTED_TIMES
from kfeat.experiments.quantities import CLOCKS, SCORE, Quantity
from kfeat.experiments.selectors import matches
from kfeat.render.markup import latex, markdown
from kfeat.render.notes import cautions, difference, notes, of_differences, reference_columns, scores
from kfeat.render.numbers import MISSING, UNCONVERGED, factor_text, seconds_text, with_unit
from kfeat.render.paper_table import Ratio, marked, paper_table, ratio, ratio_columns, shown
from kfeat.render.switches import ranking
from kfeat.render.table import Bold, Table, bullets, paragraph
from kfeat.text import counted, plain

# From so many lines on, the cells of each setting have a table of their own.
LONG = 40
MOST_FLOATS = 18  # that every LaTeX can keep before it has set them on a page
_PLACE = ("dataset", "kernel")
# These have a column, in the CSV too, if any cell has them.
_QUANTITIES = (
    "columns",
    "unseen",
)
_TIMES = ("metric", *PHASES)
_OF_METRIC = [f"metric_{clock}_seconds{spread}" for clock in CLOCKS for spread in ("", "_sd")]
# Columns of the CSV that stand there only where they have something to say.
_OCCASIONAL = ("paper_test_time", "not_converged", "busy", *_OF_METRIC, *_QUANTITIES)


def render(experiment: Experiment, cells: Sequence[Cell], style: str, width: int | None = None) -> str:
    """Return the report's tables as text; `style` is `terminal`, `markdown` or `latex`.

    A terminal has `width` characters a line, or no limit. Raises ConfigError where a column of the paper's
    table selects several cells.
    """
    layout = _layout(experiment, cells)
    tables = [paper_table(layout, cells)] if layout else []
    tables += [ranking(experiment, cells)] if experiment.ranking else []
    all_cells = _tables(experiment, cells, style)
    title = experiment.title
    if style == "latex":
        counts = [len(cell.rows) for cell in cells if cell.rows] or [0]
        runs = f"{min(counts)} to " * (min(counts) < max(counts)) + counted(max(counts), "runs")
        spread = f"Mean ± standard deviation over {runs}; bold: the best map."
        about = " ".join([spread, *of_differences(experiment, cells)])
        captioned = [(title, table) for table in tables]
        captioned += [(". ".join(filter(None, (title, place, about))), table) for place, table in all_cells]
        return _latex(experiment, cells, captioned)
    write: Callable[[Table], str] = (
        Table.markdown if style == "markdown" else lambda table: table.terminal(width)
    )
    parts = [write(table) for table in tables]
    parts += [_heading("All cells", style, 2)] if tables else []
    for place, table in all_cells:
        parts += [_heading(place, style, 3)] if place else []
        parts.append(write(table))
    body = "\n\n".join(parts)
    if style == "markdown":
        return f"# {markdown(title)}\n\n{body}\n\n{bullets(notes(experiment, cells), markdown)}\n"
    lines = of_differences(experiment, cells) + cautions(experiment, cells)
    below = [paragraph(line, "", width) if width else plain(line) for line in lines]
    return "\n".join([plain(title), "", body, "", *below])


def _latex(experiment: Experiment, cells: Sequence[Cell], captioned: Iterable[tuple[str, Table]]) -> str:
    """Return the tables as floats with captions and labels, below the notes as comments."""
    kernels = formulas(cells)
    comments = (experiment.title, *notes(experiment, cells), r"It needs \usepackage{booktabs}.")
    lines = [f"% {plain(line)}" for line in comments]
    for number, (caption, table) in enumerate(captioned, 1):
        lines += [
            r"\begin{table}",
            r"\centering\footnotesize\setlength{\tabcolsep}{4pt}",
            rf"\caption{{{latex(caption, kernels)}}}",
            rf"\label{{tab:{experiment.name}{f'-{number}' if number > 1 else ''}}}\smallskip",
            table.latex(kernels),
            r"\end{table}",
            *[r"\clearpage"] * (number % MOST_FLOATS == 0),
        ]
    return "\n".join(lines) + "\n"


def _layout(experiment: Experiment, cells: Sequence[Cell]) -> TableLayout | None:
    """Return the layout of the paper's table; of a changed plan, with the columns that still have cells."""
    layout = experiment.table
    if layout is None or not experiment.changed:
        return layout
    trials = [cell.trial for cell in cells]
    chosen = [column for column in layout.columns if any(matches(column.cell, trial) for trial in trials)]
    return layout.model_copy(update={"columns": chosen}) if chosen else None


def _heading(title: str, style: str, level: int) -> str:
    return f"{'#' * level} {markdown(title)}" if style == "markdown" else plain(title)


def _tables(experiment: Experiment, cells: Sequence[Cell], style: str) -> list[tuple[str, Table]]:
    """Return the tables of all cells with their titles: one, or one per setting where it would be long."""
    all_records = records(experiment, cells, spread=style == "markdown")
    whole = all(len(cell.rows) == len(cell.trials) for cell in cells)
    hidden = ["live features", *["runs"] * whole] * (style == "latex")  # a page is narrow
    if len(all_records) <= LONG:
        return [("", _table(all_records, hidden))] if all_records else []
    places = grouped(all_records, lambda record: ", ".join(record[key] for key in _PLACE if key in record))
    return [(place, _table(of_place, [*_PLACE, *hidden])) for place, of_place in places.items()]


def _table(cell_records: Sequence[dict[str, str]], hidden: Collection[str]) -> Table:
    keys = [key for key in cell_records[0] if key not in hidden]
    left = sum(key in (*_PLACE, "method") for key in keys)
    headers = [f"{key} (s)" if key in _TIMES else key for key in keys]
    lines = [[record[key] for key in keys] for record in cell_records]
    return Table(headers, lines, range(left), range(left, len(headers)), left)


def records(experiment: Experiment, cells: Sequence[Cell], spread: bool = False) -> list[dict[str, str]]:
    """Return one mapping of column -> text for each cell, without the columns that say nothing here.

    With `spread`, seconds have their standard deviation, for which a terminal is too narrow.
    """
    kinds, names, of = scores(cells), Names(cells), reference_columns(experiment, cells)
    whole = [_record(cell, names, peers, kinds, spread, of) for peers in by_setting(cells) for cell in peers]
    values = {key: {record[key] for record in whole} for key in (whole[0] if whole else ())}
    hidden = {key for key in _PLACE if len(values[key]) == 1} if whole else set()
    hidden |= set() if any(cell.reported for cell in cells) else {"difference"}
    optional = ["paper", *(time.title for time in PRINTED_TIMES.values()), "metric", "live features"]
    optional += _QUANTITIES
    if all(cell.trial.measure for cell in cells):  # of maps alone: nothing is trained, and not all are timed
        optional += PHASES
        hidden.add("speed-up")
    hidden |= {key for key in optional if values.get(key) == {MISSING}}
    return [{key: value for key, value in record.items() if key not in hidden} for record in whole]


def _record(
    cell: Cell, names: Names, peers: Sequence[Cell], kinds: Sequence[Quantity], spread: bool,
    references: Mapping[str, Mapping[Cell, Cell]],
) -> dict[str, str]:  # fmt: skip
    exact, ours, theirs, live = exact_of(cell, peers), cell.score, cell.reported, cell.mean("live")
    quantity = cell.named(SCORE) if cell.rows else kinds[0]
    score, times = MISSING, theirs.times if theirs else {}
    if ours:
        score = quantity.text(ours.mean, ours.sd) + UNCONVERGED * cell.shown(SCORE).unconverged
        maps = [peer for peer in peers if peer.trial.map and peer.named(SCORE) == quantity]
        score = Bold(score) if cell is best_of(maps) else score
    timed = f", {cell.timed_runs} timed" if 0 < cell.timed_runs < len(cell.rows) else ""  # not all of them
    seconds = {phase: _seconds(cell, phase, spread) for phase in _TIMES}
    if cell.bound:  # it stands where most of the time goes
        seconds["train" if cell.trial.solver else "map"] = shown(cell.bound, seconds_text)
    return {
        "dataset": names.dataset(cell),
        "kernel": names.kernel(cell),
        "method": names.in_setting(cell),
        **{kind.heading: score if kind == quantity else MISSING for kind in kinds},
        **{title: _difference(cell, of.get(cell), quantity) for title, of in references.items()},
        "paper": quantity.text(theirs.mean, theirs.sd) if theirs else MISSING,
        "difference": quantity.change(ours.mean - theirs.mean) if ours and theirs else MISSING,
        **seconds,
        "speed-up": marked(ratio(exact, cell, "fit").number, factor_text),
        **{time.title: times.get(name, MISSING) for name, time in PRINTED_TIMES.items()},
        "live features": MISSING if live is None else f"{live:.0f}",
        **{name: _mean(cell, name) for name in _QUANTITIES},
        "runs": f"{len(cell.rows)}/{len(cell.trials)}{timed}",
    }


def _mean(cell: Cell, name: str) -> str:
    quantity, mean = cell.named(name), cell.mean(name)
    return MISSING if mean is None else with_unit(quantity, mean)


def _difference(cell: Cell, reference: Cell | None, quantity: Quantity) -> str:
    """Return the difference from the reference with its interval: `+0.31 [-0.05, 0.67]`."""
    of = difference(cell, reference)
    number = shown(of.number, lambda value: quantity.change(value or 0.0))
    ends = f" [{', '.join(map(quantity.text, of.interval))}]" if of.interval else ""
    return "reference" if reference is cell else f"{number}{ends}"


def _seconds(cell: Cell, phase: str, spread: bool) -> str:
    seconds = cell.of(phase) if spread else None
    return shown(cell.shown(phase), lambda value: seconds_text(value, seconds.sd if seconds else None))


def render_csv(experiment: Experiment, cells: Sequence[Cell]) -> str:
    """Return every number of the table, of four digits at least, one line per cell.

    A ratio of the paper's table stands on the line of the cell by which it divides, with the ends of its 95 %
    interval. Where any of them is from a busy machine, a last column says which, and where a solver did not
    converge, one before it in how many runs.
    """
    layout = _layout(experiment, cells)
    ratios = ratio_columns(layout, cells) if layout else {}
    for title, of in reference_columns(experiment, cells).items():
        ratios[title] = {cell: difference(cell, of[cell]) for cell in of}
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
        **{f"paper_{time.key}": times.get(name) for name, time in PRINTED_TIMES.items()},
        "paper_where": reported and reported.where,
        **_flat_ratio("speed_up", speed_up),
    }
    own = {title: by_cell.get(cell, Ratio(Shown(None))) for title, by_cell in ratios.items()}
    for title, own_ratio in own.items():
        line |= _flat_ratio(title, own_ratio)
    for clock, suffix in CLOCKS.items():
        for phase in _TIMES:
            seconds = cell.of(f"{phase}{suffix}", busy=True)
            line[f"{phase}_{clock}_seconds"] = seconds and _rounded(seconds.mean, 4)
            line[f"{phase}_{clock}_seconds_sd"] = seconds and seconds.sd and _rounded(seconds.sd, 4)
    line["stopped_after_seconds"] = (cell.bound and not cell.rows and cell.bound.value) or None
    line |= {name: cell.mean(name) for name in _QUANTITIES}
    line |= {f"{kind}_features": cell.mean(kind) for kind in ("live", "zero", "constant")}
    busy = [phase for phase in PHASES if cell.is_busy(phase)]
    busy += [title for title, of in {"speed-up": speed_up, **own}.items() if of.number.busy]
    busy += ["stopped"] * bool(cell.bound and cell.bound.busy)
    return line | {"not_converged": len(cell.unconverged), "busy": " ".join(busy)}


def _flat_ratio(name: str, of: Ratio) -> dict[str, float | None]:
    """Return a ratio and the ends of its interval; one that is only a bound has no number."""
    value = None if of.number.sign else of.number.value
    numbers = (value, *(of.interval or (None, None)))
    keys = (name, f"{name}_low", f"{name}_high")
    return {key: number and _rounded(number, 3) for key, number in zip(keys, numbers, strict=True)}


def _rounded(number: float, decimals: int) -> float:
    """Return a number with so many decimals, a small one with four digits that are not 0."""
    if not number or not isfinite(number):
        return number
    return round(number, max(decimals, 3 - floor(log10(abs(number)))))
