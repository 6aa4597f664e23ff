"""Tell whether a change of the code changes what is published: `python -m scripts.same`, before and after.

The first call keeps the hash of every table, verdict and page that kfeat makes of the published rows; each
later call names those that differ from it, and fails where there are any. Figures are left out: their files
differ in every drawing.
"""

import json
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from click.testing import CliRunner

from kfeat.cli.main import main
from kfeat.render.files import texts
from scripts.readme import RESULTS, judgements

DRAWN = {".png", ".svg", ".pdf"}


@click.command()
@click.option("--kept", type=click.Path(path_type=Path), default=Path("runs/same.json"), show_default=True)
@click.option("--no-site", is_flag=True, help="Leave out the pages of the site, which take most of the time.")
def same(kept: Path, no_site: bool) -> None:
    """Keep the hashes of all that is published, or compare with those that are kept."""
    found = {name: sha256(content).hexdigest() for name, content in made(not no_site)}
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(found, indent=0), encoding="utf-8")
        click.echo(f"{kept}: {len(found):,} texts are kept; call it again after the change")
        return
    before = json.loads(kept.read_text(encoding="utf-8"))
    names = sorted(name for name in before.keys() | found.keys() if not (no_site and name.startswith("site")))
    differ = [name for name in names if before.get(name) != found.get(name)]
    click.echo("\n".join([*differ, f"{len(differ):,} of {len(names):,} texts differ"]))
    sys.exit(bool(differ))


def made(site: bool) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of each text: tables, what `kfeat check` and `rows` say, and pages."""
    for judgement in judgements():
        folder = RESULTS / judgement.experiment.name
        if judgement.has_rows:
            for name, text in texts(judgement.experiment, judgement.cells, folder).items():
                yield f"{judgement.experiment.name}/{name}", text.encode()
    for command in ("check --all", "rows configs --format csv", "maps", "kernels", "solvers", "schema"):
        yield f"kfeat {command}", CliRunner().invoke(main, command.split()).stdout_bytes
    if site:
        with TemporaryDirectory() as place:
            CliRunner().invoke(main, ["site", "--out", place, "--quiet"], catch_exceptions=False)
            for path in sorted(Path(place).rglob("*")):
                if path.is_file() and path.suffix not in DRAWN:
                    yield f"site/{path.relative_to(place)}", path.read_bytes()


if __name__ == "__main__":
    same()
