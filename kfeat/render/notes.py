"""The sentences that a reader needs beside a table, and the one that ends a run."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from statistics import fmean
from typing import Any

from kfeat.analysis.cells import PHASES, Cell, Shown, best_of, by_setting, exact_of, grouped, paired
from kfeat.analysis.claim_cases import interval_of, references
from kfeat.analysis.names import Names
from kfeat.analysis.statistics import LEVEL
from kfeat.experiments.config import Experiment
from kfeat.experiments.quantities import SCORE, Quantity, at
from kfeat.experiments.row import Row, counts_as_timed
from kfeat.render.numbers import BUSY, MISSING, RAISED, UNCONVERGED, factor_text, with_unit
from kfeat.render.paper_table import Ratio, paper_table_notes, shown
from kfeat.render.switches import ranking_notes
from kfeat.text import counted

BOUND = "after >: the time limit, in CPU seconds of the trial's own work, at which it was stopped."
SPREAD = "mean ± standard deviation over the runs"
GEOMETRIC = " A ratio of times, here and in claims, is one of geometric means over the timed runs."
# What times should share to be compared, and how a row says it.
RESOURCES: dict[str, Callable[[Row], str]] = {
    "machines": lambda row: f"on {_machine(row['environment'])}",
    "numbers of threads": lambda row: f"with {row['threads']} thread{'s' * (row['threads'] > 1)}",
    "memory modes": lambda row: row.get("memory", "in_core").replace("_", " "),
}


def notes(experiment: Experiment, cells: Sequence[Cell]) -> list[str]:
    """Return what the numbers of a report are, where they are from, and what is to be kept in mind."""
    lines = paper_table_notes(experiment.table, cells) if experiment.table else []
    lines += ranking_notes(experiment, cells)
    for quantity in scores(cells):
        note = (quantity.note or "{spread}").format(spread=SPREAD)
        sampling = f"; {_sampling(cells)}" if quantity.name == "kernel_error" else ""
        lines.append(f"{quantity.heading}: {note}{sampling}.")
    lines += of_differences(experiment, cells)
    names = {source.name for source in experiment.datasets}
    stand_ins = experiment.stand_ins.items()
    lines += [f"{name}: a stand-in for {meant}." for name, meant in stand_ins if name in names]
    lines += _of_times(cells)
    if any(cell.of("metric", busy=True) for cell in cells):
        lines.append(
            "metric: CPU seconds of learning the metric from the training rows; a speed-up has them."
        )
    if any(cell.of("live") for cell in cells):
        lines.append("live features: columns that are not the same in all training rows.")
    if any(cell.of("columns") for cell in cells):
        lines.append(
            "columns: of sparse features, with R non-zeros in a row. unseen: the share of the test rows' "
            "cells in which no training row lies, and which have no column."
        )
    lines += cautions(experiment, cells)
    planned, ended = sum(len(cell.trials) for cell in cells), sum(len(cell.all_rows) for cell in cells)
    if 0 < ended < planned:
        lines.append(f"missing: {planned - ended} of {planned} planned trials.")
    for name, rows in _unended(cells):  # beside a low count of runs nothing else tells why
        lines.append(f"{name}: {'; '.join({row['reason']: None for row in rows})}")
    if any(cell.bound for cell in cells):
        lines.append(BOUND)
    if experiment.reported:
        lines.append(f"paper: {experiment.reported.source}.")
    return lines + _where_run(cells)


def unreported(cells: Sequence[Cell], reported: Collection[str]) -> list[str]:
    """Return why trials failed or were stopped, but for those in `reported`, and how many did."""
    lines = []
    for name, rows in _unended(cells):
        reasons = Counter(row["reason"] for row in rows if row["id"] not in reported)
        lines += [
            f"{name}: {reason}" + f" ({counted(n, 'trials')})" * (n > 1) for reason, n in reasons.items()
        ]
    failed, stopped = sum(len(cell.failed) for cell in cells), sum(len(cell.stopped) for cell in cells)
    planned = counted(sum(len(cell.trials) for cell in cells), "trials")
    if failed:
        lines.append(f"{failed} of {planned} failed")
    if stopped:
        lines.append(f"{stopped} of {planned} stopped at the time limit; a longer one runs them again")
    return lines


def scores(cells: Sequence[Cell]) -> list[Quantity]:
    """Return the scores that the cells have; before there are rows, what a cell takes for granted."""
    with_rows = [cell for cell in cells if cell.rows] or cells[:1]
    return list(dict.fromkeys(cell.named(SCORE) for cell in with_rows))


def reference_columns(experiment: Experiment, cells: Sequence[Cell]) -> dict[str, dict[Cell, Cell]]:
    """Return the references of the cells by the title of the column of differences, such as `minus ORF`."""
    of = references(experiment, cells)
    chosen = {*of.values()}
    names = Names(cells, ["n_components"] if len({cell.D for cell in chosen}) > 1 else ())
    titles = {names.method(cell) for cell in chosen}
    return {f"minus {titles.pop() if len(titles) == 1 else 'reference'}": of} if of else {}


def difference(cell: Cell, reference: Cell | None) -> Ratio:
    """Return the score of a cell minus its reference's, with the interval if any of the two varies."""
    if reference is None or reference is cell or cell.score is None or reference.score is None:
        return Ratio(Shown(None))
    number = cell.score.mean - reference.score.mean
    unconverged = bool(cell.unconverged or reference.unconverged)
    ends = interval_of([cell, reference], SCORE, False, LEVEL)
    return Ratio(Shown(number, unconverged=unconverged), ends if ends and ends[0] < ends[1] else None)


