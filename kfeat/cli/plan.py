"""`kfeat plan`: the trials of configs, what is done of them, and what each will take."""

from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kfeat.cli import options
from kfeat.saying import plain

if TYPE_CHECKING:
    from kfeat.experiments.load import Experiment
    from kfeat.experiments.run import Again

Access = dict[str, Any]


@click.command()
@options.selects_experiments
@options.out
@options.results
@options.memory
@click.option("--missing", is_flag=True, help="Show only what is not done yet, and why: a line per config.")
def plan(
    experiments: "list[Experiment]", access: Access, quiet: bool, out: Path, results: Path,
    memory: int | None, missing: bool,
) -> None:  # fmt: skip
    """Show the trials of CONFIGS with their identities, which of them are done, and what each will take.

    The CPU time and the memory of a trial are estimates, from rows in --out and --results where there are
    any of its kind.
    """
    if missing:
        from kfeat.cli.missing import missing_lines

        for line in missing_lines(experiments, out):
            click.echo(line)
        return
    for experiment in experiments:
        show_plan(experiment, out, results, access, memory=memory)


def show_plan(
    experiment: "Experiment", out: Path, results: Path, access: Access, again: "Again" = "nothing",
    time_limit: float = inf, memory: int | None = None, only: set[str] | None = None,
) -> None:  # fmt: skip
    """Show a line for each trial, or for `only` those with these ids, and what they take in all."""
    from kfeat.cli.expected import in_all, needs
    from kfeat.cli.progress import names
    from kfeat.experiments.estimates import estimates
    from kfeat.experiments.run import pending, planned, rows_of

    trials = [trial for trial in planned(experiment, **access) if only is None or trial.id in only]
    rows = rows_of(experiment, out)
    todo = {trial.id for trial in pending(trials, rows, again, time_limit)}
    ended = {trial.id: rows[trial.id]["status"] for trial in trials if trial.id in rows}
    state = ended | {identity: "to run" for identity in todo if ended.get(identity) != "failed"}
    states = [state[trial.id] for trial in trials]
    click.echo(plain(f"{experiment.title}: {len(trials)} trials, {states.count('done')} done"))
    past = [*rows_of(experiment, results).values(), *rows.values()]
    expected = estimates(trials, past, memory, time_limit)
    for (identity, name), state in zip(names(trials).items(), states, strict=True):
        click.echo(f"{identity}  {state:<7}  {needs(expected[identity])}  {name}")
    click.echo(in_all(expected.values(), [expected[identity] for identity in todo]))
