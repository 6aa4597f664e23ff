"""Bring the tables of the README files up to date with results/: `python -m scripts.readme`.

The blocks, each up to `<!-- end -->`: `<!-- scoreboard -->` over the published rows; `<!-- table NAME -->`,
the first table of results/NAME/table.md; `<!-- verdicts NAME -->`, its printed numbers and claims with their
verdicts; `<!-- closing NAME -->`, the line that ends a run of its config; `<!-- benchmarks -->`, the ratios
of results/bench/ over the shapes measured.
"""

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory

from click.testing import CliRunner
from tabulate import tabulate

from kfeat.cli import main
from kfeat.experiments.load import load_experiment
from kfeat.render.closing import closing_line
from kfeat.render.whole import cells_at_hand

READMES = [Path("README.md"), Path("results/pham_pagh_2013/README.md")]
BLOCK = re.compile(
    r"<!-- (scoreboard|benchmarks|table|verdicts|closing)( \S+)? -->\n.*?<!-- end -->", re.DOTALL
)
VERDICTS = ("## Printed numbers", "## Claims")


def updated(text: str) -> str:
    """Return the text with every block as results/ has it."""
    return BLOCK.sub(_block, text)


def _block(match: re.Match[str]) -> str:
    kind, name = match[1], (match[2] or "").strip()
    if kind == "scoreboard":
        content = _scoreboard()
    elif kind == "benchmarks":
        content = _benchmarks()
    elif kind == "closing":
        content = _closing(name)
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


def _closing(name: str) -> str:
    """Return the line that ends a run of a config, from its published rows."""
    experiment = load_experiment(Path("configs") / f"{name}.yaml")
    return f"> {closing_line(cells_at_hand(experiment, Path('results')))}"


def _first_table(report: str) -> str:
    lines = report.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("|"))
    return "\n".join(lines[start : lines.index("", start)])


def _verdicts(report: str) -> str:
    """Return the sections with verdicts, one level below the page's own."""
    sections = re.split(r"^(?=## )", report, flags=re.MULTILINE)
    return "\n".join(f"#{one.strip()}\n" for one in sections if one.startswith(VERDICTS)).strip()


def _benchmarks() -> str:
    """Return how many times as quick kfeat is as the others, from the least to the most over the shapes."""
    parts = (json.loads(path.read_text()) for path in sorted(Path("results/bench").glob("*.json")))
    ratios: dict[str, dict[int, list[float]]] = {}
    for row in (row for part in parts for row in part["rows"]):
        if row.get("ratio") and " : " in row["what"]:
            ratios.setdefault(row["what"], {}).setdefault(row["threads"], []).append(row["ratio"])
    threads = sorted({count for found in ratios.values() for count in found})
    lines = [[what, *(_span(found[count]) for count in threads)] for what, found in ratios.items()]
    headers = ["kfeat : other", *(f"{count} thread{'s'[: count - 1]}" for count in threads)]
    return tabulate(lines, headers, tablefmt="github", disable_numparse=True)


def _span(ratios: list[float]) -> str:
    low, high = (f"{x:.0f}" if x >= 10 else f"{x:.2g}" for x in (min(ratios), max(ratios)))
    return f"{low} to {high}×" if low != high else f"{low}×"


if __name__ == "__main__":
    for page in READMES:
        page.write_text(updated(page.read_text(encoding="utf-8")), encoding="utf-8")