def of_differences(experiment: Experiment, cells: Sequence[Cell]) -> list[str]:
    """Return what the differences from the references are, and by which interval."""
    names, lines = Names(cells), []
    for title, of in reference_columns(experiment, cells).items():
        known = [cell for cell in of if difference(cell, of[cell]).interval]
        welch = [f"'{names.of(cell)}'" for cell in known if not paired(cell, of[cell])]
        kinds = ["from pairs of runs with the same split or features"] * (len(welch) < len(known))
        kinds += [f"Welch's for {', '.join(welch)}" if kinds else "Welch's"] * bool(welch)
        text = f"the score minus the reference's; of several, that of the same size ({MISSING} if none fits)"
        intervals = f"; in brackets its 95 % interval, {'; '.join(kinds)}" * bool(kinds)
        lines.append(f"{title}: {text}{intervals}.")
    return lines


def _sampling(cells: Sequence[Cell]) -> str:
    """Return how wide the 95 % intervals for the rows outside the sample are, relative to the errors."""
    rows = [row for cell in cells for row in cell.rows if "kernel_error" in row]
    errors = [row["kernel_error"]["relative_frobenius"] for row in rows]
    widths = [(error["high"] - error["low"]) / 2 / error["value"] for error in errors if error["value"]]
    if not widths:
        return "no interval for the sampling of rows"
    return (
        f"95 % interval for the rows that were not sampled: ± {100 * fmean(widths):.1f} % of the error on "
        f"average, ± {100 * max(widths):.1f} % at most"
    )


def _of_times(cells: Sequence[Cell]) -> list[str]:
    """Return what the columns of seconds are; nothing where no trial has any of them."""
    threads = sorted({row["threads"] for cell in cells for row in cell.rows})
    count = f"threads: {', '.join(map(str, threads)) or MISSING}"
    geometric = GEOMETRIC * any(cell.timed_runs > 1 for cell in cells)
    if any(cell.trial.solver for cell in cells):
        return [
            f"map, train, test: CPU seconds, {SPREAD} (map: fitting the map and mapping the training rows; "
            f"test: mapping and predicting the test rows; {count}). "
            "speed-up: map + train of the exact kernel SVM, of several the one that scores best, over the "
            f"method's.{geometric}",
        ]
    if any(cell.of("map", busy=True) for cell in cells):
        return [f"map: CPU seconds of fitting the map and mapping all rows, {SPREAD} ({count}).{geometric}"]
    return []


def _of_runs(experiment: Experiment, cells: Sequence[Cell]) -> list[str]:
    """Return how a reader sees on how many runs a time rests, where it is a single one or not all."""
    lines = []
    if any(0 < cell.timed_runs < len(cell.rows) for cell in cells):
        lines.append("timed: how many of the runs had the machine to themselves; the seconds are theirs.")
    few = {number for cell in cells for phase in PHASES if (number := cell.shown(phase).runs)}
    # The list of all cells has signs at its speed-ups only, where there is an exact kernel SVM.
    if few and (experiment.table or any(cell.trial.exact for cell in cells)):
        signs = ", ".join(str(number).translate(RAISED) for number in sorted(few))
        count = "one timed run" if few == {1} else "so many timed runs"
        lines.append(
            f"{signs}: a time of {count}, or a ratio of such a time; a ratio without this sign is of all "
            "runs, two or more. Of the seconds in the list of all cells its column `runs` says it."
        )
    return lines


def cautions(experiment: Experiment, cells: Sequence[Cell]) -> list[str]:
    """Return what a reader must not miss, on the terminal either: times in doubt and unverified data."""
    lines = _of_runs(experiment, cells)
    if any(cell.is_busy(phase) for cell in cells for phase in PHASES) or any(
        cell.bound and cell.bound.busy for cell in cells
    ):
        lines.append(
            f"{BUSY}: a time of a busy machine, or made from one: other programs ran beside the trials, or "
            "several trials at once. No verdict uses it; `kfeat run --retime` runs these trials again."
        )
    for what, said_by in RESOURCES.items():
        lines += _of_resource(what, said_by, cells)
    lines += _of_caches(cells) + _unconverged(cells) + _different_scores(cells)
    unverified = [row["dataset"] for cell in cells for row in cell.rows if not row["verified"]]
    lines += [
        f"unverified: {name}: no hash of these data is published or pinned; their fingerprint stands in the "
        "rows."
        for name in dict.fromkeys(unverified)
    ]
    return lines


