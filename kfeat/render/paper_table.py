"""A table as the paper prints it, and the paper's numbers as figures mark them.

Lines are settings, columns methods, ours beside the paper's.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kfeat.analysis.cells import Cell, Shown, by_setting, error_of
from kfeat.analysis.names import SIZE, Names
from kfeat.analysis.statistics import Interval, ratio_interval
from kfeat.errors import ConfigError
from kfeat.experiments.config import Experiment, load_experiment
from kfeat.experiments.layout import Column, FigureLayout, TableLayout
from kfeat.experiments.paper import ReportedNumber, reported_numbers, seconds_printed
from kfeat.experiments.plan import every_trial
from kfeat.experiments.quantities import SCORE
from kfeat.experiments.run import neighbour_path
from kfeat.experiments.selectors import matches, quantity_named
from kfeat.render.numbers import BUSY, MISSING, RAISED, UNCONVERGED, factor_text, time, with_unit
from kfeat.render.table import Table


def shown(number: Shown, form: Callable[[float | None], str]) -> str:
    """Return a number in this form with what a reader must know: `> 60.0`, `~8.1 secs`, `< ~12×`, `4.2×†`."""
    if number.value is None:
        return MISSING
    return f"{number.sign}{BUSY * number.busy}{form(number.value)}{UNCONVERGED * number.unconverged}"


def marked(number: Shown, form: Callable[[float | None], str]) -> str:
    """Return a number in this form, followed by how many runs it rests on where they are few: `6.7 mins¹`."""
    runs = "" if number.runs is None else str(number.runs).translate(RAISED)
    return shown(number, form) + runs


def alone(cell: Cell, name: str) -> str:
    """Return a cell's quantity with its unit, for a table whose columns do not name it."""
    quantity = cell.named(name)
    if quantity.timed:
        return marked(cell.shown(name), time)
    summary = cell.of(name)
    if summary is None:
        return MISSING
    text = with_unit(quantity, summary.mean, summary.sd if quantity.score else None)
    return text + UNCONVERGED * cell.shown(name).unconverged


@dataclass(frozen=True)
class Ratio:
    """A ratio and its 95 % interval, None where a side is a bound or of a busy machine."""

    number: Shown
    interval: Interval | None = None

    @property
    def text(self) -> str:
        """Return the ratio with its mark and its interval: `49.2× [47, 51.5]`, `20.9×¹`."""
        number = marked(self.number, factor_text)
        if self.interval is None:
            return number
        low, high = (factor_text(end).removesuffix("×") for end in self.interval)
        return f"{number} [{low}, {high}]"


def ratio(over: Cell | None, under: Cell | None, name: str) -> Ratio:
    """Return a quantity of the one cell over that of the other; that of a cell over itself has no spread."""
    if over is None or under is None:
        return Ratio(Shown(None))
    number = over.shown(name).over(under.shown(name))
    if over is under:
        return Ratio(replace(number, runs=None))
    a, b = over.of(name, logs=True), under.of(name, logs=True)
    errors = error_of(over, name), error_of(under, name)
    if a is None or b is None or errors[0] is None or errors[1] is None or number.value is None:
        return Ratio(number)
    return Ratio(number, ratio_interval(a.mean, errors[0], b.mean, errors[1]))


@dataclass(frozen=True)
class ChosenCells:
    """What a column shows in one setting: its cell, and the one it is compared with; None if not planned."""

    cell: Cell | None
    over: Cell | None


