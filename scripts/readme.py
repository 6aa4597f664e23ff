"""Bring the tables of README files and of docs/ up to date with results/: `python -m scripts.readme`.

The blocks, each up to `<!-- end -->`:

- `<!-- scoreboard -->`: the scoreboard over the published rows;
- `<!-- papers -->`: a line for each paper with its finding; `<!-- finding PAPER -->`: the finding and the
  sentences on it, from configs/PAPER/finding.md; `<!-- answers PAPER -->`: configs/PAPER/short_answers.md;
- `<!-- counts -->`: a line for each paper with its numbers and claims counted, for docs/;
- `<!-- unexplained -->`: what differs from the papers without a reason;
- `<!-- not_decided -->`: what is open, and how many further runs would decide it;
- `<!-- tallies FOLDER -->`, `<!-- largest FOLDER -->`: the verdicts on the configs of a folder counted, and
  the printed numbers that ours are farthest from;
- `<!-- table NAME -->`: the first table of results/NAME.md or results/NAME/table.md, with what it says of
  times from different machines; `<!-- short NAME -->`: its columns of `SHORT` only;
- `<!-- printed NAME -->`: the table of a config without rows: what the paper prints;
- `<!-- verdicts NAME -->`: the verdicts of a config counted;
- `<!-- closing NAME -->`: the line that ends a run of a config;
- `<!-- comparisons -->`: the ratios of results/bench/ over the shapes measured; `<!-- benchmarks -->`: those
  of `BENCHMARKS` only;
- `<!-- search -->`: the search on own data beside what a user would pick instead, from the part own_data;
- `<!-- maps -->`: what every map can do, costs and is for.
"""

import json
import re
from collections.abc import Collection
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from kfeat.analysis.judgement import Judgement, in_short, judge_experiments
from kfeat.experiments.config import load_experiment
from kfeat.kernels import KERNELS, DotProductKernel, ShiftInvariantKernel
from kfeat.maps import MAPS, kernels_of
from kfeat.render.notes import closing_line
from kfeat.render.overview import undecided
from kfeat.render.report import cells_below, render
from kfeat.render.table import Table, bullets
from scripts.scoreboards import (
    largest_differences,
    not_explained,
    papers,
    scoreboard_markdown,
    undecided_markdown,
)

ROOT = Path(__file__).parents[1]
BUILT = ("docs/_build/", "docs/generated/", "docs/gallery/")  # made by Sphinx, not kept in git
DOCS = [
    path.relative_to(ROOT)
    for path in sorted(ROOT.glob("docs/**/*.md"))
    if not path.relative_to(ROOT).as_posix().startswith(BUILT)
]
READMES = [
    Path("README.md"),
    Path("configs/README.md"),
    Path("kfeat/maps/README.md"),
    *sorted(path.relative_to(ROOT) for path in ROOT.glob("results/**/README.md")),
    Path("results/not_reproduced.md"),
    Path("results/not_decided.md"),
]
KINDS = (
    "scoreboard|papers|finding|answers|counts|unexplained|not_decided|benchmarks|comparisons|maps|"
    "search|tallies|largest|table|short|printed|verdicts|closing"
)
BLOCK = re.compile(rf"<!-- ({KINDS})( \S+)? -->\n.*?<!-- end -->", re.DOTALL)
CONFIGS, RESULTS = Path("configs"), Path("results")
SHORT = ("method", "accuracy (%)", "paper", "speed-up")
BENCHMARKS = (
    "TensorSketch : PolynomialCountSketch",
    "Nystrom : Nystroem, rbf",
    "RandomFourier : RBFSampler",
    "Newton : LIBLINEAR -s 2, to its objective",
    "Libsvm : SVC",
)


def updated(text: str) -> str:
    """Return the text with every block as results/ has it."""
    return BLOCK.sub(_block, text)


def _block(match: re.Match[str]) -> str:
    kind, name = match[1], (match[2] or "").strip()
    if kind == "scoreboard":
        content = (
            scoreboard_markdown(judgements(), RESULTS).strip().replace(f"]({RESULTS}/", "](")
        )  # in that folder
    elif kind == "papers":
        content = _papers()
    elif kind == "finding":
        content = "**{}**\n\n{}".format(*_finding(name))
    elif kind == "answers":
        content = (CONFIGS / name / "short_answers.md").read_text(encoding="utf-8").strip()
    elif kind == "unexplained":
        content = not_explained(judgements())
    elif kind == "not_decided":
        content = undecided_markdown(undecided(judgements()))
    elif kind == "counts":
        content = papers(judgements(), RESULTS).replace(f"]({RESULTS}/", f"](../{RESULTS}/")
    elif kind == "benchmarks":
        content = _benchmarks(BENCHMARKS)
    elif kind == "comparisons":
        content = _benchmarks(None)
    elif kind == "search":
        content = _search()
    elif kind == "maps":
        content = _maps()
    elif kind == "closing":
        content = _closing(name)
    elif kind == "tallies":
        content = bullets(in_short(_below(name)))
    elif kind == "largest":
        content = bullets(largest_differences(_below(name)))
    elif kind == "verdicts":
        content = bullets(in_short([one for one in judgements() if one.experiment.name == name]))
    elif kind == "printed":
        experiment = load_experiment(CONFIGS / f"{name}.yaml")
        content = _first_table(render(experiment, cells_below(experiment, RESULTS), "markdown"))
    elif kind == "short":
        content = _short((RESULTS / name / "table.md").read_text(encoding="utf-8"))
    else:
        page = RESULTS / f"{name}.md"
        page = page if page.exists() else RESULTS / name / "table.md"
        content = _first_table(page.read_text(encoding="utf-8"))
    return f"<!-- {match[1]}{match[2] or ''} -->\n{content}\n<!-- end -->"


