"""Draw the published reports anew from their rows, a part of `make pages`.

Only those are drawn whose tables are not what kfeat makes of the rows today; with --all every one, for a
change of figures. No row changes.
"""

import click

from kfeat.render.files import published_files, texts, write_report
from scripts.readme import RESULTS, judgements


@click.command()
@click.option("--all", "every", is_flag=True, help="Draw all reports, for a change of figures.")
def redraw(every: bool) -> None:
    """Draw published reports anew."""
    for judgement in judgements():
        experiment, cells = judgement.experiment, judgement.cells
        folder = RESULTS / experiment.name
        names = published_files(experiment)
        if not judgement.has_rows or not names:
            continue
        made = {name: text for name, text in texts(experiment, cells, folder).items() if name in names}
        if every or any((folder / name).read_text(encoding="utf-8") != text for name, text in made.items()):
            write_report(experiment, cells, folder, names)
            click.echo(folder)


if __name__ == "__main__":
    redraw()
