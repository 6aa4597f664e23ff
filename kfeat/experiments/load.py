"""An experiment file: YAML -> typed, every problem of the file reported at once with its path."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kfeat.data import Protocol, Source
from kfeat.errors import ConfigError
from kfeat.experiments.compatibility import known_task, mismatches, unfit_names, wrong_tasks
from kfeat.experiments.component import Component, read_components
from kfeat.experiments.grid import MAX_TRIALS, count_trials
from kfeat.experiments.including import read_file
from kfeat.experiments.names import experiment_name
from kfeat.experiments.overrides import apply_override, refuse_idle, settings_of
from kfeat.experiments.schema import (
    Claim,
    FigureLayout,
    FileKeys,
    Reported,
    SettingKeys,
    Switch,
    TableLayout,
)
from kfeat.experiments.validation import validated
from kfeat.parameters import did_you_mean

EXACT = "exact"  # what `map` is called where there is none, in `for:` and in --maps


@dataclass(frozen=True)
class Setting:
    """What is run on what: the grid of datasets, protocols and kernels, and the methods compared on each."""

    datasets: Sequence[Source]
    protocols: Sequence[Protocol]
    kernels: Sequence[Component]
    maps: Sequence[Component]
    mapped_solvers: Sequence[Component]
    exact_solvers: Sequence[Component]
    measures: Sequence[Component]
    repeats: int


@dataclass(frozen=True)
class Experiment:
    """One experiment: its settings, how its report looks, and what the paper printed."""

    name: str
    path: Path
    title: str
    settings: Sequence[Setting]
    seed: int
    rows_from: Sequence[str]
    reported: Reported | None
    claims: Sequence[Claim]
    switches: Sequence[Switch]
    table: TableLayout | None
    figure: FigureLayout | None
    changed: bool = False  # by the command line: the plan may lack what claims speak of

    @property
    def datasets(self) -> list[Source]:
        """Return the datasets of all settings, each once."""
        return list(dict.fromkeys(source for setting in self.settings for source in setting.datasets))


def load_experiment(
    path: Path,
    overrides: Sequence[str] = (),
    *,
    repeats: int | None = None,
    maps: Sequence[str] | None = None,
    exact: bool = True,
) -> Experiment:
    """Return the experiment in `path`, with `key=value` overrides and the command line's choices.

    Raises ConfigError that lists every problem of the file with its path.
    """
    file = read_file(path)
    shared = SettingKeys.model_fields.keys()

    def typed(some: Sequence[str]) -> tuple[Experiment, Experiment]:
        raw = deepcopy(file)
        for override in some:
            apply_override(raw, override, shared)
        _refuse_giant(raw, path, repeats)
        whole = _typed(raw, path)
        return whole, _selected(whole, maps, exact, repeats)

    experiment = typed(overrides)[1]
    refuse_idle(overrides, typed)
    return replace(experiment, changed=bool(overrides or maps is not None or not exact))


def _refuse_giant(raw: dict[str, Any], path: Path, repeats: int | None) -> None:
    """Raise ConfigError where the file's grids have too many points, before they are laid out."""
    parts = settings_of(raw) if raw.get("settings") is not None else [{}]
    trials = sum(count_trials({**raw, **part}, repeats) for part in parts)
    if trials > MAX_TRIALS:
        raise ConfigError(
            f"{path}: its grids have up to {trials:,} trials, and {MAX_TRIALS:,} are allowed; "
            "use shorter lists or fewer repeats"
        )


def _typed(raw: dict[str, Any], path: Path) -> Experiment:
    problems: list[str] = []
    setting_keys = SettingKeys.model_fields.keys()
    common = {key: value for key, value in raw.items() if key in setting_keys}
    file = validated(FileKeys, {k: v for k, v in raw.items() if k not in setting_keys}, raw, "", problems)
    settings: list[Setting | None] = []
    if raw.get("settings") is None:
        settings.append(_setting(common, {}, "", problems))
    else:
        for i, part in enumerate(settings_of(raw)):
            settings.append(_setting(common, part, f"settings[{i}].", problems))
    if problems or file is None:
        lines = "".join(f"\n  {problem}" for problem in dict.fromkeys(problems))
        raise ConfigError(f"{path}: {'a problem' if len(problems) == 1 else 'problems'} in this file:{lines}")
    return Experiment(
        name=experiment_name(path.resolve()),
        path=path,
        title=file.title,
        settings=[setting for setting in settings if setting is not None],
        seed=file.seed,
        rows_from=file.rows_from,
        reported=file.reported,
        claims=file.claims,
        switches=file.switches,
        table=file.table,
        figure=file.figure,
    )


