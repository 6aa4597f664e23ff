"""Ctrl-C and SIGTERM: what they raise, and what they print."""

import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FrameType

import click

KEPT = "kfeat.kept"  # the key in a context's `meta` of the text that a signal prints
_MOMENT = 0.05  # seconds
DROPPING = ("ExtensionFileLoader.", "_LazyModule.")  # what loads compiled modules, and postponed ones


class Stop:
    """A handler that raises an error on a signal; what else it causes counts as this error.

    Compiled code turns the error into another one, or a compiled module that is being imported prints and
    drops it. Python drops what is raised while a postponed module is loaded. So the error waits until such an
    import has ended, unless the signal comes twice.
    """

    def __init__(self, error: BaseException) -> None:
        self.error, self.raised, self._waits = error, False, False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Raise the error, or set a timer that calls this again after an import."""
        twice = self._waits and number != signal.SIGALRM
        self._waits = _importing(frame) and not twice
        if not self._waits:
            self.raised = True
            raise self.error
        signal.signal(signal.SIGALRM, self)
        signal.setitimer(signal.ITIMER_REAL, _MOMENT)


@contextmanager
def as_raised(stops: Iterable[Stop]) -> Iterator[None]:
    """Raise what a signal raised in the place of an error that came of it."""
    try:
        yield
    except Exception:
        for stop in stops:
            if stop.raised:
                raise stop.error from None
        raise


def _importing(frame: FrameType | None) -> bool:
    """Return whether this frame is one of the import system, or inside the load of one of DROPPING."""
    inner = frame is not None and frame.f_code.co_filename.startswith("<frozen importlib")
    while frame is not None and not inner:
        inner = frame.f_code.co_qualname.startswith(DROPPING)
        frame = frame.f_back
    return inner


def say_on_interrupt(what: str) -> None:
    """Set what Ctrl-C and SIGTERM print: what the command keeps, and how to continue."""
    click.get_current_context().meta[KEPT] = what


def say_what_is_kept(ctx: click.Context, what: str) -> None:
    """Print what happened, such as `interrupted`, and what the command keeps."""
    kept = f"; {ctx.meta[KEPT]}" if KEPT in ctx.meta else ""
    click.echo(f"kfeat: {what}{kept}", err=True)
