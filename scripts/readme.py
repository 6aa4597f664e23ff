"""Bring the tables of the README files up to date with results/: `python -m scripts.readme`.

A block between `<!-- scoreboard -->`, `<!-- table NAME -->` or `<!-- verdicts NAME -->` and `<!-- end -->`
holds the scoreboard over the published rows, the first table of results/NAME/table.md, or its printed numbers
and claims with their verdicts.
"""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

from click.testing import CliRunner

from kfeat.cli import main

READMES = [Path("README.md"), Path("results/pham_pagh_2013/README.md")]
BLOCK = re.compile(r"<!-- (scoreboard|table|verdicts)( \S+)? -->\n.*?<!-- end -->", re.DOTALL)
VERDICTS = ("## Printed numbers", "## Claims")


def updated(text: str) -> str:
    """Return the text with every block as results/ has it."""
    return BLOCK.sub(_block, text)


def _block(match: re.Match[str]) -> str:
    kind, name = match[1], (match[2] or "").strip()
    if kind == "scoreboard":
        content = _scoreboard()
    else:
        table = (Path("results") / name / "table.md").read_text(encoding="utf-8")
        content = _first_table(table) if kind == "table" else _verdicts(table)
    return f"<!-- {match[1]}{match[2] or ''} -->\n{content}\n<!-- end -->"


def _scoreboard() -> str:
    with TemporaryDirectory() as nothing:
        result = CliRunner().invoke(main, ["check", "--all", "--markdown", "--out", nothing])
    if result.exit_code not in (0, 1):
        raise RuntimeError(f"kfeat check --all failed: {result.output}")
    return result.stdout.strip()


def _first_table(report: str) -> str:
    lines = report.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("|"))
    return "\n".join(lines[start : lines.index("", start)])


def _verdicts(report: str) -> str:
    """Return the sections with verdicts, one level below the page's own."""
    sections = re.split(r"^(?=## )", report, flags=re.MULTILINE)
    return "\n".join(f"#{one.strip()}\n" for one in sections if one.startswith(VERDICTS)).strip()


if __name__ == "__main__":
    for page in READMES:
        page.write_text(updated(page.read_text(encoding="utf-8")), encoding="utf-8")
