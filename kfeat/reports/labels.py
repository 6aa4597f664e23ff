"""What a cell is called in a table or a figure: as short as it can be without being ambiguous."""

from collections.abc import Sequence
from typing import Any

from kfeat.experiments.component import Component
from kfeat.experiments.plan import Trial, dataset_name
from kfeat.reports.cells import Cell

_SYMBOLS = {"n_components": "D", "h01": "H0/1", "degree_law": "law", "solver_type": "-s"}
_NAMES = {"libsvm": "LIBSVM", "liblinear": "LIBLINEAR", "newton_cv": "Newton CV", "ridge_cv": "Ridge CV"}


def dataset(cell: Cell, cells: Sequence[Cell], hidden: str | None = None) -> str:
    """Return the dataset's name, with what tells it from its namesakes here, and the protocol's from others.

    The parameter `hidden` is left out: it is the axis of a figure.
    """
    trial = cell.trial
    namesakes = [
        other.trial for other in cells if dataset_name(other.trial.source) == dataset_name(trial.source)
    ]
    sources = [_source(other) for other in namesakes]
    protocols = [_protocol(other) for other in namesakes if other.source == trial.source]
    parts = [dataset_name(trial.source)]
    for own, others in ((_source(trial), sources), (_protocol(trial), protocols)):
        for key, value in own.items():
            if key != hidden and any(other.get(key) != value for other in others):
                parts.append(f"{key} = {'none' if value in (None, []) else value}")
    return ", ".join(parts)


def _source(trial: Trial) -> dict[str, Any]:
    return {} if isinstance(trial.source, str) else trial.source.model_dump(mode="json")


def _protocol(trial: Trial) -> dict[str, Any]:
    """Return the switches by name, those of a split (`split.max_train`) each on its own if it is set."""
    flat: dict[str, Any] = {}
    for key, value in trial.protocol.model_dump(mode="json").items():
        within = value.items() if isinstance(value, dict) else ()
        flat |= {f"{key}.{name}": each for name, each in within if each is not None} or {key: value}
    return flat


def kernel(cell: Cell) -> str:
    """Return the kernel's label, or its formula."""
    return cell.trial.kernel.label or str(cell.trial.kernel.build().formula)


def places(cells: Sequence[Cell], names: Sequence[str], hidden: str | None = None) -> list[str]:
    """Return for each cell what of `names` (dataset, kernel) differs among the cells."""
    columns = {
        "dataset": [dataset(cell, cells, hidden) for cell in cells],
        "kernel": [kernel(cell) for cell in cells],
    }
    differing = [columns[name] for name in names if len(set(columns[name])) > 1]
    return [", ".join(parts) for parts in zip(*differing, strict=True)] or [""] * len(cells)


def method(cell: Cell, cells: Sequence[Cell], hidden: str | None = None) -> str:
    """Return the method's name, with the parameters in which methods of that name differ here.

    The parameter `hidden` is left out: it is the axis of a figure.
    """
    trial = cell.trial
    alike = [other.trial for other in cells if (other.trial.map is None) == (trial.map is None)]
    used = [item for other in alike if (item := other.solver or other.measure) is not None]
    own = trial.solver or trial.measure
    assert own is not None
    solver = component(own, used)
    if trial.map is None:
        return f"exact, {solver}"
    maps = [other.trial.map for other in cells if other.trial.map is not None]
    text = component(trial.map, maps, hidden)
    several = len({str(other.identity()) for other in used}) > 1
    return f"{text}, {solver}" if several else text


def component(item: Component, others: Sequence[Component], hidden: str | None = None) -> str:
    """Return a component's label: its own, or its name and the parameters that vary among its namesakes."""
    if item.label:
        return item.label
    namesakes = [other for other in others if other.name == item.name]
    parts = [_NAMES.get(item.name, item.name.replace("_", " ").title())]
    for key, value in item.parameters.items():
        if key != hidden and any(other.parameters[key] != value for other in namesakes):
            parts += _part(key, value)
    return ", ".join(parts)


def _part(key: str, value: object) -> list[str]:
    symbol = _SYMBOLS.get(key, key)
    if isinstance(value, bool):
        return [symbol] if value else []
    if value is None:
        return []
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return [f"{symbol} {text}" if symbol.startswith("-") else f"{symbol} = {text}"]
