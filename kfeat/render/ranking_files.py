"""The files of a search over switches: ranking.md and ranking.csv, and their publication with the rows."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kfeat.analysis.ranking import Ranked, difference
from kfeat.errors import StoreError
from kfeat.experiments.search import FOLDER, Search
from kfeat.experiments.store import Row, write_rows
from kfeat.render.escapes import csv_text
from kfeat.render.ranking_text import names, render_ranking, values
from kfeat.render.replacing import Replacing


def write_ranking(search: Search, found: Sequence[Ranked], folder: Path) -> None:
    """Write ranking.md and ranking.csv below `folder`, both or none of them."""
    with Replacing() as replacing:
        _write(search, found, replacing.beside(folder), folder)


def _write(
    search: Search, found: Sequence[Ranked], new: Path, folder: Path, rows: Iterable[Row] | None = None
) -> None:
    try:
        if rows is not None:
            write_rows(new, rows)
        (new / "ranking.md").write_text(render_ranking(search, found, "markdown"), encoding="utf-8")
        (new / "ranking.csv").write_text(render_csv(search, found), encoding="utf-8")
    except OSError as error:
        raise StoreError(f"{folder}: cannot be written ({error.strerror})") from None


def publish_search(search: Search, found: Sequence[Ranked], rows: Mapping[str, Row], results: Path) -> int:
    """Copy the search's rows and its ranking to results/, and return the number of rows.

    Raises StoreError if a trial has no row of status `done`.
    """
    trials = search.trials
    missing = [trial for trial in trials if rows.get(trial.id, {}).get("status") != "done"]
    if missing:
        raise StoreError(
            f"{search.experiment.name}: {len(missing)} of {len(trials)} trials of the search are not done; "
            "search again, without the alternatives that fail"
        )
    folder = results / search.experiment.name / FOLDER
    with Replacing() as replacing:
        done = (rows[trial.id] for trial in trials)
        _write(search, found, replacing.beside(folder), folder, done)
    return len(trials)


def render_csv(search: Search, found: Sequence[Ranked]) -> str:
    """Return every number of the ranking at full precision, one line per combination and printed number."""
    called = names(search, found)
    lines = [
        {key: csv_text(value) if isinstance(value, str) else value for key, value in line.items()}
        for item in found
        for line in (_flat(search, item, name, i) for i, name in enumerate(called))
    ]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()


def _flat(search: Search, item: Ranked, name: str, position: int) -> dict[str, Any]:
    cell = item.cells[position]
    number, score = cell.reported, cell.score
    assert number is not None
    return {
        "rank": item.rank,
        "present": not item.combination.turned,
        **dict(zip(search.switches, values(search, item.combination), strict=True)),
        "score": _rounded(item.score),
        "number": name,
        "where": number.where,
        "paper_mean": number.mean,
        "paper_sd": number.sd,
        "mean": score and _rounded(score.mean),
        "sd": score and _rounded(score.sd),
        "runs": len(cell.rows),
        "difference": _rounded(difference(cell)),
        "distance": _rounded(item.distances[position]),
        "cell": cell.trial.cell,
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
