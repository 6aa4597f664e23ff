"""`kfeat plan` and `kfeat protocol`: the trials of configs with their cost, and the choices behind them."""

from collections import Counter
from dataclasses import asdict
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kfeat.cli import options, output, selection
from kfeat.errors import DataError, DownloadError
from kfeat.experiments.shipped import config_files
from kfeat.text import counted, plain, plain_lines

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from kfeat.data import Access
    from kfeat.experiments.config import Experiment
    from kfeat.experiments.plan import Again


@click.command()
@selection.takes_experiments(data=True, code=True)
@options.out
@options.results
@options.memory
@click.option("--missing", is_flag=True, help="Show only what is not done yet and why, a line per config.")
@click.option(
    "--to-settle",
    is_flag=True,
    help="Show how many further runs would decide each verdict that is open, cheapest first.",
)
@options.form
def plan(
    experiments: "list[Experiment]", access: "Access", quiet: bool, out: Path, results: Path,
    memory: int | None, missing: bool, to_settle: bool, form: str,
) -> None:  # fmt: skip
    """Show the trials of CONFIGS: their ids, which are done, and the CPU time and memory of each.

    Time and memory are estimates. They use the rows of similar trials in --out and --results, or the rows
    that come with kfeat.

    With --to-settle it shows instead what would decide the claims that are open and the numbers that are
    compatible, by the rows in --out or else the published ones. Raise `repeats` in the config to that
    number, and run it again.
    """
    results = selection.published_rows(results, experiments)
    if to_settle:
        from kfeat.analysis.judgement import judge_experiments
        from kfeat.render.overview import undecided, undecided_terminal
        from kfeat.render.table import terminal_width

        verdicts = undecided(judge_experiments(experiments, out, results))
        if form == "json":
            output.show_json([asdict(verdict) for verdict in verdicts])
        else:
            click.echo(undecided_terminal(verdicts, terminal_width()))
        return
    if missing:
        if form == "json":
            raise click.UsageError("--missing is text; leave it out: JSON has the status of each trial")
        for line in _missing_lines(experiments, out):
            click.echo(line)
        return
    show_plans(experiments, out, results, access, memory=memory, form=form)


@click.command()
@selection.configs
def protocol(configs: tuple[Path, ...], overrides: tuple[str, ...]) -> None:
    """Print every switch of CONFIGS: its value, whether it is known, inferred or open, and the evidence.

    A switch is a choice that the numbers depend on. The list `switches` of a config states what is known of
    each, by its key: protocol.scale, kernel.gamma, map.degree_law, solver.C; or solver.libsvm.C for one
    component of several. What it does not state is shown as "not stated".
    """
    from kfeat.experiments.config import load_experiment
    from kfeat.render.switches import render_switches
    from kfeat.render.table import terminal_width

    files, width = config_files(configs), terminal_width()
    experiments = [load_experiment(file, overrides) for file in files]
    click.echo("\n\n".join(render_switches(experiment, width) for experiment in experiments))


def show_plans(
    experiments: "Sequence[Experiment]", out: Path, results: Path, access: "Access",
    again: "Again" = "nothing", time_limit: float = inf, memory: int | None = None,
    only: "Collection[str] | None" = None, form: str = "text",
) -> None:  # fmt: skip
    """Show the trials of each experiment, or those with the ids in `only`, and their total time and memory.

    The total counts a trial that several experiments share once, since `run` runs it once. If one of several
    experiments has data that cannot be fetched, it is left out with a message on standard error. If none
    remains, the exit status is 2.
    """
    from kfeat.experiments.run import dependencies_first

    seen: dict[str, set[str]] = {}  # the ids of the trials so far, by the name of the experiment
    plans: list[dict[str, Any]] = []
    whole: list[dict[str, Any]] = []
    for experiment in dependencies_first(experiments):
        try:
            plan = _document(experiment, out, results, access, again, time_limit, memory, only)
        except (DataError, DownloadError) as error:
            if len(experiments) == 1:
                raise
            click.echo(f"kfeat: not counted: {plain_lines(f'{experiment.path}: {error}')}", err=True)
            continue
        if form == "text":
            _show_plan(plan)
        elsewhere = set().union(*(seen.get(name, set()) for name in (experiment.name, *experiment.rows_from)))
        whole += [trial for trial in plan["trials"] if trial["id"] not in elsewhere]
        seen.setdefault(experiment.name, set()).update(trial["id"] for trial in plan["trials"])
        plans.append(plan)
    if not plans:
        click.get_current_context().exit(2)
    totals = _totals(whole)
    if form == "json":
        output.show_json({"experiments": plans, "totals": totals})
    elif len(experiments) > 1:
        planned = sum(len(plan["trials"]) for plan in plans)
        shared = planned - len(whole)
        of_them = f" ({shared:,} of them shared)" if shared else ""
        click.echo(f"{counted(len(plans), 'configs')}: {counted(planned, 'trials')}{of_them}")
        click.echo(_in_all(totals))


