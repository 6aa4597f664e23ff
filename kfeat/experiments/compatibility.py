"""What does not go together in an experiment: maps and kernels, solvers and their roles, solvers and data."""

from collections.abc import Sequence

from kfeat.data import Source
from kfeat.data.registry import entry
from kfeat.experiments.component import Component


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


def wrong_tasks(sources: Sequence[Source], solvers: list[Component]) -> list[str]:
    """Return which solver is for classification and which data for regression, or the other way."""
    return [
        f"solvers: {solver.name} with these parameters is for {solver.build().task}, {source} is for {task}"
        for source in sources
        if isinstance(source, str) and (task := entry(source).task)
        for solver in solvers
        if solver.build().task != task
    ]
