"""What a config comes to: includes, options and defaults in place, every grid laid out."""

from typing import Any

from kfeat.experiments.component import Component, each
from kfeat.experiments.load import SHARED, Experiment
from kfeat.experiments.plan import dataset_name
from kfeat.experiments.setting import Setting

Keys = dict[str, Any]


def resolved(experiment: Experiment) -> Keys:
    """Return a config's keys with nothing left to be filled in; it is a config too, of the same trials.

    Each point of a grid is an item of its own, and each kernel, map and solver has all of its parameters.
    `reported`, `claims`, `switches`, `table` and `figure` are as the file and what it includes have them.
    """
    own = {*SHARED, "settings", "title", "seed"}
    rest = {key: value for key, value in experiment.keys.items() if key not in own}
    settings = [_setting(one) for one in experiment.settings]
    what = settings[0] if len(settings) == 1 else {"settings": settings}
    head = {"title": experiment.title, "seed": experiment.seed}
    return {**head, **what, **rest}


def _setting(setting: Setting) -> Keys:
    found: Keys = {
        "dataset": [_source(one) for one in setting.datasets],
        "protocol": [one.model_dump(mode="json") for one in setting.protocols],
        "kernel": [_entry(one) for one in setting.kernels],
    }
    if setting.maps:
        found["maps"] = [_entry(one) for one in setting.maps]
    roles = {"mapped": setting.mapped_solvers, "exact": setting.exact_solvers}
    if solvers := {role: [_entry(one) for one in items] for role, items in roles.items() if items}:
        found["solvers"] = solvers
    if setting.measures:
        found["measure"] = [_entry(one) for one in setting.measures]
    counts = {"repeats": setting.repeats, "exact_repeats": setting.exact_repeats}
    return {**found, **counts, "memory": setting.memory}


def _source(source: Any) -> Any:
    if isinstance(source, str):
        return source
    name = {"name": dataset_name(source)} if "name" in type(source).model_fields else {}
    return {**name, **source.model_dump(mode="json", exclude_none=True)}


def _entry(component: Component) -> Keys:
    label = {} if component.label is None else {"label": component.label}
    values = {key: each(value, _entry) for key, value in component.parameters.items()}
    return {
        "name": component.name,
        **label,
        **{key: value for key, value in values.items() if value is not None},
    }