@cache
def judgements() -> list[Judgement]:
    """Return how every config stands by its published rows."""
    paths = sorted(path for path in CONFIGS.rglob("*.yaml") if not path.name.startswith("_"))
    with TemporaryDirectory() as nothing:
        return judge_experiments([load_experiment(path) for path in paths], Path(nothing), RESULTS)


def _below(folder: str) -> list[Judgement]:
    return [one for one in judgements() if one.experiment.name.startswith(f"{folder}/")]


def _papers() -> str:
    """Return a line for each paper, its title and its finding, and below them the links of the titles."""
    lines, targets = [], []
    for page in sorted(RESULTS.glob("*/README.md")):
        if (CONFIGS / page.parent.name / "_paper.yaml").exists():
            title = page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ").partition(":")[0]
            lines.append([f"[{title}]", _finding(page.parent.name)[0]])
            targets.append(f"[{title}]: {page.as_posix()}")
    table = Table(["paper", "finding"], lines).markdown(str)
    return "\n".join([table, "", *targets])


def _finding(paper: str) -> tuple[str, str]:
    """Return the finding of a paper in one sentence, and the paragraphs on it."""
    text = (CONFIGS / paper / "finding.md").read_text(encoding="utf-8")
    headline, _, story = text.partition("\n")
    return headline.removeprefix("# "), story.strip()


def _closing(name: str) -> str:
    """Return the line that ends a run of a config, from its published rows."""
    experiment = load_experiment(CONFIGS / f"{name}.yaml")
    return f"> {closing_line(cells_below(experiment, RESULTS))}"


def _first_table(report: str) -> str:
    lines = report.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("|"))
    table = lines[start : lines.index("", start)]
    cautions = [line.removeprefix("- ") for line in lines if line.startswith("- different machines: ")]
    return "\n".join([*table, *(f"\n{line[0].upper()}{line[1:]}" for line in cautions)])


def _short(report: str) -> str:
    """Return the columns of the report's first table that `SHORT` names."""
    table = [line for line in _first_table(report).splitlines() if line.startswith("|")]
    headers, _, *lines = ([cell.strip() for cell in line.strip("|").split("|")] for line in table)
    kept = [headers.index(header) for header in SHORT]
    cells = [[line[i] for i in kept] for line in lines]
    return Table(SHORT, cells).markdown(str)


def _benchmarks(only: Collection[str] | None) -> str:
    """Return how many times faster kfeat is than the others, from the least to the most over the shapes.

    `only` names the comparisons and their order; None is all of them.
    """
    parts = (json.loads(path.read_text()) for path in sorted(Path("results/bench").glob("*.json")))
    ratios: dict[str, dict[int, list[float]]] = {}
    for row in (row for part in parts for row in part["rows"]):
        if row.get("ratio") and " : " in row["what"]:
            ratios.setdefault(row["what"], {}).setdefault(row["threads"], []).append(row["ratio"])
    found = {what: ratios[what] for what in (ratios if only is None else only)}
    threads = sorted({count for one in found.values() for count in one})
    lines = [[what, *(_span(one.get(count, [])) for count in threads)] for what, one in found.items()]
    headers = ["kfeat : other", *(f"{count} thread{'s'[: count - 1]}" for count in threads)]
    return Table(headers, lines).markdown()


def _search() -> str:
    """Return the scores of a search of 60 s and of the others, a line per table of the part own_data."""
    rows = json.loads((RESULTS / "bench/own_data.json").read_text(encoding="utf-8"))["rows"]
    lines: dict[str, dict[str, str]] = {}
    for row in rows:
        search, _, other = row["what"].partition(" : ")
        if search == "search of 60 s":
            ours, theirs = re.findall(r"\d+\.\d\d", row["note"])[:2]
            lines.setdefault(row["shape"], {"kfeat": ours})[other] = theirs
    others = ["kfeat", *dict.fromkeys(other for line in lines.values() for other in line if other != "kfeat")]
    cells = [
        [*shape.split(", ", 1), *(line.get(other, "–") for other in others)] for shape, line in lines.items()
    ]
    return Table(["data", "training rows", *others], cells).markdown()


def _maps() -> str:
    """Return the table of all maps: kernels, cost, variance, source, and when to use each."""
    lines = [[f"`{name}`", _kernels(kernels_of(cls)), *cls.facts] for name, cls in sorted(MAPS.items())]
    headers = ["map", "kernels", "cost of a row", "variance or error", "source", "when to use it"]
    return Table(headers, lines).markdown()


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
    for page in [*READMES, *DOCS]:
        page.write_text(updated(page.read_text(encoding="utf-8")), encoding="utf-8")
