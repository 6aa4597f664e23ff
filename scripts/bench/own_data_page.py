"""The page and the figure of the part own_data, from rows that were kept as they came.

`python -m scripts.bench.own_data_page results/bench ROWS...`: the files that `scripts.bench.own_data` wrote.
"""

import json
from pathlib import Path
from typing import Any

import click
import pandas as pd
from matplotlib.figure import Figure

from scripts.bench import own_data
from scripts.bench.report import record, save_part, save_summary

SHOWN = {"grid": "o", "HistGradientBoosting": "s"}  # contenders of the figure, and their marks


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
def page(folder: Path, files: tuple[Path, ...]) -> None:
    """Write own_data.md, own_data.json and own_data.png below FOLDER, and its summary."""
    rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    published = [{"threads": 2, **row} for row in own_data.over_splits(rows)]
    frame = pd.DataFrame(rows)
    ours = frame.drop_duplicates(["shape", "split", "score"])
    seconds = float(ours["kfeat_s"].sum() + frame["other_s"].sum())
    about = f"{own_data.__doc__}\n\n![Differences, and accuracy against seconds at size](own_data.png)"
    save_part("own_data", record(about, published, seconds), folder)
    draw(frame).savefig(folder / "own_data.png", dpi=120, metadata={"Software": None})
    save_summary(folder)


def draw(rows: pd.DataFrame) -> Figure:
    """Return kfeat's score minus the others' on each table, and accuracy against seconds on large ones."""
    rows = rows.assign(table=rows["shape"].str.partition(",")[0], other=rows["what"].str.partition(" : ")[2])
    large = rows["table"].isin(own_data.AT_SIZE)
    figure = Figure(figsize=(10, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    small = rows[~large].assign(gap=rows["score"] - rows["other_score"])
    names = list(dict.fromkeys(small["table"]))
    for other, marker in SHOWN.items():
        gaps = small[small["other"] == other]
        places = [names.index(name) for name in gaps["table"]]
        left.plot(gaps["gap"], places, marker, alpha=0.6, label=f"minus {other}")
    left.axvline(0, color="black", linewidth=0.8)
    left.set_xscale("symlog", linthresh=1)
    left.set_yticks(range(len(names)), names)
    left.set_xlabel("points of accuracy, or of 100 R², a mark per split")
    left.set_title("kfeat after 60 s, minus the other")
    left.legend(loc="upper left", bbox_to_anchor=(0, -0.12), ncols=2)
    for colour, (name, group) in zip(
        ("C0", "C1", "C2"), rows[large].groupby("table", sort=False), strict=False
    ):
        points = [("kfeat", group["kfeat_s"].iloc[0], group["score"].iloc[0])]
        points += [(_short(one), x, y) for one, x, y in _contenders(group)]
        right.plot([x for _, x, _ in points], [y for *_, y in points], "o", color=colour, label=name)
        for label, x, y in points:
            right.annotate(label, (x, y), xytext=(4, 4), textcoords="offset points", fontsize=7)
    right.set_xscale("log")
    right.margins(x=0.2)
    right.set_xlabel("seconds of search and training")
    right.set_ylabel("accuracy on the test rows (%)")
    right.set_title("hundreds of thousands of rows")
    if large.any():
        right.legend()
    return figure


def _contenders(group: pd.DataFrame) -> Any:
    return group[["other", "other_s", "other_score"]].itertuples(index=False, name=None)


def _short(name: str) -> str:
    return {"HistGradientBoosting": "boosting"}.get(name, name)


if __name__ == "__main__":
    page()
