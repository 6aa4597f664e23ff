"""What a config's `dataset:` may be: a name, pinned or not, your files, your loader, or generated data."""

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BeforeValidator, Discriminator, Field, PlainSerializer, Tag

from kfeat.data.registry import registry
from kfeat.data.sources.generators import Dense, GeneratorSource, Normal, Quadric, UnitBall
from kfeat.data.sources.large_quadric import LargeQuadric
from kfeat.data.sources.loader import SHORT_NAMES, LoaderSource
from kfeat.data.sources.own import FileSource
from kfeat.data.sources.registered import PinnedSource, RegisteredSource
from kfeat.place import entry_points

__all__ = [
    "GENERATED_KINDS",
    "SHORT_NAMES",
    "FileSource",
    "LoaderSource",
    "PinnedSource",
    "RegisteredSource",
    "Source",
]

GENERATED_KINDS = (UnitBall, Normal, Dense, Quadric, LargeQuadric)


def source_tag(source: Any) -> str:
    """Return which kind of source is meant."""
    if isinstance(source, str):
        return "name" if source in registry() or source not in entry_points(SHORT_NAMES) else "function"
    if isinstance(source, RegisteredSource):
        return "name"
    keys = source if isinstance(source, dict) else getattr(source, "model_fields_set", ())
    tags = {"loader": "function", "path": "files", "fingerprint": "pinned", "columns": "columns"}
    other = "columns" if isinstance(source, dict) and source.get("name") in [*registry()] else "generator"
    return next((tag for key, tag in tags.items() if key in keys), other)


def as_value_of(key: str) -> Callable[[Any], Any]:
    """Return a function that makes a text alone the value of this key."""
    return lambda source: {key: source} if isinstance(source, str) else source


Source = Annotated[
    Annotated[
        RegisteredSource,
        BeforeValidator(as_value_of("name"), json_schema_input_type=str),
        PlainSerializer(RegisteredSource.given),
        Tag("name"),
    ]
    | Annotated[FileSource, Tag("files")]
    | Annotated[LoaderSource, BeforeValidator(as_value_of("loader")), Tag("function")]
    | Annotated[PinnedSource, Tag("pinned")]
    | Annotated[RegisteredSource, Tag("columns")]
    | Annotated[Annotated[GeneratorSource | LargeQuadric, Field(discriminator="name")], Tag("generator")],
    Discriminator(source_tag),
]
