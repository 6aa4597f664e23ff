"""The commands as a user calls them, in this process."""

from click.testing import CliRunner

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
