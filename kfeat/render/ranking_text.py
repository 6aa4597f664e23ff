"""What a search over switches says: what it would try, and the ranking of what it tried."""

from collections.abc import Mapping, Sequence

from tabulate import tabulate

from kfeat.analysis.labels import method
from kfeat.analysis.ranking import Ranked, difference, present
from kfeat.experiments.plan import Trial
from kfeat.experiments.quantities import SCORE
from kfeat.experiments.search import Combination, Search
from kfeat.experiments.store import Row
from kfeat.render.escapes import markdown, markdown_cell
from kfeat.render.switches import flow, present_text, wrapped
from kfeat.render.terminal import table
from kfeat.saying import plain

MISSING = "–"


def render_plan(search: Search, rows: Mapping[str, Row], width: int | None = None) -> str:
    """Return what a search would try, and how many of its trials are done."""
    body = []
    for item in search.combinations:
        trials = [trial for cell in item.cells for trial in cell]
        number = str(item.number) if item.turned else f"{item.number} (present)"
        body.append([number, *values(search, item), _done(trials, rows)])
    headers = ["", *search.switches, "trials done"]
    shown = table(headers, body, width, range(len(headers) - 1))
    count = f"trials, each counted once: {_done(search.trials, rows)} done."
    notes = [_tried(search), count, *_idle(search)]
    said = [wrapped(note, width=width) for note in notes]
    return "\n".join([plain(search.experiment.title), "", shown, "", *said, ""])


def _done(trials: Sequence[Trial], rows: Mapping[str, Row]) -> str:
    done = sum(rows.get(trial.id, {}).get("status") == "done" for trial in trials)
    return f"{done}/{len(trials)}"


def values(search: Search, combination: Combination) -> list[str]:
    """Return the value of each searched switch in a combination."""
    return [
        flow(combination.turned[key]) if key in combination.turned else present_text(search.experiment, key)
        for key in search.switches
    ]


def names(search: Search, found: Sequence[Ranked]) -> list[str]:
    """Return what the cells of the printed numbers are called, by the present setting."""
    cells = present(found).cells
    places = [(cell.trial.describe()["dataset"], cell.trial.kernel.build().formula) for cell in cells]
    shown = [i for i in (0, 1) if len({place[i] for place in places}) > 1]
    return [
        ", ".join([*(place[i] for i in shown), method(cell, cells)])
        for place, cell in zip(places, cells, strict=True)
    ]


def render_ranking(
    search: Search, found: Sequence[Ranked], style: str, details: bool = False, width: int | None = None
) -> str:
    """Return the ranking as text; `style` is `terminal` or `markdown`, `details` adds every difference."""
    called = names(search, found)
    headers = ["rank", *search.switches, "score", "furthest off"]
    sheets = [(headers, [_line(search, item, called) for item in found])]
    if details or style == "markdown":
        sheets += [_differences(found), _numbers(found, called)]
    title, said = search.experiment.title, _notes(search, found)
    if style == "markdown":
        listed = "".join(f"- {markdown(note)}\n" for note in said)
        parts = [_markdown_table(*sheet) for sheet in sheets]
        return "\n\n".join([f"# {markdown(title)}: the settings tried", *parts, listed])
    parts = [table(heads, body, width, range(len(heads))) for heads, body in sheets]
    notes = "\n".join(wrapped(note, width=width) for note in said)
    return "\n\n".join([plain(title), *parts, notes])


def _markdown_table(headers: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    headers, *lines = [[markdown_cell(cell) for cell in line] for line in (headers, *body)]
    return tabulate(lines, headers, "github", disable_numparse=True)


def _line(search: Search, item: Ranked, called: Sequence[str]) -> list[str]:
    score = MISSING if item.score is None else f"{item.score:.2f}"
    furthest = MISSING if item.worst is None else f"{called[item.worst]}: {_change(item, item.worst)}"
    return [_rank(item), *values(search, item.combination), score, furthest]


def _rank(item: Ranked) -> str:
    text = MISSING if item.rank is None else str(item.rank)
    return text if item.combination.turned else f"{text} (present)"


def _change(item: Ranked, position: int) -> str:
    cell = item.cells[position]
    change = difference(cell)
    return MISSING if change is None else cell.named(SCORE).change(change)


def _differences(found: Sequence[Ranked]) -> tuple[list[str], list[list[str]]]:
    """Return our mean less the printed one, a line per combination, a column per printed number."""
    count = range(len(found[0].cells))
    body = [[_rank(item), *(_change(item, i) for i in count)] for item in found]
    return ["ours - paper", *(f"({i + 1})" for i in count)], body


def _numbers(found: Sequence[Ranked], called: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Return the printed numbers that the columns of `_differences` speak of."""
    body = []
    for i, cell in enumerate(present(found).cells):
        assert cell.reported is not None
        number = cell.named(SCORE).text(cell.reported.mean, cell.reported.sd)
        body.append([f"({i + 1})", called[i], number, cell.reported.where])
    return ["", "printed number", "paper", "where"], body


def _notes(search: Search, found: Sequence[Ranked]) -> list[str]:
    best, here = found[0], present(found)
    reported = search.experiment.reported
    assert reported is not None
    repeats = " or ".join(sorted({str(len(cell.trials)) for item in found for cell in item.cells}))
    notes = [
        f"{_tried(search)} Repeats of each map: {repeats}.",
        f"score: the mean over the printed numbers of |ours - paper| / max({reported.slack:g}, 2 sd), "
        "with sd as the paper prints it. furthest off: the number with the largest such ratio.",
    ]
    if here.score is not None and best.score is not None:
        notes.append(
            f"present: the setting that the config has. Its rank is {here.rank} of {len(found)}, its score "
            f"{here.score:.2f}; the best is {best.score:.2f}."
        )
    notes.append(
        "The lowest of many scores is partly luck: a choice made here is to be held against configs that had "
        "no part in it."
    )
    if any(item.rank is None for item in found):
        notes.append(f"{MISSING}: a trial failed or is missing; without all of its trials nothing is ranked.")
    return notes + _idle(search)


def _tried(search: Search) -> str:
    sizes = " x ".join(str(1 + len(tried)) for tried in search.switches.values()) or "1"
    switches, numbers = len(search.switches), len(search.numbers)
    return (
        f"{len(search.combinations)} combinations of {switches} switch{'' if switches == 1 else 'es'} "
        f"({sizes}), held against {numbers} printed number{'' if numbers == 1 else 's'}."
    )


def _idle(search: Search) -> list[str]:
    said = [f"{key} = {flow(value)}" for key, tried in search.idle.items() for value in tried]
    return [f"changes nothing here, and so is no combination: {'; '.join(said)}."] if said else []
