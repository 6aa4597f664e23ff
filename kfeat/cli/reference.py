"""What a config can name, and what is known of its choices: `configs`, `maps`, `protocol` and others."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kfeat.cli import options
from kfeat.cli.options import config_files, known_configs
from kfeat.errors import ConfigError
from kfeat.saying import in_yaml, plain

if TYPE_CHECKING:
    from kfeat.experiments.explained import Explained
    from kfeat.experiments.search import Search
    from kfeat.experiments.worker import WorkerOptions

_name = click.argument("name", required=False)
_KEYS = {"map": "maps:\n    - {}", "kernel": "kernel: {}", "mapped": "solvers:\n    mapped: {}",
         "exact": "solvers:\n    exact: {}"}  # fmt: skip


@click.group(invoke_without_command=True)
@click.pass_context
def configs(ctx: click.Context) -> None:
    """List the experiments that come with kfeat; `kfeat run NAME` runs one in any folder."""
    if ctx.invoked_subcommand is None:
        from kfeat.experiments.config import load_experiment

        found = {one.name: one.title for one in map(load_experiment, config_files((known_configs(),)))}
        width = max(map(len, found), default=0)
        for name, title in found.items():
            click.echo(f"{name:{width}}  {title}")


@configs.command()
@click.argument("folder", type=click.Path(path_type=Path))
def copy(folder: Path) -> None:
    """Copy them to FOLDER for editing; FOLDER must be new or empty."""
    from shutil import copytree

    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder}: expected a new or empty folder, got one that holds files")
    try:
        copytree(known_configs(), folder, dirs_exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be written ({error.strerror})") from None
    click.echo(f"copied to {folder}: edit a file and run it, as in `kfeat run {folder / 'quickstart.yaml'}`")


@click.command()
def schema() -> None:
    """Print the JSON Schema of a config, with which an editor completes keys and marks wrong ones."""
    from kfeat.experiments.explained import experiment_schema

    click.echo(json.dumps(experiment_schema(), indent=1))


@click.command()
@_name
def maps(name: str | None) -> None:
    """List the feature maps, with the kernels, cost, variance and use of each.

    With a NAME, show that map in full with its parameters.
    """
    from inspect import getdoc

    from kfeat.experiments.explained import explained_one
    from kfeat.maps import MAPS, kernels_of

    one = explained_one("map", name) if name else None
    for each, cls in sorted(MAPS.items()) if one is None else [(one.name, MAPS[one.name])]:
        summary = (getdoc(cls) or "").split("\n\n")[0].replace("\n", " ")
        facts = [f"{key}: {value}" for key, value in cls.facts._asdict().items()]
        lines = [f"kernels: {', '.join(kernels_of(cls))}", *facts]
        if one is None:
            click.echo("\n  ".join([each, summary, *lines]))
        else:
            _show(one, "map", lines)


@click.command()
@_name
def kernels(name: str | None) -> None:
    """List the kernels, and the maps that approximate each.

    With a NAME, show that kernel in full with its parameters.
    """
    from kfeat.experiments.explained import explained, explained_one
    from kfeat.kernels import KERNELS
    from kfeat.maps import maps_for

    for one in [explained_one("kernel", name)] if name else explained("kernel").values():
        lines = [f"maps: {', '.join(maps_for(KERNELS[one.name]()))}"]
        if name:
            _show(one, "kernel", lines)
        else:
            click.echo("\n  ".join([one.name, one.summary, *lines]))


@click.command()
@_name
def solvers(name: str | None) -> None:
    """List the solvers: linear ones for mapped features, and exact ones for kernels.

    With a NAME, show that solver in full with its parameters.
    """
    from kfeat.experiments.explained import explained, explained_one
    from kfeat.solvers import SOLVERS

    for one in [explained_one("solver", name)] if name else explained("solver").values():
        cls = SOLVERS[one.name]
        role = "exact" if cls.needs_kernel else "mapped"
        lines = [f"key in a config: solvers.{role}", f"out of core: {cls.out_of_core}"]
        if name:
            _show(one, role, lines)
        else:
            click.echo("\n  ".join([one.name, one.summary, *lines]))


def _show(one: "Explained", key: str, lines: list[str]) -> None:
    """Print everything about one kernel, map or solver."""
    from kfeat.render.terminal import paragraph, terminal_width

    width = terminal_width()
    click.echo(one.name)
    for block in one.text.split("\n\n"):
        click.echo(paragraph(block, width=width) + "\n")
    for line in lines:
        click.echo(paragraph(line, width=width))
    click.echo("\nParameters:" if one.parameters else "\nIt has no parameters.")
    for parameter in one.parameters:
        click.echo(f"  {', '.join(parameter.names)}: {parameter.kind}")
        for text in parameter.meaning.split("\n"):
            click.echo(paragraph(text, "      ", width))
    click.echo(f"\nIn a config, with its defaults:\n  {_KEYS[key].format(in_yaml(one.entry))}")


SEARCHING = ("repeats", "jobs", "dry_run", "publish")  # options of a search


@click.command()
@options.configs
@click.option("--search", is_flag=True, help="Try the alternatives of the switches, and rank the settings.")
@click.option("--repeats", type=click.IntRange(min=1), default=2, show_default=True,
              help="In a search, repeat each map this often.")  # fmt: skip
@options.jobs
@click.option("--dry-run", is_flag=True, help="Show what the search would try, and run nothing.")
@click.option("--publish", is_flag=True, help="Copy the search's ranking and rows to results/.")
@options.out
@options.results
@options.access
@options.verbosity
@click.pass_context
def protocol(
    ctx: click.Context, configs: tuple[Path, ...], overrides: tuple[str, ...], search: bool,
    repeats: int, jobs: int, dry_run: bool, publish: bool, out: Path, results: Path,
    mirror: str | None, offline: bool, quiet: bool,
) -> None:  # fmt: skip
    """Print every switch of CONFIGS: its value, whether it is known, inferred or open, and the evidence.

    A switch is a choice that the numbers depend on. The list `switches` of a config states what is known of
    each, by its key: protocol.scale, kernel.gamma, map.degree_law, solver.C; or solver.libsvm.C for one
    component of several. What it does not state is shown as "not stated".

    --search runs the experiment with every combination of the `alternatives` there, without exact methods
    and only where the paper prints a number. It ranks the combinations by the mean over these numbers of
    absolute difference / max(slack, 2 sd), where slack is 1 point unless the config gives another.
    """
    by_hand = click.core.ParameterSource.COMMANDLINE
    given = [name for name in SEARCHING if ctx.get_parameter_source(name) is by_hand]
    if given and not search:
        named = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise ConfigError(f"{named}: only a search uses this; add --search")
    from kfeat.experiments.config import load_experiment
    from kfeat.experiments.run import fingerprints
    from kfeat.experiments.search import search_rows, search_space
    from kfeat.experiments.worker import WorkerOptions
    from kfeat.render.protocol import render_plan, render_switches
    from kfeat.render.terminal import terminal_width

    files, width = options.config_files(configs), terminal_width()
    experiments = [load_experiment(file, overrides) for file in files]
    if not search:
        click.echo("\n\n".join(render_switches(experiment, width) for experiment in experiments))
        return
    # All of them before the first trial, so that no error appears only after hours.
    searched = [load_experiment(file, overrides, repeats=repeats, exact=False) for file in files]
    spaces = [search_space(one, fingerprints(one, mirror=mirror, offline=offline)) for one in searched]
    if dry_run:
        for space in spaces:
            click.echo(render_plan(space, search_rows(space.experiment, out), width))
        return
    how = WorkerOptions(debug=bool(ctx.meta.get("kfeat.debug")), mirror=mirror, offline=offline)
    where = results if publish else None
    options.keeps("finished trials are kept, and the same command continues")
    failed = [_search(space, out, where, how, jobs, quiet) for space in spaces]
    ctx.exit(int(any(failed)))


def _search(
    search: "Search", out: Path, results: Path | None, how: "WorkerOptions", jobs: int, quiet: bool
) -> bool:
    """Run what is missing, write the ranking and show it; return whether a trial failed."""
    from kfeat.analysis.ranking import ranked
    from kfeat.experiments.schedule import Local
    from kfeat.experiments.search import FOLDER, run_search
    from kfeat.render.protocol import publish_search, render_ranking, write_ranking
    from kfeat.render.terminal import terminal_width

    with Local(how, jobs) as engine, options.observer(quiet) as observing:
        rows = run_search(search, out, engine, observing)
    found = ranked(search, rows)
    folder = out / search.experiment.name / FOLDER
    write_ranking(search, found, folder)
    click.echo(render_ranking(search, found, "terminal", terminal_width()))
    click.echo(f"ranking: {folder}/")
    failures = {row["id"]: row for cell in found["cell"] for row in cell.failed}
    for key, row in failures.items():
        if key not in observing.reported:
            click.echo(plain(f"kfeat: trial {key} failed: {row['reason']}"), err=True)
    if results is not None:
        number = publish_search(search, found, rows, results)
        click.echo(f"{number} rows -> {results / search.experiment.name / FOLDER}/")
    return bool(failures)
