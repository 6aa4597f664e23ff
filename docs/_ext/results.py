"""What results/ adds to the documentation: a page for each of its Markdown files, and the explorer's data."""

import json
import re
from collections.abc import Iterator
from os.path import relpath
from pathlib import Path
from typing import Any

import itables
import plotly
from sphinx.application import Sphinx
from sphinx.util.display import status_iterator

from kfeat.analysis.cells import Cell, by_setting
from kfeat.analysis.names import Names
from kfeat.analysis.statistics import welch_half_width
from kfeat.data.sources import dataset_name
from kfeat.experiments.config import Experiment, load_experiment
from kfeat.experiments.quantities import QUANTITIES
from kfeat.render.files import cells_below

ROOT = Path(__file__).resolve().parents[2]
RESULTS, CONFIGS, MADE = ROOT / "results", ROOT / "configs", ROOT / "docs/generated"
PAGES, STATIC = MADE / "results", MADE / "static"
DATATABLES = Path(itables.__file__).with_name("html")
PLOTLY = Path(plotly.__file__).with_name("package_data")

# The target of a link, an image or an include that is a path.
LINK = re.compile(r"(?:(?<=\]\()|(?<=\{literalinclude\} ))(?![a-z]+:|#)([^)#\s]+)")
CITED = re.compile(r"(?<= )([\w/]+)#\w+(?= \()")  # a claim that is cited as evidence: config#claim
# What can stand on an axis of the explorer.
AXES = (
    "accuracy", "relative_error", "kernel_error", "fit", "n_components", "n_train", "map", "train", "test",
    "fit_and_sample", "live", "memory",
)  # fmt: skip

WIDE = "---\nhtml_theme.sidebar_secondary.remove: true\n---\n\n"
RUN = """
## Run it

`kfeat run {name}` runs this experiment again, and `kfeat check {name}` compares.
<a href="{up}explorer.html#experiment={name}">The explorer</a> draws its cells. Files: [table.csv](table.csv),
[rows](trials.jsonl) (a JSON object per line), [config]({config}).

:::{{dropdown}} {name}.yaml
```{{literalinclude}} {config}
:language: yaml
```
:::
"""
SUBPAGES = """
```{{toctree}}
:hidden:

{}
```
"""


def make(app: Sphinx) -> None:
    """Write the pages and the data, before Sphinx looks for pages."""
    sources = sorted(RESULTS.rglob("*.md"))
    for source in status_iterator(sources, "pages of results... ", "brown", len(sources), app.verbosity):
        page = PAGES / source.relative_to(RESULTS)
        write(page, linked(page_of(source), source, page))
    for page in PAGES.rglob("*.md"):
        if not (RESULTS / page.relative_to(PAGES)).exists():
            page.unlink()
    names = [path.parent.relative_to(RESULTS).as_posix() for path in sources if path.name == "table.md"]
    configs = [path for name in names if (path := CONFIGS / f"{name}.yaml").exists()]
    cells: list[list[Any]] = []
    for path in status_iterator(configs, "cells of the explorer... ", "brown", len(configs), app.verbosity):
        cells += cells_of(load_experiment(path))
    write(STATIC / "cells.js", f"const CELLS = {packed(cells)};\n")
    # A page that is opened as a file may load no module, so the module of DataTables becomes a script.
    module = (DATATABLES / "dt_bundle.js").read_text(encoding="utf-8")
    script = re.sub(r"export\{[^}]*?(\w+) as default[^}]*\}", r"window.DataTable=\1", module)
    write(STATIC / "datatables.js", f"(() => {{{script}}})();\n")


