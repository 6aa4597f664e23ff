"""What a search over switches would try, the ranking of what it tried, and both as files."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tabulate import tabulate

from kfeat.analysis.names import method
from kfeat.analysis.ranking import Ranked
from kfeat.errors import StoreError
from kfeat.experiments.plan import Trial
from kfeat.experiments.quantities import SCORE
from kfeat.experiments.search import FOLDER, Combination, Search
from kfeat.experiments.store import Row, write_rows
from kfeat.render.escapes import csv_text, markdown, markdown_cell
from kfeat.render.replacing import Replacing
from kfeat.render.switches import flow, present_text, wrapped
from kfeat.render.terminal import table
from kfeat.saying import plain

MISSING = "–"


def render_plan(search: Search, rows: Mapping[str, Row], width: int | None = None) -> str:
    """Return what a search would try, and how many of its trials are done."""

    def done(trials: Sequence[Trial]) -> str:
        return f"{sum(rows.get(trial.id, {}).get('status') == 'done' for trial in trials)}/{len(trials)}"

    body = [
        [_marked(item.number, item), *_values(search, item), done([t for cell in item.cells for t in cell])]
        for item in search.combinations
    ]
    headers = ["", *search.switches, "trials done"]
    notes = [_tried(search), f"trials, each counted once: {done(search.trials)} done."]
    said = [wrapped(note, width=width) for note in notes]
    shown = table(headers, body, width, range(len(headers) - 1))
    return "\n".join([plain(search.experiment.title), "", shown, "", *said, ""])


def render_ranking(
    search: Search, found: Sequence[Ranked], style: str, details: bool = False, width: int | None = None
) -> str:
    """Return the ranking as text; `style` is `terminal` or `markdown`, `details` adds every difference."""
    sheets = _sheets(search, found)[: 3 if details or style == "markdown" else 1]
    title, said = search.experiment.title, _notes(search, found)
    if style == "markdown":
        parts = [
            tabulate([[markdown_cell(cell) for cell in line] for line in sheet], "firstrow", "github",
                     disable_numparse=True)
            for sheet in sheets
        ]  # fmt: skip
        listed = "".join(f"- {markdown(note)}\n" for note in said)
        return "\n\n".join([f"# {markdown(title)}: the settings tried", *parts, listed])
    parts = [table(heads, body, width, range(len(heads))) for heads, *body in sheets]
    notes = "\n".join(wrapped(note, width=width) for note in said)
    return "\n\n".join([plain(title), *parts, notes])


def _sheets(search: Search, found: Sequence[Ranked]) -> list[list[list[str]]]:
    """Return the ranking, each combination's differences, and the numbers that these speak of."""
    called, cells = _names(found), _present(found).cells
    ranks = [_marked(MISSING if item.rank is None else item.rank, item.combination) for item in found]
    ranking = [["rank", *search.switches, "score", "furthest off"]]
    differences = [["ours - paper", *(f"({i + 1})" for i in range(len(cells)))]]
    for rank, item in zip(ranks, found, strict=True):
        changes = [
            MISSING if change is None else cell.named(SCORE).change(change)
            for cell, change in zip(item.cells, item.differences, strict=True)
        ]
        furthest = MISSING if item.worst is None else f"{called[item.worst]}: {changes[item.worst]}"
        score = MISSING if item.score is None else f"{item.score:.2f}"
        ranking.append([rank, *_values(search, item.combination), score, furthest])
        differences.append([rank, *changes])
    numbers = [["", "printed number", "paper", "where"]]
    for i, (cell, number) in enumerate(zip(cells, search.numbers, strict=True)):
        numbers.append(
            [f"({i + 1})", called[i], cell.named(SCORE).text(number.mean, number.sd), number.where]
        )
    return [ranking, differences, numbers]


def _marked(number: object, combination: Combination) -> str:
    return f"{number}" if combination.turned else f"{number} (present)"


def _values(search: Search, combination: Combination) -> list[str]:
    """Return the value of each searched switch in a combination."""
    return [
        flow(combination.turned[key]) if key in combination.turned else present_text(search.experiment, key)
        for key in search.switches
    ]


