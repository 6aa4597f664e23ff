"""A table as the paper prints it: lines are settings, columns methods, ours beside the paper's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kfeat.analysis.cells import Cell, by_setting
from kfeat.analysis.names import SIZE, Names
from kfeat.errors import ConfigError
from kfeat.experiments.paper import Column, TableLayout
from kfeat.experiments.quantities import SCORE
from kfeat.experiments.selectors import matches, quantity_named
from kfeat.render import text
from kfeat.render.tables import Table
from kfeat.render.text import Ratio, ratio


@dataclass(frozen=True)
class Choice:
    """What a column shows in one setting: its cell, and the one it is compared with; None if not planned."""

    cell: Cell | None
    over: Cell | None


def mirror(layout: TableLayout, cells: Sequence[Cell]) -> Table:
    """Return the mirrored table.

    Raises ConfigError where a column selects several cells of one setting.
    """
    choices = choose(layout, cells)
    shown = quantities(layout)
    names = [name if i == 0 else "" for name in choices for i in range(len(shown))]
    headers: list[str] = [layout.lines]
    groups, columns = [("", 1)], [names]
    for i, column in enumerate(layout.columns):
        places = _places(column, shown)
        own = [
            (name, chosen[i], places.get(at)) for name, chosen in choices.items() for at in range(len(shown))
        ]
        ours = [_ours(choice, quantity, column) for _, choice, quantity in own]
        paper = [_paper(choice, quantity, column, name, shown) for name, choice, quantity in own]
        has_paper = not {*paper} <= {text.MISSING, ""}
        headers += ["kfeat", "paper"] if has_paper else ["kfeat"]
        columns += [ours, paper] if has_paper else [ours]
        groups.append((column.title, 1 + has_paper))
    lines = list(zip(*columns, strict=True))
    return Table(headers, lines, right=range(1, len(headers)), groups=groups, group_size=len(shown))


def choose(layout: TableLayout, cells: Sequence[Cell]) -> dict[str, list[Choice]]:
    """Return what each column shows, by the names of the lines: the settings of which any column speaks."""
    found: dict[str, list[Choice]] = {}
    settings = [(peers, [_choice(column, peers) for column in layout.columns]) for peers in by_setting(cells)]
    settings = [(peers, chosen) for peers, chosen in settings if any(choice.cell for choice in chosen)]
    names = Names(cells)
    titles = [{"dataset": names.dataset(p[0]), "kernel": names.kernel(p[0])} for p, _ in settings]
    short = [title[layout.lines] for title in titles]
    for (_, chosen), title in zip(settings, titles, strict=True):
        alone = short.count(title[layout.lines]) == 1
        found[title[layout.lines] if alone else ", ".join(title.values())] = chosen
    return found


def _choice(column: Column, peers: Sequence[Cell]) -> Choice:
    over = None
    if column.over is not None:
        rivals = _quickest(column.over, peers) if column.quickest else peers
        over = _selected(column, "over", column.over, rivals)
    return Choice(_selected(column, "for", column.cell, peers), over)


def _quickest(selector: Mapping[str, Any], peers: Sequence[Cell]) -> Sequence[Cell]:
    """Return the cell that maps and trains in the least time, alone; none where none of them has a time."""
    times = [(cell.of("fit", busy=True), cell) for cell in peers if matches(selector, cell.trial)]
    known = [(found.mean, cell) for found, cell in times if found is not None]
    return [min(known, key=lambda pair: pair[0])[1]] if known else []


def _selected(column: Column, key: str, selector: Mapping[str, Any], peers: Sequence[Cell]) -> Cell | None:
    found = [cell for cell in peers if matches(selector, cell.trial)]
    if len(found) > 1:
        flat = [cell.trial.describe() for cell in found]
        differing = [name for name in flat[0] if any(other.get(name) != flat[0][name] for other in flat)]
        names, differ = Names(peers), ", ".join(differing)
        methods = " and ".join(f"'{names.method(cell)}'" for cell in found)
        raise ConfigError(
            f"table: `{key}` of the column '{column.title}' should select one cell of {flat[0]['dataset']}, "
            f"{names.kernel(found[0])}, and selects {len(found)}: {methods}; they differ in {differ}"
        )
    return found[0] if found else None


def quantities(layout: TableLayout) -> Sequence[str]:
    """Return what the lines of a group show: `show`, or the most of any column where each says its own."""
    own = [column.show for column in layout.columns if column.show is not None]
    return layout.show if len(own) < len(layout.columns) else max(own, key=len)


def _places(column: Column, shown: Sequence[str]) -> dict[int, str]:
    """Return what a column shows by line of a group: a quantity without a line takes the first free one."""
    own = column.quantities(shown)
    places = {shown.index(name): name for name in own if name in shown}
    free = [at for at in range(len(shown)) if at not in places]
    others = [name for name in own if name not in shown]
    return places | dict(zip(free, others, strict=False))


def _ours(choice: Choice, quantity: str | None, column: Column) -> str:
    if quantity is None:
        return ""
    cell, over = choice.cell, choice.over
    if cell is None:
        return text.MISSING
    found = text.alone(cell, quantity) if column.over is None else ratio(over, cell, quantity).text
    return found if found == text.MISSING else found + _runs(cell, over)


def _runs(*cells: Cell | None) -> str:
    """Return how many of the planned runs there are, where some are missing."""
    shown = [cell for cell in cells if cell and (cell.rows or cell.bound is None)]
    counts = [f"{len(cell.rows)}/{len(cell.trials)}" for cell in shown if len(cell.rows) < len(cell.trials)]
    return f" ({', '.join(counts)} runs)" if counts else ""


def _paper(choice: Choice, quantity: str | None, column: Column, name: str, shown: Sequence[str]) -> str:
    """Return what the paper prints there: a parameter as its `for` has it, since that is the paper's too."""
    if quantity is None:
        return ""
    if column.over is not None:
        return column.printed_ratio(name, quantity, shown) or text.MISSING
    cell = choice.cell
    if cell is None:
        return text.MISSING
    number = cell.reported if quantity == SCORE else cell.printed.get(quantity)
    if number is not None:
        return text.with_unit(cell.named(quantity), number.mean, number.sd)
    if cell.reported is None:
        return text.MISSING
    given = cell.reported.cell.get(SIZE if quantity == "n_components" else quantity)
    if isinstance(given, int | float) and not isinstance(given, bool):
        return text.with_unit(cell.named(quantity), given)
    return cell.reported.times.get(quantity, text.MISSING)


