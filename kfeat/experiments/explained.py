"""Explanations of kernels, maps and solvers: a summary, the parameters, and the YAML of an entry."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from inspect import getdoc
from typing import Any

from kfeat.errors import ConfigError
from kfeat.experiments.component import registries
from kfeat.parameters import HANDED_IN, did_you_mean, parameter_model


@dataclass(frozen=True)
class Parameter:
    """Parameters that a docstring explains together: their type and default as text, and their meaning."""

    names: tuple[str, ...]
    kind: str
    meaning: str


@dataclass(frozen=True)
class Explained:
    """A class that a config can name: `summary` is one sentence, `text` the docstring before its parameters.

    `entry` is its entry in a config, with the defaults that are not null.
    """

    name: str
    summary: str
    text: str
    parameters: tuple[Parameter, ...]
    entry: dict[str, Any]


@cache
def explained(part: str) -> dict[str, Explained]:
    """Return the kernels, maps, solvers or measures (`part`: kernel, map, ...) by name."""
    return {name: _explained(name, cls) for name, cls in registries()[part].items()}


def explained_one(part: str, name: str) -> Explained:
    """Return the explanation of one name; raises ConfigError with the nearest name for an unknown one."""
    known = explained(part)
    if name not in known:
        near = did_you_mean(name, list(known))
        raise ConfigError(f"unknown {part} '{name}'{near}; there are {', '.join(sorted(known))}")
    return known[name]


def _explained(name: str, cls: Any) -> Explained:
    text, _, rest = (getdoc(cls) or "").partition("\nParameters\n----------\n")
    section = re.split(r"\n\n(?=\w+\n-+\n)", rest, maxsplit=1)[0]
    text = re.split(r"\n(?=\w+\n-+\n)", text, maxsplit=1)[0].strip()
    fields = parameter_model(cls).model_fields
    defaults = {key: field.default for key, field in fields.items() if field.default is not None}
    return Explained(
        name=name,
        summary=" ".join(text.split("\n\n")[0].split()),
        text=text,
        parameters=tuple(_parameters(section)),
        entry={"name": name, **defaults},
    )


def _parameters(section: str) -> Iterator[Parameter]:
    """Yield the parameters of a docstring's section, without those that the experiment sets itself."""
    for block in re.split(r"\n(?=\w)", section):
        heading, _, meaning = block.partition("\n")
        names, _, kind = heading.partition(" : ")
        own = tuple(name for name in names.split(", ") if name and name not in HANDED_IN)
        if own:
            lines = [" ".join(part.split()) for part in re.split(r"\n\s*\n|\n(?=\s*- )", meaning)]
            yield Parameter(own, kind.strip(), "\n".join(line for line in lines if line))
