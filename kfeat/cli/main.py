"""The `kfeat` command: its subcommands, and how it handles errors and signals.

Slow imports are inside the commands, so that `kfeat --help` is fast.
"""

import atexit
import gc
import logging
import signal
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from types import FrameType
from typing import Any

import click

from kfeat.cli import options
from kfeat.cli.advise import advise
from kfeat.cli.check import check
from kfeat.cli.compare import compare
from kfeat.cli.data import data
from kfeat.cli.model import fit, info, predict, score
from kfeat.cli.new import new
from kfeat.cli.plan import plan
from kfeat.cli.postponed import postpone
from kfeat.cli.protocol import protocol
from kfeat.cli.reference import configs, kernels, maps, schema, solvers
from kfeat.cli.report import publish, report, site
from kfeat.cli.rows import explain, rows
from kfeat.cli.run import run
from kfeat.cli.tune import tune
from kfeat.errors import KfeatError
from kfeat.saying import plain_lines

COMMANDS: dict[str, tuple[click.Command, ...]] = {
    "Experiments": (plan, run, report, check, publish),
    "Results": (rows, explain, compare, protocol, site),
    "Your own data": (advise, new, tune, fit, predict, score, info),
    "Reference": (configs, data, maps, kernels, solvers, schema),
}


class _ToStderr(logging.Handler):
    """Writes to the current stderr; while bars are shown, the text appears above them."""

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError, ValueError):  # the reader of a pipe may be gone
            print(self.format(record), file=sys.stderr)  # click.echo would bypass rich's display


class _Group(options.Group):
    """Groups its commands by purpose; an error that a user can correct prints a sentence and exits with 2."""

    def sections(self) -> Mapping[str, Iterable[click.Command]]:
        """Return the commands by purpose."""
        return COMMANDS

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; Ctrl-C exits with 130, SIGTERM with 143, a KfeatError with 2."""
        logging.basicConfig(format="kfeat: %(message)s", level=logging.WARNING, handlers=[_ToStderr()])
        signal.signal(signal.SIGTERM, _terminated)
        postpone()
        # Rows are a million small objects, which Python would search for cycles again and again.
        gc.set_threshold(100_000)
        atexit.register(gc.freeze)  # otherwise Python searches for cycles at exit, for 0.1 s
        try:
            return super().invoke(ctx)
        except KfeatError as error:
            if ctx.meta.get("kfeat.debug"):
                raise
            click.echo(f"kfeat: {plain_lines(str(error))}", err=True)
            ctx.exit(2)
        except KeyboardInterrupt:
            _say_what_is_kept(ctx, "interrupted")
            ctx.exit(130)
        except _Terminated:
            _say_what_is_kept(ctx, "terminated")
            raise


class _Terminated(SystemExit):
    """Raised on SIGTERM, which `kill` sends, and a queue at the end of a job."""


def _terminated(number: int, frame: FrameType | None) -> None:
    raise _Terminated(128 + number)


def _say_what_is_kept(ctx: click.Context, what: str) -> None:
    kept = f"; {ctx.meta[options.KEPT]}" if options.KEPT in ctx.meta else ""
    click.echo(f"kfeat: {what}{kept}", err=True)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="kfeat")
def main() -> None:
    """Reproduce the papers on explicit random feature maps for kernel machines."""


for _command in (command for commands in COMMANDS.values() for command in commands):
    main.add_command(_command)
