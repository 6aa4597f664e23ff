"""What several commands print: help, JSON, and the progress of a run."""

import json
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from kfeat.cli.progress import Quiet

_WHOLE = 1000  # characters, more than any sentence has


class Group(click.Group):
    """A group whose help shows the whole first sentence of each command at any terminal width."""

    def sections(self) -> Mapping[str, Iterable[click.Command]]:
        """Return the commands under the titles of the help."""
        return {"Commands": self.commands.values()}

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under their titles."""
        for title, commands in self.sections().items():
            with formatter.section(title):
                formatter.write_dl(
                    [(str(command.name), command.get_short_help_str(_WHOLE)) for command in commands]
                )


def show_json(document: Any, indent: int | None = 1) -> None:
    """Print a document as JSON, with null for numbers that are not finite, since JSON has none."""
    finite = json.loads(json.dumps(document), parse_constant=lambda number: None)
    click.echo(json.dumps(finite, indent=indent))


def observer(quiet: bool, several: bool = False) -> "Quiet":
    """Return the observer of a run: silent, with bars on a terminal, or with lines."""
    from kfeat.cli.progress import Lines, Quiet

    if quiet or not sys.stderr.isatty():
        return Quiet() if quiet else Lines(several)
    from kfeat.cli.bars import Bars  # here, since it imports rich, which only a terminal needs

    return Bars(several)
