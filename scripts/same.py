"""Tell whether a change of the code changes what is published: `python -m scripts.same`, before and after.

The first call keeps the hash of every table, figure and verdict that kfeat makes of the published rows;
each later call names those that differ from it, and fails where there are any. Drawing the figures takes five
minutes. Equal cells make equal SVGs, byte for byte, in every process of a machine with the same Matplotlib.
"""

import json
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from click.testing import CliRunner

from kfeat.analysis.judgement import Judgement
from kfeat.cli.main import main
from kfeat.render.figures.figure import draw
from kfeat.render.files import texts
from scripts.readme import RESULTS, judgements


@click.command()
@click.option("--kept", type=click.Path(path_type=Path), default=Path("runs/same.json"), show_default=True)
@click.option("--no-figures", is_flag=True, help="Leave out the figures, which take five minutes.")
def same(kept: Path, no_figures: bool) -> None:
    """Keep the hashes of all that is published, or compare with those that are kept."""
    found = {name: sha256(content).hexdigest() for name, content in made(not no_figures)}
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(found, indent=0), encoding="utf-8")
        click.echo(f"{kept}: {len(found):,} files are kept; call it again after the change")
        return
    before = json.loads(kept.read_text(encoding="utf-8"))
    figures = {name for name in before if no_figures and name.endswith("/figure.svg")}
    names = sorted(before.keys() - figures | found.keys())
    differ = [name for name in names if before.get(name) != found.get(name)]
    click.echo("\n".join([*differ, f"{len(differ):,} of {len(names):,} files differ"]))
    sys.exit(bool(differ))


def made(figures: bool) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of tables, figures, and of what `kfeat check` and others say."""
    for judgement in judgements():
        folder = RESULTS / judgement.experiment.name
        if judgement.has_rows:
            for name, text in texts(judgement.experiment, judgement.cells, folder).items():
                yield f"{judgement.experiment.name}/{name}", text.encode()
            if figures:
                yield f"{judgement.experiment.name}/figure.svg", drawn(judgement)
    for command in ("check --all", "rows configs --format csv", "maps", "kernels", "solvers", "schema"):
        yield f"kfeat {command}", CliRunner().invoke(main, command.split()).stdout_bytes


def drawn(judgement: Judgement) -> bytes:
    """Return the SVG of a published figure."""
    with TemporaryDirectory() as place:
        path = Path(place, "figure.svg")
        draw(judgement.experiment, judgement.cells, [path])
        return path.read_bytes()


if __name__ == "__main__":
    same()