def _of_resource(what: str, said_by: Callable[[Row], str], cells: Sequence[Cell]) -> list[str]:
    """Return which methods' seconds were taken with which resource, where a ratio of two could mix them."""
    groups: dict[tuple[str, ...], list[str]] = {}
    names = Names(cells)
    for cell in cells:
        rows = [*cell.timed, *filter(counts_as_timed, cell.stopped)] or cell.rows
        if values := tuple(sorted(set(map(said_by, rows)))):
            groups.setdefault(values, []).append(f"'{names.of(cell)}'")
    if len({value for values in groups for value in values}) < 2:
        return []
    *few, most = sorted(groups, key=lambda values: len(groups[values]))
    parts = [f"of {', '.join(groups[values])} {' and '.join(values)}" for values in few]
    parts.append(f"of all {'others ' if few else ''}{' and '.join(most)}")
    return [f"different {what}: the seconds were taken {'; '.join(parts)}. {_compares(what)}"]


_cache_mb = at("solve", "cache_mb")


def _of_caches(cells: Sequence[Cell]) -> list[str]:
    """Return the kernel caches of the exact kernel SVMs of each data set, where they differ."""
    names, parts = Names(cells), []
    for peers in grouped(cells, lambda cell: cell.setting[:2]).values():
        caches = {
            names.of(cell): sorted({f"{size:,.0f} MB" for row in cell.rows if (size := _cache_mb(row))})
            for cell in peers
        }
        if len({size for sizes in caches.values() for size in sizes}) > 1:
            parts += [f"'{name}' {' and '.join(sizes)}" for name, sizes in caches.items() if sizes]
    return [f"different kernel caches: {'; '.join(parts)}. {_compares('kernel caches')}"] if parts else []


def _compares(what: str) -> str:
    return f"A ratio of times from different {what} compares these too, not the methods alone."


def _machine(environment: Mapping[str, Any]) -> str:
    return f"{environment['processor']}, {environment['cores']} cores, {environment['system']}"


def _unconverged(cells: Sequence[Cell]) -> list[str]:
    parts, names = [], Names(cells)
    for cell in cells:
        if cell.unconverged:
            why = {row["solve"].get("stop_reason", "no reason given"): None for row in cell.unconverged}
            counted = f"{len(cell.unconverged)} of {len(cell.rows)} runs"
            parts.append(f"{names.of(cell)}: {counted} ({', '.join(why)})")
    return [f"{UNCONVERGED}: the solver ended before it converged. {'; '.join(parts)}."] if parts else []


def _different_scores(cells: Sequence[Cell]) -> list[str]:
    lines, names = [], Names(cells)
    for cell in cells:
        scores = {score for row in cell.rows if (score := cell.named(SCORE).read(row)) is not None}
        if not cell.drawn and len(scores) > 1:
            values = " and ".join(f"{score:.6g}" for score in sorted(scores))
            lines.append(
                f"{names.of(cell)}: its runs draw nothing and should score the same, but have "
                f"{values}. The table shows their mean; take it for a defect until the reason is known."
            )
    return lines


def _unended(cells: Sequence[Cell]) -> list[tuple[str, Sequence[Row]]]:
    """Return the rows of each cell's trials that failed or were stopped, after words that say so."""
    names = Names(cells)
    return [
        (f"{status}: {names.of(cell)}", rows)
        for cell in cells
        for status, rows in (("failed", cell.failed), ("stopped", cell.stopped))
        if rows
    ]


def _where_run(cells: Sequence[Cell]) -> list[str]:
    """Return a line per machine and set of packages, with every version of kfeat that made rows there."""
    versions: dict[str, set[str]] = {}
    for row in [row for cell in cells for row in (*cell.rows, *cell.stopped)]:
        environment, packages = row["environment"], row["environment"]["packages"]
        software = {"Python": environment["python"], **packages}
        named = [f"{name} {version}" for name, version in software.items() if name != "kfeat"]
        machine = ", ".join([_machine(environment), *named])
        versions.setdefault(machine, set()).add(environment["commit"] or packages["kfeat"])
    return [f"run on: {machine}; kfeat {', '.join(sorted(of))}." for machine, of in sorted(versions.items())]


def closing_line(cells: Sequence[Cell]) -> str | None:
    """Return in a sentence how the map with the best score compares with the best exact kernel SVM.

    None where a run has several settings, or where one of the two has no score or no time.
    """
    settings = by_setting(cells)
    if len(settings) != 1:
        return None
    peers = settings[0]
    names, best = Names(peers), best_of(cell for cell in peers if cell.trial.map)
    exact = exact_of(best, peers) if best else None
    if best is None or exact is None or best.score is None or exact.score is None:
        return None
    quantity, speed_up = best.named(SCORE), exact.shown("fit").over(best.shown("fit"))
    if speed_up.value is None:
        return None
    ours, theirs = (with_unit(quantity, score.mean) for score in (best.score, exact.score))
    return (
        f"{names.method(best)}: {quantity.title} {ours} where {names.method(exact)} has {theirs}; mapping "
        f"and training have a speed-up of {shown(speed_up, factor_text)}."
    )
