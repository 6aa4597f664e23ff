"""Run the benchmarks and print their tables: `python -m scripts.bench`, or some parts by name.

A part is a file of this folder that has a function `run`. Its table comes as soon as it is measured; with
`--save DIR` it is written to DIR/<part>.md, and as rows to DIR/<part>.json, with the machine it was measured
on, and DIR/README.md is a summary of all parts that are there. Parts whose data are neither in the cache nor
in KFEAT_MIRROR are left out: nothing is downloaded. Each part has a process of its own, so that none counts
the memory of another. Run it alone on the machine.
"""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import click

from kfeat.errors import KfeatError
from scripts.bench.measured import measured
from scripts.bench.report import save_part, save_summary, table

PARTS = [path.stem for path in sorted(Path(__file__).parent.glob("*.py")) if "\ndef run(" in path.read_text()]


@click.command()
@click.argument("parts", nargs=-1, type=click.Choice(PARTS))
@click.option("--threads", type=click.IntRange(min=1), multiple=True, default=(2, 1), show_default=True)
@click.option("--save", type=click.Path(path_type=Path), help="Write the tables below this folder too.")
def bench(parts: tuple[str, ...], threads: tuple[int, ...], save: Path | None) -> None:
    """Measure kfeat beside what people use now; the page of each part says how."""
    for part in parts or PARTS:
        try:
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
                found = process.submit(measured, part, threads).result()
        except KfeatError as error:  # data that are not there: nothing is downloaded
            click.echo(f"{part} is left out: {error}", err=True)
            continue
        click.echo(f"## {part}\n\n{table(found['rows'])}\n\n{found['minutes']:.1f} minutes\n")
        if save is not None:
            save_part(part, found, save)
    if save is not None:
        save_summary(save)


if __name__ == "__main__":
    bench()
