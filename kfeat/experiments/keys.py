"""The keys by which a config speaks of its trials: `for:` of a number or a column, and switches."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kfeat.data import Protocol
from kfeat.data.generators import Generator
from kfeat.errors import ConfigError
from kfeat.experiments.component import registries
from kfeat.experiments.load import Experiment
from kfeat.experiments.plan import Trial
from kfeat.parameters import did_you_mean, parameter_model


def known_keys() -> list[str]:
    """Return every key that a switch can have; of a parameter also with its component's name between."""
    named = (f"{part}.{name}.{parameter}" for part, name, parameter in _parameters())
    return [*_general(), "repeats", *named]


def trial_keys() -> list[str]:
    """Return every key that a trial can have, but for those within a split or within another component."""
    generated = (f"dataset.{name}" for model in _below(Generator) for name in model.model_fields)
    return [*_general(), *dict.fromkeys(generated)]


def _general() -> list[str]:
    parameters = (f"{part}.{parameter}" for part, _, parameter in _parameters())
    keys = ["dataset", *(f"protocol.{name}" for name in Protocol.model_fields), *registries(), *parameters]
    return list(dict.fromkeys(keys))


def _parameters() -> Iterator[tuple[str, str, str]]:
    """Yield each parameter with its part (kernel, map, ...) and its component's name."""
    for part, registry in registries().items():
        for name, cls in registry.items():
            yield from ((part, name, parameter) for parameter in parameter_model(cls).model_fields)


def _below(model: type[Generator]) -> Iterator[type[Generator]]:
    yield model
    for each in model.__subclasses__():
        yield from _below(each)


def check_selectors(experiment: Experiment, trials: Sequence[Trial]) -> None:
    """Raise ConfigError for a `for:` or `over:` whose key no trial can have; one of these has others.

    A value that no trial here has may be meant: printed numbers and tables are shared by configs.
    """
    planned = {key for trial in trials for key in trial.describe()}
    known = trial_keys()
    for place, selector in _selectors(experiment):
        for key in selector:
            if key not in planned and ".".join(key.split(".")[:2]) not in known:
                raise ConfigError(
                    f"{experiment.path}, {place}: no trial has the key {key!r}{did_you_mean(key, known)}"
                )


def _selectors(experiment: Experiment) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield what chooses cells for the table and for printed numbers, each with its place in the config."""
    for i, column in enumerate(experiment.table.columns if experiment.table else ()):
        yield f"table.columns[{i}].for", column.cell
        yield f"table.columns[{i}].over", column.over or {}
    for i, number in enumerate(experiment.reported.numbers if experiment.reported else ()):
        yield f"reported.numbers[{i}].for", number.cell
