"""The JSON Schema of an experiment file, by which an editor completes keys and marks wrong ones.

A schema says less than `kfeat plan` checks: not which map suits which kernel, nor what the data are.
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from kfeat.data import Protocol, Source
from kfeat.experiments.component import entry_model, registries
from kfeat.experiments.explained import explained
from kfeat.experiments.grid import CHAINS
from kfeat.experiments.schema import ExperimentKeys, SettingKeys

Schema = dict[str, Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"
TEMPLATE = "#/$defs/{model}"


class _Lenient(GenerateJsonSchema):
    """What JSON cannot say, such as an array of numbers as landmarks, may be anything."""

    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> Schema:
        return {}


def experiment_schema() -> Schema:
    """Return the JSON Schema (draft 2020-12) of an experiment file."""
    defs: Schema = {}
    shared = _of_settings(defs)
    own = _properties(ExperimentKeys, defs)
    _loosen(defs)
    setting = {"type": "object", "properties": shared, "additionalProperties": False}
    own["settings"] = {"type": "array", "minItems": 1, "items": setting}
    own["figure"] = {"anyOf": [{"enum": ["methods", "curves", "ratios"]}, own["figure"]]}
    include = {"type": "string", "description": "A file beside this one that completes it."}
    return {
        "$schema": DIALECT,
        "title": "A kfeat experiment",
        "type": "object",
        "properties": {**own, **shared, "include": include},
        "additionalProperties": False,
        "$defs": defs,
    }


def _loosen(defs: Schema) -> None:
    """Allow the short forms that a file has beside what the models hold."""
    defs["Reported"].pop("required")  # a file that it includes may have the rest
    column, layout = defs["Column"]["properties"], defs["FigureLayout"]["properties"]
    column["show"] = {"anyOf": [{"type": "string"}, column["show"]]}
    words = column["printed"]["additionalProperties"]
    column["printed"]["additionalProperties"] = {"anyOf": [{"type": "string"}, words]}
    layout["log"] = {"anyOf": [{"type": "boolean"}, layout["log"]]}


def _of_settings(defs: Schema) -> Schema:
    """Return what the keys that settings share may be."""
    found = _properties(SettingKeys, defs)
    defs["Protocol"] = _protocol(defs)
    entries = {part: _entries(part, defs) for part in ("kernel", "map", "measure")}
    solvers = {role: _entries("solver", defs, role) for role in ("mapped", "exact")}
    found["dataset"] = _one_or_many(_nested(Source, defs))
    found["protocol"] = _one_or_many({"$ref": "#/$defs/Protocol"})
    found["kernel"] = _one_or_many(entries["kernel"])
    found["maps"] = {"type": "array", "items": entries["map"]}
    found["measure"] = _one_or_many(entries["measure"])
    found["solvers"] = {
        "type": "object",
        "properties": {role: _one_or_many(entry) for role, entry in solvers.items()},
        "additionalProperties": False,
    }
    return found


def _protocol(defs: Schema) -> Schema:
    """Return the schema of a protocol: a single step needs no list, a split without options only its name."""
    within: Schema = {}
    made = _nested(Protocol, within)
    defs |= {name: _with_axes(each) for name, each in within.items()}
    scale, split = made["properties"]["scale"], made["properties"]["split"]
    step = {"anyOf": [{"const": "none"}, scale["items"]]}
    kinds = sorted(split["discriminator"]["mapping"])
    made["properties"]["scale"] = _one_or_many(step)
    made["properties"]["split"] = {"anyOf": [{"enum": kinds}, split]}
    return _with_axes(made)


def _properties(model: type[BaseModel], defs: Schema) -> Schema:
    found: Schema = _nested(model, defs)["properties"]
    return found


def _nested(kind: Any, defs: Schema) -> Schema:
    """Return the schema of a type; the definitions that it needs go to `defs`."""
    made = TypeAdapter(kind).json_schema(ref_template=TEMPLATE, schema_generator=_Lenient)
    for name, each in made.pop("$defs", {}).items():
        defs.setdefault(name, each)
    return made


def _one_or_many(entry: Schema) -> Schema:
    return {"anyOf": [entry, {"type": "array", "items": entry}]}


def _entries(part: str, defs: Schema, role: str | None = None) -> Schema:
    """Return the schema of an entry: one alternative per class, by its name, or a list of names."""
    names = [name for name, cls in registries()[part].items() if role is None or _role(cls) == role]
    for name in names:
        defs[f"{part}.{name}"] = _entry(part, name, defs)
    several = {
        "type": "object",
        "properties": {"name": {"type": "array", "items": {"enum": names}, "minItems": 1}},
        "required": ["name"],
    }
    return {"anyOf": [*({"$ref": f"#/$defs/{part}.{name}"} for name in names), several]}


def _role(cls: Any) -> str:
    return "exact" if cls.needs_kernel else "mapped"


def _entry(part: str, name: str, defs: Schema) -> Schema:
    """Return the schema of one kernel, map, solver or measure, every parameter of which may be a grid."""
    known = explained(part)[name]
    meanings = {each: one.meaning for one in known.parameters for each in one.names}
    made = _with_axes(_nested(entry_model(registries()[part][name]), defs))
    properties: Schema = {
        key: {**each, "description": meanings[key]} if key in meanings else each
        for key, each in made["properties"].items()
    }
    properties["name"] = {"const": name}
    return {
        "description": known.summary,
        "type": "object",
        "properties": properties,
        "required": ["name"],
        "additionalProperties": False,
    }


def _with_axes(schema: Schema) -> Schema:
    """Return the schema of a mapping with a list allowed where it has one value, but where it is a list."""
    made = deepcopy(schema)
    properties: Mapping[str, Schema] = made.get("properties", {})
    made["properties"] = {
        key: each if key in (*CHAINS, "label") else {"anyOf": [each, {"type": "array", "items": each}]}
        for key, each in properties.items()
    }
    return made
