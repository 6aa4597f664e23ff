"""What a cell is called in a table or a figure: as short as it can be without being ambiguous."""

from collections.abc import Sequence

from kfeat.experiments.component import Component
from kfeat.reports.cells import Cell

_SYMBOLS = {"n_components": "D", "h01": "H0/1", "degree_law": "law", "solver_type": "-s"}
_NAMES = {"libsvm": "LIBSVM", "liblinear": "LIBLINEAR", "newton_cv": "Newton CV", "ridge_cv": "Ridge CV"}


def method(cell: Cell, cells: Sequence[Cell], hidden: str | None = None) -> str:
    """Return the method's name, with the parameters in which methods of that name differ here.

    The parameter `hidden` is left out: it is the axis of a figure.
    """
    trial = cell.trial
    alike = [other.trial for other in cells if (other.trial.map is None) == (trial.map is None)]
    solvers = [other.solver for other in alike if other.solver is not None]
    solver = component(trial.solver, solvers) if trial.solver else ""
    if trial.map is None:
        return f"exact, {solver}"
    maps = [other.trial.map for other in cells if other.trial.map is not None]
    text = component(trial.map, maps, hidden)
    several = len({str(other.identity()) for other in solvers}) > 1
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
