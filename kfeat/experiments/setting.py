"""One setting of an experiment: the data and what runs on them, and checks that these fit together."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Annotated, Any, Self, get_args, get_type_hints

from annotated_types import Ge, MinLen
from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from kfeat.data import Protocol, Source
from kfeat.data.base import Task
from kfeat.errors import ConfigError, KfeatError
from kfeat.experiments.component import Component, ComponentEntry, Memory
from kfeat.experiments.grids import Grids, OneOrMany
from kfeat.experiments.names import Strict, one_line
from kfeat.experiments.problems import validation_error

TaskOf = Callable[[Source], Task | None]


def drawable(source: Source) -> Source:
    """Return data whose name tables and figures can show; raises ValidationError for others."""
    try:
        one_line(source.name)
    except ValueError as error:
        text = f"the file's name: {error} (got {source.name[:100]!r}); rename the file"
        raise validation_error([((), text)]) from None
    return source


def approximating(maps: list[Component], info: ValidationInfo) -> list[Component]:
    """Return the points of an entry of `maps`; raises ValidationError if they do not support a kernel."""
    kinds = {point.name: point for point in maps}  # `name` may be an axis
    kernels = info.data.get("kernels", [])
    if wrong := [text for kind in kinds.values() for text in unsupported(kind, kernels)]:
        raise validation_error(((), text) for text in wrong)
    return maps


def unsupported(item: Component, kernels: Sequence[Component]) -> Iterator[str]:
    """Yield a message for each kernel that a map cannot approximate."""
    from kfeat.maps import maps_for

    for kernel in kernels:
        if not (item.ready and kernel.ready):
            continue
        instance = kernel.build()
        if not item.cls.supports(instance):
            able = ", ".join(maps_for(instance)) or "none"
            yield f"{item.name} cannot approximate the {kernel.name} kernel; maps that can: {able}"
            continue
        try:
            instance.check()
            if item.place is None:
                item.build().check_kernel(instance)  # also checks inner maps
        except KfeatError as error:
            yield str(error)


class Solvers(Strict):
    """The solvers: linear ones on mapped features, exact ones on the kernel, others on the prepared rows."""

    mapped: Annotated[list[Annotated[Component, ComponentEntry("solver", "mapped")]], Grids()] = []
    exact: Annotated[list[Annotated[Component, ComponentEntry("solver", "exact")]], Grids()] = []
    baseline: Annotated[list[Annotated[Component, ComponentEntry("solver", "baseline")]], Grids()] = []

    @property
    def all(self) -> list[Component]:
        """Return the solvers of every role."""
        return [*self.mapped, *self.exact, *self.baseline]


class Setting(Strict):
    """One setting of an experiment: the data, and what runs on them.

    `repeats` is how often each map is drawn. `exact_repeats` is how often an exact solver runs on a fixed
    split: this gives only the spread of its seconds, since its score is the same each time. On random splits
    an exact solver runs once on each of the `repeats` splits, as the maps do. A baseline uses neither map nor
    kernel; it runs `repeats` times, and stands beside the methods of the first kernel.

    With `memory: out_of_core` features and dense rows stay on the disk and reach the solver in batches;
    numbers agree with those in memory up to rounding.

    The check of a field sees only the valid fields above it, so that one problem does not hide another.
    """

    datasets: Annotated[list[Annotated[Source, AfterValidator(drawable)]], MinLen(1), OneOrMany()] = Field(
        alias="dataset"
    )
    protocols: Annotated[list[Protocol], Grids(least=1)] = Field(alias="protocol", default=[Protocol()])
    kernels: Annotated[list[Annotated[Component, ComponentEntry("kernel")]], Grids(least=1)] = Field(
        alias="kernel"
    )
    maps: Annotated[
        list[Annotated[Component, ComponentEntry("map")]], Grids(listed=True, check=approximating)
    ] = []
    solvers: Solvers = Solvers()
    measures: Annotated[list[Annotated[Component, ComponentEntry("measure")]], Grids()] = Field(
        alias="measure", default=[]
    )
    repeats: Annotated[int, Ge(1)] = 5
    exact_repeats: Annotated[int, Ge(1)] = 1
    memory: Memory = "in_core"

    @property
    def mapped_solvers(self) -> list[Component]:
        """Return the solvers that train on features."""
        return self.solvers.mapped

    @property
    def exact_solvers(self) -> list[Component]:
        """Return the solvers that train on a kernel."""
        return self.solvers.exact

    def of_versions(self, versions: Mapping[str, str]) -> Self:
        """Return the setting with these versions, by name, of code that is not at hand."""

        def known(items: list[Component]) -> list[Component]:
            return [item.of_version(versions) for item in items]

        solvers = self.solvers.model_copy(update={role: known(items) for role, items in self.solvers})
        parts = {part: known(getattr(self, part)) for part in ("kernels", "maps", "measures")}
        return self.model_copy(update={"solvers": solvers, **parts})

    def count_trials(self, repeats: int | None) -> int:
        """Return the largest number of trials; `repeats` replaces the setting's own numbers of repeats."""
        drawn = repeats or self.repeats
        exact_runs = max(drawn, repeats or self.exact_repeats)
        methods = len(self.maps) * (len(self.mapped_solvers) + len(self.measures)) + len(
            self.solvers.baseline
        )
        cells = len(self.datasets) * len(self.protocols) * len(self.kernels)
        return cells * (drawn * methods + exact_runs * len(self.exact_solvers))

    @field_validator("solvers")
    @classmethod
    def _of_the_task(cls, solvers: Solvers, info: ValidationInfo) -> Solvers:
        if wrong := wrong_tasks(info.data.get("datasets", []), solvers):
            raise validation_error(((), text) for text in wrong)
        return solvers

    @field_validator("measures")
    @classmethod
    def _alone(cls, measures: list[Component], info: ValidationInfo) -> list[Component]:
        solvers = info.data.get("solvers", Solvers())
        if measures and solvers.all:
            raise validation_error([((), "replaces `solvers`; use only one of the two")])
        return measures

    @field_validator("memory")
    @classmethod
    def _in_batches(cls, memory: Memory, info: ValidationInfo) -> Memory:
        from kfeat.solvers import SOLVERS

        solvers = info.data.get("solvers", Solvers())
        if memory == "in_core":
            return memory
        others = {
            "a `measure`": info.data.get("measures"),
            "an `exact` solver": solvers.exact,
            "a `baseline`": solvers.baseline,
            "a map by its place": [item for item in info.data.get("maps", []) if item.place],
            "a map with sparse features": [
                item for item in info.data.get("maps", []) if not item.place and item.cls.sparse_output
            ],
        }
        if whole := next((name for name, items in others.items() if items), None):
            text = f"{whole} needs all rows in memory: give it its own setting"
            raise ValueError(f"{text}, without `memory: out_of_core`")
        able = [name for name, kind in SOLVERS.items() if kind.out_of_core != "no"]
        for solver in solvers.mapped:
            if solver.cls.out_of_core == "no":
                text = f"{solver.name} needs all features in memory"
                raise ValueError(f"{text}; solvers that do not: {', '.join(able)}")
        return memory


