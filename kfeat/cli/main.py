"""The `kfeat` command: its subcommands, slow imports on first use, errors and signals.

scikit-learn imports pandas and scipy.stats with any of its classes, and every kernel, map and solver is one.
Commands that compute nothing, such as a second `kfeat run`, would spend half of their time on these imports.
Workers import everything at the start, so that no import falls into a measured time.

Slow imports are inside the commands, so that `kfeat --help` is fast.
"""

import atexit
import gc
import logging
import os
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from errno import EIO, ENOSPC
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from io import TextIOWrapper
from types import FrameType, ModuleType
from typing import Any, cast

import click

from kfeat.cli import options
from kfeat.cli.data import data
from kfeat.cli.own_data import advise, fit, info, new, predict, score, tune
from kfeat.cli.own_map import check_map, rank
from kfeat.cli.plan import plan, protocol
from kfeat.cli.reference import configs, kernels, maps, schema, solvers
from kfeat.cli.results import check, explain, rows
from kfeat.cli.run import publish, report, run
from kfeat.errors import ConfigError, KfeatError, Terminated
from kfeat.text import plain, plain_lines

# Such a module has to be imported as a whole: `from sklearn import svm` does not load it, `svm.SVC` does.
POSTPONED = frozenset(
    {
        "asyncio",
        "numpy.f2py",
        "numpy.polynomial",
        "numpy.testing",
        "pandas",
        "scipy.fft",
        "scipy.optimize",
        "scipy.special",
        "scipy.stats",
        "sklearn.cluster",
        "sklearn.linear_model",
        "sklearn.metrics",
        "sklearn.model_selection",
        "sklearn.preprocessing",
        "sklearn.svm",
    }
)


class _Finder:
    """Finds the modules above as Python does, and has LazyLoader load them on first use."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name in POSTPONED else None
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


def postpone() -> None:
    """Postpone the modules that this process has not imported yet; a second call changes nothing."""
    # Pydantic would read the metadata of every installed package to find plugins, and kfeat needs none.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)


COMMANDS: dict[str, tuple[click.Command, ...]] = {
    "Experiments": (plan, run, report, check, publish),
    "Results": (rows, explain, protocol),
    "Your own data": (advise, new, tune, fit, predict, score, info),
    "Your own map": (check_map, rank),
    "Reference": (configs, data, maps, kernels, solvers, schema),
}


class _ToStderr(logging.Handler):
    """Writes to the current stderr; while bars are shown, the text appears above them."""

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError, ValueError):  # the reader of a pipe may be gone
            print(self.format(record), file=sys.stderr)  # click.echo would bypass rich's display


@contextmanager
def _wrong_usage_in_one_sentence() -> Iterator[None]:
    """Print click's errors of usage as other errors: what is wrong, and what to do."""
    try:
        yield
    except click.UsageError as error:
        if isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())):  # click 8.2 and later
            raise
        command = error.ctx.command_path if error.ctx else "kfeat"
        click.echo(f"kfeat: {plain_lines(_sentence(error))}; see `{command} --help`", err=True)
        raise click.exceptions.Exit(2) from None


def _sentence(error: click.UsageError) -> str:
    """Return an error without click's dialect: `--jobs: expected a number`, `--kernel: missing`."""
    if isinstance(error, click.BadParameter) and error.param is not None and error.ctx is not None:
        hint = error.param.get_error_hint(error.ctx).replace("'", "")
        problem = "missing" if isinstance(error, click.MissingParameter) else error.message
        return f"{hint}: {problem.removesuffix('.')}"
    message = error.format_message().removesuffix(".").replace(". (Did", " (did")
    return message[0].lower() + message[1:] if message[:2].istitle() else message


