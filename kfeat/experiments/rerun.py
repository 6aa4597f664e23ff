"""Choosing published trials to run again within a budget of seconds, spread over datasets and maps."""

import re
from collections.abc import Iterable, Mapping, Sequence
from math import inf

from kfeat.errors import ConfigError
from kfeat.experiments.plan import Trial
from kfeat.experiments.store import Row

MAX_SECONDS = 365 * 86400.0  # longer ones overflow what the system waits with
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


def seconds_of(text: str) -> float:
    """Return the seconds in a duration such as 90, 90s, 5m or 1.5h; raises ConfigError for other text."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh]?)", text.strip())
    seconds = float(match[1]) * _UNITS[match[2]] if match else inf
    if seconds > MAX_SECONDS:
        shown = text if len(text) <= 40 else f"{text[:40]}..."
        raise ConfigError(
            f"'{shown}' is not a duration; expected a number of seconds, or 90s, 5m, 1.5h, up to 365 days"
        )
    return seconds


def choose(candidates: Iterable[tuple[Trial, Row]], budget: float) -> list[Trial]:
    """Return trials whose recorded wall seconds add up to at most `budget`.

    One trial per cell, since repeats test the same code; in turn over the pairs of dataset and map, the
    quickest of each first, so that a small budget still sees every dataset and every map it can.
    """
    groups: dict[tuple[str, str], dict[str, tuple[float, Trial]]] = {}
    for trial, row in candidates:
        group = groups.setdefault((trial.data_key, trial.map.name if trial.map else "exact"), {})
        cost = recorded_seconds(row)
        if trial.cell not in group or cost < group[trial.cell][0]:
            group[trial.cell] = (cost, trial)
    queues = [sorted(group.values(), key=lambda pair: pair[0]) for group in groups.values()]
    chosen: list[Trial] = []
    while any(queues):
        for queue in queues:
            if queue:
                cost, trial = queue.pop(0)
                if cost <= budget:
                    budget -= cost
                    chosen.append(trial)
    return chosen


def recorded_seconds(row: Row) -> float:
    """Return the wall seconds that all phases of a row took."""
    return float(sum(phase["wall"] for phase in row["seconds"].values()))


def published_trials(trials: Sequence[Trial], published: Mapping[str, Row]) -> list[tuple[Trial, Row]]:
    """Return the planned trials that have a published row of status `done`, with it."""
    return [
        (trial, published[trial.id])
        for trial in trials
        if published.get(trial.id, {}).get("status") == "done"
    ]
