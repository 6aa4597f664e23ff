"""An experiment file: YAML -> typed, every problem of the file reported at once with its path."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, MinLen
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from kfeat.data import Protocol, Source
from kfeat.data.registry import entry
from kfeat.errors import ConfigError
from kfeat.experiments.component import Component, read_components
from kfeat.experiments.overrides import apply_override
from kfeat.experiments.yaml_file import read_mapping
from kfeat.parameters import describe, did_you_mean


def _one_or_many(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ReportedNumber(_Strict):
    """A score that the paper prints: the cell it belongs to, its mean and spread, and where it stands.

    `for` names the cell by the keys of `Trial.describe`. A mean is an accuracy in per cent, or a relative
    error.
    """

    cell: dict[str, Any] = Field(alias="for")
    mean: Annotated[float, Ge(0)]
    sd: Annotated[float, Ge(0)] | None = None
    runs: Annotated[int, Ge(1)] | None = None
    time: str | None = None
    where: str
    explanation: str | None = None


class Reported(_Strict):
    """What the paper prints: means over `runs` runs; within `slack` of them ours count as reproduced."""

    source: str
    runs: Annotated[int, Ge(1)]
    slack: Annotated[float, Gt(0)] = 1.0
    numbers: Annotated[list[ReportedNumber], MinLen(1)]


class _Solvers(_Strict):
    mapped: Any = None
    exact: Any = None


class _File(_Strict):
    title: str
    dataset: Annotated[list[Source], BeforeValidator(_one_or_many), MinLen(1)]
    protocol: Annotated[list[Protocol], BeforeValidator(_one_or_many), MinLen(1)] = [Protocol()]
    kernel: Any
    maps: list[Any] = []
    solvers: _Solvers
    repeats: Annotated[int, Ge(1)] = 5
    seed: Annotated[int, Ge(0)] = 0
    reported: Reported | None = None
    figure: Literal["methods", "curves"] | None = None


@dataclass(frozen=True)
class Experiment:
    """One experiment: what is run on what, how often, and what the paper printed."""

    name: str
    path: Path
    title: str
    datasets: Sequence[Source]
    protocols: Sequence[Protocol]
    kernels: Sequence[Component]
    maps: Sequence[Component]
    mapped_solvers: Sequence[Component]
    exact_solvers: Sequence[Component]
    repeats: int
    seed: int
    reported: Reported | None
    figure: str | None


def experiment_name(path: Path) -> str:
    """Return the folder of an experiment below runs/ and results/: its path below `configs`, or its stem."""
    parts = path.with_suffix("").parts
    if "configs" in parts:
        start = len(parts) - parts[::-1].index("configs")
        return "/".join(parts[start:])
    return parts[-1]


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
    raw = read_mapping(path)
    for override in overrides:
        apply_override(raw, override)
    if repeats is not None:
        raw["repeats"] = repeats
    experiment = _typed(raw, path)
    if maps is not None:
        experiment = _only_maps(experiment, maps)
    if not exact:
        experiment = replace(experiment, exact_solvers=())
    if not experiment.exact_solvers and not (experiment.maps and experiment.mapped_solvers):
        raise ConfigError(f"{path}: nothing to run: no map with a `mapped` solver, and no `exact` solver")
    return experiment


def _typed(raw: dict[str, Any], path: Path) -> Experiment:
    # Imported here: they bring scikit-learn in, which a file with a YAML error need not wait for.
    from kfeat.kernels import KERNELS
    from kfeat.maps import MAPS
    from kfeat.solvers import SOLVERS

    problems: list[str] = []
    file = None
    try:
        file = _File.model_validate(raw)
    except ValidationError as error:
        problems += [_problem(problem, raw) for problem in error.errors()]

    def components(entry: Any, where: str, kind: str, registry: dict[str, Any]) -> list[Component]:
        if entry is None:
            return []
        many = isinstance(entry, list)
        found = []
        for i, item in enumerate(entry if many else [entry]):
            place = f"{where}[{i}]" if many else where
            found += list(read_components(item, place, kind, registry, problems))
        return found

    solvers = raw.get("solvers") if isinstance(raw.get("solvers"), dict) else {}
    assert isinstance(solvers, dict)
    kernels = components(raw.get("kernel"), "kernel", "kernel", KERNELS)
    maps = components(raw.get("maps") or [], "maps", "map", MAPS)
    mapped = components(solvers.get("mapped"), "solvers.mapped", "solver", SOLVERS)
    exact = components(solvers.get("exact"), "solvers.exact", "solver", SOLVERS)
    problems += _mismatches(kernels, maps, mapped, exact)
    problems += _wrong_tasks(file.dataset if file else [], [*mapped, *exact])
    if problems or file is None:
        lines = "".join(f"\n  {problem}" for problem in dict.fromkeys(problems))
        raise ConfigError(f"{path}: {'a problem' if len(problems) == 1 else 'problems'} in this file:{lines}")
    return Experiment(
        name=experiment_name(path.resolve()),
        path=path,
        title=file.title,
        datasets=file.dataset,
        protocols=file.protocol,
        kernels=kernels,
        maps=maps,
        mapped_solvers=mapped,
        exact_solvers=exact,
        repeats=file.repeats,
        seed=file.seed,
        reported=file.reported,
        figure=file.figure,
    )


def _mismatches(
    kernels: list[Component], maps: list[Component], mapped: list[Component], exact: list[Component]
) -> list[str]:
    """Return what does not go together: a map and a kernel, a solver and its role."""
    from kfeat.maps import maps_for

    problems = []
    for kernel in kernels:
        instance = kernel.build()
        for item in maps:
            if not item.cls.supports(instance):
                able = ", ".join(maps_for(instance)) or "none"
                problems.append(
                    f"maps: {item.name} cannot approximate the {kernel.name} kernel; maps that can: {able}"
                )
    problems += [
        f"solvers.mapped: {s.name} trains on a kernel, not on features" for s in mapped if s.cls.needs_kernel
    ]
    problems += [
        f"solvers.exact: {s.name} trains on features, not on a kernel"
        for s in exact
        if not s.cls.needs_kernel
    ]
    return problems


def _wrong_tasks(sources: Sequence[Source], solvers: list[Component]) -> list[str]:
    """Return which solver is for classification and which data for regression, or the other way."""
    return [
        f"solvers: {solver.name} with these parameters is for {solver.build().task}, {source} is for {task}"
        for source in sources
        if isinstance(source, str) and (task := entry(source).task)
        for solver in solvers
        if solver.build().task != task
    ]


_MODELS: dict[tuple[str, ...], type[BaseModel]] = {
    (): _File,
    ("protocol",): Protocol,
    ("solvers",): _Solvers,
    ("reported",): Reported,
    ("reported", "numbers"): ReportedNumber,
}


def _problem(problem: Any, raw: Any) -> str:
    """Return a problem with its path as the file has it; for an unknown key, with the known ones."""
    path = _path_in(raw, problem["loc"])
    text = describe(problem, path=path)
    model = _MODELS.get(tuple(part for part in path[:-1] if isinstance(part, str)))
    if problem["type"] == "extra_forbidden" and model is not None:
        known = [field.alias or name for name, field in model.model_fields.items()]
        text += f"{did_you_mean(str(path[-1]), known)}; known: {', '.join(known)}"
    return text


def _path_in(raw: Any, location: Sequence[str | int]) -> list[str | int]:
    """Return pydantic's location without what the file does not have: union branches, lists of one."""
    path: list[str | int] = []
    value = raw
    for i, part in enumerate(location):
        if isinstance(value, dict) and (part in value or i == len(location) - 1):
            value = value.get(part)
        elif isinstance(value, list) and isinstance(part, int):
            value = value[part]
        else:
            continue
        path.append(part)
    return path


def _only_maps(experiment: Experiment, names: Sequence[str]) -> Experiment:
    there = dict.fromkeys(item.name for item in experiment.maps)
    if unknown := [name for name in names if name not in there]:
        raise ConfigError(
            f"--maps: '{unknown[0]}' is not in {experiment.path}{did_you_mean(unknown[0], list(there))}; "
            f"there are: {', '.join(there) or 'none'}"
        )
    return replace(experiment, maps=[item for item in experiment.maps if item.name in names])
