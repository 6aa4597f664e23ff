"""Writing the pages: all of them or none."""

from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from kfeat.analysis.at_hand import standings_at_hand
from kfeat.errors import StoreError
from kfeat.experiments.load import Experiment
from kfeat.render.replacing import Replacing
from kfeat.render.tones import TONES
from kfeat.site import catalogue, front, links, speed_up
from kfeat.site.explorer import explorer_script
from kfeat.site.papers import Paper, papers
from kfeat.site.scripts import index_script, rows_script
from kfeat.site.sections import section

MADE = "files.txt"  # names what was written, so that nothing else is ever removed


def build(experiments: Sequence[Experiment], results: Path, out: Path) -> list[Path]:
    """Write the pages of the experiments by their rows in `results` to the folder `out`; return the files.

    Pages of an earlier call that are no longer made are removed. Raises StoreError where there are no rows,
    where `out` cannot be written, or where it holds files and no such pages.
    """
    _check_folder(out)
    with TemporaryDirectory() as nothing:
        standings = standings_at_hand(experiments, Path(nothing), results)
    if not any(one.has_rows for one in standings):
        raise StoreError(f"{results}: no rows of these configs; `kfeat publish` puts them there")
    texts = dict(_texts(papers(standings, results)))
    texts[MADE] = "".join(f"{name}\n" for name in sorted(texts))
    before = (out / MADE).read_text(encoding="utf-8").splitlines() if (out / MADE).is_file() else []
    try:
        with Replacing() as replacing:
            new = replacing.beside(out)
            for name, text in texts.items():
                (new / name).write_text(text, encoding="utf-8")
        for name in {Path(line).name for line in before} - texts.keys():  # of what is no longer there
            (out / name).unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"{out}: cannot be written ({error.strerror})") from None
    return [out / name for name in texts]


def _check_folder(out: Path) -> None:
    """Raise StoreError for a folder that has files, and none of a site; files of others stay there."""
    if out.is_file() or (out.is_dir() and any(out.iterdir()) and not (out / "kfeat.js").is_file()):
        raise StoreError(f"{out}: expected an empty folder or one of `kfeat site`; choose another with --out")


def _texts(found: Sequence[Paper]) -> Iterator[tuple[str, str]]:
    """Yield every file with its name."""
    standings = [one for paper in found for one in paper.standings]
    maps, datasets = catalogue.maps(standings), catalogue.datasets(standings)
    environment = _environment({"papers": found, "maps": maps, "datasets": datasets})

    def page(name: str, template: str, **given: Any) -> tuple[str, str]:
        return name, environment.get_template(template).render(here=name, **given)

    for item in files("kfeat.site").joinpath("static").iterdir():
        yield item.name, item.read_text(encoding="utf-8")
    yield page(
        "index.html", "index.html", board=front.scoreboard(found), reasons=front.reasons(found),
        figure=speed_up.speed_ups(standings),
    )  # fmt: skip
    known = {one.experiment.name for one in standings}
    for paper in found:
        sections = [section(one, known) for one in paper.standings]
        yield page(paper.page, "paper.html", paper=paper, sections=sections)
    yield page("maps.html", "maps.html")
    yield page("data.html", "datasets.html")
    for one in maps:
        yield page(one.page, "map.html", map=one)
    for one_set in datasets:
        yield page(one_set.page, "dataset.html", data=one_set)
    yield page("explorer.html", "explorer.html")
    yield page("rows.html", "rows.html")
    yield "cells.js", explorer_script(standings)
    yield "index.js", index_script(standings)
    for standing in standings:
        if standing.has_rows:
            yield links.script(standing.experiment.name), rows_script(standing)


def _environment(shared: Mapping[str, Any]) -> Environment:
    """Return Jinja's environment, which escapes every text and knows no value that is not given."""
    environment = Environment(
        loader=PackageLoader("kfeat.site"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.globals |= {
        **shared, "links": links, "tones": TONES,
        "columns": list(zip(front.TITLES, front.COLUMN_TONES, strict=True)),
        "size": (speed_up.WIDTH, speed_up.HEIGHT),
        "margins": (speed_up.LEFT, speed_up.RIGHT, speed_up.TOP, speed_up.BOTTOM),
    }  # fmt: skip
    return environment
