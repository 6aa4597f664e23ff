"""A config as a typed experiment, every problem with its line and path."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge, MinLen
from pydantic import AfterValidator, ValidationError, ValidationInfo, field_validator

from kfeat.data import Source
from kfeat.data.registry import registry
from kfeat.errors import ConfigError
from kfeat.experiments.component import Component, Origin
from kfeat.experiments.grids import MAX_TRIALS
from kfeat.experiments.layout import Figure, FigureLayout, TableLayout
from kfeat.experiments.names import Line, Name, Strict, configs_above, experiment_name
from kfeat.experiments.overrides import apply_override, read_file
from kfeat.experiments.paper import Claim, Reported
from kfeat.experiments.problems import config_error, validation_error
from kfeat.experiments.selectors import Keys, Selector
from kfeat.experiments.setting import Setting
from kfeat.experiments.switches import Switch, check_switches
from kfeat.experiments.yaml import Document
from kfeat.files import SUFFIXES, known_configs
from kfeat.parameters import KeyPath, did_you_mean

# The values of `map` for methods without a map, in `for:` and in --maps.
EXACT, BASELINE = "exact", "baseline"
SHARED = [field.alias or name for name, field in Setting.model_fields.items()]  # keys that settings share


class ExperimentFile(Strict):
    """The content of an experiment file, after its shared keys have been copied to each of its settings.

    `stand_ins` says which dataset another one replaces, such as `gisette_mnist: Gisette`. Figures say so
    where they name it; tables say so below. `ranking` has the keys of the choices that are ranked by their
    distance from the printed numbers; these get no verdict here. `reference` selects the methods from which
    the tables of all cells give the difference of each other method. With `publish: rows` no table and no
    figure is published beside the rows, since a page is made of the rows of many files.
    """

    settings: Annotated[list[Setting], MinLen(1)]
    title: Line
    seed: Annotated[int, Ge(0)] = 0
    rows_from: list[Name] = []
    reported: Reported | None = None
    claims: list[Claim] = []
    switches: Annotated[list[Switch], AfterValidator(check_switches)] = []
    stand_ins: dict[str, Line] = {}
    ranking: Keys = []
    reference: Selector = {}
    table: TableLayout | None = None
    figure: Figure | None = None
    publish: Literal["report", "rows"] = "report"

    @field_validator("settings")
    @classmethod
    def _can_run(cls, settings: list[Setting]) -> list[Setting]:
        """Refuse settings if no setting combines maps with a `mapped` solver or a measure.

        Something that is left out explicitly, as in `mapped: null` or `maps: []`, is allowed.
        """
        if any(setting.maps and (setting.mapped_solvers or setting.measures) for setting in settings):
            return settings
        problems: list[tuple[KeyPath, str]] = []
        for i, setting in enumerate(settings):
            if setting.maps and "mapped" not in setting.solvers.model_fields_set:
                what = "nothing uses the features: add a `mapped` solver to `solvers`, or a `measure`"
                problems.append(((i, "maps"), f"{what}; write `mapped: null` if this is intended"))
            if setting.mapped_solvers and "maps" not in setting.model_fields_set:
                problems.append(((i, "solvers"), "`mapped` solvers need features: add `maps`"))
        if problems:
            raise validation_error(problems)
        return settings

    @field_validator("rows_from")
    @classmethod
    def _exist(cls, names: list[str], info: ValidationInfo) -> list[str]:
        """Refuse names without a config, if the folder of configs is known."""
        root = configs_above(info.context.path) if info.context else None
        if root is None:
            return names
        problems: list[tuple[KeyPath, str]] = []
        for i, name in enumerate(names):
            if not any((root / (name + suffix)).is_file() for suffix in SUFFIXES):
                files = root.rglob("[!_.]*.yaml")
                known = [file.relative_to(root).with_suffix("").as_posix() for file in files]
                near = did_you_mean(name, known)
                problems.append(((i,), f"there is no config '{name}' below {root.name}/{near}"))
        if problems:
            raise validation_error(problems)
        return names

    @field_validator("stand_ins")
    @classmethod
    def _known_data(cls, stand_ins: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        if "settings" not in info.data:  # they have an error, and might name the data
            return stand_ins
        sources = [source for setting in info.data["settings"] for source in setting.datasets]
        known = {*registry(), *(data.name for data in sources)}
        if unknown := [name for name in stand_ins if name not in known]:
            raise ValueError(f"unknown dataset '{unknown[0]}'{did_you_mean(unknown[0], sorted(known))}")
        return stand_ins

    @field_validator("figure")
    @classmethod
    def _of_the_table(cls, figure: FigureLayout | None, info: ValidationInfo) -> FigureLayout | None:
        table = info.data.get("table")
        has_ratios = table is not None and any(column.over for column in table.columns)
        if figure is not None and figure.kind == "ratios" and "table" in info.data and not has_ratios:
            raise ValueError("ratios need a `table` with columns that have `over`")
        return figure


class Experiment(ExperimentFile):
    """One experiment: the content of its file, its name and its path.

    With `changed` the command line has changed it, so that cells of its claims may be missing. Its title then
    ends with the keys that it set, since the text may name the values of the file.
    """

    name: str
    path: Path
    changed: bool = False

    @property
    def argument(self) -> str:
        """Return what names it to a command: the name if it comes with kfeat, else the path."""
        return self.name if known_configs() in self.path.parents else str(self.path)

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
    code: Literal["run", "name", "refuse"] = "name",
) -> Experiment:
    """Return the experiment in `path`, with `key=value` overrides and the command line's choices.

    `code` says what is done with classes that it names by their place: see `Origin`.

    Raises ConfigError, which lists every problem of the file with its line and path, and for an override
    whose values do not reach what is run.
    """
    file = read_file(path)

    def typed(some: Sequence[str]) -> tuple[Experiment, Experiment]:
        raw = deepcopy(file) if some else file
        for override in some:
            apply_override(raw, override, SHARED)
        whole = _typed(raw, path, repeats, code)
        return whole, _selected(whole, maps, exact, repeats)

    whole, experiment = typed(overrides)
    for i, override in enumerate(overrides):
        try:
            other, still_run = typed([*overrides[:i], *overrides[i + 1 :]])
        except ConfigError:  # without this override the others are not valid
            continue
        if other != whole and still_run == experiment:
            raise ConfigError(
                f"--set {override}: changes nothing that is run: --repeats, --maps or --no-exact replaces it "
                "or leaves it out; drop one of them"
            )
    title = experiment.title
    if told := [override for override in overrides if not override.startswith("title=")]:
        title += f" (changed: {', '.join(told)})"
    changed = bool(overrides or maps is not None or not exact)
    return experiment.model_copy(update={"changed": changed, "title": title})


def _handed_down(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the file with its shared keys copied to each setting that does not replace them."""
    shared = {key: value for key, value in raw.items() if key in SHARED}
    settings = raw.get("settings")
    if settings is None:
        settings = [shared]
    elif isinstance(settings, list):
        settings = [{**shared, **part} if isinstance(part, dict) else part for part in settings]
    return {**{key: value for key, value in raw.items() if key not in shared}, "settings": settings}


