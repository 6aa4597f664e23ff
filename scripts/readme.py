"""Bring the tables of the README files up to date with results/: `python -m scripts.readme`.

The blocks, each up to `<!-- end -->`: `<!-- scoreboard -->` over the published rows; `<!-- papers -->`, a
line for each paper; `<!-- tallies FOLDER -->` and `<!-- largest FOLDER -->`, the verdicts on the configs of a
folder counted, and the printed numbers that ours are farthest from; `<!-- table NAME -->`, the first table of
results/NAME/table.md, with what it says of times from different machines; `<!-- printed NAME -->`, that of a
config without rows: what the paper prints; `<!-- verdicts NAME -->`, its verdicts in short; `<!-- closing
NAME -->`, the line that ends a run of its config; `<!-- benchmarks -->`, the ratios of results/bench/ over
the shapes measured; `<!-- maps -->`, what every map can do, costs and is for.
"""

import json
import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tabulate import tabulate

from kfeat.analysis.at_hand import standings_at_hand
from kfeat.analysis.standing import Standing
from kfeat.experiments.load import load_experiment
from kfeat.kernels import KERNELS, DotProductKernel, ShiftInvariantKernel
from kfeat.maps import MAPS, kernels_of
from kfeat.render.files import cells_at_hand
from kfeat.render.notes import closing_line
from kfeat.render.overview import bullets, largest_differences, markdown, papers, summary, tally_lines
from kfeat.render.table import render

ROOT = Path(__file__).parents[1]
READMES = [
    Path("README.md"),
    Path("configs/README.md"),
    Path("kfeat/maps/README.md"),
    *sorted(path.relative_to(ROOT) for path in ROOT.glob("results/**/README.md")),
]
KINDS = "scoreboard|papers|benchmarks|maps|tallies|largest|table|printed|verdicts|closing"
BLOCK = re.compile(rf"<!-- ({KINDS})( \S+)? -->\n.*?<!-- end -->", re.DOTALL)
CONFIGS, RESULTS = Path("configs"), Path("results")


def updated(text: str) -> str:
    """Return the text with every block as results/ has it."""
    return BLOCK.sub(_block, text)


def _block(match: re.Match[str]) -> str:
    kind, name = match[1], (match[2] or "").strip()
    if kind == "scoreboard":
        content = markdown(standings(), RESULTS).strip().replace(f"]({RESULTS}/", "](")  # in that folder
    elif kind == "papers":
        content = papers(standings(), RESULTS)
    elif kind == "benchmarks":
        content = _benchmarks()
    elif kind == "maps":
        content = _maps()
    elif kind == "closing":
        content = _closing(name)
    elif kind == "tallies":
        content = bullets(tally_lines(_below(name)))
    elif kind == "largest":
        content = bullets(largest_differences(_below(name)))
    elif kind == "verdicts":
        content = summary(next(one for one in standings() if one.experiment.name == name))
    elif kind == "printed":
        experiment = load_experiment(CONFIGS / f"{name}.yaml")
        content = _first_table(render(experiment, cells_at_hand(experiment, RESULTS), "markdown"))
    else:
        content = _first_table((RESULTS / name / "table.md").read_text(encoding="utf-8"))
    return f"<!-- {match[1]}{match[2] or ''} -->\n{content}\n<!-- end -->"


@cache
def standings() -> list[Standing]:
    """Return how every config stands by its published rows."""
    paths = sorted(path for path in CONFIGS.rglob("*.yaml") if not path.name.startswith("_"))
    with TemporaryDirectory() as nothing:
        return standings_at_hand([load_experiment(path) for path in paths], Path(nothing), RESULTS)


def _below(folder: str) -> list[Standing]:
    return [one for one in standings() if one.experiment.name.startswith(f"{folder}/")]


def _closing(name: str) -> str:
    """Return the line that ends a run of a config, from its published rows."""
    experiment = load_experiment(CONFIGS / f"{name}.yaml")
    return f"> {closing_line(cells_at_hand(experiment, RESULTS))}"


def _first_table(report: str) -> str:
    lines = report.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("|"))
    table = lines[start : lines.index("", start)]
    cautions = [line.removeprefix("- ") for line in lines if line.startswith("- different machines: ")]
    return "\n".join([*table, *(f"\n{line[0].upper()}{line[1:]}" for line in cautions)])


def _benchmarks() -> str:
    """Return how many times as quick kfeat is as the others, from the least to the most over the shapes."""
    parts = (json.loads(path.read_text()) for path in sorted(Path("results/bench").glob("*.json")))
    ratios: dict[str, dict[int, list[float]]] = {}
    for row in (row for part in parts for row in part["rows"]):
        if row.get("ratio") and " : " in row["what"]:
            ratios.setdefault(row["what"], {}).setdefault(row["threads"], []).append(row["ratio"])
    threads = sorted({count for found in ratios.values() for count in found})
    lines = [[what, *(_span(found.get(count, [])) for count in threads)] for what, found in ratios.items()]
    headers = ["kfeat : other", *(f"{count} thread{'s'[: count - 1]}" for count in threads)]
    return tabulate(lines, headers, tablefmt="github", disable_numparse=True)


def _maps() -> str:
    """Return the table of all maps: kernels, cost, variance, source, and when to use each."""
    lines = [
        [f"`{name}`", _kernels(kernels_of(cls)), *(fact.replace("|", "\\|") for fact in cls.facts)]
        for name, cls in sorted(MAPS.items())
    ]
    headers = ["map", "kernels", "cost of a row", "variance or error", "source", "when to use it"]
    return tabulate(lines, headers, tablefmt="github", disable_numparse=True)


def _kernels(names: list[str]) -> str:
    """Return the names in few words, where they are all kernels or all of a kind."""
    words = {"all": list(KERNELS)}
    for kind, base in (("dot products", DotProductKernel), ("shift-invariant", ShiftInvariantKernel)):
        words[kind] = [name for name, cls in KERNELS.items() if issubclass(cls, base)]
    for kind, members in words.items():
        if set(members) <= set(names):
            names = [kind, *(name for name in names if name not in members)]
    return ", ".join(names)


def _span(ratios: list[float]) -> str:
    if not ratios:
        return "–"
    low, high = (f"{x:.0f}" if x >= 10 else f"{x:.2g}" for x in (min(ratios), max(ratios)))
    return f"{low} to {high}×" if low != high else f"{low}×"


if __name__ == "__main__":
    for page in READMES:
        page.write_text(updated(page.read_text(encoding="utf-8")), encoding="utf-8")
