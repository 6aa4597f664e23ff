"""`kfeat check-map` and `kfeat rank`: which of kfeat's promises a map keeps, and its rank in the study."""

import re
from pathlib import Path
from typing import Any

import click

from kfeat.cli import completion, options, output, signals
from kfeat.cli.values import key_values
from kfeat.errors import ConfigError
from kfeat.files import writing
from kfeat.text import plain, plain_lines

_place = click.argument("place", shell_complete=completion.completes(lambda: completion.registered("map")))


@click.command("check-map")
@_place
@click.option("--kernel", required=True, metavar="YAML", help="The kernel, as a config has it.")
@click.option(
    "--set", "settings", metavar="NAME=VALUE", multiple=True, help="A parameter of the map; may be repeated."
)
@click.option("--biased", is_flag=True, help="Leave out the tests of bias and of the variance.")
@click.pass_context
def check_map(ctx: click.Context, place: str, kernel: str, settings: tuple[str, ...], biased: bool) -> None:
    """Check whether a map, of kfeat or of your own, keeps what all maps of kfeat promise.

    PLACE is my_map.py:Mine, package.module:Class or a name of `kfeat maps`. The exit status is 1 if a promise
    does not hold.
    """
    from kfeat import testing
    from kfeat.experiments.adapters import OtherMap
    from kfeat.experiments.yaml import parse
    from kfeat.place import set_back

    exact = _component("kernel", parse(kernel, "--kernel")).build()
    feature_map = _component("map", {"name": place, **key_values(settings)}).build(kernel=exact)
    if isinstance(feature_map, OtherMap):
        feature_map = feature_map.transformer
    with set_back():
        report = testing.check_map(feature_map, exact, unbiased=not biased)
    click.echo(plain_lines(str(report)))
    ctx.exit(0 if report.passed else 1)


@click.command()
@_place
@click.option("--kernel", default="gaussian", show_default=True, metavar="NAME",
              shell_complete=completion.completes(lambda: ("gaussian", "laplacian", "polynomial")),
              help="A kernel of the study: gaussian, laplacian or polynomial (of degree 3).")  # fmt: skip
@click.option("--quick", is_flag=True, help="Run on four data sets, which takes minutes, instead of all.")
@options.out
@options.access
@options.verbosity
@click.pass_context
def rank(
    ctx: click.Context, place: str, kernel: str, quick: bool, out: Path, mirror: str | None, offline: bool,
    quiet: bool,
) -> None:  # fmt: skip
    """Rank a map, of kfeat or of your own, among those of the published study, within equal limits of time.

    PLACE is my_map.py:Mine, package.module:Class or a name of `kfeat maps`; kfeat runs the code of your own.
    The map chooses gamma and C on training rows, and runs on 4,000 rows of each data set of the study. Within
    1/10 and 1/2 of the exact method's time each map takes the best of its sizes that fit: rank prints the
    average ranks, and the differences from each map with 95 % intervals. Two maps of the study run beside
    yours, so that its seconds can be compared with the published ones. Nothing else may run on the machine.

    You can stop it at any time: finished trials are kept, and the same command continues from there.
    """
    from kfeat.data import Access
    from kfeat.experiments.engine import opened_engine
    from kfeat.experiments.setting import unsupported
    from kfeat.experiments.worker import WorkerOptions
    from kfeat.survey import rank as league
    from kfeat.survey.study import shipped

    settings = league.league(kernel, quick)
    item = _component("map", {"name": place, "n_components": 64})
    for problem in unsupported(item, [_component("kernel", settings[0]["kernel"])]):
        raise ConfigError(problem)
    slug = re.sub(r"[^\w-]+", "_", place).strip("_")
    name = f"rank/{slug}_{kernel}"
    how = WorkerOptions(access=Access(mirror, offline=offline), debug=bool(ctx.meta.get("kfeat.debug")))
    signals.say_on_interrupt("finished trials are kept, and the same command continues")
    with (
        opened_engine("local", 1, None, False, how) as engine,
        output.observer(quiet, several=True) as watching,
    ):
        placed = league.run(item, settings, name, out, engine, watching)
    study = shipped("study")
    _show(place if place not in set(study["method"]) else f"{place} (here)", study, *placed, out / name)


def _show(name: str, study: Any, own: Any, references: Any, failed: dict[str, str], folder: Path) -> None:
    """Print what the trials say, and write the table in LaTeX and the figure."""
    import matplotlib as mpl
    import pandas as pd
    from matplotlib.figure import Figure

    from kfeat.render.figures.style import COLOURS, RC
    from kfeat.render.figures.svg import save
    from kfeat.render.table import Table, terminal_width
    from kfeat.survey import rank as league
    from kfeat.survey.study import TUNED, curves

    kernel = own["kernel"].iloc[0]
    of, told = league.entered(own, references, study, name)
    answers = [league.standing(of, name, kernel, budget) for budget in league.BUDGETS]
    sentences = [sentence for sentence, _ in answers]
    frames = [frame for _, frame in answers if len(frame)]
    if not frames:
        raise ConfigError(" ".join(sentences))
    lines = pd.concat(frames)
    table = Table(list(lines.columns), lines.to_numpy().tolist(), words=(1,))
    click.echo(table.terminal(terminal_width()))
    for dataset, reason in failed.items():
        less = "at some sizes" if dataset in set(own["dataset"]) else "and is ranked on the others"
        sentences.append(f"{name} failed on {dataset}, {less}: {reason}")
    for sentence in (*sentences, told):
        click.echo(plain(sentence))
    colours = {name: COLOURS[5], "nystrom": COLOURS[0], league.PLAIN[kernel]: COLOURS[2]}
    with mpl.rc_context(RC), writing(folder):
        (folder / "rank.tex").write_text(f"{table.latex()}\n", encoding="utf-8")
        figure = Figure(figsize=(5.4, 3.6), layout="constrained")
        axes = figure.subplots()
        curves(axes, of, kernel, TUNED, colours)
        axes.set(xlabel="share of the exact method's time", ylabel="share of the exact gain recovered")
        save(figure, [folder / "rank.svg"])
    click.echo(plain(f"{folder}/: rank.tex, rank.svg and the rows"))


def _component(part: str, entry: Any) -> Any:
    from pydantic import ValidationError

    from kfeat.experiments.component import Origin, read_component

    try:
        return read_component(entry, part, origin=Origin(Path(str(click.get_current_context().info_name))))
    except ValidationError as error:
        problems = [f"{'.'.join(map(str, (part, *e['loc'])))}: {e['msg']}" for e in error.errors()]
        raise ConfigError("; ".join(problems)) from None