def paper_table(layout: TableLayout, cells: Sequence[Cell]) -> Table:
    """Return the table; raises ConfigError where a column selects several cells of one setting."""
    choices, shown = choose(layout, cells), quantities(layout)
    headers: list[str] = [layout.lines]
    groups, columns = [("", 1)], [[name if at == 0 else "" for name in choices for at in range(len(shown))]]
    for i, column in enumerate(layout.columns):
        places = _places(column, shown)
        ours, paper = [], []
        for name, chosen in choices.items():
            for at in range(len(shown)):
                quantity = places.get(at)
                ours.append(_ours(chosen[i], quantity, column) if quantity else "")
                paper.append(_paper(chosen[i], quantity, column, name, shown) if quantity else "")
        has_paper = not {*paper} <= {MISSING, ""}
        headers += ["kfeat", "paper"] if has_paper else ["kfeat"]
        columns += [ours, paper] if has_paper else [ours]
        groups.append((column.title, 1 + has_paper))
    lines = list(zip(*columns, strict=True))
    return Table(headers, lines, right=range(1, len(headers)), groups=groups, group_size=len(shown))


def choose(layout: TableLayout, cells: Sequence[Cell]) -> dict[str, list[ChosenCells]]:
    """Return what each column shows, by the names of the lines: the settings of which any column speaks."""
    names, lines = Names(cells), []
    for peers in by_setting(cells):
        chosen = [_choice(column, peers) for column in layout.columns]
        if any(choice.cell for choice in chosen):
            lines.append(({"dataset": names.dataset(peers[0]), "kernel": names.kernel(peers[0])}, chosen))
    count = Counter(place[layout.lines] for place, _ in lines)
    return {
        place[layout.lines] if count[place[layout.lines]] == 1 else ", ".join(place.values()): chosen
        for place, chosen in lines
    }


def _choice(column: Column, peers: Sequence[Cell]) -> ChosenCells:
    over = None
    if column.over is not None:
        rivals = _quickest(column.over, peers) if column.quickest else peers
        over = _selected(column, "over", column.over, rivals)
    return ChosenCells(_selected(column, "for", column.cell, peers), over)


def _quickest(selector: Mapping[str, Any], peers: Sequence[Cell]) -> Sequence[Cell]:
    """Return the cell that maps and trains in the least time, alone; none where none of them has a time."""
    times = {cell: cell.mean("fit", busy=True) for cell in peers if matches(selector, cell.trial)}
    known = {cell: seconds for cell, seconds in times.items() if seconds is not None}
    return [min(known, key=known.__getitem__)] if known else []


def _selected(column: Column, key: str, selector: Mapping[str, Any], peers: Sequence[Cell]) -> Cell | None:
    selected = [cell for cell in peers if matches(selector, cell.trial)]
    if len(selected) > 1:
        flat = [cell.trial.describe() for cell in selected]
        differing = [name for name in flat[0] if any(other.get(name) != flat[0][name] for other in flat)]
        names, differ = Names(peers), ", ".join(differing)
        methods = " and ".join(f"'{names.method(cell)}'" for cell in selected)
        raise ConfigError(
            f"table: `{key}` of the column '{column.title}' should select one cell of {flat[0]['dataset']}, "
            f"{names.kernel(selected[0])}, and selects {len(selected)}: {methods}; they differ in {differ}"
        )
    return selected[0] if selected else None


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


def _ours(choice: ChosenCells, quantity: str, column: Column) -> str:
    """Return our number, and how many of the planned runs there are where some are missing."""
    cell, over = choice.cell, choice.over
    if cell is None:
        return MISSING
    number = alone(cell, quantity) if column.over is None else ratio(over, cell, quantity).text
    sides = [side for side in (cell, over) if side and (side.rows or side.bound is None)]
    counts = [f"{len(side.rows)}/{len(side.trials)}" for side in sides if len(side.rows) < len(side.trials)]
    return f"{number} ({', '.join(counts)} runs)" if counts and number != MISSING else number