def _document(
    experiment: "Experiment", out: Path, results: Path, access: "Access", again: "Again", time_limit: float,
    memory: int | None, only: "Collection[str] | None",
) -> dict[str, Any]:  # fmt: skip
    """Return the experiment's trials, with their states and estimates, and the totals."""
    from kfeat.cli.progress import names
    from kfeat.experiments.cost import estimates
    from kfeat.experiments.plan import pending
    from kfeat.experiments.run import planned, rows_of

    trials = [trial for trial in planned(experiment, access) if only is None or trial.id in only]
    rows = rows_of(experiment, out)
    todo = {trial.id for trial in pending(trials, rows, again, time_limit)}
    ended = {trial.id: rows[trial.id]["status"] for trial in trials if trial.id in rows}
    state = ended | {identity: "to run" for identity in todo if ended.get(identity) != "failed"}
    past = [*rows_of(experiment, results).values(), *rows.values()]
    expected, name = estimates(trials, past, memory, time_limit), names(trials)
    common: dict[str, dict[str, Any]] = {}  # by cell: once for all repeats, which may be thousands
    for trial in trials:
        if trial.cell not in common:
            components = {"kernel": trial.kernel, **trial.components}
            entries = {part: item and item.entry() for part, item in components.items()}
            cost = {"seconds": expected[trial.id].seconds, "bytes": expected[trial.id].memory}
            common[trial.cell] = {
                "cell": trial.cell, "dataset": trial.source.name, **entries, **cost,
            }  # fmt: skip
    described = [
        {"id": trial.id, "name": name[trial.id], **common[trial.cell], "repeat": trial.repeat,
         "status": state[trial.id]}
        for trial in trials
    ]  # fmt: skip
    about = {"name": experiment.name, "title": experiment.title}
    return {**about, "trials": described, "totals": _totals(described)}


def _show_plan(plan: dict[str, Any]) -> None:
    """Show a line for the experiment and one per trial."""
    from kfeat.render.numbers import time

    states = [trial["status"] for trial in plan["trials"]]
    click.echo(plain(f"{plan['title']}: {counted(len(states), 'trials')}, {states.count('done')} done"))
    for trial in plan["trials"]:
        needs = f"{time(trial['seconds']):>10}  {_size(trial['bytes']):>8}"
        click.echo(f"{trial['id']}  {trial['status']:<7}  {needs}  {trial['name']}")
    click.echo(_in_all(plan["totals"]))


def _totals(trials: "Sequence[dict[str, Any]]") -> dict[str, Any]:
    """Return the CPU seconds of all trials and of the pending ones, and bytes; `unknown` are not counted."""
    pending = [trial for trial in trials if trial["status"] in ("to run", "failed")]
    sizes = [trial["bytes"] for trial in trials if trial["bytes"] is not None]
    return {
        "trials": len(trials),
        "seconds": sum(trial["seconds"] or 0.0 for trial in trials),
        "pending_seconds": sum(trial["seconds"] or 0.0 for trial in pending),
        "unknown": sum(trial["seconds"] is None for trial in trials),
        "largest_bytes": max(sizes, default=None),
        "all_bytes": sum(sizes),
    }


def _in_all(totals: dict[str, Any]) -> str:
    """Return the CPU time of all trials and of the pending ones, and the most memory that a trial needs."""
    from rich.filesize import decimal

    from kfeat.render.numbers import time

    unknown, whole, pending = totals["unknown"], time(totals["seconds"]), time(totals["pending_seconds"])
    without = f" ({unknown} not counted, since their data are not read yet)" if unknown else ""
    return (
        f"estimated: {whole} of CPU time in all{without}, {pending} of it pending; "
        f"{_size(totals['largest_bytes'])} of memory for the largest trial, {decimal(totals['all_bytes'])} "
        "for all at once"
    )


def _size(n_bytes: int | None) -> str:
    from rich.filesize import decimal

    from kfeat.render.numbers import MISSING

    return MISSING if n_bytes is None else decimal(n_bytes)


def _missing_lines(experiments: "Sequence[Experiment]", out: Path) -> "Iterator[str]":
    """Yield a line for each experiment that lacks trials or times below `out`, and a line for the total.

    The data are looked up only where the rows do not identify them.
    """
    from kfeat.experiments.row import counts_as_timed
    from kfeat.experiments.run import plan_from_rows, rows_of

    planned = absent = 0
    for experiment in experiments:
        rows = rows_of(experiment, out)
        trials = plan_from_rows(experiment, rows.values())
        lacking = [trial for trial in trials if rows.get(trial.id, {}).get("status") != "done"]
        planned, absent = planned + len(trials), absent + len(lacking)
        ended = (rows.get(trial.id) for trial in lacking)
        reasons = Counter(f"{row['status']} ({row['reason']})" if row else "without a row" for row in ended)
        parts = [f"{counted(n, 'trials')} {reason}" for reason, n in reasons.most_common()]
        with_rows = {trial.cell for trial in trials if trial.id in rows}
        timed = {trial.cell for trial in trials if trial.id in rows and counts_as_timed(rows[trial.id])}
        if untimed := len(with_rows - timed):
            parts.append(f"no time that counts for {untimed} of {counted(len(with_rows), 'methods')}")
        if parts:
            yield plain(f"missing: {experiment.path}: {'; '.join(parts)}")
    are = f"{absent:,} {'is' if absent == 1 else 'are'} missing" if absent else "nothing is missing"
    yield f"{counted(planned, 'trials')} planned, {planned - absent:,} done, {are}"