class _Group(options.Group):
    """Groups its commands by purpose; an error that a user can correct prints a sentence and exits with 2."""

    def sections(self) -> Mapping[str, Iterable[click.Command]]:
        return COMMANDS

    def make_context(self, *given: Any, **extra: Any) -> click.Context:
        """Parse the options in front of the command; a wrong one prints a sentence and exits with 2."""
        with _wrong_usage_in_one_sentence():
            return super().make_context(*given, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; Ctrl-C exits with 130, SIGTERM with 143, an error of data or disks with 2."""
        logging.basicConfig(format="kfeat: %(message)s", level=logging.WARNING, handlers=[_ToStderr()])
        stops = _Stop(Terminated(128 + signal.SIGTERM)), _Stop(KeyboardInterrupt())
        signal.signal(signal.SIGTERM, stops[0])
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not ignored, as in the background
            signal.signal(signal.SIGINT, stops[1])
        postpone()
        # Rows are a million small objects, which Python would search for cycles again and again.
        gc.set_threshold(100_000)
        atexit.register(gc.freeze)  # otherwise Python searches for cycles at exit, for 0.1 s
        for stream in (sys.stdout, sys.stderr):  # letters that a terminal lacks are escaped
            cast(TextIOWrapper, stream).reconfigure(errors="backslashreplace")
        try:
            _check_working_folder()
            with _wrong_usage_in_one_sentence(), _as_raised(stops):
                result = super().invoke(ctx)
            sys.stdout.flush()  # a full disk shows here, and not at exit
            return result
        except KfeatError as error:
            if ctx.meta.get("kfeat.debug"):
                raise
            click.echo(f"kfeat: {plain_lines(str(error))}", err=True)
            ctx.exit(2)
        except OSError as error:
            if ctx.meta.get("kfeat.debug") or not (error.filename or error.errno in (ENOSPC, EIO)):
                raise  # click ends at a closed pipe
            place = plain(str(error.filename or "the output"))
            click.echo(f"kfeat: {place}: {error.strerror or error}", err=True)
            with suppress(OSError):  # the rest of the output would fail again
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(2)
        except KeyboardInterrupt:
            _say_what_is_kept(ctx, "interrupted")
            ctx.exit(130)
        except Terminated:
            _say_what_is_kept(ctx, "terminated")
            raise


def _check_working_folder() -> None:
    """Raise ConfigError if the working folder was removed: most commands write there, and all read it."""
    try:
        os.getcwd()
    except OSError as error:
        raise ConfigError(
            f"the working folder cannot be used ({error.strerror}); `cd` to another one"
        ) from None


_MOMENT = 0.05  # seconds
DROPPING = ("ExtensionFileLoader.", "_LazyModule.")  # what loads compiled modules, and postponed ones


class _Stop:
    """A handler that raises an error on a signal; what else it causes counts as this error.

    Compiled code turns the error into another one, or a compiled module that is being imported prints and
    drops it. Python drops what is raised while a postponed module is loaded. So the error waits until such an
    import has ended, unless the signal comes twice.
    """

    def __init__(self, error: BaseException) -> None:
        self.error, self.raised, self._waits = error, False, False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        twice = self._waits and number != signal.SIGALRM
        self._waits = _importing(frame) and not twice
        if not self._waits:
            self.raised = True
            raise self.error
        signal.signal(signal.SIGALRM, self)
        signal.setitimer(signal.ITIMER_REAL, _MOMENT)


@contextmanager
def _as_raised(stops: Iterable[_Stop]) -> Iterator[None]:
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


def _say_what_is_kept(ctx: click.Context, what: str) -> None:
    kept = f"; {ctx.meta[options.KEPT]}" if options.KEPT in ctx.meta else ""
    click.echo(f"kfeat: {what}{kept}", err=True)


def _version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked:
        from kfeat.version import version_text

        click.echo(f"kfeat {version_text()}")
        ctx.exit()


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version,
              help="Show the version, and of a clone the commit; then exit.")  # fmt: skip
def main() -> None:
    """Reproduce the papers on explicit random feature maps for kernel machines."""


for _command in (command for commands in COMMANDS.values() for command in commands):
    main.add_command(_command)
