"""Which trials a config's `for:` speaks of, and which printed number belongs to a trial."""

from collections.abc import Mapping
from typing import Any

from kfeat.errors import ConfigError
from kfeat.experiments.paper import Reported, ReportedNumber
from kfeat.experiments.plan import Trial
from kfeat.experiments.quantities import SCORE


def matches(selector: Mapping[str, Any], trial: Trial) -> bool:
    """Tell whether the trial has these values under the keys of `Trial.describe`; a list means one of its."""
    return agrees(selector, trial.describe())


def agrees(selector: Mapping[str, Any], flat: Mapping[str, Any]) -> bool:
    """Tell whether `flat` has the selector's values under its keys; a list means one of its values."""
    return all(key in flat and _is(flat[key], wanted) for key, wanted in selector.items())


def _is(value: Any, wanted: Any) -> bool:
    return bool(value == wanted) or (isinstance(wanted, list) and value in wanted)


def reported_number(reported: Reported | None, trial: Trial) -> ReportedNumber | None:
    """Return the printed score of the trial's cell; raises ConfigError if several speak of it."""
    return reported_numbers(reported, trial).get(SCORE)


def reported_numbers(reported: Reported | None, trial: Trial) -> dict[str, ReportedNumber]:
    """Return the printed numbers of the trial's cell by quantity; raises ConfigError if two are of one."""
    found: dict[str, ReportedNumber] = {}
    for number in reported.numbers if reported else []:
        if matches(number.cell, trial) and found.setdefault(number.of, number) is not number:
            places = f"{found[number.of].where} and {number.where}"
            raise ConfigError(f"reported.numbers: {places} speak of the same cell; make their `for` differ")
    return found