def _typed(file: Document, path: Path, repeats: int | None, code: Any) -> Experiment:
    place = path.resolve()
    try:
        content = ExperimentFile.model_validate(_handed_down(file.value), context=Origin(place, code))
    except ValidationError as error:
        raise config_error(error, ExperimentFile, file, path) from None
    if (trials := sum(setting.count_trials(repeats) for setting in content.settings)) > MAX_TRIALS:
        raise ConfigError(
            f"{path}: its grids have up to {trials:,} trials, and {MAX_TRIALS:,} are allowed; "
            "use shorter lists or fewer repeats"
        )
    return Experiment.model_construct(name=experiment_name(place), path=path, **dict(content))


def _selected(
    experiment: Experiment, names: Sequence[str] | None, exact: bool, repeats: int | None
) -> Experiment:
    """Return the part of the experiment to run: the named maps (None: all), and exact solvers if `exact`.

    `repeats` replaces that of every setting; exact solvers, which may be slow, then run at most so often.
    Raises ConfigError for a name that the experiment does not have, and if nothing remains to run.
    """
    known = list(dict.fromkeys(item.name for setting in experiment.settings for item in setting.maps))
    known += [EXACT] * any(setting.exact_solvers for setting in experiment.settings)
    known += [BASELINE] * any(setting.solvers.baseline for setting in experiment.settings)
    names = known if names is None else names
    if unknown := [name for name in names if name not in known]:
        raise ConfigError(
            f"--maps: '{unknown[0]}' is not in {experiment.path}{did_you_mean(unknown[0], known)}; "
            f"there are: {', '.join(known) or 'none'}"
        )
    settings = [_of_setting(setting, names, exact and EXACT in names) for setting in experiment.settings]
    running = [
        setting for setting in settings if setting.maps or setting.exact_solvers or setting.solvers.baseline
    ]
    if not running:
        raise ConfigError(
            f"{experiment.path}: nothing to run: no map with a `mapped` solver or a `measure`, "
            "and no `exact` solver or `baseline`"
        )
    if repeats is not None:
        running = [
            setting.model_copy(
                update={"repeats": repeats, "exact_repeats": min(setting.exact_repeats, repeats)}
            )
            for setting in running
        ]
    return experiment.model_copy(update={"settings": running})


def _of_setting(setting: Setting, names: Sequence[str], exact: bool) -> Setting:
    """Return the setting reduced to these methods."""
    maps = [item for item in setting.maps if item.name in names]
    if not maps or not (setting.mapped_solvers or setting.measures):
        setting = setting.model_copy(update={"measures": []})
        maps, mapped = [], list[Component]()
    else:
        mapped = setting.mapped_solvers
    ran = setting.exact_solvers if exact else []
    baseline = setting.solvers.baseline if BASELINE in names else []
    solvers = setting.solvers.model_copy(update={"mapped": mapped, "exact": ran, "baseline": baseline})
    update = {"maps": maps, "solvers": solvers}
    return setting.model_copy(update=update if ran else {**update, "exact_repeats": 1})
