"""Texts about the expected time and memory of trials."""

from collections.abc import Collection, Iterable

from rich.filesize import decimal

from kfeat.experiments.estimates import Estimate
from kfeat.render.text import MISSING, time


def needs(one: Estimate) -> str:
    """Return the CPU time and the memory of a trial, in columns."""
    return f"{time(one.seconds):>10}  {_size(one):>8}"


def in_all(whole: Collection[Estimate], left: Collection[Estimate]) -> str:
    """Return the CPU time of all trials and of the pending ones, and the most memory that a trial needs."""
    most = max(whole, key=lambda one: one.memory or 0, default=Estimate(None, 0))
    unknown = sum(one.seconds is None for one in whole)
    without = f" ({unknown} not counted, since their data are not read yet)" if unknown else ""
    together = decimal(sum(one.memory or 0 for one in whole))
    return (
        f"estimated: {time(_sum(whole))} of CPU time in all{without}, {time(_sum(left))} of it pending; "
        f"{_size(most)} of memory for the largest trial, {together} for all at once"
    )


def _sum(some: Iterable[Estimate]) -> float:
    return sum(one.seconds or 0.0 for one in some)


def _size(one: Estimate) -> str:
    return MISSING if one.memory is None else decimal(one.memory)
