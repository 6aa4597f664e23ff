"""What does not go together in an experiment: maps and kernels, solvers and their roles, solvers and data."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, get_args, get_type_hints

from kfeat.data import FileSource, PinnedSource, Source
from kfeat.data.models import Task
from kfeat.data.registry import entry
from kfeat.errors import ConfigError
from kfeat.experiments.component import Component
from kfeat.experiments.lines import one_line

if TYPE_CHECKING:
    from kfeat.experiments.load import Setting


def mismatches(
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


def unfit_names(sources: Sequence[Source]) -> Iterator[str]:
    """Yield what tables and figures cannot show of the names that files of one's own have."""
    for source in sources:
        if isinstance(source, FileSource):
            try:
                one_line(source.name)
            except ValueError as error:
                yield f"the file's name: {error} (got {source.name[:100]!r}); rename the file"


def known_task(source: Source) -> Task | None:
    """Return what data are for, or None for files of one's own, where only their labels tell it."""
    if isinstance(source, FileSource):
        return source.task
    if isinstance(source, str | PinnedSource):
        return entry(source if isinstance(source, str) else source.name).task
    return "classification"


def wrong_tasks(
    sources: Sequence[Source], solvers: Sequence[Component], task_of: Callable[[Source], Task | None]
) -> list[str]:
    """Return which solver is for classification and which data for regression, or the other way."""
    tasks = {source: task_of(source) for source in sources} if solvers else {}
    return [
        f"solvers: {solver.name} with these parameters is for {solver.build().task}, "
        f"{source if isinstance(source, str) else source.name} is for {task}; solvers that fit: "
        f"{', '.join(_fitting(task, solver.cls.needs_kernel))}"
        for source, task in tasks.items()
        for solver in solvers
        if task is not None and solver.build().task != task
    ]


def check_tasks(settings: "Sequence[Setting]", task_of: Callable[[Source], Task | None]) -> None:
    """Raise ConfigError for the solvers of `wrong_tasks` in any setting."""
    problems = [
        problem
        for setting in settings
        for problem in wrong_tasks(
            setting.datasets, [*setting.mapped_solvers, *setting.exact_solvers], task_of
        )
    ]
    if problems:
        raise ConfigError("\n  ".join(dict.fromkeys(problems)))


def _fitting(task: Task, needs_kernel: bool) -> Iterator[str]:
    """Yield the solvers for a task, with the solver_type that makes them so if it is not the default."""
    from kfeat.solvers import SOLVERS

    for name, cls in SOLVERS.items():
        if cls.needs_kernel == needs_kernel:
            kinds = get_args(get_type_hints(cls.__init__).get("solver_type"))
            fitting = [str(kind) for kind in kinds if cls(solver_type=kind).task == task]
            if cls().task == task:
                yield name
            elif fitting:
                yield f"{name} with solver_type {' or '.join(fitting)}"
