"""A trial's components: kernel, map, solver or measure as a config names it, with its parameters.

The name is a registered one, or the place of a class (`my_map.py:Mine`).
"""

from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from inspect import signature
from json import JSONEncoder
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError, ValidationInfo, create_model
from pydantic_core import core_schema

from kfeat.errors import ConfigError, KfeatError
from kfeat.experiments.names import Line, one_line
from kfeat.experiments.problems import validation_error
from kfeat.parameters import HANDED_IN, advice_on, parameter_model, problems_of
from kfeat.place import FORMS, Place, announce, entry_points

Memory = Literal["in_core", "out_of_core"]  # how the features of a mapped solver are held


@dataclass(frozen=True)
class Origin:
    """Where a config lies (None: nowhere), and what may be done with code that it names by its place.

    "run" imports and checks it. "name" does not: rows tell all that a report needs, if need be the version of
    code that is not at hand. "refuse" raises.
    """

    path: Path | None = None
    code: Literal["run", "name", "refuse"] = "run"


_canonical = JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def canonical_json(value: Any) -> str:
    """Return a value as JSON in the one form whose hash is its identity."""
    return _canonical.encode(value)


@dataclass(frozen=True)
class Component:
    """One kernel, map, solver or measure: its class and the parameters of its constructor.

    `given` holds the parameters that differ from the defaults, so that a default that is written out gives
    the same component; `parameters` holds all of them. Identities leave out the defaults of the version's
    first release: a class that has changed one since lists the old value in `identity_defaults`. A parameter
    may be a component or a list of components: the terms of a sum of kernels, the maps that are stacked.
    """

    name: str
    cls: Any
    given: Mapping[str, Any]
    parameters: Mapping[str, Any]
    label: str | None = None

    @classmethod
    def of(
        cls, name: str, kind: Any, parameters: Mapping[str, Any], label: str | None = None,
        origin: Origin | None = None,
    ) -> "Component":  # fmt: skip
        """Return the component of class `kind` with these parameters; raises pydantic's ValidationError."""
        model: Any = entry_model(kind).model_validate(
            {"name": name, "label": label, **parameters}, context=origin
        )
        fields = type(model).model_fields
        values = {key: getattr(model, key) for key in fields if key not in ("name", "label")}
        given = {key: value for key, value in values.items() if value != fields[key].default}
        return cls(name, kind, given, values, model.label)

    def build(self, **handed_in: Any) -> Any:
        """Return an instance; it gets those of `handed_in` (kernel, random_state, n_jobs) that it accepts."""
        own = {key: map_components(value, Component.build) for key, value in self.parameters.items()}
        if self.place is not None:
            return self.cls.build(own, handed_in)
        return self.cls(**own, **{name: handed_in[name] for name in taken(self.cls) if name in handed_in})

    @property
    def place(self) -> Place | None:
        """Return the place of a class that is not registered."""
        return getattr(self.cls, "place", None)

    def of_version(self, versions: Mapping[str, str]) -> "Component":
        """Return the component with the version in `versions`, by its name, of code that is not at hand."""
        if self.place is None or self.place.version:
            return self
        place = replace(self.place, version=versions.get(self.name, ""))
        return replace(self, cls=replace(self.cls, place=place))

    @property
    def ready(self) -> bool:
        """Return whether its class can be used without an import of code that a config names."""
        return self.place is None or self.place.loaded

    @cached_property
    def formula(self) -> str:
        """Return the formula of a kernel; of a class by its place, its name and parameters."""
        if self.place is None:
            return str(self.build().formula)
        given = ", ".join(f"{key}={value}" for key, value in self.given.items())
        return f"{self.place.name}({given})" if given else self.place.name

    @cached_property
    def key(self) -> str:
        """Return the identity as canonical JSON."""
        return canonical_json(self.identity())

    def identity(self) -> dict[str, Any]:
        """Return what determines its numbers and its seconds, as plain JSON; all repeats of a cell share it.

        A given size of a cache belongs to it: rows of two caches are not rows of one trial.
        """
        numbers = self._numbers(Component.identity) | self._resources()
        return {"name": self._identity, "version": self.cls.algorithm_version, **numbers}

    def draws(self) -> dict[str, Any]:
        """Return what its random numbers depend on, as plain JSON: not versions and sizes of caches."""
        return {"name": self._identity, **self._numbers(Component.draws)}

    @property
    def _identity(self) -> str:
        return self.name if self.place is None else self.place.text

    def _numbers(self, plain: Callable[["Component"], Any]) -> dict[str, Any]:
        moved: Mapping[str, Any] = getattr(self.cls, "identity_defaults", {})

        def differs(key: str) -> bool:
            return self.parameters[key] != moved[key] if key in moved else key in self.given

        return {key: map_components(self.parameters[key], plain) for key in self.numeric() if differs(key)}

    def _resources(self) -> dict[str, Any]:
        """Return the given parameters that its seconds depend on, but not its numbers."""
        return {key: value for key, value in self.given.items() if key not in self.numeric()}

    def description(self) -> dict[str, Any]:
        """Return the name, the version and the parameters, as plain JSON; of resources only given ones."""
        numbers = {key: map_components(self.parameters[key], Component.description) for key in self.numeric()}
        numbers |= self._resources()
        if self.place is not None:
            numbers = {**self.cls.defaults(), **numbers}
        return {"name": self.name, "version": self.cls.algorithm_version, **numbers}

    def entry(self) -> dict[str, Any]:
        """Return its name and all of its parameters, as a config writes them."""
        values = {key: map_components(value, Component.entry) for key, value in self.parameters.items()}
        return {"name": self.name, **values}

    def numeric(self) -> list[str]:
        """Return the parameters that its numbers depend on; the size of a cache, for example, is not one."""
        resources: frozenset[str] = getattr(self.cls, "resource_parameters", frozenset())
        return [key for key in self.parameters if key not in resources]


