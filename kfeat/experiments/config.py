"""Reading a config: include and --set, then typed objects; every problem with its line and path."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path, PurePath
from typing import Annotated, Any

from annotated_types import Ge, MinLen
from pydantic import AfterValidator, ValidationError, ValidationInfo, field_validator

from kfeat.data import Source
from kfeat.data.sources import registry
from kfeat.errors import ConfigError
from kfeat.experiments.component import (
    MAX_TRIALS,
    Component,
    Line,
    Name,
    Strict,
    configs_above,
    experiment_name,
)
from kfeat.experiments.paper import (
    Claim,
    Figure,
    FigureLayout,
    Reported,
    Switch,
    TableLayout,
    checked_switches,
)
from kfeat.experiments.selectors import Keys
from kfeat.experiments.setting import Setting
from kfeat.experiments.yaml import (
    SUFFIXES,
    Document,
    KeyPath,
    Lines,
    config_error,
    read_mapping,
    read_text,
    refuse,
)
from kfeat.parameters import did_you_mean

Target = tuple[Any, Lines, Any]  # a mapping or list, its lines, and the key or position to set
COMPLETED: dict[str, type] = {"reported": dict, "solvers": dict, "switches": list}


def read_file(path: Path) -> Document:
    """Return the keys of an experiment file, completed by the file that it includes.

    Keys of the file have priority over included ones. The mappings `reported` and `solvers` are merged key by
    key, and `switches` by their `key`.
    """
    own = read_mapping(path)
    if "include" not in own.value:
        return own
    del own.lines["include"]
    shared = _included(_beside(path, own.value.pop("include")))
    if "include" in shared.value:
        place = shared.place_of(["include"])
        raise ConfigError(f"{place}, include: an included file cannot include another")
    for key, kind in COMPLETED.items():
        value, mine = shared.value.get(key), own.value.get(key)
        if key in shared.value and not isinstance(value, kind):
            expected = "a mapping" if kind is dict else "a list"
            raise ConfigError(f"{shared.place_of([key])}, {key}: expected {expected} (got {value!r})")
        if key in shared.value and isinstance(mine, kind):
            _complete(mine, own.lines[key][1], value, shared.lines[key][1])
    return Document({**shared.value, **own.value}, {**shared.lines, **own.lines})


def _included(path: Path) -> Document:
    """Return an included file; one that many configs include is parsed once."""
    status = path.stat() if path.is_file() else None
    return _parsed(path, status and (status.st_mtime_ns, status.st_size))


@cache
def _parsed(path: Path, state: Any) -> Document:
    return read_mapping(path)


def _complete(mine: Any, my_lines: Lines, others: Any, other_lines: Lines) -> None:
    """Add to a mapping the keys that it lacks, or to a list the switches with other keys."""
    if isinstance(mine, dict):
        for values, more in ((mine, others), (my_lines, other_lines)):
            values.update({**more, **values})
        return
    stated = [switch.get("key") for switch in mine if isinstance(switch, dict)]
    for i, switch in enumerate(others):
        if not (isinstance(switch, dict) and switch.get("key") in stated):
            my_lines[len(mine)] = other_lines[i]
            mine.append(switch)


def _beside(path: Path, include: Any) -> Path:
    """Return the included file; raises ConfigError unless it is in the config's folder or below it.

    A config may come from someone else: it must not read other files of this machine.
    """
    if isinstance(include, str):
        name, folder = PurePath(include), path.parent
        inside = (folder / name).resolve().is_relative_to(folder.resolve())
        if inside and not name.is_absolute() and ".." not in name.parts:
            return folder / name
    raise ConfigError(
        f"{path}: include: expected the name of a file in this one's folder or below it, without `..` "
        f"(got {include!r})"
    )


def apply_override(document: Document, override: str, shared: Collection[str]) -> None:
    """Set one `a.b.0.c=value` in a config's keys; raises ConfigError if they have no such place.

    A key that settings share (`shared`) is set in every setting that replaces it, and at the top of the
    file if a setting takes it from there. A key after a list is set in each item of the list.
    """
    key, equals, text = override.partition("=")
    if not equals or not key:
        raise ConfigError(f"--set {override}: expected key=value, as in --set maps.0.n_components=500")
    parts, place = key.split("."), f"--set {override}"
    new, top = read_text(text, place), (document.value, document.lines)
    holders = _holders(*top, parts[0]) if parts[0] in shared else [top]
    for holder, lines in holders:
        if len(parts) == 2 and parts[0] not in holder:
            holder[parts[0]], lines[parts[0]] = {}, (place, {})
    targets = [target for holder, lines in holders for target in _targets(holder, lines, parts)]
    if not targets:
        raise ConfigError(f"--set {override}: changes nothing: the config has no place `{key}`")
    for container, lines, last in targets:
        container[last], lines[last] = deepcopy(new.value), (place, deepcopy(new.lines))


def _holders(keys: dict[str, Any], lines: Lines, key: str) -> list[tuple[dict[str, Any], Lines]]:
    """Return the settings that replace `key`, and the top of the file unless every setting replaces it."""
    found = keys.get("settings")
    settings = found if isinstance(found, list) else []
    replacing = [
        (part, lines["settings"][1][i][1])
        for i, part in enumerate(settings)
        if isinstance(part, dict) and key in part
    ]
    return replacing if replacing and len(replacing) == len(settings) else [(keys, lines), *replacing]


def _targets(value: Any, lines: Lines, parts: Sequence[str]) -> Iterator[Target]:
    """Yield every place that `parts` lead to; only the last key may be new."""
    first, rest = parts[0], parts[1:]
    if isinstance(value, list) and not _is_position(first):
        for i, item in enumerate(value):
            yield from _targets(item, lines[i][1], parts)
        return
    key = int(first) if isinstance(value, list) else first
    exists = key in value if isinstance(value, dict) else isinstance(value, list) and int(key) < len(value)
    if rest and exists:
        yield from _targets(value[key], lines[key][1], rest)
    elif not rest and (exists or isinstance(value, dict)):
        yield value, lines, key


def _is_position(part: str) -> bool:
    return part.isascii() and part.isdigit() and len(part) < 10  # int() refuses thousands of digits


EXACT = "exact"  # the value of `map` for a method without a map, in `for:` and in --maps
SHARED = [each.alias or name for name, each in Setting.model_fields.items()]  # keys that settings share


class ExperimentFile(Strict):
    """The content of an experiment file, after its shared keys have been copied to each of its settings.

    `stand_ins` says which dataset another one replaces, such as `gisette_mnist: Gisette`. Figures say so
    where they name it; tables say so below. `ranking` has the keys of the choices that are ranked by their
    distance from the printed numbers; these get no verdict here.
    """

    settings: Annotated[list[Setting], MinLen(1)]
    title: Line
    seed: Annotated[int, Ge(0)] = 0
    rows_from: list[Name] = []
    reported: Reported | None = None
    claims: list[Claim] = []
    switches: Annotated[list[Switch], AfterValidator(checked_switches)] = []
    stand_ins: dict[str, Line] = {}
    ranking: Keys = []
    table: TableLayout | None = None
    figure: Figure | None = None

    @field_validator("settings")
    @classmethod
    def _can_run(cls, settings: list[Setting]) -> list[Setting]:
        """Refuse settings if no setting combines maps with a `mapped` solver or a measure.

        Something that is left out explicitly, as in `mapped: null` or `maps: []`, is allowed.
        """
        if any(one.maps and (one.mapped_solvers or one.measures) for one in settings):
            return settings
        problems: list[tuple[KeyPath, str]] = []
        for i, one in enumerate(settings):
            if one.maps and "mapped" not in one.solvers.model_fields_set:
                what = "nothing uses the features: add a `mapped` solver to `solvers`, or a `measure`"
                problems.append(((i, "maps"), f"{what}; write `mapped: null` if this is intended"))
            if one.mapped_solvers and "maps" not in one.model_fields_set:
                problems.append(((i, "solvers"), "`mapped` solvers need features: add `maps`"))
        if problems:
            raise refuse(problems)
        return settings

    @field_validator("rows_from")
    @classmethod
    def _exist(cls, names: list[str], info: ValidationInfo) -> list[str]:
        """Refuse names without a config, if the folder of configs is known."""
        root = configs_above(info.context) if info.context else None
        if root is None:
            return names
        problems: list[tuple[KeyPath, str]] = []
        for i, name in enumerate(names):
            if not any((root / (name + suffix)).is_file() for suffix in SUFFIXES):
                files = root.rglob("[!_.]*.yaml")
                known = [one.relative_to(root).with_suffix("").as_posix() for one in files]
                near = did_you_mean(name, known)
                problems.append(((i,), f"there is no config '{name}' below {root.name}/{near}"))
        if problems:
            raise refuse(problems)
        return names

    @field_validator("stand_ins")
    @classmethod
    def _known_data(cls, stand_ins: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        if "settings" not in info.data:  # they have an error, and might name the data
            return stand_ins
        here = [source for setting in info.data["settings"] for source in setting.datasets]
        known = {*registry(), *(one if isinstance(one, str) else one.name for one in here)}
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


@dataclass(frozen=True)
class Experiment:
    """One experiment: its settings, the form of its report, and what the paper printed."""

    name: str
    path: Path
    settings: Sequence[Setting]
    title: str
    seed: int
    rows_from: Sequence[str]
    reported: Reported | None
    claims: Sequence[Claim]
    switches: Sequence[Switch]
    stand_ins: Mapping[str, str]
    ranking: Sequence[str]
    table: TableLayout | None
    figure: FigureLayout | None
    changed: bool = False  # by the command line: cells of the claims may be missing

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

    Raises ConfigError, which lists every problem of the file with its line and path, and for an override
    whose values do not reach what is run.
    """
    file = read_file(path)

    def typed(some: Sequence[str]) -> tuple[Experiment, Experiment]:
        raw = deepcopy(file) if some else file
        for override in some:
            apply_override(raw, override, SHARED)
        whole = _typed(raw, path, repeats)
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
    return replace(experiment, changed=bool(overrides or maps is not None or not exact))


