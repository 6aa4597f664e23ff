"""The report of an experiment: its tables, and its files, which are written whole, and published.

The tables are the paper's own, then one of all cells, for the terminal, Markdown, LaTeX and CSV.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import floor, isfinite, log10
from pathlib import Path
from typing import Any

from kfeat.analysis.cells import PHASES, Cell, Shown, best_of, by_setting, exact_of, grouped, summarise
from kfeat.analysis.judgement import Evidence, judge_experiment
from kfeat.analysis.names import Names, formulas
from kfeat.data.sources import dataset_name
from kfeat.errors import ConfigError, StoreError
from kfeat.experiments.config import Experiment, load_experiment
from kfeat.experiments.layout import TableLayout
from kfeat.experiments.paper import PRINTED_TIMES
from kfeat.experiments.plan import Trial, plan
from kfeat.experiments.quantities import CLOCKS, SCORE, Quantity
from kfeat.experiments.row import Row, write_rows
from kfeat.experiments.run import plan_from_rows, rows_of
from kfeat.experiments.selectors import matches
from kfeat.files import replacing_together
from kfeat.render.notes import cautions, difference, less, notes, of_differences, scores
from kfeat.render.paper_table import Ratio, check_figure, marked, paper_table, ratio, ratio_columns, shown
from kfeat.render.switches import ranking
from kfeat.render.table import (
    MISSING,
    UNCONVERGED,
    Bold,
    Table,
    bullets,
    factor_text,
    latex,
    markdown,
    paragraph,
    seconds_text,
    with_unit,
)
from kfeat.render.verdicts import verdicts_markdown
from kfeat.text import counted, plain

# They are replaced in the order of their names: a report whose texts are new has new figures.
FILES = ("figure.png", "figure.svg", "table.csv", "table.md", "table.tex")
PUBLISHED = ("figure.svg", "table.csv", "table.md")  # without PNG and LaTeX, since git keeps every version
Pending = Mapping[str, Mapping[str, Row]]  # rows that are being published, by the names of experiments
RESULTS = Path("results")  # where published rows lie, seen from the folder of the configs
# From so many lines on, the cells of each setting have a table of their own.
LONG = 40
MOST_FLOATS = 18  # that every LaTeX can keep before it has set them on a page
_PLACE = ("dataset", "kernel")
# These have a column, in the CSV too, if any cell has them.
_QUANTITIES = (
    "columns",
    "unseen",
)
# Columns of the CSV that stand there only where they have something to say.
_OCCASIONAL = ("paper_test_time", "not_converged", "busy", *_QUANTITIES)


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
        runs = f"{min(counts)} to {max(counts)}" if min(counts) < max(counts) else f"{max(counts)}"
        spread = f"Mean ± standard deviation over {runs} runs; bold: the best map."
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
    headers = [f"{key} (s)" if key in PHASES else key for key in keys]
    lines = [[record[key] for key in keys] for record in cell_records]
    return Table(headers, lines, range(left), range(left, len(headers)), left)


def records(experiment: Experiment, cells: Sequence[Cell], spread: bool = False) -> list[dict[str, str]]:
    """Return one mapping of column -> text for each cell, without the columns that say nothing here.

    With `spread`, seconds have their standard deviation, for which a terminal is too narrow.
    """
    kinds, names, of = scores(cells), Names(cells), less(experiment, cells)
    whole = [_record(cell, names, peers, kinds, spread, of) for peers in by_setting(cells) for cell in peers]
    values = {key: {record[key] for record in whole} for key in (whole[0] if whole else ())}
    hidden = {key for key in _PLACE if len(values[key]) == 1} if whole else set()
    hidden |= set() if any(cell.reported for cell in cells) else {"difference"}
    optional = ["paper", *(time.title for time in PRINTED_TIMES.values()), "live features", *_QUANTITIES]
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
    seconds = {phase: _seconds(cell, phase, spread) for phase in PHASES}
    if cell.bound:  # it stands where most of the time goes
        seconds["train" if cell.trial.solver else "map"] = shown(cell.bound, seconds_text)
    return {
        "dataset": names.dataset(cell),
        "kernel": names.kernel(cell),
        "method": names.in_setting(cell),
        **{kind.heading: score if kind == quantity else MISSING for kind in kinds},
        **{title: _less(cell, of.get(cell), quantity) for title, of in references.items()},
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


def _less(cell: Cell, reference: Cell | None, quantity: Quantity) -> str:
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
    for title, of in less(experiment, cells).items():
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
        for phase in PHASES:
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


def check_report(experiment: Experiment) -> None:
    """Raise ConfigError if claims, table or figure cannot be made of the plan, or a switch is wrong.

    It needs no data and no rows, so that a mistake is found before hours of work and not after them.
    """
    stand_ins = {source: f"{dataset_name(source)}: {source!r}" for source in experiment.datasets}
    cells = summarise(experiment, plan(experiment, stand_ins), {})
    judge_experiment(experiment, cells, {})
    render(experiment, cells, "terminal")
    check_figure(experiment, cells)


def write_report(
    experiment: Experiment, cells: Sequence[Cell], folder: Path, names: Sequence[str] = FILES
) -> None:
    """Write the files of a report below `folder`, all or none of them."""
    with replacing_together() as beside:
        _write(beside(folder), experiment, cells, folder, names)


def published_files(experiment: Experiment) -> tuple[str, ...]:
    """Return the names of the files of a report that are published beside the rows."""
    return PUBLISHED if experiment.publish == "report" else ()


def _write(
    new: Path, experiment: Experiment, cells: Sequence[Cell], folder: Path, names: Sequence[str],
    rows: Iterable[Row] | None = None, pending: Pending | None = None,
) -> None:  # fmt: skip
    from kfeat.render.figures.figure import draw

    if rows is not None:
        write_rows(new, rows)
    if not names:
        return
    for name, text in texts(experiment, cells, folder, pending).items():
        if name in names:
            (new / name).write_text(text, encoding="utf-8")
    draw(experiment, cells, [new / name for name in names if name.startswith("figure")])


def texts(
    experiment: Experiment, cells: Sequence[Cell], folder: Path, pending: Pending | None = None
) -> dict[str, str]:
    """Return the tables by file name, for a report in `folder`.

    table.md ends with the verdicts on what the paper prints and claims; the published rows have no part, but
    for those of cited experiments that have none beside this one's, nor `pending` ones.
    """
    root = folder.parents[len(Path(experiment.name).parts) - 1]
    evidence = Evidence(root, RESULTS, pending=pending)
    verdicts = verdicts_markdown(judge_experiment(experiment, cells, {}, evidence=evidence))
    return {
        "table.csv": render_csv(experiment, cells),
        "table.md": render(experiment, cells, "markdown") + verdicts,
        "table.tex": render(experiment, cells, "latex"),
    }


def is_current(experiment: Experiment, cells: Sequence[Cell], folder: Path) -> bool:
    """Tell whether the report below `folder` is whole, shows these cells, and is younger than the config."""
    try:
        oldest = min((folder / name).stat().st_mtime_ns for name in FILES)
        return oldest >= experiment.path.stat().st_mtime_ns and all(
            (folder / name).read_text(encoding="utf-8") == text
            for name, text in texts(experiment, cells, folder).items()
        )
    except (OSError, UnicodeDecodeError):
        return False


def whole_of(experiment: Experiment) -> Experiment:
    """Return the experiment as its file has it, without the choices of the command line."""
    try:
        return load_experiment(experiment.path)
    except ConfigError:
        return experiment  # a file that only --set completes has no whole but this


def cells_below(experiment: Experiment, root: Path, trials: Iterable[Trial] = ()) -> list[Cell]:
    """Return the cells of the plan with the rows below `root`, as `plan_from_rows` has it.

    `trials` are those that were just run, which know the content of their data.
    """
    rows = rows_of(experiment, root)
    known = {trial.source: trial.fingerprint for trial in trials if trial.fingerprint}
    return summarise(experiment, plan_from_rows(experiment, rows.values(), known), rows)


def update_report(
    experiment: Experiment, root: Path, trials: Iterable[Trial] = (), *, anew: bool = False
) -> str:
    """Draw the files of the whole config from all of its rows, if they are not up to date, or `anew`.

    If none of its trials has run, they show the config as the command line changed it. `trials` are those
    that were just run. Return a sentence that says where the files are, and what of the config they lack.
    """
    drawn, folder = whole_of(experiment), root / experiment.name
    cells, whose = cells_below(drawn, root, trials), "the config's"
    if not any(cell.all_rows for cell in cells):
        drawn, cells = experiment, cells_below(experiment, root, trials)
        whose = "the changed config's"
    planned = sum(len(cell.trials) for cell in cells)
    ended = sum(len(cell.all_rows) for cell in cells)
    if anew or not is_current(drawn, cells, folder):
        write_report(drawn, cells, folder)
    known = f"{ended} of {whose} {counted(planned, 'trials')}"
    lacking = f" ({known}; the others have not run)" * (ended < planned)
    return f"tables and figure: {folder}/{lacking}"


def publish(
    plans: Iterable[tuple[Experiment, Sequence[Trial]]], runs: Path, results: Path, partial: bool = False
) -> list[int]:
    """Copy the rows of the plans from runs/ to results/, draw the reports there; return the numbers of rows.

    Everything is published, or nothing. Raises StoreError if a planned trial has neither ended nor been
    stopped at a time limit, or, with `partial`, if none of an experiment has: what is missing then shows as
    missing in its report.
    """
    plans = list(plans)
    all_rows = [_publishable(experiment, trials, runs, partial) for experiment, trials in plans]
    # Experiments that are published together may cite each other.
    pending = {experiment.name: rows for (experiment, _), rows in zip(plans, all_rows, strict=True)}
    with replacing_together() as beside:
        for (experiment, trials), rows in zip(plans, all_rows, strict=True):
            cells, folder = summarise(experiment, trials, rows), results / experiment.name
            names = published_files(experiment)
            _write(beside(folder), experiment, cells, folder, names, rows.values(), pending)
    return list(map(len, all_rows))


def _publishable(
    experiment: Experiment, trials: Sequence[Trial], runs: Path, partial: bool
) -> dict[str, Row]:
    rows = rows_of(experiment, runs)
    ended = [trial for trial in trials if rows.get(trial.id, {}).get("status") in ("done", "stopped")]
    missing = len(trials) - len(ended)
    if missing and not (partial and ended):
        raise StoreError(
            f"{runs / experiment.name}: {missing} of {len(trials)} planned trials are not done; "
            f"finish them with `kfeat run {experiment.path}`, or publish what there is with --partial"
        )
    return {trial.id: rows[trial.id] for trial in ended}
