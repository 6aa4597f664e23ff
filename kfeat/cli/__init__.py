"""The `kfeat` command: one module per group of commands, each command a few lines."""

from kfeat.cli.run import main

__all__ = ["main"]