def _handed_down(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the file with its shared keys copied to each setting that does not replace them."""
    shared = {key: value for key, value in raw.items() if key in SHARED}
    settings = raw.get("settings")
    if settings is None:
        settings = [shared]
    elif isinstance(settings, list):
        settings = [{**shared, **part} if isinstance(part, dict) else part for part in settings]
    return {**{key: value for key, value in raw.items() if key not in shared}, "settings": settings}


def _typed(file: Document, path: Path, repeats: int | None) -> Experiment:
    place = path.resolve()
    try:
        found = ExperimentFile.model_validate(_handed_down(file.value), context=place)
    except ValidationError as error:
        raise config_error(error, ExperimentFile, file, path) from None
    if (trials := sum(setting.count_trials(repeats) for setting in found.settings)) > MAX_TRIALS:
        raise ConfigError(
            f"{path}: its grids have up to {trials:,} trials, and {MAX_TRIALS:,} are allowed; "
            "use shorter lists or fewer repeats"
        )
    return Experiment(experiment_name(place), path, **dict(found))


def _selected(
    experiment: Experiment, names: Sequence[str] | None, exact: bool, repeats: int | None
) -> Experiment:
    """Return the part of the experiment to run: the named maps (None: all), and exact solvers if `exact`.

    `repeats` replaces that of every setting; exact solvers, which may be slow, then run at most so often.
    Raises ConfigError for a name that the experiment does not have, and if nothing remains to run.
    """
    known = list(dict.fromkeys(item.name for setting in experiment.settings for item in setting.maps))
    if any(setting.exact_solvers for setting in experiment.settings):
        known.append(EXACT)
    names = known if names is None else names
    if unknown := [name for name in names if name not in known]:
        raise ConfigError(
            f"--maps: '{unknown[0]}' is not in {experiment.path}{did_you_mean(unknown[0], known)}; "
            f"there are: {', '.join(known) or 'none'}"
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
            setting.model_copy(
                update={"repeats": repeats, "exact_repeats": min(setting.exact_repeats, repeats)}
            )
            for setting in running
        ]
    return replace(experiment, settings=running)


def _of_setting(setting: Setting, names: Sequence[str], exact: bool) -> Setting:
    """Return the setting reduced to these methods."""
    maps = [item for item in setting.maps if item.name in names]
    if not maps or not (setting.mapped_solvers or setting.measures):
        setting = setting.model_copy(update={"measures": []})
        maps, mapped = [], list[Component]()
    else:
        mapped = setting.mapped_solvers
    ran = setting.exact_solvers if exact else []
    solvers = setting.solvers.model_copy(update={"mapped": mapped, "exact": ran})
    update = {"maps": maps, "solvers": solvers}
    return setting.model_copy(update=update if ran else {**update, "exact_repeats": 1})
