"""The names of cells in tables, figures and verdicts: as short as possible without being ambiguous."""

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

from kfeat.analysis.cells import Cell, by_setting
from kfeat.experiments.component import Component
from kfeat.experiments.plan import Trial
from kfeat.text import plain

Flat = dict[str, Any]
SIZE = "map.n_components"
# Switches that change a map's algorithm: a name mentions them if they are on, even if they are on everywhere.
_ALWAYS_NAMED = {"h01"}
_SYMBOLS = {
    "n_components": "D",
    "h01": "H0/1",
    "h01_law": "H0/1 law",
    "h01_unscaled": "x unscaled",
    "degree_law": "law",
    "solver_type": "-s",
}
_NAMES = {
    "libsvm": "LIBSVM", "libsvm_cv": "LIBSVM CV", "svc": "SVC",
    "liblinear": "LIBLINEAR", "newton_cv": "Newton CV", "ridge_cv": "Ridge CV",
    "ridge_classifier_cv": "Ridge Classifier CV",
    "orf": "ORF", "sorf": "SORF", "ses": "SES", "tensor_srht": "Tensor SRHT",
}  # fmt: skip


class Names:
    """The names by which these cells are told apart.

    The parameters in `hidden` are left out: they are the axis of a figure. `stand_ins` maps a stand-in to the
    dataset that it replaces; the name of the dataset says so.
    """

    def __init__(
        self, cells: Sequence[Cell], hidden: Collection[str] = (),
        stand_ins: Mapping[str, str] = MappingProxyType({}),
    ) -> None:  # fmt: skip
        self.cells, self._hidden, self._stand_ins = cells, hidden, stand_ins
        self._peers = {peers[0].setting: peers for peers in by_setting(cells)}

    def of(self, cell: Cell) -> str:
        """Return the cell's place, and its method among those of its setting."""
        return _joined(self.place(cell), _method(cell, self._peers[cell.setting]))

    def place(self, cell: Cell, parts: Sequence[str] = ("dataset", "kernel")) -> str:
        """Return those of `parts` (dataset, kernel) that differ among the cells."""
        columns = [self._places[part] for part in parts]
        return ", ".join(names[cell.setting] for names in columns if len({*names.values()}) > 1)

    def place_and_size(self, cell: Cell) -> str:
        """Return the cell's place and its map's number of components, if these differ among the cells."""
        differ = len({other.D for other in self.cells} - {None}) > 1
        if not differ or cell.D is None or cell.trial.map is None:
            return self.place(cell)
        return _joined(self.place(cell), f"{_symbol(cell.trial.map, 'n_components')} = {cell.D}")

    def dataset(self, cell: Cell) -> str:
        """Return the dataset's name, with the parameters of data and protocol that differ."""
        return self._places["dataset"][cell.setting]

    def kernel(self, cell: Cell) -> str:
        """Return the kernel's label or formula, with the parameters that differ."""
        return self._places["kernel"][cell.setting]

    def method(self, cell: Cell) -> str:
        """Return the method's name, with the parameters in which methods of that name differ."""
        return _method(cell, self.cells, self._hidden)

    def in_setting(self, cell: Cell) -> str:
        """Return the method's name among those of its setting, for a table of all cells.

        It has the solver where features of the same data have another one in another setting.
        """
        return _method(cell, self._peers[cell.setting], elsewhere=self._solvers.get(cell.trial.source, ()))

    @cached_property
    def _places(self) -> dict[str, dict[Any, str]]:
        """Return the names of the datasets and the kernels by their settings."""
        cells = [peers[0] for peers in self._peers.values()]
        data = {cell.setting[:2]: cell.trial for cell in cells}.values()
        known = [(trial, _source(trial), _protocol(trial)) for trial in data]
        kernels = {cell.setting[2]: cell.trial.kernel for cell in cells}.values()
        return {
            "dataset": {cell.setting: self._dataset(cell, known) for cell in cells},
            "kernel": {cell.setting: _kernel(cell.trial.kernel, kernels) for cell in cells},
        }

    @cached_property
    def _solvers(self) -> dict[Any, set[str]]:
        solvers: dict[Any, set[str]] = {}
        for trial in (cell.trial for cell in self.cells):
            if trial.map is not None and trial.solver is not None:
                solvers.setdefault(trial.source, set()).add(trial.solver.name)
        return solvers

    def _dataset(self, cell: Cell, known: Sequence[tuple[Trial, Flat, Flat]]) -> str:
        trial, name = cell.trial, cell.trial.source.name
        sources = [source for other, source, _ in known if other.source.name == name]
        protocols = [protocol for other, _, protocol in known if other.source == trial.source]
        parts = [f"{name} (stand-in for {self._stand_ins[name]})" if name in self._stand_ins else name]
        left_out = {*self._hidden}
        left_out |= {"split.max_train", "split.n_train"} if "n_train" in self._hidden else set()
        for own, others in ((_source(trial), sources), (_protocol(trial), protocols)):
            for key, value in own.items():
                if key not in left_out and any(other.get(key) != value for other in others):
                    parts.append(f"{key} = {'none' if value in (None, []) else value}")
        return plain(", ".join(parts))


