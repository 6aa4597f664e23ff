"""Run the benchmarks and print their tables: `python -m scripts.bench`, or some parts by name.

A part is a file of this folder that has a function `run`. Its table comes as soon as it is measured; with
`--save DIR` it is written to DIR/<part>.md, and as rows to DIR/<part>.json, with the machine it was measured
on, and DIR/README.md is a summary of all parts that are there. Parts whose data are neither in the cache nor
in KFEAT_MIRROR are left out: nothing is downloaded. Run it alone on the machine.
"""

from importlib import import_module
from pathlib import Path
from time import perf_counter

import click
from threadpoolctl import threadpool_limits

from kfeat.errors import KfeatError
from scripts.bench.report import Record, record, save_part, save_summary, table

PARTS = [path.stem for path in sorted(Path(__file__).parent.glob("*.py")) if "\ndef run(" in path.read_text()]


def measured(part: str, threads: tuple[int, ...]) -> Record:
    """Return the rows of one part at each number of threads, or at those that it knows only."""
    module = import_module(f"scripts.bench.{part}")
    start, rows = perf_counter(), []
    for count in getattr(module, "THREADS", threads):
        with threadpool_limits(count):
            rows += [{"threads": count, **row} for row in module.run(count)]
    return record(module.__doc__ or "", rows, perf_counter() - start)


@click.command()
@click.argument("parts", nargs=-1, type=click.Choice(PARTS))
@click.option("--threads", type=click.IntRange(min=1), multiple=True, default=(2, 1), show_default=True)
@click.option("--save", type=click.Path(path_type=Path), help="Write the tables below this folder too.")
def bench(parts: tuple[str, ...], threads: tuple[int, ...], save: Path | None) -> None:
    """Measure kfeat beside what people use now; the page of each part says how."""
    for part in parts or PARTS:
        try:
            found = measured(part, threads)
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
