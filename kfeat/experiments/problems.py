"""The problems of a config as sentences, each with its line and path."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, get_args

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError
from yaml.composer import Composer

from kfeat.errors import ConfigError
from kfeat.parameters import OWN_SENTENCE, KeyPath, advice_on, describe, path_in
from kfeat.text import counted

if TYPE_CHECKING or not yaml.__with_libyaml__:
    _Loader = yaml.SafeLoader
else:

    class _Loader(Composer, yaml.CSafeLoader):
        """PyYAML's parser in C (6 times faster) with its composer in Python: no text is too deep for it."""

        def __init__(self, text: str) -> None:
            yaml.CSafeLoader.__init__(self, text)
            Composer.__init__(self)


from kfeat.experiments.yaml import Document


def validation_error(problems: Iterable[tuple[KeyPath, str]]) -> ValidationError:
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
            text += advice_on(str(keys[-1]), known)
        sentences.append(f"{file.place_of(keys) or path}, {text}")
    first, *others = dict.fromkeys(sentences)
    if not others:
        return ConfigError(first)
    listed = "".join(f"\n  {sentence}" for sentence in (first, *others))
    return ConfigError(f"{path}: {counted(len(others) + 1, 'problems')} in this file:{listed}")


def _within_file(raw: Any, location: KeyPath) -> KeyPath:
    """Return a location without its setting, if the value comes from the top of the file."""
    if location[0] != "settings" or len(location) < 3:
        return location
    given = raw.get("settings")
    own = given[int(location[1])] if isinstance(given, list) else {}
    return location if location[2] in own else location[2:]


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
    return [field.alias or key for other in models for key, field in other.model_fields.items()]


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)
