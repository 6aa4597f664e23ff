"""What does not go together in an experiment: maps and kernels, solvers and their roles, solvers and data."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, get_args, get_type_hints

from kfeat.data import FileSource, PinnedSource, Source
from kfeat.data.large import LargeQuadric
from kfeat.data.models import Task
from kfeat.data.registry import entry
from kfeat.errors import ConfigError, KfeatError
from kfeat.experiments.component import Component

if TYPE_CHECKING:
    from kfeat.experiments.load import Setting


def unsupported(item: Component, kernels: Sequence[Component]) -> Iterator[str]:
    """Yield what is wrong with a map for each kernel that it cannot approximate."""
    from kfeat.maps import maps_for

    for kernel in kernels:
        instance = kernel.build()
        if not item.cls.supports(instance):
            able = ", ".join(maps_for(instance)) or "none"
            yield f"{item.name} cannot approximate the {kernel.name} kernel; maps that can: {able}"
            continue
        try:
            instance.check()
            item.build().check_kernel(instance)  # which looks at the maps within, too
        except KfeatError as error:
            yield str(error)


def known_task(source: Source) -> Task | None:
    """Return what data are for, or None for files of one's own, where only their labels tell it."""
    if isinstance(source, FileSource):
        return source.task
    if isinstance(source, str | PinnedSource):
        return entry(source if isinstance(source, str) else source.name).task
    return source.task if isinstance(source, LargeQuadric) else "classification"


def wrong_tasks(
    sources: Sequence[Source],
    solvers: Sequence[Component],
    task_of: Callable[[Source], Task | None] = known_task,
) -> list[str]:
    """Return which solver is for classification and which data for regression, or the other way."""
    tasks = {source: task_of(source) for source in sources} if solvers else {}
    return [
        f"{solver.name} with these parameters is for {solver.build().task}, "
        f"{source if isinstance(source, str) else source.name} is for {task}; solvers that fit: "
        f"{', '.join(_fitting(task, solver.cls.needs_kernel))}"
        for source, task in tasks.items()
        for solver in solvers
        if task is not None and solver.build().task != task
    ]


def check_tasks(settings: "Sequence[Setting]", task_of: Callable[[Source], Task | None]) -> None:
    """Raise ConfigError for the solvers of `wrong_tasks` in any setting."""
    problems = [
        f"solvers: {problem}"
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
