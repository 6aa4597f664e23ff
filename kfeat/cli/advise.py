"""The `kfeat advise` command: which kernel, map and size to use for data, by the published survey."""

from pathlib import Path
from typing import Any

import click

from kfeat.cli import options
from kfeat.errors import ConfigError
from kfeat.saying import plain


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
    from kfeat.data.reading import Reading
    from kfeat.data.registry import registry
    from kfeat.own.advice import sentences, traits_of
    from kfeat.own.new_config import described_file
    from kfeat.survey.advice import advise as advice_for
    from kfeat.survey.table import described, published

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