def _joined(*parts: str) -> str:
    return ", ".join(filter(None, parts))


def _source(trial: Trial) -> Flat:
    return trial.source.options


def _protocol(trial: Trial) -> Flat:
    """Return the switches by name; each option of a split that is set has its own key, `split.max_train`."""
    return _flat("", trial.protocol.model_dump(mode="json"))


def _flat(prefix: str, options: Flat) -> Flat:
    flat: Flat = {}
    for key, value in options.items():
        within = _flat(f"{prefix}{key}.", value) if isinstance(value, dict) else {}
        flat |= within or ({} if prefix and value is None else {f"{prefix}{key}": value})
    return flat


def _kernel(own: Component, kernels: Collection[Component]) -> str:
    name = own.label or own.formula
    namesakes = [kernel for kernel in kernels if name == (kernel.label or kernel.formula)]
    return _with_differences(own, namesakes, [name])


def formulas(cells: Sequence[Cell]) -> set[str]:
    """Return the kernels' formulas that can be typeset as mathematics."""
    kernels = {cell.trial.kernel.formula for cell in cells}
    return {formula for formula in kernels if "<x, y>" in formula or "||" in formula}


def _method(
    cell: Cell, cells: Sequence[Cell], hidden: Collection[str] = (), elsewhere: Collection[str] = ()
) -> str:
    """Return the method's name, with the parameters in which methods of that name differ among `cells`.

    `elsewhere` has the solvers of features on the same data in other parts of a table: if one is different,
    the name includes the solver.
    """
    trial = cell.trial
    alike = [other.trial for other in cells if other.trial.role == trial.role]
    used = [solver for other in alike if (solver := other.solver or other.measure) is not None]
    own = trial.solver or trial.measure
    assert own is not None
    solver_text = component(own, used, hidden)
    if trial.map is None:
        return f"{trial.role}, {solver_text}"
    maps = [other.trial.map for other in cells if other.trial.map is not None]
    text = component(trial.map, maps, hidden)
    several = len({str(other.identity()) for other in used}) > 1
    return f"{text}, {solver_text}" if several or set(elsewhere) - {own.name} else text


def component(own: Component, others: Sequence[Component], hidden: Collection[str] = ()) -> str:
    """Return a component's label, or its name, and the parameters in which its namesakes here differ."""
    kind = "label" if own.label else "name"
    namesakes = [other for other in others if getattr(other, kind) == getattr(own, kind)]
    return _with_differences(own, namesakes, [own.label or _name(own)], hidden)


def _name(own: Component) -> str:
    if own.place is not None:
        return own.name.rpartition(":")[2]
    return _NAMES.get(own.name, own.name.replace("_", " ").title())


def _with_differences(
    own: Component, namesakes: Sequence[Component], parts: list[str], hidden: Collection[str] = ()
) -> str:
    if any(other.name != own.name for other in namesakes):
        parts.append(_name(own))
    for key, value in own.parameters.items():
        others = [other.parameters.get(key) for other in namesakes if other.name == own.name]
        named = key in _ALWAYS_NAMED and not own.label
        if key not in hidden and (named or any(other != value for other in others)):
            parts += _parameter(key, value, others, _symbol(own, key))
    return plain(", ".join(parts))


def _symbol(own: Component, key: str) -> str:
    """Return the symbol of a parameter; the components of sparse features are fewer than their columns D."""
    sparse = key == "n_components" and getattr(own.cls, "sparse_output", False)
    return "R" if sparse else _SYMBOLS.get(key, key)


def _parameter(key: str, value: object, others: Sequence[object], symbol: str) -> list[str]:
    if isinstance(value, bool):
        return [symbol] if value else []
    if value is None:
        return []
    values = value if isinstance(value, list) else [value]
    if components := [_whole(inner) for inner in values if isinstance(inner, Component)]:
        return [" + ".join(components)]
    text = f"{value:g}" if isinstance(value, float) else str(value)
    if any(isinstance(other, float) and other != value and f"{other:g}" == text for other in others):
        text = str(value)  # six digits do not distinguish them
    return [f"{symbol} {text}" if symbol.startswith("-") else f"{symbol} = {text}"]


def _whole(inner: Component) -> str:
    given = [
        text for key, value in inner.given.items() for text in _parameter(key, value, [], _symbol(inner, key))
    ]
    return inner.label or _name(inner) + (f" ({', '.join(given)})" if given else "")


def in_words(value: Any) -> str:
    """Return a parameter's value as text; a component by its label, or its name and given parameters."""
    if isinstance(value, list):
        return " + ".join(map(in_words, value))
    if not isinstance(value, Component):
        return str(value)
    given = (f"{key}={in_words(parameter)}" for key, parameter in value.given.items())
    return value.label or " ".join([value.name, *given])
