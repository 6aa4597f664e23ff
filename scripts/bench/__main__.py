"""Run the benchmarks and print their tables: `python -m scripts.bench`, or some of `PARTS` by name.

Rows come as they are measured; with `--save DIR` they are written to DIR/<part>.json and .md too, with the
machine they were measured on. Run it alone on the machine.
"""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from tabulate import tabulate
from threadpoolctl import threadpool_limits

from kfeat.experiments.machine import environment

PARTS = ("maps", "fourier", "sketches", "solvers", "exact", "data")


def show(rows: list[dict[str, Any]]) -> str:
    """Return measured rows as a Markdown table."""
    cells = [{key: _text(value) for key, value in row.items()} for row in rows]
    return tabulate(cells, headers="keys", tablefmt="github", disable_numparse=True)


def _text(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


@click.command()
@click.argument("parts", nargs=-1, type=click.Choice(PARTS))
@click.option("--threads", type=click.IntRange(min=1), multiple=True, default=(2, 1), show_default=True)
@click.option("--save", type=click.Path(path_type=Path), help="Write the rows below this folder too.")
def bench(parts: tuple[str, ...], threads: tuple[int, ...], save: Path | None) -> None:
    """Measure kfeat beside what people use now, as ratios of medians taken in turn."""
    for part in parts or PARTS:
        rows = []
        for count in threads:
            with threadpool_limits(count):
                rows += [
                    {"threads": count, **row} for row in import_module(f"scripts.bench.{part}").run(count)
                ]
        text = f"## {part}\n\n{show(rows)}\n"
        click.echo(text)
        if save is not None:
            save.mkdir(parents=True, exist_ok=True)
            record = {"environment": environment(), "rows": rows}
            (save / f"{part}.json").write_text(json.dumps(record, indent=1) + "\n")
            machine = ", ".join(f"{key} {value}" for key, value in environment().items() if key != "packages")
            (save / f"{part}.md").write_text(f"{text}\nMeasured on: {machine}.\n")


bench()
