"""What the documentation shows with the pages of results/, and the data of the explorer."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import itables
import plotly
from sphinx.application import Sphinx
from sphinx.util.display import status_iterator

from kfeat.analysis.cells import Cell, by_setting
from kfeat.analysis.names import Names
from kfeat.analysis.statistics import welch_half_width
from kfeat.cli.reports import cells_below
from kfeat.experiments.config import Experiment, load_experiment
from kfeat.experiments.quantities import QUANTITIES

DATATABLES = Path(itables.__file__).with_name("html")
PLOTLY = Path(plotly.__file__).with_name("package_data")
# What can stand on an axis of the explorer.
AXES = (
    "accuracy", "relative_error", "kernel_error", "fit", "n_components", "n_train", "map", "train", "test",
    "fit_and_sample", "live", "memory",
)  # fmt: skip
CITED = re.compile(r"(?<= )([\w/]+)#\w+(?= \()")  # a claim that is cited as evidence: config#claim
RUN = """
## Run it

`kfeat run {name}` runs this experiment again, and `kfeat check {name}` compares.
<a href="{up}docs/explorer.html#experiment={name}">The explorer</a> draws its cells.
Files: [table.csv](table.csv), [rows](trials.jsonl) (a JSON object per line).

:::{{dropdown}} {name}.yaml
```{{literalinclude}} /configs/{name}.yaml
:language: yaml
```
:::
"""
SUBPAGES = "\n```{{toctree}}\n:hidden:\n:glob:\n\n{globs}\n```\n"


def complete(app: Sphinx, page: str, content: list[str]) -> None:
    """Add to the page of a table its figure, config and links to evidence, to a README its subpages."""
    folder, _, file = page.rpartition("/")
    name = folder.removeprefix("results/")
    if file == "README":
        globs = [glob for glob in ("[a-z]*", "*/table") if any(Path(app.srcdir, folder).glob(f"{glob}.md"))]
        content[0] += SUBPAGES.format(globs="\n".join(globs))
    elif file == "table":
        title, _, rest = CITED.sub(r"[\g<0>](/results/\1/table.md)", content[0]).partition("\n")
        if Path(app.srcdir, folder, "figure.svg").exists():
            title += f"\n\n![{title.removeprefix('# ')}](figure.svg)\n"
        content[0] = f"{title}\n{rest}{RUN.format(name=name, up='../' * page.count('/'))}"


def add_files(app: Sphinx, error: Exception | None) -> None:
    """Write the cells of all experiments and DataTables beside the other static files."""
    results = Path(app.srcdir, "results")
    names = sorted(path.parent.relative_to(results).as_posix() for path in results.rglob("table.md"))
    cells: list[dict[str, Any]] = []
    for name in status_iterator(names, "cells of the explorer... ", "brown", len(names), app.verbosity):
        cells += cells_of(load_experiment(Path(app.srcdir, f"configs/{name}.yaml")), results)
    axes = {name: QUANTITIES[name].heading for name in AXES}
    data = f"const AXES = {json.dumps(axes)};\nconst CELLS = {json.dumps(cells)};\n"
    static = Path(app.outdir, "_static")
    (static / "cells.js").write_text(data, encoding="utf-8")
    # A page that is opened as a file may load no module, so the module of DataTables becomes a script.
    module = (DATATABLES / "dt_bundle.js").read_text(encoding="utf-8")
    script = re.sub(r"export\{[^}]*?(\w+) as default[^}]*\}", r"window.DataTable=\1", module)
    (static / "datatables.js").write_text(f"(() => {{{script}}})();\n", encoding="utf-8")


def cells_of(experiment: Experiment, results: Path) -> Iterator[dict[str, Any]]:
    """Yield what the explorer has of each cell: words, names in its row, [mean, half-width] by quantity."""
    cells = cells_below(experiment, results)
    names, protocols = Names(cells), Names(cells, ["n_train"])
    for peers in by_setting(cells):
        methods = Names(peers, ["n_components"])
        for cell in (cell for cell in peers if cell.rows):
            yield {
                "experiment": experiment.name,
                "dataset": cell.trial.source.name,
                "kernel": cell.trial.kernel.formula,
                "method": methods.method(cell),
                "protocol": protocols.dataset(cell).partition(", ")[2],
                "row": [names.in_setting(cell), names.dataset(cell), names.kernel(cell)],
                "runs": len(cell.rows),
                **{name: interval for name in AXES if (interval := interval_of(cell, name))},
            }


def interval_of(cell: Cell, name: str) -> list[float] | None:
    """Return the mean of a quantity, and half the width of its 95 % interval, which one run has not."""
    if (summary := cell.of(name)) is None:
        return None
    half = welch_half_width(summary.error) if summary.error else 0.0
    mean = summary.mean if summary.mean == round(summary.mean) else float(f"{summary.mean:.4g}")
    return [mean, *([float(f"{half:.2g}")] if half else [])]


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the functions above, and add the libraries of the pages."""
    app.config.html_static_path += map(str, (DATATABLES / "dt_bundle.css", PLOTLY / "plotly.min.js"))
    app.connect("source-read", complete)
    app.connect("build-finished", add_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
