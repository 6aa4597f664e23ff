"""The `kfeat` command: one module per group of commands, each command a few lines."""

from kfeat.cli.main import main

__all__ = ["main"]
