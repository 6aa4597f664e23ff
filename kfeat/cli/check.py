"""`kfeat check`: compare rows with the paper's numbers and claims, and with the published rows."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kfeat.cli import options

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kfeat.experiments.config import Experiment
    from kfeat.experiments.plan import Trial
    from kfeat.experiments.row import Row

Access = dict[str, Any]


@click.command()
@options.takes_experiments(data=True, or_all=True)
@options.out
@options.results
@click.option(
    "--details",
    is_flag=True,
    help="With --all: also show what differs and why, what is missing, and the counts by kind.",
)
@click.option("--against", metavar="FOLDER", type=click.Path(path_type=Path, exists=True, file_okay=False),
              help="Compare the scores with those of the rows in FOLDER, such as another --out, and judge "
                   "nothing else.")  # fmt: skip
@click.option("--rerun-budget", metavar="TIME",
              help="Run published trials again within this time (90s, 5m), spread over datasets and maps, "
                   "and compare only these with the published rows.")  # fmt: skip
@click.pass_context
def check(
    ctx: click.Context, experiments: "list[Experiment]", every: bool, access: Access, quiet: bool, out: Path,
    results: Path, details: bool, against: Path | None, rerun_budget: str | None,
) -> None:  # fmt: skip
    """Compare the rows of CONFIGS with the paper's numbers and claims, and with the published rows.

    A config without rows of yours is judged by its published rows, and the output says so. With --maps,
    --set, --repeats or --no-exact only that part of a config is judged. With --all each config takes one
    line. Nothing is downloaded; trials without rows count as missing.

    A row is compared with the row of the same trial, which has the same id; only where a method has no trial
    in both folders are the means of all its rows compared. With --against the exit status is 1 if a score
    differs by more than rounding, or if a config has no method with rows in both folders; --all leaves such
    configs out.

    The exit status is 1 if there are no rows, neither yours nor published ones (with --all: no rows of any
    config); if a number or a claim differs from the paper and the config has neither an `explanation` that
    holds nor `unexplained` for it; if a trial failed; or if a published result is not reproduced any more.
    Otherwise it is 0.
    """
    if details and not every:
        raise click.UsageError("--details works only with --all; without --all the details are always shown")
    if against and rerun_budget:
        raise click.UsageError("--rerun-budget compares with the published rows; leave --against out")
    from kfeat.analysis.judgement import judge_experiments

    if rerun_budget is not None:
        passed = _rerun(experiments, access, out, results, rerun_budget, quiet)
    elif against is not None:
        passed = _against(experiments, out, against, every and not details, quiet)
    elif every:
        from kfeat.render.overview import passes, terminal
        from kfeat.render.table import terminal_width

        judgements = judge_experiments(experiments, out, results)
        click.echo(terminal(judgements, terminal_width(), details), nl=False)
        passed = passes(judgements)
    else:
        passed = _each(experiments, out, results, quiet)
    ctx.exit(0 if passed else 1)


def _each(experiments: "list[Experiment]", out: Path, results: Path, quiet: bool) -> bool:
    """Show the verdicts on each experiment's rows, or on the published ones; return whether all pass."""
    from kfeat.analysis.judgement import judge_experiments
    from kfeat.render.table import terminal_width
    from kfeat.render.verdicts import scoreboard

    passed, width = True, terminal_width()
    for one, judgement in zip(experiments, judge_experiments(experiments, out, results), strict=True):
        good = judgement.has_rows and judgement.passes
        if not (quiet and good):
            published = results if judgement.place == str(results) else None
            click.echo(scoreboard(judgement, out / one.name, width, published))
        passed &= good
    return passed


def _against(experiments: "list[Experiment]", out: Path, folder: Path, short: bool, quiet: bool) -> bool:
    """Show how the rows compare with those in another folder; return whether all scores are the same.

    If `short`, each experiment with rows in both takes a line.
    """
    from kfeat.analysis.judgement import judge_against
    from kfeat.render.overview import compared_with
    from kfeat.render.table import terminal_width
    from kfeat.render.verdicts import scoreboard

    judgements, width = judge_against(experiments, out, folder), terminal_width()
    if short:
        judgements = [one for one in judgements if one.comparisons]
        nothing = f"no config has rows in both {out} and {folder}\n"
        click.echo(compared_with(folder, judgements, width) if judgements else nothing, nl=False)
    for one in judgements:
        if not short and not (quiet and one.comparisons and one.passes):
            click.echo(scoreboard(one, out / one.experiment.name, width, against=folder))
    return bool(judgements) and all(one.comparisons and one.passes for one in judgements)


def _rerun(
    experiments: "list[Experiment]", access: Access, out: Path, results: Path, budget: str, quiet: bool
) -> bool:
    """Run published trials again in a temporary folder, compare the rows, and return whether all agree.

    A trial that several experiments share runs once and is compared with the published row of each.
    """
    from itertools import chain
    from tempfile import TemporaryDirectory

    from kfeat.analysis.cells import summarise
    from kfeat.analysis.judgement import compared, own_or_published
    from kfeat.experiments.row import read_rows
    from kfeat.experiments.run import run_trials
    from kfeat.experiments.schedule import Local
    from kfeat.experiments.worker import WorkerOptions
    from kfeat.render.table import terminal_width
    from kfeat.render.verdicts import scoreboard

    published = {one.name: read_rows(results / one.name) for one in experiments}
    candidates = {
        one.name: [
            (trial, row)
            for trial in own_or_published(one, out, results)[0]
            if (row := published[one.name].get(trial.id, {})).get("status") == "done"
        ]
        for one in experiments
    }
    chosen = {trial.id: trial for trial in choose(chain(*candidates.values()), options.seconds_of(budget))}
    if not chosen:
        click.echo(f"no published trial fits into {budget}; `kfeat publish` makes some")
        return False
    engine = Local(WorkerOptions(**access))
    with TemporaryDirectory() as folder, engine, options.observer(quiet) as observing:
        rows = run_trials(list(chosen.values()), Path(folder), engine, observing)
    cells = [
        summarise(one, [t for t, _ in candidates[one.name] if t.id in chosen], rows) for one in experiments
    ]
    judgements = compared(experiments, cells, [published[one.name] for one in experiments])
    for judgement in judgements:
        if judgement.cells:
            click.echo(scoreboard(judgement, results, terminal_width()))
    return all(judgement.passes for judgement in judgements)


def choose(candidates: "Iterable[tuple[Trial, Row]]", budget: float) -> "list[Trial]":
    """Return trials whose recorded wall seconds add up to at most `budget`.

    One trial per cell is taken, since repeats test the same code. The pairs of dataset and map take turns,
    the fastest trial of each first, so that a small budget covers as many pairs as possible.
    """
    from itertools import chain, zip_longest

    from kfeat.experiments.row import wall_seconds

    groups: dict[tuple[str, str], dict[str, tuple[float, Trial]]] = {}
    for trial, row in candidates:
        group = groups.setdefault((trial.data_key, trial.map.name if trial.map else "exact"), {})
        cost = wall_seconds(row)
        if trial.cell not in group or cost < group[trial.cell][0]:
            group[trial.cell] = (cost, trial)
    queues = [sorted(group.values(), key=lambda pair: pair[0]) for group in groups.values()]
    chosen: list[Trial] = []
    for cost, trial in filter(None, chain.from_iterable(zip_longest(*queues))):
        if cost <= budget:
            budget -= cost
            chosen.append(trial)
    return chosen