def write(path: Path, text: str) -> None:
    """Write a file, unless it has this text: Sphinx reads again what is younger than its last build."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def page_of(source: Path) -> str:
    """Return the Markdown of a page: a table with its figure and config, a README with its subpages."""
    text, folder = source.read_text(encoding="utf-8"), source.parent
    text = CITED.sub(lambda cited: f"[{cited[0]}]({relpath(RESULTS / cited[1] / 'table.md', folder)})", text)
    if source.name == "table.md":
        name = folder.relative_to(RESULTS).as_posix()
        title, rest = text.split("\n", 1)
        if (folder / "figure.svg").exists() and "](figure." not in rest:
            rest = f"\n![{title.removeprefix('# ')}](figure.svg)\n{rest}"
        if (config := CONFIGS / f"{name}.yaml").exists():
            up = relpath(ROOT / "docs", (PAGES / name))
            rest += RUN.format(name=name, up=f"{up}/", config=relpath(config, folder))
        return f"{WIDE}{title}\n{rest}"
    if source.name == "README.md":
        inner = {path.parent for path in folder.rglob("README.md")} - {folder}
        below = [path for path in folder.rglob("*.md") if path != source and not inner & {*path.parents}]
        pages = sorted(path.relative_to(folder).as_posix() for path in below)
        headings = re.findall(r"^#+ \[.*\]\((.*)\)$", text, re.MULTILINE)  # they have the order of the paper
        pages.sort(key=lambda page: headings.index(page) if page in headings else len(headings))
        text += SUBPAGES.format("\n".join(pages))
    return text


def linked(text: str, source: Path, page: Path) -> str:
    """Return Markdown of `source` for `page`: links to Markdown of results/ lead to its pages."""

    def target(match: re.Match[str]) -> str:
        path = (source.parent / match[1]).resolve()
        if path.suffix == ".md" and path.is_relative_to(RESULTS):
            path = PAGES / path.relative_to(RESULTS)
        return relpath(path, page.parent)

    return LINK.sub(target, text)


def link(app: Sphinx, name: str, content: list[str]) -> None:
    """Lead the links of docs/ to results/ to its pages."""
    page = Path(app.srcdir, f"{name}.md")
    if page.exists() and not page.is_relative_to(MADE):
        content[0] = linked(content[0], page, page)


def cells_of(experiment: Experiment) -> Iterator[list[Any]]:
    """Yield what the explorer has of each cell: eight words, the number of its runs, and its values on AXES.

    The words: its experiment, data, kernel, method and protocol; the method, data and kernel of its row.
    """
    cells = cells_below(experiment, RESULTS)
    names, protocols = Names(cells), Names(cells, ["n_train"])
    for peers in by_setting(cells):
        methods = Names(peers, ["n_components"])
        for cell in (cell for cell in peers if cell.rows):
            source, formula = dataset_name(cell.trial.source), cell.trial.kernel.formula
            protocol = protocols.dataset(cell).partition(", ")[2]
            words = [experiment.name, source, formula, methods.method(cell), protocol]
            row = [names.in_setting(cell), names.dataset(cell), names.kernel(cell)]
            yield [*words, *row, len(cell.rows), *(value for name in AXES for value in interval(cell, name))]


def interval(cell: Cell, name: str) -> tuple[float | None, float | None]:
    """Return the mean of a quantity and half the width of its 95 % interval, which one run has not."""
    summary = cell.of(name)
    if summary is None:
        return None, None
    half = welch_half_width(summary.error) if summary.error else 0.0
    mean = summary.mean if summary.mean == round(summary.mean) else float(f"{summary.mean:.4g}")
    return mean, float(f"{half:.2g}") or None


def packed(cells: list[list[Any]]) -> str:
    """Return the cells as JSON in which each word stands once, and the cells have its place."""
    words = [list(dict.fromkeys(column)) for column in list(zip(*cells, strict=True))[:8]]
    places = [{word: i for i, word in enumerate(column)} for column in words]
    lines = [[*(place[word] for place, word in zip(places, cell, strict=False)), *cell[8:]] for cell in cells]
    axes = [[name, QUANTITIES[name].heading] for name in AXES]
    return json.dumps({"axes": axes, "words": words, "cells": lines}, separators=(",", ":"))


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the functions above, and add the libraries of the pages."""
    STATIC.mkdir(parents=True, exist_ok=True)
    libraries = [STATIC, DATATABLES / "dt_bundle.css", PLOTLY / "plotly.min.js"]
    app.config.html_static_path += map(str, libraries)
    app.connect("builder-inited", make)
    app.connect("source-read", link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
