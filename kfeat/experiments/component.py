"""A kernel, map, solver or measure as a config names it: a registered name and checked parameters."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from inspect import signature
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError, create_model
from pydantic_core import core_schema

from kfeat.experiments.fields import Line
from kfeat.experiments.yaml import advice_on, problems_of, refuse
from kfeat.parameters import HANDED_IN, parameter_model


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
    def of(cls, name: str, kind: Any, parameters: Mapping[str, Any], label: str | None = None) -> "Component":
        """Return the component of class `kind` with these parameters; raises pydantic's ValidationError."""
        model: Any = entry_model(kind).model_validate({"name": name, "label": label, **parameters})
        fields = type(model).model_fields
        values = {key: getattr(model, key) for key in fields if key not in ("name", "label")}
        given = {key: value for key, value in values.items() if value != fields[key].default}
        return cls(name, kind, given, values, model.label)

    def build(self, **handed_in: Any) -> Any:
        """Return an instance; it gets those of `handed_in` (kernel, random_state, n_jobs) that it accepts."""
        own = {key: each(value, Component.build) for key, value in self.parameters.items()}
        return self.cls(**own, **{name: handed_in[name] for name in taken(self.cls) if name in handed_in})

    @cached_property
    def formula(self) -> str:
        """Return the formula of a kernel."""
        return str(self.build().formula)

    def identity(self) -> dict[str, Any]:
        """Return what determines this component's numbers, as plain JSON; all repeats of a cell share it."""
        return self._identity

    @cached_property
    def _identity(self) -> dict[str, Any]:
        return {**self.draws(), "version": self.cls.algorithm_version} | self._numbers(Component.identity)

    def draws(self) -> dict[str, Any]:
        """Return what its random numbers depend on, as plain JSON: everything except the versions."""
        return {"name": self.name, **self._numbers(Component.draws)}

    def _numbers(self, plain: Callable[["Component"], Any]) -> dict[str, Any]:
        moved: Mapping[str, Any] = getattr(self.cls, "identity_defaults", {})

        def differs(key: str) -> bool:
            return self.parameters[key] != moved[key] if key in moved else key in self.given

        return {key: each(self.parameters[key], plain) for key in self.numeric() if differs(key)}

    def description(self) -> dict[str, Any]:
        """Return the name, the version and every parameter that its numbers depend on, as plain JSON."""
        numbers = {key: each(self.parameters[key], Component.description) for key in self.numeric()}
        return {"name": self.name, "version": self.cls.algorithm_version, **numbers}

    def entry(self) -> dict[str, Any]:
        """Return its name and all of its parameters, as a config writes them."""
        values = {key: each(value, Component.entry) for key, value in self.parameters.items()}
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


def each(value: Any, do: Callable[[Component], Any]) -> Any:
    """Return a parameter's value with every component in it replaced by `do(component)`."""
    if isinstance(value, list):
        return [each(item, do) for item in value]
    return do(value) if isinstance(value, Component) else value


def flat_entry(part: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the name and the parameters of an entry of a config or a row, by flat keys.

    An inner component is given by its name, and its parameters follow: map.inner, map.inner.n_components.
    A list such as kernel.kernels is given by the names joined by ` + `; its items are kernel.kernels.0, ...
    """
    found: dict[str, Any] = {part: entry["name"]}
    for key, value in entry.items():
        items = value if isinstance(value, list) else [value]
        within = [item for item in items if isinstance(item, dict) and "name" in item]
        if key != "name":
            found[f"{part}.{key}"] = " + ".join(item["name"] for item in within) if within else value
        for i, item in enumerate(within):
            found |= flat_entry(f"{part}.{key}.{i}" if isinstance(value, list) else f"{part}.{key}", item)
    return found


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
    from kfeat.kernels import Kernel
    from kfeat.maps import FeatureMap

    if isinstance(annotation, type) and get_origin(annotation) is None:
        for base, part in ((Kernel, "kernel"), (FeatureMap, "map")):
            if issubclass(annotation, base):
                return Annotated[Any, Entry(part, kind=annotation)]
        return annotation
    if get_origin(annotation) in (None, Literal):
        return annotation
    parts = tuple(_read_within(one) for one in get_args(annotation))
    origin: Any = get_origin(annotation)
    return Union[parts] if origin is UnionType else origin[parts]  # noqa: UP007 (of a tuple)


@cache
def registries() -> dict[str, Mapping[str, Any]]:
    """Return the classes by their names in a config, for each part of a trial."""
    # Imported here: they load scikit-learn, which would delay the report of a YAML error.
    from kfeat.experiments.measures import MEASURES
    from kfeat.kernels import KERNELS
    from kfeat.maps import MAPS
    from kfeat.solvers import SOLVERS

    return {"kernel": KERNELS, "map": MAPS, "solver": SOLVERS, "measure": MEASURES}


def read_component(entry: Any, part: str, kind: type = object) -> Component:
    """Return the component of a config's entry without grids; its `name` selects the class.

    The class must be a subclass of `kind`. Raises pydantic's ValidationError.
    """
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        such = f", as in {{name: {entry}}}" if isinstance(entry, str) else ""
        raise refuse([((), f"expected a mapping with a `name`{such} (got {entry!r})")])
    parameters = dict(entry)
    classes = {name: cls for name, cls in registries()[part].items() if issubclass(cls, kind)}
    name, label = parameters.pop("name"), parameters.pop("label", None)
    if name not in classes:
        unknown_or_other = "unsuitable" if name in registries()[part] else "unknown"
        raise refuse([(["name"], f"{unknown_or_other} {part} '{name}'{advice_on(name, classes)}")])
    try:
        return Component.of(name, classes[name], parameters, label)
    except ValidationError as error:
        raise refuse(problems_of(error, entry, parameters_of(classes[name]))) from None


@dataclass(frozen=True)
class Entry:
    """How a config's entry is validated as a kernel, map, solver or measure (`part`).

    The class must be a subclass of `kind`. A solver may have a role: `mapped` solvers train on features,
    `exact` solvers on a kernel.
    """

    part: str
    role: Literal["mapped", "exact"] | None = None
    kind: type = object

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        """Return pydantic's schema; the entry's `name` selects its model at validation."""
        return core_schema.no_info_plain_validator_function(self._read)

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
        return {"anyOf": [*entries, several]}

    def _read(self, entry: Any) -> Component:
        component = read_component(entry, self.part, self.kind)
        if not self._fits(component.cls):
            ours, theirs = ("features", "a kernel") if self.role == "mapped" else ("a kernel", "features")
            raise refuse([((), f"{component.name} trains on {theirs}, not on {ours}")])
        return component

    def _fits(self, cls: Any) -> bool:
        return self.role is None or cls.needs_kernel == (self.role == "exact")
