"""Writing the pages, all of them or none."""

from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from kfeat.analysis.judgement import judge_experiments
from kfeat.errors import StoreError
from kfeat.experiments.config import Experiment
from kfeat.files import replacing_together
from kfeat.render.verdicts import TONES
from kfeat.site import catalogue, links
from kfeat.site import papers as front
from kfeat.site.scripts import explorer_script, index_script, rows_script
from kfeat.site.sections import section

MADE = "files.txt"  # names what was written, so that nothing else is ever removed


def build(experiments: Sequence[Experiment], results: Path, out: Path) -> list[Path]:
    """Write the pages of the experiments by their rows in `results` to the folder `out`; return the files.

    Pages of an earlier call that are no longer made are removed. Raises StoreError where there are no rows,
    where `out` cannot be written, or where it holds files and no such pages: files of others stay there.
    """
    if out.is_file() or (out.is_dir() and any(out.iterdir()) and not (out / "kfeat.js").is_file()):
        raise StoreError(f"{out}: expected an empty folder or one of `kfeat site`; choose another with --out")
    with TemporaryDirectory() as nothing:
        judgements = judge_experiments(experiments, Path(nothing), results)
    if not any(one.has_rows for one in judgements):
        raise StoreError(f"{results}: no rows of these configs; `kfeat publish` puts them there")
    texts = dict(_texts(front.papers(judgements, results)))
    texts[MADE] = "".join(f"{name}\n" for name in sorted(texts))
    before = (out / MADE).read_text(encoding="utf-8").splitlines() if (out / MADE).is_file() else []
    with replacing_together() as beside:
        new = beside(out)
        for name, text in texts.items():
            (new / name).write_text(text, encoding="utf-8")
    for name in {Path(line).name for line in before} - texts.keys():  # of what is no longer there
        (out / name).unlink(missing_ok=True)
    return [out / name for name in texts]


def _texts(papers: Sequence[front.Paper]) -> Iterator[tuple[str, str]]:
    """Yield every file with its name."""
    judgements = [one for paper in papers for one in paper.judgements]
    known = {one.experiment.name for one in judgements}
    maps, datasets = catalogue.maps(judgements), catalogue.datasets(judgements)
    # Jinja escapes every text, and knows no value that is not given.
    jinja = Environment(
        loader=PackageLoader("kfeat.site"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    jinja.globals |= {"papers": papers, "maps": maps, "datasets": datasets, "tones": TONES}

    def page(name: str, template: str = "", **given: Any) -> tuple[str, str]:
        return name, jinja.get_template(template or name).render(here=name, **given)

    for item in files("kfeat.site").joinpath("static").iterdir():
        yield item.name, item.read_text(encoding="utf-8")
    yield page(
        "index.html", board=front.scoreboard(papers), columns=front.COLUMNS,
        figure=front.speed_ups(judgements), size=(front.WIDTH, front.HEIGHT),
        margins=(front.LEFT, front.RIGHT, front.TOP, front.BOTTOM),
    )  # fmt: skip
    yield page("differences.html", reasons=front.reasons(papers))
    for paper in papers:
        sections = [section(one, known) for one in paper.judgements]
        yield page(paper.page, "paper.html", paper=paper, sections=sections)
    yield page("data.html", "datasets.html")
    for name in ("maps.html", "explorer.html", "rows.html"):
        yield page(name)
    yield from (page(one["page"], "map.html", map=one) for one in maps)
    yield from (page(one["page"], "dataset.html", data=one) for one in datasets)
    yield "cells.js", explorer_script(judgements)
    yield "index.js", index_script(judgements)
    for judgement in judgements:
        if judgement.has_rows:
            yield links.script(judgement.experiment.name), rows_script(judgement)
