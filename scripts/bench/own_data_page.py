"""The page and the figure of the part own_data, from rows that were kept as they came.

`python -m scripts.bench.own_data_page results/bench ROWS...`: files that `scripts.bench.own_data` wrote.
"""

import json
import re
from pathlib import Path
from typing import Any

import click
import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure

from kfeat.render.figures.style import COLOURS, RC
from kfeat.render.figures.svg import save
from scripts.bench import own_data
from scripts.bench.own_pairs import AIMS, judged, over_splits, pairs
from scripts.bench.own_tables import AT_SIZE
from scripts.bench.report import record, save_part, save_summary

SHOWN = {"grid": "o", "HistGradientBoosting": "s", "HistGradientBoosting, searched": "D"}  # and their marks
NOTE = re.compile(
    r"(?P<score>[-\d.]+), the other (?P<other_score>[-\d.]+); (?P<gap>[-+.\d]+)(?: ± (?P<half>[\d.]+))?"
)


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
def page(folder: Path, files: tuple[Path, ...]) -> None:
    """Write own_data.md, own_data.json and own_data.svg below FOLDER, and its summary.

    What was published of tables that no file has stays, and its aims are judged by the same rule.
    """
    rows = [row for file in files for row in own_data.kept(file).values()]
    published = over_splits(pairs(rows))
    measured = {row["shape"] for row in published}
    earlier = json.loads((folder / "own_data.json").read_text(encoding="utf-8"))
    published = [rejudged(row) for row in earlier["rows"] if row["shape"] not in measured] + published
    seconds = sum(row["seconds"] for row in rows) + 60 * earlier["minutes"]
    about = f"{own_data.__doc__}\n\n![Differences, and accuracy against seconds at size](own_data.svg)"
    save_part("own_data", record(about, published, seconds), folder)
    draw(published, folder / "own_data.svg")
    save_summary(folder)


def rejudged(row: dict[str, Any]) -> dict[str, Any]:
    """Return a published row with the verdict that its interval shows."""
    aim = next((aim for other, aim in AIMS.items() if row["what"].endswith(other)), None)
    found = NOTE.match(row["note"])
    if aim is None or row["target"] is None or found is None:
        return row
    return row | {"met": judged(float(found["gap"]), float(found["half"] or "nan"), aim)}


def draw(published: list[dict[str, Any]], path: Path) -> None:
    """Draw kfeat's score minus the others' on each table, and accuracy against seconds on large ones."""
    rows = pd.DataFrame(published)
    rows = rows.join(rows["note"].str.extract(NOTE).astype(float))
    named = rows["shape"].str.replace(r", [\d,]+ x \d+", "", regex=True)  # with the metric, if it is unusual
    rows = rows.assign(table=named, other=rows["what"].str.partition(" : ")[2])
    large = rows["table"].isin(AT_SIZE)
    with mpl.rc_context(RC):
        figure = Figure(figsize=(9, 6), layout="constrained")
        left, right = figure.subplots(1, 2)
        _gaps(left, rows[~large & rows["what"].str.startswith("search of 60 s")])
        _at_size(right, rows[large])
        save(figure, [path])


def _gaps(axes: Any, rows: pd.DataFrame) -> None:
    names = list(dict.fromkeys(rows["table"]))
    for k, (other, marker) in enumerate(SHOWN.items()):
        gaps = rows[rows["other"] == other]
        places = [names.index(name) + 0.25 - 0.25 * k for name in gaps["table"]]
        axes.errorbar(
            gaps["gap"], places, xerr=gaps["half"], fmt=marker, color=COLOURS[k], label=f"minus {other}"
        )
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_xscale("symlog", linthresh=1)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_yticks(range(len(names)), names)
    axes.set_xlabel("points of accuracy, or of 100 R²; 95 % intervals over the splits")
    axes.set_title("kfeat after 60 s, minus the other")
    axes.legend(loc="upper left", bbox_to_anchor=(-0.3, -0.1))


def _at_size(axes: Any, rows: pd.DataFrame) -> None:
    for colour, (name, group) in zip(COLOURS, rows.groupby("table", sort=False), strict=False):
        points = [("kfeat", group["kfeat_s"].iloc[0], group["score"].iloc[0])]
        points += [(_short(other), x, y) for other, x, y in _contenders(group)]
        axes.plot([x for _, x, _ in points], [y for *_, y in points], "o", color=colour, label=name)
        for label, x, y in points:
            place = (4, -9) if label.startswith("SVC") else (4, 4)
            axes.annotate(label, (x, y), xytext=place, textcoords="offset points", fontsize=7)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.margins(x=0.2, y=0.1)
    axes.set_xlabel("seconds of search and training")
    axes.set_ylabel("accuracy on the test rows (%)")
    axes.set_title("hundreds of thousands of rows, SVC on so many")
    if len(rows):
        axes.legend(loc="upper left", bbox_to_anchor=(0, -0.15), ncols=2)


def _contenders(group: pd.DataFrame) -> Any:
    return group[["other", "other_s", "other_score"]].itertuples(index=False, name=None)


def _short(name: str) -> str:
    return "boosting" if name == "HistGradientBoosting" else name.replace(" on ", ", ").removesuffix(" rows")


if __name__ == "__main__":
    page()
