"""An experiment file: YAML -> typed, every problem of the file reported at once with its line and path."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kfeat.data import Protocol, Source
from kfeat.errors import ConfigError
from kfeat.experiments.component import Component
from kfeat.experiments.features import Memory
from kfeat.experiments.figure_layout import FigureLayout
from kfeat.experiments.grid import MAX_TRIALS, count_trials
from kfeat.experiments.names import configs_above, experiment_name
from kfeat.experiments.overrides import apply_override, read_file, refuse_idle, settings_of
from kfeat.experiments.paper import Claim, Reported
from kfeat.experiments.problems import KeyPath, config_error, refuse, sentences
from kfeat.experiments.schema import ExperimentKeys, SettingKeys, Switch, TableLayout
from kfeat.experiments.yaml_file import SUFFIXES, Document
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
    exact_repeats: int = 1
    memory: Memory = "in_core"

    @classmethod
    def of(cls, keys: SettingKeys) -> "Setting":
        """Return what the keys of a setting say, each grid laid out."""
        flat = chain.from_iterable
        return cls(
            datasets=keys.dataset,
            protocols=list(flat(keys.protocol)),
            kernels=list(flat(keys.kernel)),
            maps=list(flat(keys.maps)),
            mapped_solvers=list(flat(keys.solvers.mapped)),
            exact_solvers=list(flat(keys.solvers.exact)),
            measures=list(flat(keys.measure)),
            repeats=keys.repeats,
            exact_repeats=keys.exact_repeats,
            memory=keys.memory,
        )


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
    stand_ins: Mapping[str, str]
    raw: Document = field(compare=False, repr=False)  # the file as read
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

    Raises ConfigError that lists every problem of the file with its line and path.
    """
    file = read_file(path)

    def typed(some: Sequence[str]) -> tuple[Experiment, Experiment]:
        raw = deepcopy(file)
        for override in some:
            apply_override(raw, override, SettingKeys.model_fields)
        whole = _typed(raw, path, repeats)
        return whole, _selected(whole, maps, exact, repeats)

    experiment = typed(overrides)[1]
    refuse_idle(overrides, typed)
    return replace(experiment, changed=bool(overrides or maps is not None or not exact))


def _handed_down(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the file with its shared keys in each of its settings, which may replace them."""
    shared = {key: value for key, value in raw.items() if key in SettingKeys.model_fields}
    settings = raw.get("settings")
    if settings is None:
        settings = [shared]
    elif isinstance(settings, list):
        settings = [{**shared, **part} if isinstance(part, dict) else part for part in settings]
    return {**{key: value for key, value in raw.items() if key not in shared}, "settings": settings}


def _refuse_giant(keys: Mapping[str, Any], path: Path, repeats: int | None) -> None:
    """Raise ConfigError where the file's grids have too many points, before they are laid out."""
    trials = sum(count_trials(part, repeats) for part in settings_of(keys).values())
    if trials > MAX_TRIALS:
        raise ConfigError(
            f"{path}: its grids have up to {trials:,} trials, and {MAX_TRIALS:,} are allowed; "
            "use shorter lists or fewer repeats"
        )


def _typed(raw: Document, path: Path, repeats: int | None) -> Experiment:
    keys = _handed_down(raw.value)
    _refuse_giant(keys, path, repeats)
    try:
        file = ExperimentKeys.model_validate(keys)
        _refuse_halves(file.settings)
        _refuse_strangers(file.rows_from, path.resolve())
    except ValidationError as error:
        raise config_error(path, sentences(error, ExperimentKeys, raw, path)) from None
    return Experiment(
        name=experiment_name(path.resolve()),
        path=path,
        title=file.title,
        settings=[Setting.of(each) for each in file.settings],
        seed=file.seed,
        rows_from=file.rows_from,
        reported=file.reported,
        claims=file.claims,
        switches=file.switches,
        table=file.table,
        figure=file.figure,
        stand_ins=file.stand_ins,
        raw=raw,
    )


def _selected(
    experiment: Experiment, names: Sequence[str] | None, exact: bool, repeats: int | None
) -> Experiment:
    """Return what of the experiment is run: the methods named (all for None), and the exact ones if `exact`.

    `repeats` replaces that of every setting; exact machines, which may be slow, then run so often at most.
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
        running = [
            replace(setting, repeats=repeats, exact_repeats=min(setting.exact_repeats, repeats))
            for setting in running
        ]
    return replace(experiment, settings=running)


def _refuse_halves(settings: Sequence[SettingKeys]) -> None:
    """Raise ValidationError where no setting has what its maps, or its `mapped` solvers, need to run.

    What is left out on purpose, as in `mapped: null` or `maps: []`, is not missed.
    """
    if any(one.maps and (one.solvers.mapped or one.measure) for one in settings):
        return
    problems: list[tuple[KeyPath, str]] = []
    for i, one in enumerate(settings):
        if one.maps and "mapped" not in one.solvers.model_fields_set:
            what = "nothing is done with the features: add a `mapped` solver to `solvers`, or a `measure`; "
            what += "`mapped: null` says that this is meant"
            problems.append((("settings", i, "maps"), what))
        if one.solvers.mapped and "maps" not in one.model_fields_set:
            what = "`mapped` solvers need features: add `maps`"
            problems.append((("settings", i, "solvers"), what))
    if problems:
        raise refuse(problems)


def _refuse_strangers(names: Sequence[str], path: Path) -> None:
    """Raise ValidationError where `rows_from` names no config, and it is known where these are."""
    root = configs_above(path)
    if root is None:
        return
    problems: list[tuple[KeyPath, str]] = []
    for i, name in enumerate(names):
        if not any((root / (name + suffix)).is_file() for suffix in SUFFIXES):
            known = [each.relative_to(root).with_suffix("").as_posix() for each in root.rglob("[!_.]*.yaml")]
            near = did_you_mean(name, known)
            problems.append((("rows_from", i), f"there is no config '{name}' below {root.name}/{near}"))
    if problems:
        raise refuse(problems)


def _of_setting(setting: Setting, names: Sequence[str], exact: bool) -> Setting:
    """Return the setting with what it runs of these methods, and nothing else."""
    maps = [item for item in setting.maps if item.name in names]
    if not maps or not (setting.mapped_solvers or setting.measures):
        setting, maps = replace(setting, mapped_solvers=(), measures=()), []
    if not (exact and setting.exact_solvers):
        setting = replace(setting, exact_solvers=(), exact_repeats=1)
    return replace(setting, maps=maps)
