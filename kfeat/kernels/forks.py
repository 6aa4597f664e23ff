"""Forked children: OpenMP would wait there for ever for the parent's threads, which a fork does not copy."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import ThreadpoolController

_forked = False


def is_forked() -> bool:
    """Tell whether this process is a forked child, where OpenMP must be held to one thread."""
    return _forked


@contextmanager
def openmp_for_forks() -> Iterator[None]:
    """Hold OpenMP to one thread in a forked child; anywhere else nothing is changed."""
    if not _forked:
        yield
        return
    with ThreadpoolController().limit(limits=1, user_api="openmp"):
        yield


def _note() -> None:
    global _forked
    _forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note)