def _setting(
    common: dict[str, Any], part: dict[str, Any], prefix: str, problems: list[str]
) -> Setting | None:
    """Return one setting: the keys of the file, those that `part` gives replaced."""
    # Imported here: they bring scikit-learn in, which a file with a YAML error need not wait for.
    from kfeat.experiments.measures import MEASURES
    from kfeat.kernels import KERNELS
    from kfeat.maps import MAPS
    from kfeat.solvers import SOLVERS

    merged = {**common, **part}

    def place(key: str) -> str:
        return f"{prefix}{key}" if key.partition(".")[0] in part else key

    keys = validated(SettingKeys, merged, merged, prefix if part else "", problems, part)

    def components(value: Any, key: str, kind: str, registry: dict[str, Any]) -> list[Component]:
        if value is None:
            return []
        many = isinstance(value, list)
        found = []
        for i, item in enumerate(value if many else [value]):
            where = f"{place(key)}[{i}]" if many else place(key)
            found += list(read_components(item, where, kind, registry, problems))
        return found

    solvers = merged.get("solvers") if isinstance(merged.get("solvers"), dict) else {}
    assert isinstance(solvers, dict)
    kernels = components(merged.get("kernel"), "kernel", "kernel", KERNELS)
    maps = components(merged.get("maps") or [], "maps", "map", MAPS)
    mapped = components(solvers.get("mapped"), "solvers.mapped", "solver", SOLVERS)
    exact = components(solvers.get("exact"), "solvers.exact", "solver", SOLVERS)
    measures = components(merged.get("measure"), "measure", "measure", MEASURES)
    problems += mismatches(kernels, maps, mapped, exact)
    if measures and (mapped or exact):
        problems.append(f"{place('measure')}: stands in the place of `solvers`, not beside them")
    problems += [f"{place('dataset')}: {text}" for text in unfit_names(keys.dataset if keys else [])]
    problems += wrong_tasks(keys.dataset if keys else [], [*mapped, *exact], known_task)
    if keys is None:
        return None
    protocols = [protocol for grid in keys.protocol for protocol in grid]
    return Setting(keys.dataset, protocols, kernels, maps, mapped, exact, measures, keys.repeats)


def _selected(
    experiment: Experiment, names: Sequence[str] | None, exact: bool, repeats: int | None
) -> Experiment:
    """Return what of the experiment is run: the methods named (all for None), and the exact ones if `exact`.

    `repeats` replaces that of every setting.
    Raises ConfigError for a name that the experiment does not have, and where nothing is left.
    """
    there = list(dict.fromkeys(item.name for setting in experiment.settings for item in setting.maps))
    if any(setting.exact_solvers for setting in experiment.settings):
        there.append(EXACT)
    names = there if names is None else names
    if unknown := [name for name in names if name not in there]:
        raise ConfigError(
            f"--maps: '{unknown[0]}' is not in {experiment.path}{did_you_mean(unknown[0], there)}; "
            f"there are: {', '.join(there) or 'none'}"
        )
    settings = [_of_setting(setting, names, exact and EXACT in names) for setting in experiment.settings]
    running = [setting for setting in settings if setting.maps or setting.exact_solvers]
    if not running:
        raise ConfigError(
            f"{experiment.path}: nothing to run: no map with a `mapped` solver or a `measure`, "
            "and no `exact` solver"
        )
    if repeats is not None:
        running = [replace(setting, repeats=repeats) for setting in running]
    return replace(experiment, settings=running)


def _of_setting(setting: Setting, names: Sequence[str], exact: bool) -> Setting:
    """Return the setting with what it runs of these methods, and nothing else."""
    maps = [item for item in setting.maps if item.name in names]
    if not maps or not (setting.mapped_solvers or setting.measures):
        setting, maps = replace(setting, mapped_solvers=(), measures=()), []
    return replace(setting, maps=maps, exact_solvers=setting.exact_solvers if exact else ())
