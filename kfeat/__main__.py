"""Run the command line as `python -m kfeat`."""

from kfeat.cli import main

main()
