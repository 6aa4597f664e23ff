"""A kernel, map, solver or measure as a config names it: a registered name and checked parameters."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from inspect import signature
from typing import Any

from pydantic import BaseModel, ValidationError, create_model

from kfeat.experiments.names import Line
from kfeat.experiments.problems import refuse, told
from kfeat.parameters import did_you_mean, parameter_model


@dataclass(frozen=True)
class Component:
    """One kernel, map, solver or measure: its class and the parameters of its constructor.

    `given` holds what differs from the defaults, so that naming a default or leaving it out is the same
    component; `parameters` holds them all.
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
        own = {"name", "label"}
        given = model.model_dump(exclude=own, exclude_defaults=True)
        return cls(name, kind, given, model.model_dump(exclude=own), model.label)

    def changed(self, parameter: str, value: Any) -> "Component":
        """Return the same with one parameter changed; raises pydantic's ValidationError."""
        return Component.of(self.name, self.cls, {**self.given, parameter: value}, self.label)

    def build(self, **handed_in: Any) -> Any:
        """Return an instance; it takes what it can use of `handed_in` (kernel, random_state, n_jobs)."""
        used = signature(self.cls).parameters.keys() & handed_in.keys()
        return self.cls(**self.parameters, **{name: handed_in[name] for name in used})

    def identity(self) -> dict[str, Any]:
        """Return what determines this component's numbers, as plain JSON."""
        numbers = {key: self.given[key] for key in self.numeric() if key in self.given}
        return {"name": self.name, "version": self.cls.algorithm_version, **numbers}

    def description(self) -> dict[str, Any]:
        """Return the name, the version and every parameter that its numbers depend on, as plain JSON."""
        numbers = {key: self.parameters[key] for key in self.numeric()}
        return {"name": self.name, "version": self.cls.algorithm_version, **numbers}

    def numeric(self) -> list[str]:
        """Return the parameters that its numbers depend on: not, say, the size of a cache."""
        resources: frozenset[str] = getattr(self.cls, "resource_parameters", frozenset())
        return [key for key in self.parameters if key not in resources]


@cache
def entry_model(cls: Any) -> type[BaseModel]:
    """Return the strict model of a config's entry for this class: its constructor's, a name and a label."""
    fields: dict[str, Any] = {"name": (str, ...), "label": (Line | None, None)}
    return create_model(cls.__name__, __base__=parameter_model(cls), **fields)


def registries() -> dict[str, Mapping[str, Any]]:
    """Return the classes by their names in a config, for each part of a trial."""
    # Imported here: they bring scikit-learn in, which a file with a YAML error need not wait for.
    from kfeat.experiments.measures import MEASURES
    from kfeat.kernels import KERNELS
    from kfeat.maps import MAPS
    from kfeat.solvers import SOLVERS

    return {"kernel": KERNELS, "map": MAPS, "solver": SOLVERS, "measure": MEASURES}


def read_component(entry: Any, part: str) -> Component:
    """Return the component that a config's entry without grids stands for; `name` tells which class.

    Raises pydantic's ValidationError.
    """
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        raise refuse([((), f"expected a mapping with a `name` (got {entry!r})")])
    parameters, classes = dict(entry), registries()[part]
    name, label = parameters.pop("name"), parameters.pop("label", None)
    if name not in classes:
        raise refuse([(["name"], f"unknown {part} '{name}'{_instead(name, classes)}")])
    known = parameter_model(classes[name]).model_fields
    unknown = [([key], f"unknown key{_instead(key, known)}") for key in parameters if key not in known]
    try:
        given = {key: value for key, value in parameters.items() if key in known}
        component = Component.of(name, classes[name], given, label)
    except ValidationError as error:
        raise refuse([*unknown, *told(error, entry)]) from None
    if unknown:
        raise refuse(unknown)
    return component


def _instead(word: str, known: Iterable[str]) -> str:
    return f"{did_you_mean(word, list(known))}; known: {', '.join(known)}"
