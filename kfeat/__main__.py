"""Run the command line as `python -m kfeat`."""

from kfeat.cli import main

if __name__ == "__main__":
    main()
