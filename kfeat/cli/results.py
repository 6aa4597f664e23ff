"""`kfeat check`, `rows` and `explain`: judge rows, show them one by one, and explain a single one."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from kfeat.cli import completion, options, output, selection
from kfeat.errors import ConfigError, StoreError
from kfeat.experiments.shipped import config_files
from kfeat.text import plain, plain_lines

if TYPE_CHECKING:
    from kfeat.analysis.judgement import Judgement
    from kfeat.data import Access
    from kfeat.experiments.config import Experiment


@click.command()
@selection.takes_experiments(data=True, or_all=True)
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
@options.form
@click.pass_context
def check(
    ctx: click.Context, experiments: "list[Experiment]", every: bool, access: "Access", quiet: bool,
    out: Path, results: Path, details: bool, against: Path | None, rerun_budget: str | None, form: str,
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
    from kfeat.analysis.comparisons import REGRESSED
    from kfeat.analysis.judgement import judge_against, judge_experiments
    from kfeat.analysis.tallies import tallies
    from kfeat.render.overview import compared_with, passes, terminal, undecided_sentence
    from kfeat.render.table import terminal_width
    from kfeat.render.verdicts import scoreboard

    results = selection.published_rows(results, experiments)
    short = every and not details
    if rerun_budget is not None:
        from kfeat.cli.rerun import rerun

        judgements = rerun(experiments, access, out, results, rerun_budget, quiet)
        good = [judgement.passes for judgement in judgements]
    elif against is not None:
        judgements = judge_against(experiments, out, against)
        if short:
            judgements = [judgement for judgement in judgements if judgement.comparisons]
        good = [bool(judgement.comparisons) and judgement.passes for judgement in judgements]
    else:
        judgements = judge_experiments(experiments, out, results)
        good = [judgement.has_rows and judgement.passes for judgement in judgements]
    board = every and rerun_budget is None and against is None
    passed, width = passes(judgements) if board else bool(good) and all(good), terminal_width()
    if form == "json":
        documents = [_document(judgement) for judgement in judgements]
        output.show_json({"experiments": documents, "tallies": tallies(judgements), "passes": passed})
    elif board:
        click.echo(terminal(judgements, width, details), nl=False)
    elif rerun_budget is not None and not judgements:
        click.echo(f"no published trial fits into {rerun_budget}; `kfeat publish` makes some")
    elif against is not None and short:
        nothing = f"no config has rows in both {out} and {against}\n"
        click.echo(compared_with(against, judgements, width) if judgements else nothing, nl=False)
    else:
        for judgement, fine in zip(judgements, good, strict=True):
            if quiet and fine and rerun_budget is None:
                continue
            folder = out / judgement.experiment.name if rerun_budget is None else results
            published = results if judgement.place == str(results) else None
            click.echo(scoreboard(judgement, folder, width, published, against))
            if judgement.has_rows and (more := undecided_sentence(judgement, judgement.experiment.argument)):
                click.echo(more)
            moved = [item for item in judgement.comparisons if item.verdict == REGRESSED and item.elsewhere]
            if moved and rerun_budget is None and against is None:
                again = f"kfeat check {judgement.experiment.path} --rerun-budget 5m"
                click.echo(f"rows of another processor regressed: `{again}` shows whether that is why\n")
    ctx.exit(0 if passed else 1)


def _document(judgement: "Judgement") -> dict[str, Any]:
    """Return the verdicts on an experiment for JSON; `rows` is the folder that its rows come from."""
    from kfeat.analysis.numbers import MISSING

    numbers = []
    for judged in judgement.numbers:
        number, reproductions = judged.number, {item.cell: item for item in judged.reproductions}
        for cell in judged.cells:
            ours, compared = cell.of(number.of), reproductions.get(cell)
            document = {
                "name": judgement.names.of(cell), "where": number.where, "of": number.of,
                "ours": ours and asdict(ours), "printed": {"mean": number.mean, "sd": number.sd},
                "difference": compared and compared.difference, "interval": compared and compared.interval,
                "verdict": judged.of(compared) if compared else MISSING,
            }  # fmt: skip
            numbers.append(document)
    claims = []
    for claimed in judgement.claims:
        words = {"ours": claimed.ours, "printed": claimed.paper, "verdict": claimed.verdict}
        claims.append(claimed.claim.model_dump(include={"text", "where", "kind"}) | words)
    cells = [{**vars(item), "cell": judgement.names.of(item.cell)} for item in judgement.comparisons]
    return {
        "name": judgement.experiment.name, "title": judgement.experiment.title,
        "rows": (judgement.has_rows and judgement.place) or None,
        "numbers": numbers, "claims": claims, "cells": cells,
        "failed": [row["id"] for row in judgement.failed],
        "tally": judgement.counts(), "passes": judgement.passes if judgement.has_rows else None,
    }  # fmt: skip


class _Rows(output.Group):
    """Reads `kfeat rows CONFIG` as `kfeat rows show CONFIG`; a config named merge is given as ./merge."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, *ctx.help_option_names):
            args = ["show", *args]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the commands, and the configs as `show` does."""
        return completion.completions([*self.commands, *completion.config_names()], incomplete)


@click.group(cls=_Rows)
def rows() -> None:
    """Show the rows of CONFIGS one by one, or merge folders of rows.

    `kfeat rows CONFIG` is short for `kfeat rows show CONFIG`.
    """


@rows.command()
@selection.takes_experiments()
@options.out
@options.results
@click.option("--where", "conditions", multiple=True, metavar="KEY=VALUE",
              help="Show only rows with this value, or one of a list: --where map=tensor_sketch, --where "
                   "'map.n_components=[200, 500]'; any column is a key; repeatable.")  # fmt: skip
@click.option("--format", "form", type=click.Choice(["table", "csv", "jsonl"]), default="table",
              show_default=True,
              help="The table omits what all rows share; the others have every column.")  # fmt: skip
def show(
    experiments: "list[Experiment]", quiet: bool, out: Path, results: Path, conditions: tuple[str, ...],
    form: str,
) -> None:  # fmt: skip
    """Show the rows of CONFIGS, one line each: every parameter, every quantity, and how it was run.

    A config without rows of yours shows its published ones, and stderr says so. A row that several of CONFIGS
    share is shown once. Rows of trials that a config does not plan are left out; give --set and the other
    options with which they were run to include them.
    """
    from kfeat.analysis.judgement import own_or_published
    from kfeat.analysis.records import planned_rows, record
    from kfeat.experiments.run import other_settings
    from kfeat.experiments.selectors import chosen
    from kfeat.render.rows import render_rows
    from kfeat.render.table import terminal_width

    results = selection.published_rows(results, experiments)
    plans = []
    for experiment in experiments:
        trials, rows, place = own_or_published(experiment, out, results)
        plans.append((trials, rows))
        if place == results and not quiet and any(trial.id in rows for trial in trials):
            click.echo(f"kfeat: {experiment.name}: the published rows of {results}", err=True)
            if own := other_settings(experiment, out, "rows"):
                click.echo(f"kfeat: {own}", err=True)
    shown = planned_rows(plans)
    if not shown:
        others = list(filter(None, (other_settings(experiment, out, "rows") for experiment in experiments)))
        none = f"no rows of {selection.listed(experiments)} in {out} and {results}; `kfeat run` makes them"
        raise StoreError("\n".join(others) or none)
    records = chosen([record(row) for row in shown], conditions)
    click.echo(render_rows(records, form, terminal_width()), nl=False)


@rows.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--into", required=True, type=click.Path(path_type=Path),
              help="The folder for the rows, such as runs; it keeps the rows it has.")  # fmt: skip
@options.verbosity
def merge(folders: tuple[Path, ...], into: Path, quiet: bool) -> None:
    """Put the rows of FOLDERS, such as the runs/ of several machines, into one folder.

    Rows of an experiment go to the folder of the same name. If a trial has two rows, a finished one is kept,
    otherwise a stopped one; of two such rows, a timed one is kept, then the one with the longer limit, then
    the one that is already in the folder. `kfeat report` updates the tables.
    """
    from kfeat.experiments.store import merge as merge_rows

    for name, merged in merge_rows(folders, into).items():
        if not quiet:
            click.echo(plain(f"{into / name}: {merged}"))


@click.command()
@click.argument("identity", metavar="ID")
@selection.configs_argument(required=False)
@options.out
@options.results
@options.verbosity
def explain(identity: str, configs: tuple[Path, ...], out: Path, results: Path, quiet: bool) -> None:
    """Show everything about the trial with this ID, or with an id that begins with it.

    This includes the configs that plan the trial (among CONFIGS, by default those in configs/, or else those
    that come with kfeat); its cell in their tables; the printed numbers and claims that use this cell, with
    verdicts; its scores, seconds, parameters, learnt values, machine and commit; and the command that runs
    exactly this trial.
    """
    from kfeat.experiments.config import load_experiment
    from kfeat.render.rows import explain_trial as explained
    from kfeat.render.rows import render_explanation
    from kfeat.render.table import terminal_width

    if not identity.strip():
        raise ConfigError("expected the beginning of a trial's id; `kfeat plan` and `kfeat rows` show ids")
    experiments = []
    for file in config_files(configs or (Path("configs"),)):
        try:
            experiments.append(load_experiment(file))
        except ConfigError as error:  # a wrong config that was not named must not prevent the answer
            if configs:
                raise
            click.echo(plain_lines(f"kfeat: skipped: {error}"), err=True)
    results = selection.published_rows(results, experiments)
    explanation = explained(identity.strip(), experiments, out, results)
    click.echo(render_explanation(explanation, out, terminal_width()))
