"""`kfeat advise`, `new` and `tune`: from your own data to a config, and to a better one."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kfeat.cli import options
from kfeat.errors import ConfigError
from kfeat.files import replacing, writing
from kfeat.text import plain

if TYPE_CHECKING:
    from kfeat.own.search import Scored


@click.command()
@click.argument("data")
@click.option("--target", metavar="COLUMN", help="The column of a file with the labels, by name or number.")
@click.option("--kernel", "kernels", metavar="KERNEL", multiple=True,
              help="Consider only this kernel, such as gaussian or 'polynomial 2'; repeatable.")  # fmt: skip
@click.option("--budget", metavar="TIME", default="60s", show_default=True, callback=options.seconds,
              help="The CPU time of mapping and training on one thread (10s, 5m).")  # fmt: skip
@click.option("--rows", type=click.IntRange(min=10), metavar="N",
              help="Advise for N training rows; by default as many as DATA has.")  # fmt: skip
@options.access
@options.verbosity
def advise(
    data: str, target: str | None, kernels: tuple[str, ...], budget: float, rows: int | None,
    mirror: str | None, offline: bool, quiet: bool,
) -> None:  # fmt: skip
    """Say which kernel, map and size suit DATA: the name of a dataset, or a file of yours.

    The advice comes from the published survey of the maps on ten data sets, which count more the more they
    are like DATA in features, density and spectrum. It says what the method costs and what it loses against
    the exact kernel method, and how good such advice was on data that it had not seen. Nothing is trained.
    """
    from kfeat.data import load_raw
    from kfeat.data.columns import Reading
    from kfeat.data.sources import registry
    from kfeat.own.new_config import described_file, sentences, traits_of
    from kfeat.survey.advice import advise as advice_for
    from kfeat.survey.answers import described, published

    cells = published()
    known = sorted(cells["kernel"].unique())
    if unknown := [one for one in kernels if one not in known]:
        raise ConfigError(f"--kernel: the survey has no kernel '{unknown[0]}'; it has {', '.join(known)}")
    access: dict[str, Any] = {"mirror": mirror, "offline": offline}
    source: Any = data
    if data in registry() and not Path(data).exists():
        raw = load_raw(source, **access)
    else:
        raw, source, _ = described_file(Path(data), target=target, test=None, task=None, reading=Reading())
    traits = traits_of(source, raw, rows, **access)
    found = advice_for(traits, budget, cells, described(), kernels)
    if found is None:
        raise ConfigError(
            f"no method of the survey maps and trains {traits.n:,} rows within {budget:g} s; give "
            "a longer --budget"
        )
    for sentence in sentences(data, traits, budget, found):
        click.echo(plain(sentence))


@click.command()
@click.argument("data", type=click.Path(path_type=Path))
@click.option(
    "--target", metavar="COLUMN", help="The column with the labels or targets, by name, or by number from 0."
)
@click.option("--test", metavar="FILE", help="A file with the test rows; by default a fifth of the rows.")
@click.option("--task", type=click.Choice(["classification", "regression"]),
              help="What to predict; by default words, or up to 20 whole numbers, are classes.")  # fmt: skip
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE",
              help="How the file is read, as in a config's dataset: --set missing=drop, --set 'drop=[id]', "
              "--set header=false, --set delimiter=whitespace; repeatable.")  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path), metavar="CONFIG",
              help="The config to write; by default, in this folder, DATA's name with .yaml.")  # fmt: skip
@options.verbosity
def new(
    data: Path, target: str | None, test: str | None, task: Any, settings: tuple[str, ...], out: Path | None,
    quiet: bool,
) -> None:  # fmt: skip
    """Write a commented config for DATA, a file of yours.

    The file is inspected (columns, target, task, classes, missing values, size) to choose scaling, map,
    D and solver, and a comment gives the reason for each choice. `kfeat run`, `kfeat tune` and `kfeat
    fit` accept the config unchanged.
    """
    from kfeat.data.columns import Reading
    from kfeat.data.sources import validated
    from kfeat.own.new_config import new_config

    reading = validated(Reading, options.key_values(settings), "--set")
    stem = re.sub(r"[^\w.-]", "_", data.name.split(".")[0]).lstrip(".-") or "config"
    path = out or Path(f"{stem}.yaml")
    if path.exists():
        raise ConfigError(f"{path} exists; give another name with --out, or remove it")
    text = new_config(data, path, target=target, test=test, task=task, reading=reading)
    with writing(path, ConfigError), replacing(path) as file:
        file.write_text(text, encoding="utf-8")
    if not quiet:
        for line in text.splitlines():
            if line.startswith("# Left out"):
                click.echo(line.removeprefix("# "))
        click.echo(
            plain(f"{path}: `kfeat run {path}` runs it, `kfeat tune {path}` searches for better choices")
        )


@click.command()
@click.argument("config", type=click.Path(path_type=Path))
@options.overrides
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
    from kfeat.experiments.config import load_experiment
    from kfeat.experiments.schedule import physical_cores
    from kfeat.files import new_file
    from kfeat.own.bench import ScorerProcess
    from kfeat.own.search import ScoreLog, Search
    from kfeat.own.training import check_place, setup_of, tuned_config
    from kfeat.render.tables import terminal_width
    from kfeat.render.tuning import sentences, terminal, tests, write_report

    place = out or config.with_name(f"{config.stem}_tuned.yaml")
    check_place(place)
    access: dict[str, Any] = {"mirror": mirror, "offline": offline}
    setup = setup_of(load_experiment(config, overrides), seed, **access)
    folder = runs / setup.experiment.name / "tune"
    options.say_on_interrupt("scored candidates are kept, and the same command continues")
    assistant = ScorerProcess(threads or physical_cores(), **setup.bench(seed, access))
    try:
        journal = ScoreLog(folder / f"{setup.identity}.jsonl")
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
    name = f"{one.candidate.scale}, {one.candidate.name}"
    click.echo(
        f"{one.n:>8,} rows  {score:>8}  {name:<40}  {one.seconds:>6.2f} s  best so far {best.score:.4f}",
        err=True,
    )
