"""What a paper leaves open: every switch of an experiment, and its choices ranked by the printed numbers."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import inf, isfinite
from statistics import fmean
from textwrap import fill
from typing import Any

from kfeat.analysis.cells import Cell
from kfeat.analysis.names import Names
from kfeat.analysis.numbers import Reproduction, reproduction
from kfeat.errors import ConfigError
from kfeat.experiments.config import Experiment
from kfeat.experiments.paper import Reported
from kfeat.experiments.switches import Place, Switch, Value, choices, general
from kfeat.render.numbers import MISSING
from kfeat.render.table import Table
from kfeat.text import counted, plain

WIDTH = 100
NOT_STATED = "not stated"


@dataclass(frozen=True)
class Line:
    """One switch as it is printed; `default` says that nobody stated it and nobody changed it."""

    key: str
    value: str
    status: str = NOT_STATED
    evidence: str = ""
    default: bool = False


def flow(value: Any) -> str:
    """Return a plain value for reading: on one line as YAML has it, but unquoted and with six digits."""
    if isinstance(value, bool | None):
        return "null" if value is None else str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {flow(inner)}' for key, inner in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(flow, value))}]"
    return str(value)


def as_written(key: str, value: Any) -> Any:
    """Return a protocol's value as a file would have it: without what is left out there."""
    if key == "protocol.scale" and isinstance(value, list) and len(value) < 2:
        return value[0] if value else "none"
    if key == "protocol.split" and isinstance(value, dict):
        options = [(name, option) for name, option in value.items() if option is not None]
        options.sort(key=lambda option: (option[0] != "kind", option[0] == "seed"))
        return dict(options) if len(options) > 1 else value["kind"]
    return value


def _values_text(key: str, values: Sequence[Value]) -> str:
    """Return the values in few words, with what tells them apart: the component, the dataset, the kernel."""
    own: dict[Place, dict[str, None]] = {}  # a dict is a set that keeps its order
    for value in values:
        own.setdefault(value.place, {})[flow(as_written(key, value.value))] = None
    # The fewest parts of a place by which the places can be grouped, so that all of a group have the same.
    for parts in (parts for size in range(4) for parts in combinations(range(3), size)):
        labels_of = {place: ", ".join(place[part] for part in parts) for place in own}
        groups: dict[str, dict[str, None]] = {}
        for place, texts in own.items():
            groups.setdefault(labels_of[place], {}).update(texts)
        if all(texts.keys() == groups[labels_of[place]].keys() for place, texts in own.items()):
            break
    alike: dict[str, list[str]] = {}
    for label, texts in groups.items():
        alike.setdefault(", ".join(texts), []).append(label)
    if len(alike) == 1:
        return next(iter(alike))
    return "; ".join(f"{', '.join(labels)}: {texts}" for texts, labels in alike.items())


def lines(experiment: Experiment) -> list[Line]:
    """Return the experiment's switches in the order of its parts, then those that no key holds."""
    stated = {switch.key: switch for switch in experiment.switches}
    shown: list[Line] = []
    for whole, values in choices(experiment.settings).items():
        named = {general(key)[1]: key for key in stated if general(key)[0] == whole and general(key)[1]}
        split: dict[str, list[Value]] = {key: [] for key in (whole, *named.values())}
        for value in values:
            split[named.get(value.place[0], whole)].append(value)
        shown += [_line(key, part, stated.get(key)) for key, part in split.items() if part]
    return shown + [_line(key, [], switch) for key, switch in stated.items() if switch.value is not None]


def _line(key: str, values: Sequence[Value], switch: Switch | None) -> Line:
    if switch is None:
        return Line(key, _values_text(key, values), default=all(value.default for value in values))
    value = switch.value if switch.value is not None else _values_text(general(key)[0], values)
    return Line(key, value, switch.status, switch.evidence)


def render_switches(experiment: Experiment, width: int | None = None) -> str:
    """Return the switches as text of at most `width` or 100 columns."""
    switches = lines(experiment)
    shown = [line for line in switches if not line.default]
    silent = [
        f"{line.key} = {f'({line.value})' if ';' in line.value else line.value}"
        for line in switches
        if line.default
    ]
    used = {line.key for line in switches}
    idle = [switch.key for switch in experiment.switches if switch.key not in used]
    status = Counter(line.status for line in switches)
    counts = ", ".join(f"{status[name]} {name}" for name in ("known", "inferred", "open", NOT_STATED))
    notes = [f"{counted(len(switches), 'switches')}: {counts}."]
    if silent:
        notes.append(f"{NOT_STATED}, at their defaults: {'; '.join(silent)}.")
    if idle:
        notes.append(f"stated, but not used in this experiment: {', '.join(idle)}.")
    blocks = [*(_block(line, width) for line in shown), *(_wrapped(note, width=width) for note in notes)]
    return "\n".join([plain(experiment.title), "", *blocks])