def _present(found: Sequence[Ranked]) -> Ranked:
    return next(item for item in found if not item.combination.turned)


def _names(found: Sequence[Ranked]) -> list[str]:
    """Return what the cells of the printed numbers are called, by the present setting."""
    cells = _present(found).cells
    places = [(cell.trial.describe()["dataset"], cell.trial.kernel.formula) for cell in cells]
    shown = [i for i in (0, 1) if len({place[i] for place in places}) > 1]
    return [
        ", ".join([*(place[i] for i in shown), method(cell, cells)])
        for place, cell in zip(places, cells, strict=True)
    ]


def _notes(search: Search, found: Sequence[Ranked]) -> Iterator[str]:
    best, here, reported = found[0], _present(found), search.experiment.reported
    assert reported is not None
    repeats = " or ".join(sorted({str(len(cell.trials)) for item in found for cell in item.cells}))
    yield f"{_tried(search)} Repeats of each map: {repeats}."
    own = ", or the slack of its own," if any(number.slack for number in reported.numbers) else ","
    yield (
        f"score: the mean over the printed numbers of |ours - paper| / max({reported.slack:g}{own} 2 sd), "
        "with sd as the paper prints it. furthest off: the number with the largest such ratio."
    )
    if here.score is not None and best.score is not None:
        yield (
            f"present: the setting that the config has. Its rank is {here.rank} of {len(found)}, its score "
            f"{here.score:.2f}; the best is {best.score:.2f}."
        )
    yield (
        "The lowest of many scores is partly luck: a choice made here is to be held against configs that had "
        "no part in it."
    )
    if any(item.rank is None for item in found):
        yield f"{MISSING}: a trial failed or is missing; without all of its trials nothing is ranked."


def _tried(search: Search) -> str:
    sizes = " x ".join(str(1 + len(tried)) for tried in search.switches.values()) or "1"
    combinations = _count(len(search.combinations), "combination")
    text = f"{combinations} of {_count(len(search.switches), 'switch', 'es')} ({sizes}), held against "
    text += f"{_count(len(search.numbers), 'printed number')}."
    return text + f" {search.left_out} others change nothing and are left out." * bool(search.left_out)


def _count(number: int, noun: str, plural: str = "s") -> str:
    return f"{number} {noun}{'' if number == 1 else plural}"


def render_csv(search: Search, found: Sequence[Ranked]) -> str:
    """Return every number of the ranking at full precision, one line per combination and printed number."""
    called = _names(found)
    lines = [_flat(search, item, name, i) for item in found for i, name in enumerate(called)]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(lines[0]), lineterminator="\n")
    writer.writeheader()
    for line in lines:
        writer.writerow({k: csv_text(v) if isinstance(v, str) else v for k, v in line.items()})
    return text.getvalue()


def _flat(search: Search, item: Ranked, name: str, position: int) -> dict[str, Any]:
    cell, number = item.cells[position], search.numbers[position]
    return {
        "rank": item.rank,
        "present": not item.combination.turned,
        **dict(zip(search.switches, _values(search, item.combination), strict=True)),
        "score": _rounded(item.score),
        "number": name,
        "where": number.where,
        "paper_mean": number.mean,
        "paper_sd": number.sd,
        "mean": cell.score and _rounded(cell.score.mean),
        "sd": cell.score and _rounded(cell.score.sd),
        "runs": len(cell.rows),
        "difference": _rounded(item.differences[position]),
        "distance": _rounded(item.distances[position]),
        "cell": cell.trial.cell,
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def write_ranking(search: Search, found: Sequence[Ranked], folder: Path, rows: Iterable[Row] = ()) -> None:
    """Write ranking.md and ranking.csv below `folder`, and the rows if there are any; all or nothing."""
    with Replacing() as replacing:
        new = replacing.beside(folder)
        try:
            if rows:
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
    write_ranking(search, found, folder, [rows[trial.id] for trial in trials])
    return len(trials)
