"""The names of cells in tables, figures and verdicts: as short as possible without being ambiguous."""

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from kfeat.analysis.cells import Cell, by_setting
from kfeat.data.sources import dataset_name
from kfeat.experiments.component import Component
from kfeat.experiments.plan import Trial
from kfeat.text import plain

SIZE = "map.n_components"
NOBODY: Mapping[str, str] = MappingProxyType({})  # no dataset is a stand-in for another
# Switches that change a map's algorithm: a name mentions them if they are on, even if they are on everywhere.
_ALWAYS_NAMED = {"h01"}
_SYMBOLS = {
    "n_components": "D",
    "h01": "H0/1",
    "h01_law": "H0/1 law",
    "degree_law": "law",
    "solver_type": "-s",
}
_NAMES = {
    "libsvm": "LIBSVM", "libsvm_cv": "LIBSVM CV", "svc": "SVC",
    "liblinear": "LIBLINEAR", "newton_cv": "Newton CV", "ridge_cv": "Ridge CV",
    "orf": "ORF", "sorf": "SORF", "ses": "SES", "tensor_srht": "Tensor SRHT",
}  # fmt: skip


def dataset(
    cell: Cell, cells: Sequence[Cell], hidden: str | None = None, stand_ins: Mapping[str, str] = NOBODY
) -> str:
    """Return the dataset's name, with the parameters of data and protocol that differ among these cells.

    The parameter `hidden` is left out: it is the axis of a figure. `stand_ins` maps a stand-in to the dataset
    that it replaces; the name says so.
    """
    trial = cell.trial
    trials = {other.setting[:2]: other.trial for other in cells}.values()
    namesakes = [other for other in trials if dataset_name(other.source) == dataset_name(trial.source)]
    sources = [_source(other) for other in namesakes]
    protocols = [_protocol(other) for other in namesakes if other.source == trial.source]
    name = dataset_name(trial.source)
    parts = [f"{name} (stand-in for {stand_ins[name]})" if name in stand_ins else name]
    left_out = {hidden, "split.max_train", "split.n_train"} if hidden == "n_train" else {hidden}
    for own, others in ((_source(trial), sources), (_protocol(trial), protocols)):
        for key, value in own.items():
            if key not in left_out and any(other.get(key) != value for other in others):
                parts.append(f"{key} = {'none' if value in (None, []) else value}")
    return plain(", ".join(parts))


def _source(trial: Trial) -> dict[str, Any]:
    return {} if isinstance(trial.source, str) else trial.source.model_dump(mode="json")


def _protocol(trial: Trial) -> dict[str, Any]:
    """Return the switches by name; each option of a split that is set has its own key, `split.max_train`."""
    flat: dict[str, Any] = {}
    for key, value in trial.protocol.model_dump(mode="json").items():
        within = value.items() if isinstance(value, dict) else ()
        flat |= {f"{key}.{name}": each for name, each in within if each is not None} or {key: value}
    return flat


def kernel(cell: Cell, cells: Sequence[Cell] = ()) -> str:
    """Return the kernel's label or formula, with the parameters in which it differs from those of `cells`."""
    own = cell.trial.kernel
    kernels = {other.setting[2]: other.trial.kernel for other in cells}.values()
    namesakes = [other for other in kernels if _kernel(other) == _kernel(own)]
    return _with_differences(own, namesakes, [_kernel(own)])


def formulas(cells: Sequence[Cell]) -> set[str]:
    """Return the kernels' formulas that can be typeset as mathematics."""
    found = {cell.trial.kernel.formula for cell in cells}
    return {formula for formula in found if "<x, y>" in formula or "||" in formula}


def _kernel(item: Component) -> str:
    return item.label or item.formula


def places(
    cells: Sequence[Cell],
    names: Sequence[str],
    hidden: str | None = None,
    stand_ins: Mapping[str, str] = NOBODY,
) -> list[str]:
    """Return for each cell those of `names` (dataset, kernel) that differ among the cells."""
    columns = {
        "dataset": [dataset(cell, cells, hidden, stand_ins) for cell in cells],
        "kernel": [kernel(cell, cells) for cell in cells],
    }
    differing = [columns[name] for name in names if len(set(columns[name])) > 1]
    return [", ".join(parts) for parts in zip(*differing, strict=True)] or [""] * len(cells)


