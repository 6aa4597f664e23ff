"""The JSON Schema of an experiment file, with which an editor completes keys and marks wrong ones.

`kfeat plan` checks more than the schema: for example, which map suits which kernel.
"""

from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from kfeat.data import Protocol
from kfeat.experiments.component import entry_model, registries
from kfeat.experiments.explained import Explained, explained
from kfeat.experiments.grid import CHAINS
from kfeat.experiments.load import ExperimentFile

Schema = dict[str, Any]


class _WithGrids(GenerateJsonSchema):
    """The schema of the models, in which a list may replace one value of a protocol or of a component."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.entries: dict[Any, Explained] = {
            entry_model(cls): explained(part)[name]
            for part, classes in registries().items()
            for name, cls in classes.items()
        }

    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> Schema:
        """Return a schema that accepts anything, for what JSON cannot express, as an array of landmarks."""
        return {}

    def model_schema(self, schema: Any) -> Schema:
        """Return the schema of a model; each property may be a grid if the model is a part of a trial."""
        made, model = super().model_schema(schema), schema["cls"]
        if model not in self.entries and model.__module__ != Protocol.__module__:
            return made
        for key, each in made["properties"].items():
            if "discriminator" in each:  # a split without options may be written as its kind
                each = {"anyOf": [{"enum": sorted(each["discriminator"]["mapping"])}, each]}
            if key == "scale":  # a single step needs no list
                each = {"anyOf": [{"const": "none"}, each["items"]]}
            if key not in CHAINS - {"scale"} | {"label"}:
                each = {"anyOf": [each, {"type": "array", "items": each}]}
            made["properties"][key] = each
        if model in self.entries:
            one = self.entries[model]
            made |= {"description": one.summary, "required": ["name"]}
            made["properties"]["name"] = {"const": one.name}
            for group in one.parameters:
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