def _block(line: Line, width: int | None) -> str:
    margin = " " * 12
    text = [_wrapped(f"{line.key} = {line.value}", f"{line.status:<12}", margin + "    ", width)]
    if line.evidence:
        text.append(_wrapped(line.evidence, margin, margin, width))
    return "\n".join(text)


def _wrapped(text: str, first: str = "", others: str = "  ", width: int | None = None) -> str:
    """Return the text in lines of at most 100 columns; `first` and `others` stand before the lines."""
    return fill(
        plain(text), min(WIDTH, width or WIDTH), initial_indent=first, subsequent_indent=others,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


@dataclass(frozen=True)
class RankedChoice:
    """A value of each ranked key, and the cells with a printed number, each compared with it.

    A cell without all of its runs is not compared (None).
    """

    values: Sequence[str]
    cells: Sequence[Cell]
    compared: Sequence[Reproduction | None]

    @property
    def distance(self) -> float:
        """Return the mean of |ours - theirs| / slack over the printed numbers; infinite without all runs."""
        return fmean(inf if number is None else number.distance for number in self.compared)


def ranked(experiment: Experiment, cells: Sequence[Cell]) -> list[RankedChoice]:
    """Return every combination of values of the ranked keys, the nearest to the printed numbers first.

    A cell without one of the keys counts in every combination. Raises ConfigError if there is none.
    """
    printed = [(cell, _values(cell, experiment.ranking)) for cell in cells if cell.printed]
    tried = []
    for values in dict.fromkeys(own for _, own in printed if all(own)):
        same = [cell for cell, own in printed if all(a in ("", b) for a, b in zip(own, values, strict=True))]
        tried.append(RankedChoice(values, same, [_compared(cell, experiment.reported) for cell in same]))
    if not tried and not experiment.changed:
        keys = " and ".join(experiment.ranking)
        raise ConfigError(f"{experiment.path}: ranking: no cell with a printed number has {keys}")
    return sorted(tried, key=lambda choice: choice.distance)


def _values(cell: Cell, keys: Sequence[str]) -> tuple[str, ...]:
    """Return the cell's values of the keys, as a config has them; an empty text for a key that it lacks."""
    flat = cell.trial.describe()
    return tuple(flow(as_written(key, flat[key])) if key in flat else "" for key in keys)


def _compared(cell: Cell, reported: Reported | None) -> Reproduction | None:
    if reported is None or len(cell.rows) < len(cell.trials):
        return None
    return reproduction(cell, cell.reported or next(iter(cell.printed.values())), reported)


def ranking(experiment: Experiment, cells: Sequence[Cell]) -> Table:
    """Return a line for each choice with its rank, its distance, and the number that is furthest off."""
    tried, lines = ranked(experiment, cells), []
    for choice in tried:
        rank = 1 + sum(other.distance < choice.distance for other in tried)
        place, furthest, distance = MISSING, MISSING, MISSING
        if isfinite(choice.distance):
            worst = max(filter(None, choice.compared), key=lambda number: number.distance)
            change = worst.quantity.change(worst.difference)
            furthest = f"{Names(choice.cells).of(worst.cell)}: {change}"
            place, distance = str(rank), f"{choice.distance:.2f}"
        lines.append([place, *choice.values, furthest, distance])
    headers = ["rank", *experiment.ranking, "furthest off", "distance"]
    left = len(headers) - 1
    return Table(headers, lines, range(left), [left], left)


def ranking_notes(experiment: Experiment, cells: Sequence[Cell]) -> list[str]:
    """Return what the distance is, and what it does not show."""
    reported = experiment.reported
    if not experiment.ranking or reported is None:
        return []
    own = ", or the slack of its own," if any(number.slack for number in reported.numbers) else ","
    lines = [
        f"distance: the mean over the printed numbers of |ours - paper| / max({reported.slack:g}{own} 2 sd), "
        "with sd as the paper prints it. furthest off: the number with the largest such ratio, ours - paper. "
        "The lowest of many distances is partly luck: a choice made here is to be held against configs that "
        "had no part in it."
    ]
    if not all(isfinite(choice.distance) for choice in ranked(experiment, cells)):
        lines.append(f"{MISSING}: a trial failed or is missing; without all of its trials nothing is ranked.")
    return lines