def method(
    cell: Cell, cells: Sequence[Cell], hidden: str | None = None, elsewhere: Collection[str] = ()
) -> str:
    """Return the method's name, with the parameters in which methods of that name differ here.

    The parameter `hidden` is left out: it is the axis of a figure. `elsewhere` has the solvers of features on
    the same data in other parts of a table or figure: if one is different, the name includes the solver.
    """
    trial = cell.trial
    alike = [other.trial for other in cells if (other.trial.map is None) == (trial.map is None)]
    used = [item for other in alike if (item := other.solver or other.measure) is not None]
    own = trial.solver or trial.measure
    assert own is not None
    solver = component(own, used, hidden)
    if trial.map is None:
        return f"exact, {solver}"
    maps = [other.trial.map for other in cells if other.trial.map is not None]
    text = component(trial.map, maps, hidden)
    several = len({str(other.identity()) for other in used}) > 1
    return f"{text}, {solver}" if several or set(elsewhere) - {own.name} else text


def method_names(cells: Sequence[Cell]) -> dict[Cell, str]:
    """Return the `method` of each cell in its setting, for a table of all cells."""
    solvers: dict[Any, set[str]] = {}  # of each dataset
    for cell in cells:
        if cell.trial.map is not None and cell.trial.solver is not None:
            solvers.setdefault(cell.trial.source, set()).add(cell.trial.solver.name)
    return {
        cell: method(cell, peers, elsewhere=solvers.get(cell.trial.source, ()))
        for peers in by_setting(cells)
        for cell in peers
    }


def component(item: Component, others: Sequence[Component], hidden: str | None = None) -> str:
    """Return a component's label, or its name, and the parameters in which its namesakes here differ."""
    kind = "label" if item.label else "name"
    namesakes = [other for other in others if getattr(other, kind) == getattr(item, kind)]
    return _with_differences(item, namesakes, [item.label or _name(item)], hidden)


def _name(item: Component) -> str:
    return _NAMES.get(item.name, item.name.replace("_", " ").title())


def _with_differences(
    item: Component, namesakes: Sequence[Component], parts: list[str], hidden: str | None = None
) -> str:
    if any(other.name != item.name for other in namesakes):
        parts.append(_name(item))
    for key, value in item.parameters.items():
        others = [other.parameters[key] for other in namesakes if other.name == item.name]
        named = key in _ALWAYS_NAMED and not item.label
        if key != hidden and (named or any(other != value for other in others)):
            parts += _part(key, value, others)
    return plain(", ".join(parts))


def _part(key: str, value: object, others: Sequence[object]) -> list[str]:
    symbol = _SYMBOLS.get(key, key)
    if isinstance(value, bool):
        return [symbol] if value else []
    if value is None:
        return []
    items = value if isinstance(value, list) else [value]
    if within := [_whole(item) for item in items if isinstance(item, Component)]:
        return [" + ".join(within)]
    text = f"{value:g}" if isinstance(value, float) else str(value)
    if any(isinstance(other, float) and other != value and f"{other:g}" == text for other in others):
        text = str(value)  # six digits do not distinguish them
    return [f"{symbol} {text}" if symbol.startswith("-") else f"{symbol} = {text}"]


def _whole(item: Component) -> str:
    """Return the name of an inner component with all of its given parameters."""
    given = [text for key, value in item.given.items() for text in _part(key, value, [])]
    return item.label or _name(item) + (f" ({', '.join(given)})" if given else "")


def place(cell: Cell, cells: Sequence[Cell]) -> str:
    """Return the cell's dataset and kernel, without what all cells share; empty if they share both."""
    parts = []
    if len({other.setting[:2] for other in cells}) > 1:
        parts.append(dataset(cell, cells))
    kernels = {other.setting[2]: other for other in cells}.values()
    if len({kernel(other, cells) for other in kernels}) > 1:
        parts.append(kernel(cell, cells))
    return ", ".join(parts)


def place_and_size(cell: Cell, cells: Sequence[Cell]) -> str:
    """Return the cell's place and its map's number of components, if these differ among `cells`."""
    sizes = {size(other) for other in cells} - {None}
    parts = [place(cell, cells)]
    if size(cell) is not None and len(sizes) > 1:
        parts.append(f"D = {size(cell)}")
    return ", ".join(part for part in parts if part)


def cell_name(cell: Cell, cells: Sequence[Cell]) -> str:
    """Return the cell's place and method, as short as possible without being ambiguous."""
    peers = [other for other in cells if other.setting == cell.setting]
    return ", ".join(part for part in (place(cell, cells), method(cell, peers)) if part)


def cell_names(cells: Sequence[Cell]) -> dict[Cell, str]:
    """Return the `cell_name` of each cell among all of them."""
    found = {}
    for peers in by_setting(cells):
        where = place(peers[0], cells)  # the same for all cells of a setting
        for cell in peers:
            found[cell] = ", ".join(part for part in (where, method(cell, peers)) if part)
    return found


def size(cell: Cell) -> int | None:
    """Return the number of components of the cell's map; None for an exact kernel SVM."""
    found = cell.trial.map.parameters.get("n_components") if cell.trial.map else None
    return None if found is None else int(found)
