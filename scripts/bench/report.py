"""What benchmarks measured, as text: a table for each part, and a summary of all of them."""

import json
from inspect import cleandoc
from pathlib import Path
from typing import Any

import numpy as np

from kfeat.experiments.clock import environment
from kfeat.render.table import Table

Record = dict[str, Any]
HEADINGS = {
    "threads": "threads",
    "what": "what : beside whom",
    "shape": "on what",
    "splits": "splits",
    "kfeat_s": "kfeat (s)",
    "other_s": "the other (s)",
    "ratio": "speed-up",
    "spread": "over the rounds",
    "floor_s": "floor (s)",
    "target": "target",
    "met": "met",
    "note": "note",
}
ROUNDS = """\
Each row is one comparison. Both sides take turns in one process, after a round that is thrown away.
*kfeat (s)* and *the other (s)* are median wall seconds over the rounds, *speed-up* is the second over
the first, and *over the rounds* the least and the largest such ratio of a single round."""
ONCE = """\
Each row is one comparison, measured as the text above says. *kfeat (s)* and *the other (s)* are wall seconds,
and *speed-up* is the second over the first."""
# The parts whose sides take no turns in one process.
ONE_BY_ONE = frozenset({"earlier", "engine", "multicore", "newton", "own_data"})
LEGEND = """\
*floor (s)* is the
time of what nobody can leave out, such as bare FFTs or the writing of the bytes; the text above the table or
the note says which. *met* tells whether the target, which was set before the measurement, is met; `open`
that the measurement shows neither, and a dash that the row has none."""


def record(about: str, rows: list[dict[str, Any]], seconds: float) -> Record:
    """Return what is kept of a part: its description, its rows, how long it took, and where."""
    return {
        "about": cleandoc(about),
        "minutes": seconds / 60,
        "environment": environment(),
        "rows": [{key: _plain(value) for key, value in row.items()} for row in rows],
    }


def table(rows: list[dict[str, Any]]) -> str:
    """Return measured rows as a Markdown table, with the columns that any of them has."""
    known = dict.fromkeys([*HEADINGS, *(key for row in rows for key in row)])
    keys = [key for key in known if any(row.get(key) is not None for row in rows)]
    cells = [[_text(row.get(key)) for key in keys] for row in rows]
    return Table([HEADINGS.get(key, key) for key in keys], cells).markdown()


def save_part(part: str, found: Record, folder: Path) -> None:
    """Write a part's rows and its page."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{part}.json").write_text(json.dumps(found, indent=1) + "\n")
    how = f"{ONCE if part in ONE_BY_ONE else ROUNDS} {LEGEND}"
    text = [f"# {part}", found["about"], how, table(found["rows"]), _measured_on(found)]
    (folder / f"{part}.md").write_text("\n\n".join(text) + "\n")


def save_summary(folder: Path) -> None:
    """Write README.md: a line for each part in the folder, and every row that missed its target."""
    parts = {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}
    lines = [_line(part, found) for part, found in parts.items()]
    titles = ["part", "what it measures", "rows", "speed-up", "targets met", "minutes"]
    missed = [
        {**row, "what": f"{part}: {row['what']}"}
        for part, found in parts.items()
        for row in found["rows"]
        if row.get("met") is False
    ]
    text = [
        "# Benchmarks",
        "kfeat beside what people use now, by `make bench`. *speed-up* is the geometric mean over a "
        "part's rows, also of those in which both names are kfeat's, or neither is.",
        Table(titles, lines).markdown(str),
        "## Missed targets",
        table(missed) if missed else "None.",
        "## How to read a row",
        f"{ROUNDS} {LEGEND} The pages of {', '.join(sorted(ONE_BY_ONE))} say how they were measured.",
        *dict.fromkeys(_measured_on(found) for found in parts.values()),
    ]
    (folder / "README.md").write_text("\n\n".join(text) + "\n")


def _line(part: str, found: Record) -> list[str]:
    rows = [row for row in found["rows"] if row.get("shape") != "all"]  # a mean is no comparison of its own
    ratios = [row["ratio"] for row in rows if row.get("ratio")]
    judged = [row["met"] for row in rows if row.get("met") is not None]
    mean = f"{np.exp(np.mean(np.log(ratios))):.3g}" if ratios else "–"
    about, minutes = found.get("about", "").split("\n\n")[0].replace("\n", " "), found.get("minutes")
    count = f"{judged.count(True)} of {len(judged)}" if judged else "–"
    return [f"[{part}]({part}.md)", about, str(len(rows)), mean, count, f"{minutes:.1f}" if minutes else "–"]


def _measured_on(found: Record) -> str:
    machine = ", ".join(f"{key} {value}" for key, value in found["environment"].items() if key != "packages")
    return f"Measured on: {machine}."


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _text(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
