"""The `kfeat tune` command: search for a better config within a budget of wall time."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kfeat.cli import options, selection
from kfeat.saying import plain

if TYPE_CHECKING:
    from kfeat.own.halving import Scored


@click.command()
@click.argument("config", type=click.Path(path_type=Path))
@selection.overrides
@click.option("--budget", metavar="TIME", default="5m", show_default=True, callback=options.seconds,
              help="The wall time of the search, after the data are read (30s, 10m, 2h).")  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path), metavar="TUNED",
              help="The config to write; by default, beside CONFIG, its name with _tuned.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0, max=2**31 - 1), default=0, show_default=True,
              help="The seed of the order of rows, the folds and the candidates.")  # fmt: skip
@click.option("--threads", type=click.IntRange(min=1), help="Threads; by default all physical cores.")
@click.option("--runs", type=click.Path(path_type=Path), default=Path("runs"), show_default=True,
              help="The folder for the record of the search, in a folder for each config.")  # fmt: skip
@click.option("--prefer", type=click.Choice(["accuracy", "speed"]), default="accuracy", show_default=True,
              help="Write the most accurate method, or the fastest within half a point.")  # fmt: skip
@options.access
@options.verbosity
def tune(
    config: Path, overrides: tuple[str, ...], budget: float, out: Path | None, seed: int, threads: int | None,
    runs: Path, prefer: str, mirror: str | None, offline: bool, quiet: bool,
) -> None:  # fmt: skip
    """Search for a better scaling, kernel, map, D, loss and C than CONFIG has; write a config with the best.

    The exact kernel method is a candidate wherever its time fits the budget. Candidates are scored by
    cross-validation on subsamples of the training rows, and the best third again on three times as many rows
    (successive halving). The search ends with the budget, or earlier if nothing gets better; the same command
    continues it. Test rows are not used to choose.
    """
    from kfeat.experiments.engine import physical_cores
    from kfeat.experiments.load import load_experiment
    from kfeat.own.file import new_file
    from kfeat.own.process import Assistant
    from kfeat.own.search import Journal, Search
    from kfeat.own.tuned import check_place, setup_of, tuned_config
    from kfeat.render.terminal import terminal_width
    from kfeat.render.tuning import sentences, terminal, tests, write_report

    place = out or config.with_name(f"{config.stem}_tuned.yaml")
    check_place(place)
    access: dict[str, Any] = {"mirror": mirror, "offline": offline}
    setup = setup_of(load_experiment(config, overrides), seed, **access)
    folder = runs / setup.experiment.name / "tune"
    options.keeps("scored candidates are kept, and the same command continues")
    assistant = Assistant(threads or physical_cores(), **setup.bench(seed, access))
    try:
        journal = Journal(folder / f"{setup.identity}.jsonl")
        search = Search(assistant, journal, budget, seed, None if quiet else _say)
        found = search.run(setup.kernels, setup.maps)
    finally:
        assistant.end()
    summary = sentences(found)
    click.echo(terminal(found, terminal_width()))
    if tested := tests(found, terminal_width()):
        click.echo(f"\n{tested}")
    click.echo("\n" + plain(" ".join(summary)))
    quickest = found.quickest if prefer == "speed" else None
    text = tuned_config(setup, quickest or found.best, summary)
    with new_file(place, "the tuned config") as file:
        file.write(text.encode())
    write_report(found, f"{setup.experiment.title}: what was tried", folder)
    if found.n_kept and not quiet:
        click.echo(f"{found.n_kept} rows of earlier calls were used.")
    click.echo(plain(f"{place}: the best config; table and figure: {folder}/"))


def _say(one: "Scored", best: "Scored") -> None:
    """Say on stderr what a candidate scored."""
    from kfeat.render.tuning import ended

    score = ended(one) if one.reason else f"{one.score:.4f}"
    feature_map = "exact" if one.candidate.map is None else one.candidate.map["name"]
    name = f"{one.candidate.scale}, {one.candidate.kernel['name']}, {feature_map}"
    click.echo(
        f"{one.n:>8,} rows  {score:>8}  {name:<40}  {one.seconds:>6.2f} s  best so far {best.score:.4f}",
        err=True,
    )
