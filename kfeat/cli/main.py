"""The `kfeat` command: its subcommands, and errors as sentences."""

import atexit
import gc
import logging
import os
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from errno import EIO, ENOSPC
from io import TextIOWrapper
from typing import Any, cast

import click

from kfeat.cli.data import data
from kfeat.cli.output import Group
from kfeat.cli.own_data import advise, new, tune
from kfeat.cli.own_map import check_map, rank
from kfeat.cli.own_model import fit, info, predict, score
from kfeat.cli.plan import plan, protocol
from kfeat.cli.postponed import postpone
from kfeat.cli.reference import configs, kernels, maps, schema, solvers
from kfeat.cli.results import check, explain, rows
from kfeat.cli.run import publish, report, run
from kfeat.cli.signals import Stop, as_raised, say_what_is_kept
from kfeat.errors import ConfigError, KfeatError, Terminated
from kfeat.text import plain, plain_lines

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


class _Group(Group):
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
        stops = Stop(Terminated(128 + signal.SIGTERM)), Stop(KeyboardInterrupt())
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
            with _wrong_usage_in_one_sentence(), as_raised(stops):
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
            say_what_is_kept(ctx, "interrupted")
            ctx.exit(130)
        except Terminated:
            say_what_is_kept(ctx, "terminated")
            raise


def _check_working_folder() -> None:
    """Raise ConfigError if the working folder was removed: most commands write there, and all read it."""
    try:
        os.getcwd()
    except OSError as error:
        raise ConfigError(
            f"the working folder cannot be used ({error.strerror}); `cd` to another one"
        ) from None


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
