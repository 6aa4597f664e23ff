"""The text of `kfeat protocol`: every switch of an experiment, its value, and how well it is known."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from textwrap import fill
from typing import Any

from tabulate import tabulate

from kfeat.experiments.load import Experiment
from kfeat.experiments.switches import Place, Switch, Value, choices, general
from kfeat.render.escapes import markdown, markdown_cell
from kfeat.saying import plain

WIDTH = 100
NOT_STATED = "not stated"


@dataclass(frozen=True)
class Line:
    """One switch as it is printed; `default` says that nobody stated it and nobody changed it."""

    key: str
    value: str
    status: str = NOT_STATED
    evidence: str = ""
    alternatives: str = ""
    default: bool = False


def flow(value: Any) -> str:
    """Return a plain value for reading: on one line as YAML has it, but unquoted and with six digits."""
    if isinstance(value, bool | None):
        return "null" if value is None else str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {flow(each)}' for key, each in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(flow, value))}]"
    return str(value)


def as_written(key: str, value: Any) -> Any:
    """Return a protocol's value as a file would have it: without what is left out there."""
    if key == "protocol.scale" and isinstance(value, list) and len(value) < 2:
        return value[0] if value else "none"
    if key == "protocol.split" and isinstance(value, dict):
        said = {name: each for name, each in value.items() if each is not None}
        said = dict(sorted(said.items(), key=lambda item: (item[0] != "kind", item[0] == "seed")))
        return said if len(said) > 1 else said["kind"]
    return value


def values_text(key: str, values: Sequence[Value]) -> str:
    """Return the values in few words, with what tells them apart: the component, the dataset, the kernel."""
    own: dict[Place, dict[str, None]] = {}  # a dict is a set that keeps its order
    for each in values:
        own.setdefault(each.place, {})[flow(as_written(key, each.value))] = None
    for parts in (parts for size in range(4) for parts in combinations(range(3), size)):
        groups: dict[str, dict[str, None]] = {}
        for place, texts in own.items():
            groups.setdefault(", ".join(place[part] for part in parts), {}).update(texts)
        if all(own[place].keys() == groups[", ".join(place[part] for part in parts)].keys() for place in own):
            break
    return _grouped(groups)


def _grouped(groups: dict[str, dict[str, None]]) -> str:
    alike: dict[str, list[str]] = {}
    for label, texts in groups.items():
        alike.setdefault(", ".join(texts), []).append(label)
    if len(alike) == 1:
        return next(iter(alike))
    return "; ".join(f"{', '.join(labels)}: {texts}" for texts, labels in alike.items())


def present_text(experiment: Experiment, key: str) -> str:
    """Return the value that a switch has in the experiment."""
    whole, name = general(key)
    values = choices(experiment)[whole]
    return values_text(whole, [value for value in values if name in (None, value.place[0])])


def lines(experiment: Experiment) -> list[Line]:
    """Return the experiment's switches in the order of its parts, then those that no key holds."""
    stated = {switch.key: switch for switch in experiment.switches}
    found: list[Line] = []
    for whole, values in choices(experiment).items():
        named = [key for key in stated if general(key)[0] == whole and general(key)[1]]
        names = {general(key)[1] for key in named}
        rest = [value for value in values if value.place[0] not in names]
        split = {whole: rest} | {key: [v for v in values if v.place[0] == general(key)[1]] for key in named}
        for key, part in split.items():
            if part:
                found.append(_line(key, part, stated.get(key)))
    return found + [_line(key, [], switch) for key, switch in stated.items() if switch.value is not None]


def _line(key: str, values: Sequence[Value], switch: Switch | None) -> Line:
    if switch is None:
        return Line(key, values_text(key, values), default=all(value.default for value in values))
    alternatives = ", ".join(flow(value) for value in switch.alternatives)
    value = switch.value if switch.value is not None else values_text(general(key)[0], values)
    return Line(key, value, switch.status, switch.evidence, alternatives)


def render_switches(experiment: Experiment, style: str, width: int | None = None) -> str:
    """Return the switches as text; `style` is `terminal` (at most `width` or 100 columns) or `markdown`."""
    found = lines(experiment)
    shown = [line for line in found if not line.default]
    silent = [
        f"{line.key} = {f'({line.value})' if ';' in line.value else line.value}"
        for line in found
        if line.default
    ]
    there = {line.key for line in found}
    idle = [switch.key for switch in experiment.switches if switch.key not in there]
    notes = [_count(shown, silent)]
    if silent:
        notes.append(f"{NOT_STATED}, at their defaults: {'; '.join(silent)}.")
    if idle:
        notes.append(f"stated, but not used in this experiment: {', '.join(idle)}.")
    if style == "markdown":
        listed = "\n".join(f"- {markdown(note)}" for note in notes)
        return f"# {markdown(experiment.title)}: the protocol\n\n{_table(shown)}\n\n{listed}"
    blocks = [*(_block(line, width) for line in shown), *(wrapped(note, width=width) for note in notes)]
    return "\n".join([plain(experiment.title), "", *blocks])


def _count(shown: Sequence[Line], silent: Sequence[str]) -> str:
    counts = dict.fromkeys(("known", "inferred", "open", NOT_STATED), 0)
    for line in shown:
        counts[line.status] += 1
    counts[NOT_STATED] += len(silent)
    text = ", ".join(f"{n} {status}" for status, n in counts.items())
    return f"{len(shown) + len(silent)} switches: {text}."


def _block(line: Line, width: int | None) -> str:
    margin = " " * 12
    text = [wrapped(f"{line.key} = {line.value}", f"{line.status:<12}", margin + "    ", width)]
    if line.evidence:
        text.append(wrapped(line.evidence, margin, margin, width))
    if line.alternatives:
        text.append(wrapped(f"to try: {line.alternatives}", margin, margin, width))
    return "\n".join(text)


def wrapped(text: str, first: str = "", others: str = "  ", width: int | None = None) -> str:
    """Return the text in lines of at most 100 columns; `first` and `others` stand before the lines."""
    return fill(
        plain(text), min(WIDTH, width or WIDTH), initial_indent=first, subsequent_indent=others,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def _table(shown: Sequence[Line]) -> str:
    headers = ["switch", "value", "status", "evidence", "to try"]
    body = [[f"`{line.key}`", line.value, line.status, line.evidence, line.alternatives] for line in shown]
    return tabulate([[markdown_cell(cell) for cell in row] for row in body], headers, tablefmt="github",
                    disable_numparse=True)  # fmt: skip
