"""Bring the tables of README.md up to date with results/: `python -m scripts.readme`.

A block between `<!-- scoreboard -->` or `<!-- table NAME -->` and `<!-- end -->` holds the scoreboard over
the published rows, or the first table of results/NAME/table.md.
"""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

from click.testing import CliRunner

from kfeat.cli import main

README = Path("README.md")
BLOCK = re.compile(r"<!-- (scoreboard|table (\S+)) -->\n.*?<!-- end -->", re.DOTALL)


def updated(text: str) -> str:
    """Return the text with every block as results/ has it."""
    return BLOCK.sub(lambda block: f"<!-- {block[1]} -->\n{_content(block[2])}\n<!-- end -->", text)


def _content(name: str | None) -> str:
    return _scoreboard() if name is None else _first_table(Path("results") / name / "table.md")


def _scoreboard() -> str:
    with TemporaryDirectory() as nothing:
        result = CliRunner().invoke(main, ["check", "--all", "--markdown", "--out", nothing])
    if result.exit_code not in (0, 1):
        raise RuntimeError(f"kfeat check --all failed: {result.output}")
    return result.stdout.strip()


def _first_table(path: Path) -> str:
    lines = path.read_text(encoding="utf-8").splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("|"))
    return "\n".join(lines[start : lines.index("", start)])


if __name__ == "__main__":
    README.write_text(updated(README.read_text(encoding="utf-8")), encoding="utf-8")
