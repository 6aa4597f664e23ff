"""Problems of an experiment file as sentences: the place, the value found, and what was expected."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from kfeat.errors import ConfigError
from kfeat.experiments.yaml_file import Document
from kfeat.parameters import OWN_SENTENCE, describe, did_you_mean

KeyPath: TypeAlias = Sequence[str | int]


def refuse(problems: Iterable[tuple[KeyPath, str]]) -> ValidationError:
    """Return the error of several problems, each with its path below the value being validated."""
    return ValidationError.from_exception_data(
        "an experiment",
        [
            InitErrorDetails(
                type=PydanticCustomError(OWN_SENTENCE, "{text}", {"text": text}), loc=tuple(path), input=0
            )
            for path, text in problems
        ],
    )


def problems_of(error: ValidationError, value: Any, known: Collection[str] = ()) -> list[tuple[KeyPath, str]]:
    """Return the problems of a value, each with its path in the value and its text without the path.

    If a value may have several kinds, their problems are joined to one. `known` has the allowed keys.
    """
    found: dict[tuple[str | int, ...], list[str]] = {}
    for problem in error.errors():
        path = tuple(path_in(value, problem["loc"]))
        text = describe(problem, path=()).removeprefix(": ")
        if problem["type"] == "extra_forbidden" and known:
            text += instead(str(path[-1]), known)
        found.setdefault(path, []).append(text)
    return [(path, _alternatives(texts)) for path, texts in found.items()]


def instead(word: str, known: Collection[str]) -> str:
    """Return advice on an unknown word: the nearest known word, and all known words."""
    return f"{did_you_mean(word, list(known))}; known: {', '.join(known)}"


def _alternatives(texts: Sequence[str]) -> str:
    """Return several texts about one value as one text, with the value at the end."""
    *others, last = dict.fromkeys(texts)
    first, *more = [*(text.rpartition(" (got ")[0] or text for text in others), last]
    return ", or ".join([first, *(text.removeprefix("expected ") for text in more)])


def config_error(error: ValidationError, model: type[BaseModel], file: Document, path: object) -> ConfigError:
    """Return the error that lists every problem of a file once, each with its line and its path.

    For an unknown key the message lists the fields of the `model`.
    """
    sentences = []
    for problem in error.errors():
        location = _within_file(file.value, problem["loc"])
        keys = path_in(file.value, location, problem["type"] == "missing")
        text = describe(problem, path=keys)
        if problem["type"] == "extra_forbidden" and (known := _known_keys(model, problem["loc"][:-1])):
            text += instead(str(keys[-1]), known)
        sentences.append(f"{file.place_of(keys) or path}, {text}")
    first, *others = dict.fromkeys(sentences)
    if not others:
        return ConfigError(first)
    listed = "".join(f"\n  {each}" for each in (first, *others))
    return ConfigError(f"{path}: {len(others) + 1} problems in this file:{listed}")


def _within_file(raw: Any, location: KeyPath) -> KeyPath:
    """Return a location without its setting, if the value comes from the top of the file."""
    if location[0] != "settings" or len(location) < 3:
        return location
    given = raw.get("settings")
    own = given[int(location[1])] if isinstance(given, list) else {}
    return location if location[2] in own else location[2:]


def path_in(raw: Any, location: KeyPath, missing: bool = False) -> list[str | int]:
    """Return pydantic's location without parts that the file does not have: union branches, lists of one.

    If the value is `missing`, the last key is kept.
    """
    path: list[str | int] = []
    value = raw
    for i, part in enumerate(location):
        if isinstance(value, Mapping) and (part in value or (missing and i == len(location) - 1)):
            value = value.get(part)
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            continue
        path.append(part)
    return path


def _known_keys(model: type[BaseModel], location: KeyPath) -> list[str]:
    """Return the keys of the model at a location; an empty list if several models are possible."""
    models = [model]
    for name in location:
        if isinstance(name, str):
            fields = {field.alias or key: field for key, field in models[0].model_fields.items()}
            models = list(_models_in(fields[name].annotation)) if name in fields else []
            if len(models) != 1:
                return []
    if not location and "settings" in model.model_fields:  # a file may have their keys at its top
        models += _models_in(model.model_fields["settings"].annotation)
    return [field.alias or key for one in models for key, field in one.model_fields.items()]


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)
