"""A kernel, map or solver as a config names it: a registered name and checked parameters."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from inspect import signature
from itertools import product
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from kfeat.experiments.schema import Line
from kfeat.parameters import describe, did_you_mean, parameter_model

_LABEL: TypeAdapter[str] = TypeAdapter(Line, config=ConfigDict(strict=True))


@dataclass(frozen=True)
class Component:
    """One kernel, map or solver: its class and the parameters of its constructor.

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
        model = parameter_model(kind).model_validate(dict(parameters))
        return cls(name, kind, model.model_dump(exclude_defaults=True), model.model_dump(), label)

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


def read_components(
    entry: Any, path: str, kind: str, registry: Mapping[str, Any], problems: list[str]
) -> Iterator[Component]:
    """Yield the components of one config entry, one for each point of its grid.

    A list where one value is expected is a grid axis. What is wrong goes to `problems`, each with its path.
    """
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        problems.append(f"{path}: expected a mapping with a `name` (got {entry!r})")
        return
    name = entry["name"]
    if name not in registry:
        near = did_you_mean(name, list(registry))
        problems.append(f"{path}.name: unknown {kind} '{name}'{near}; known: {', '.join(registry)}")
        return
    label = entry.get("label")
    try:
        label = None if label is None else _LABEL.validate_python(label)
    except ValidationError as error:
        problems += [describe(problem, f"{path}.label") for problem in error.errors()]
    axes = {key: value for key, value in entry.items() if key not in ("name", "label")}
    if empty := [key for key, value in axes.items() if value == []]:
        problems.append(f"{path}.{empty[0]}: an empty list is a grid without points")
    cls = registry[name]
    seen: set[str] = set()
    for point in product(*(value if isinstance(value, list) else [value] for value in axes.values())):
        parameters = dict(zip(axes, point, strict=True))
        try:
            component = Component.of(name, cls, parameters, label)
        except ValidationError as error:
            for problem in error.errors():
                text = _problem(problem, path, parameter_model(cls).model_fields)
                if text not in seen:
                    problems.append(text)
                seen.add(text)
            continue
        yield component


def _problem(problem: Any, path: str, fields: Mapping[str, Any]) -> str:
    text = describe(problem, path)
    if problem["type"] == "extra_forbidden":
        known = list(fields)
        text += f"{did_you_mean(str(problem['loc'][-1]), known)}; known: {', '.join(known)}"
    return text