def ratio_columns(layout: TableLayout, cells: Sequence[Cell]) -> dict[str, dict[Cell, Ratio]]:
    """Return the ratios of the mirrored table: by what they are called, and by the cell below."""
    choices, names = choose(layout, cells), quantities(layout)
    found: dict[str, dict[Cell, Ratio]] = {}
    for i, column in enumerate(layout.columns):
        own = column.quantities(names)
        for name in own:
            if column.over is not None:
                title = column.title if len(own) == 1 else f"{column.title}, {name}"
                found[f"ratio: {title}"] = {
                    below: ratio(chosen[i].over, below, name)
                    for chosen in choices.values()
                    if (below := chosen[i].cell)
                }
    return found


def mirror_notes(layout: TableLayout, cells: Sequence[Cell]) -> list[str]:
    """Return what a reader needs beside the mirrored table, and what of the config found no place in it."""
    choices = choose(layout, cells)
    lines = []
    if any(column.show is None and column.over is None for column in layout.columns):
        lines.append(f"Lines of each {layout.lines}: {'; '.join(map(_title, layout.show))}.")
    for i, column in enumerate(layout.columns):
        if column.over is not None:
            titles = " and of ".join(map(_title, column.quantities(layout.show)))
            lines.append(f"{column.title}: ratio of {titles}; in brackets its 95 % interval.")
        if not any(chosen[i].cell for chosen in choices.values()):
            selector = ", ".join(f"{key}: {value}" for key, value in column.cell.items())
            lines.append(f"{column.title}: nothing of this plan ({selector}).")
        if unknown := [name for name in column.printed if name not in choices]:
            lines.append(
                f"{column.title}: the paper's number for {', '.join(unknown)} has no line in this plan."
            )
    return lines


def _title(name: str) -> str:
    return name if name == SCORE else quantity_named(name).title