def _paper(choice: ChosenCells, quantity: str, column: Column, name: str, shown: Sequence[str]) -> str:
    """Return what the paper prints there: a parameter as its `for` has it, since that is the paper's too."""
    if column.over is not None:
        return column.printed_ratio(name, quantity, shown) or MISSING
    cell = choice.cell
    if cell is None:
        return MISSING
    number = cell.reported if quantity == SCORE else cell.printed.get(quantity)
    if number is not None:
        return with_unit(cell.named(quantity), number.mean, number.sd)
    if cell.reported is None:
        return MISSING
    given = cell.reported.cell.get(SIZE if quantity == "n_components" else quantity)
    if isinstance(given, int | float) and not isinstance(given, bool):
        return with_unit(cell.named(quantity), given)
    return cell.reported.times.get(quantity, MISSING)


def ratio_columns(layout: TableLayout, cells: Sequence[Cell]) -> dict[str, dict[Cell, Ratio]]:
    """Return the ratios of the table: by what they are called, and by the cell below."""
    ratios: dict[str, dict[Cell, Ratio]] = {}
    lines = choose(layout, cells).values()
    for i, column in enumerate(layout.columns):
        chosen = [choices[i] for choices in lines]
        own = column.quantities(quantities(layout))
        for name in own if column.over is not None else ():
            title = column.title if len(own) == 1 else f"{column.title}, {name}"
            ratios[f"ratio: {title}"] = {
                choice.cell: ratio(choice.over, choice.cell, name) for choice in chosen if choice.cell
            }
    return ratios


def paper_table_notes(layout: TableLayout, cells: Sequence[Cell]) -> list[str]:
    """Return what a reader needs beside the table, and what of the config found no place in it."""
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


@dataclass(frozen=True)
class Printed:
    """A printed value with its standard deviation, if there is one; or an upper bound, such as `< 1 sec`."""

    value: float
    sd: float | None = None
    bound: bool = False


class PaperNumbers:
    """The printed numbers of an experiment's cells.

    Beside its own there are those of the experiments in `numbers_from` of its figure, each for the cells
    that both plan: equal data, protocol, kernel, map and solver. Raises ConfigError for an experiment that
    cannot be loaded.
    """

    def __init__(self, experiment: Experiment) -> None:
        self._others: list[Mapping[str, Mapping[str, ReportedNumber]]] = []
        for name in experiment.figure.numbers_from if experiment.figure else ():
            other = load_experiment(neighbour_path(experiment, name))
            trials = {trial.cell: trial for trial in every_trial(other, {})}
            numbers = {cell: reported_numbers(other.reported, trial) for cell, trial in trials.items()}
            self._others.append(numbers)

    def of(self, cell: Cell, name: str) -> Printed | None:
        """Return what the paper prints of a quantity: its mean, or the time that stands beside the score."""
        quantity = cell.named(name)
        unread = replace(cell.trial, fingerprint=None).cell  # the other's data have not been looked up
        for numbers in (cell.printed, *(other[unread] for other in self._others if unread in other)):
            score = numbers.get(SCORE) or numbers.get(cell.named(SCORE).name)
            number = score if quantity == cell.named(SCORE) else numbers.get(quantity.name)
            if number is not None:
                return Printed(number.mean, number.sd)
            if score is not None and name in score.times:
                low, high = seconds_printed(score.times[name])
                return Printed((low + high) / 2) if low else Printed(high, bound=True)
        return None


def check_sizes(layout: FigureLayout, cells: Sequence[Cell]) -> None:
    """Raise ConfigError where a map has no number of features, and that is what the x axis shows."""
    unsized = [cell.trial.map.name for cell in cells if cell.trial.map and cell.D is None]
    if layout.x == "n_components" and unsized:
        raise ConfigError(
            f"figure: curves against n_components need that number of every map, and {unsized[0]} has none; "
            "use `figure: methods`"
        )


def check_figure(experiment: Experiment, cells: Sequence[Cell]) -> None:
    """Raise ConfigError if the figure that the experiment asks for cannot be drawn of its planned cells."""
    PaperNumbers(experiment)
    if experiment.figure is not None and experiment.figure.kind == "curves":
        check_sizes(experiment.figure, cells)
