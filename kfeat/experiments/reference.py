"""What a config can name: help on kernels, maps, solvers and measures, and the JSON Schema.

With the JSON Schema an editor completes keys and marks wrong ones. `kfeat plan` checks more than the schema:
for example, which map suits which kernel.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from inspect import getdoc
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from kfeat.data import Protocol
from kfeat.data.splits import Split
from kfeat.errors import ConfigError
from kfeat.experiments.component import entry_model, registries
from kfeat.experiments.config import ExperimentFile
from kfeat.experiments.grids import CHAINS
from kfeat.parameters import HANDED_IN, did_you_mean, parameter_model

Schema = dict[str, Any]


@dataclass(frozen=True)
class Parameter:
    """Parameters that a docstring explains together: their type and default as text, and their meaning."""

    names: tuple[str, ...]
    kind: str
    meaning: str


@dataclass(frozen=True)
class ComponentHelp:
    """A class that a config can name: `summary` is one sentence, `text` the docstring before its parameters.

    `entry` is its entry in a config, with the defaults that are not null.
    """

    name: str
    summary: str
    text: str
    parameters: tuple[Parameter, ...]
    entry: dict[str, Any]


@cache
def component_helps(part: str) -> dict[str, ComponentHelp]:
    """Return the kernels, maps, solvers or measures (`part`: kernel, map, ...) by name."""
    return {name: _help_on(name, cls) for name, cls in registries()[part].items()}


def component_help(part: str, name: str) -> ComponentHelp:
    """Return the explanation of one name; raises ConfigError with the nearest name for an unknown one."""
    known = component_helps(part)
    if name not in known:
        near = did_you_mean(name, list(known))
        raise ConfigError(f"unknown {part} '{name}'{near}; there are {', '.join(sorted(known))}")
    return known[name]


def _help_on(name: str, cls: Any) -> ComponentHelp:
    text, _, rest = (getdoc(cls) or "").partition("\nParameters\n----------\n")
    section = re.split(r"\n\n(?=\w+\n-+\n)", rest, maxsplit=1)[0]
    text = re.split(r"\n(?=\w+\n-+\n)", text, maxsplit=1)[0].strip()
    fields = parameter_model(cls).model_fields
    defaults = {key: field.default for key, field in fields.items() if field.default is not None}
    return ComponentHelp(
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


class _WithGrids(GenerateJsonSchema):
    """The schema of the models, in which a list may replace one value of a protocol or of a component."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.entries: dict[Any, ComponentHelp] = {
            entry_model(cls): component_helps(part)[name]
            for part, classes in registries().items()
            for name, cls in classes.items()
        }

    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> Schema:
        """Return a schema that accepts anything, for what JSON cannot express, as an array of landmarks."""
        return {}

    def model_schema(self, schema: Any) -> Schema:
        """Return the schema of a model; each property may be a grid if the model is a part of a trial."""
        made, model = super().model_schema(schema), schema["cls"]
        if model not in self.entries and not (
            model.__module__ == Protocol.__module__ or issubclass(model, Split)
        ):
            return made
        for key, value in made["properties"].items():
            if "discriminator" in value:  # a split without options may be written as its kind
                value = {"anyOf": [{"enum": sorted(value["discriminator"]["mapping"])}, value]}
            if key == "scale":  # a single step needs no list
                value = {"anyOf": [{"const": "none"}, value["items"]]}
            if key not in CHAINS - {"scale"} | {"label"}:
                value = {"anyOf": [value, {"type": "array", "items": value}]}
            made["properties"][key] = value
        if model in self.entries:
            component = self.entries[model]
            made |= {"description": component.summary, "required": ["name"]}
            made["properties"]["name"] = {"const": component.name}
            for group in component.parameters:
                for name in group.names:
                    made["properties"][name]["description"] = group.meaning
        return made


def experiment_schema() -> Schema:
    """Return the JSON Schema (draft 2020-12) of an experiment file."""
    made = ExperimentFile.model_json_schema(schema_generator=_WithGrids)
    defs = made["$defs"]
    del defs["Setting"]["required"]  # a key may be in a setting or at the top of the file
    del defs["Reported"]["required"]  # an included file may have the other keys
    include = {"type": "string", "description": "A file beside this one that completes it."}
    return {
        "$schema": GenerateJsonSchema.schema_dialect,
        "title": "A kfeat experiment",
        "type": "object",
        "properties": {**made["properties"], **defs["Setting"]["properties"], "include": include},
        "additionalProperties": False,
        "$defs": defs,
    }
