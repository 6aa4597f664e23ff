"""The commands as a user calls them, in this process."""

import logging
from contextlib import contextmanager

from click.testing import CliRunner

from kfeat import files
from kfeat.cli import main


def kfeat(*arguments):
    """Return the result of a command, whatever its status."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def succeed(*arguments):
    """Return the result of a command that ends with status 0."""
    result = kfeat(*arguments)
    assert result.exit_code == 0, result.output
    return result


def refusal(*arguments):
    """Return why a command ends with status 2, as it writes it."""
    result = kfeat(*arguments)
    assert result.exit_code == 2, result.output
    return result.stderr


@contextmanager
def when_told(action):
    """Do something as soon as a command says that it waits, and yield what it said."""
    said = []

    class Handler(logging.Handler):
        def emit(self, record):
            said.append(record.getMessage())
            action()

    handler = Handler()
    files.log.addHandler(handler)
    try:
        yield said
    finally:
        files.log.removeHandler(handler)