@cache
def taken(cls: Any) -> tuple[str, ...]:
    """Return the parameters of a class's constructor."""
    return tuple(signature(cls).parameters)


def parameters_of(cls: Any) -> list[str]:
    """Return the parameters that a config can give."""
    return [name for name in taken(cls) if name not in HANDED_IN]


def map_components(value: Any, do: Callable[[Component], Any]) -> Any:
    """Return a parameter's value with every component in it replaced by `do(component)`."""
    if isinstance(value, list):
        return [map_components(item, do) for item in value]
    return do(value) if isinstance(value, Component) else value


def flat_entry(part: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the name and the parameters of an entry of a config or a row, by flat keys.

    An inner component is given by its name, and its parameters follow: map.inner, map.inner.n_components.
    A list such as kernel.kernels is given by the names joined by ` + `; its items are kernel.kernels.0, ...
    """
    flat: dict[str, Any] = {part: entry["name"]}
    for key, value in entry.items():
        items = value if isinstance(value, list) else [value]
        within = [item for item in items if isinstance(item, dict) and "name" in item]
        if key != "name":
            flat[f"{part}.{key}"] = " + ".join(item["name"] for item in within) if within else value
        for i, item in enumerate(within):
            flat |= flat_entry(f"{part}.{key}.{i}" if isinstance(value, list) else f"{part}.{key}", item)
    return flat


@cache
def entry_model(cls: Any) -> type[BaseModel]:
    """Return the strict model of a config's entry for this class: constructor parameters, name and label.

    Where the constructor takes a kernel or a map, the entry has the name and parameters of that.
    """
    model = parameter_model(cls)
    fields: dict[str, Any] = {"name": (str, ...), "label": (Line | None, None)}
    for key, field in model.model_fields.items():
        read = _read_within(field.annotation)
        if read != field.annotation:
            fields[key] = (read, field.default)
    return create_model(cls.__name__, __base__=model, **fields)


def _read_within(annotation: Any) -> Any:
    """Return the annotation with each kernel or map class replaced by the reader of its entry."""
    from sklearn.base import BaseEstimator

    from kfeat.experiments.adapters import OtherMap
    from kfeat.kernels import Kernel
    from kfeat.maps import FeatureMap

    if annotation is OtherMap:
        return Annotated[Any, ComponentEntry("map", kind=BaseEstimator)]  # any map
    if isinstance(annotation, type) and get_origin(annotation) is None:
        for base, part in ((Kernel, "kernel"), (FeatureMap, "map")):
            if issubclass(annotation, base):
                return Annotated[Any, ComponentEntry(part, kind=annotation)]
        return annotation
    if get_origin(annotation) in (None, Literal):
        return annotation
    parts = tuple(_read_within(argument) for argument in get_args(annotation))
    origin: Any = get_origin(annotation)
    return Union[parts] if origin is UnionType else origin[parts]  # noqa: UP007 (of a tuple)


@cache
def registries() -> dict[str, Mapping[str, Any]]:
    """Return the classes by their names in a config, for each part of a trial."""
    # Imported here: they load scikit-learn, which would delay the report of a YAML error.
    from kfeat.experiments.boosting import Boosting
    from kfeat.experiments.measures import MEASURES
    from kfeat.experiments.tuned_solver import TunedSolver
    from kfeat.kernels import KERNELS
    from kfeat.maps import MAPS
    from kfeat.solvers import SOLVERS

    solvers: ChainMap[str, Any] = ChainMap({"boosting": Boosting, "search": TunedSolver}, SOLVERS)
    return {"kernel": KERNELS, "map": MAPS, "solver": solvers, "measure": MEASURES}


def read_component(entry: Any, part: str, kind: type = object, origin: Origin | None = None) -> Component:
    """Return the component of a config's entry without grids; its `name` selects the class, or is its place.

    A registered class must be a subclass of `kind`. Raises pydantic's ValidationError.
    """
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        such = f", as in {{name: {entry}}}" if isinstance(entry, str) else ""
        raise validation_error([((), f"expected a mapping with a `name`{such} (got {entry!r})")])
    parameters = dict(entry)
    name, label = parameters.pop("name"), parameters.pop("label", None)
    registry = registries()[part]
    if name not in registry and (place := name if ":" in name else entry_points(f"kfeat.{part}s").get(name)):
        component = _by_place(name, place, part, parameters, label, origin or Origin())
        if component.ready and not component.cls.serves(kind):
            raise validation_error(
                [(["name"], f"expected a registered {part}, or a {kind.__name__} of kfeat")]
            )
        return component
    if name not in registry or not issubclass(registry[name], kind):
        suitable = [other for other, cls in registry.items() if issubclass(cls, kind)]
        unknown_or_other = "unsuitable" if name in registry else "unknown"
        advice = f"; a class has a place: {FORMS}" if "." in name else advice_on(name, suitable)
        text = f"{unknown_or_other} {part} '{name}'{advice}"
        raise validation_error([(["name"], text)])
    try:
        return Component.of(name, registry[name], parameters, label, origin)
    except ValidationError as error:
        raise validation_error(problems_of(error, entry, parameters_of(registry[name]))) from None


# The parameters of classes by their places that configs of this process have given, by part.
PARAMETERS: dict[str, set[str]] = {}


def _by_place(
    name: str, text: str, part: str, parameters: dict[str, Any], label: str | None, origin: Origin
) -> Component:
    """Return the component of a class by its place; raises ValidationError if it is refused or unsuitable."""
    from kfeat.experiments.foreign import Foreign

    try:
        if origin.code == "refuse":
            raise ConfigError(f"'{text}' is code, which --no-code refuses")
        folder, needed = origin.path and origin.path.parent, origin.code == "run"
        cls = Foreign(part, Place.of(text, folder, needed))
        if label is not None and not isinstance(label, str):
            raise validation_error([(["label"], f"expected text (got {label!r})")])
        component = Component(name, cls, parameters, parameters, label and one_line(label))
        if origin.code == "run":
            announce(cls.place, origin.path.name if origin.path else "a config")
            problems = list(cls.problems(parameters))
            if problems:
                raise validation_error(((key,), problem) for key, problem in problems)
            if part == "kernel":
                component.build()
    except (KfeatError, ValueError) as error:
        if isinstance(error, ValidationError):
            raise
        raise validation_error([(["name"], str(error))]) from None
    PARAMETERS.setdefault(part, set()).update(parameters)
    return component


@dataclass(frozen=True)
class ComponentEntry:
    """How a config's entry is validated as a kernel, map, solver or measure (`part`).

    The class must be a subclass of `kind`. A solver may have a role: `mapped` solvers train on features,
    `exact` solvers on a kernel, a `baseline` on the prepared rows.
    """

    part: str
    role: Literal["mapped", "exact", "baseline"] | None = None
    kind: type = object

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        """Return pydantic's schema; the entry's `name` selects its model at validation."""
        return core_schema.with_info_plain_validator_function(self._read)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        """Return the JSON Schema: one alternative per class, by its name, or a list of names.

        Inner components are not checked.
        """
        if self.kind is not object:
            return {}
        classes = {name: cls for name, cls in registries()[self.part].items() if self._fits(cls)}
        entries: list[Any] = [handler(entry_model(cls).__pydantic_core_schema__) for cls in classes.values()]
        names = {"type": "array", "items": {"enum": list(classes)}, "minItems": 1}
        several = {"type": "object", "properties": {"name": names}, "required": ["name"]}
        place = {"type": "string", "pattern": ":", "description": f"The place of a class: {FORMS}."}
        other = {"type": "object", "properties": {"name": place}, "required": ["name"]}
        return {"anyOf": [*entries, several, other]}

    def _read(self, entry: Any, info: ValidationInfo) -> Component:
        component = read_component(entry, self.part, self.kind, info.context)
        if component.ready and not self._fits(component.cls):
            ours, theirs = ("a kernel", "features") if self.role == "exact" else ("features", "a kernel")
            raise validation_error([((), f"{component.name} trains on {theirs}, not on {ours}")])
        return component

    def _fits(self, cls: Any) -> bool:
        return self.role is None or cls.needs_kernel == (self.role == "exact")