def wrong_tasks(
    sources: Sequence[Source], solvers: Solvers, task_of: TaskOf = attrgetter("task")
) -> list[str]:
    """Return a message for each solver and data of different tasks (classification, regression)."""
    known = [solver for solver in solvers.all if solver.ready]
    tasks = {source: task_of(source) for source in sources} if known else {}
    return [
        f"{solver.name} with these parameters is for {solver.build().task}, "
        f"{source.name} is for {task}; solvers that fit: "
        f"{', '.join(_fitting(task, solver in solvers.exact))}"
        for source, task in tasks.items()
        for solver in known
        if task is not None and solver.build().task != task
    ]


def check_tasks(settings: Iterable[Setting], task_of: TaskOf) -> None:
    """Raise ConfigError for the solvers of `wrong_tasks` in any setting."""
    problems = {
        f"solvers: {problem}": None
        for setting in settings
        for problem in wrong_tasks(setting.datasets, setting.solvers, task_of)
    }
    if problems:
        raise ConfigError("\n  ".join(problems))


def _fitting(task: Any, needs_kernel: bool) -> Iterator[str]:
    """Yield the solvers for a task, with the solver_type that is needed if the default does not fit."""
    from kfeat.solvers import SOLVERS

    for name, cls in SOLVERS.items():
        if cls.needs_kernel == needs_kernel:
            kinds = get_args(get_type_hints(cls.__init__).get("solver_type"))
            fitting = [str(kind) for kind in kinds if cls(solver_type=kind).task == task]
            if cls().task == task:
                yield name
            elif fitting:
                yield f"{name} with solver_type {' or '.join(fitting)}"
