"""An end for what hangs."""

import signal
from contextlib import contextmanager


class Hang(BaseException):
    """A case that took too long; no `except Exception` catches it."""


@contextmanager
def at_most(seconds):
    """Raise Hang in the block once it has taken so long."""

    def hangs(*_):
        raise Hang

    old = signal.signal(signal.SIGALRM, hangs)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)
