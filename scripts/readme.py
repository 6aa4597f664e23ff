"""Bring README files, docs/ and the texts of configs up to date with results/, a part of `make pages`.

In a config, `# quote TEMPLATE` in the line above an `explanation` or `unexplained` makes its text, in
quotation marks, which published tables show once they are drawn again.

The blocks of pages, each up to `<!-- end -->`:

- `<!-- scoreboard -->`: the scoreboard over the published rows;
- `<!-- papers -->`: a line for each paper with its finding; `<!-- finding PAPER -->`: the finding and the
  sentences on it, from configs/PAPER/finding.md; `<!-- quote`, a new line, `TEMPLATE -->`: that template;
  numbers are those of configs/PAPER/_values.yaml, and on pages of docs/ of the one there;
- `<!-- counts TO -->`: the findings, and a line for each paper with its numbers and claims counted; TO is the
  way to results/;
- `<!-- unexplained -->`: what differs from the papers without a reason;
- `<!-- not_decided -->`: what is open, and how many further runs would decide it;
- `<!-- tallies FOLDER -->`, `<!-- verdicts NAME -->`: the verdicts counted; `<!-- largest FOLDER -->`: the
  printed numbers that ours are farthest from;
- `<!-- table NAME -->`: the first table of results/NAME.md or results/NAME/table.md, with what it says of
  times from different machines; `<!-- short NAME -->`: its columns of `SHORT` only;
- `<!-- printed NAME -->`: the table of a config without rows: what the paper prints; `<!-- numbers NAME -->`:
  the verdicts on printed numbers;
- `<!-- closing NAME -->`: the line that ends a run of a config;
- `<!-- comparisons -->`: the ratios of results/bench/ over the shapes measured; `<!-- benchmarks -->`: those
  of `BENCHMARKS` only;
- `<!-- search -->`: the search on own data beside what a user would pick instead, from the part own_data;
- `<!-- maps -->`: what every map can do, costs and is for.
"""

import json
import re
from collections.abc import Callable, Collection
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import fill

from kfeat.analysis.judgement import Judgement, judge_experiments
from kfeat.analysis.tallies import in_short
from kfeat.cli.reports import cells_below
from kfeat.experiments.config import load_experiment
from kfeat.kernels import KERNELS, DotProductKernel, ShiftInvariantKernel
from kfeat.maps import MAPS, kernels_of
from kfeat.render.notes import closing_line
from kfeat.render.overview import undecided
from kfeat.render.report import render
from kfeat.render.table import Table, bullets
from scripts.scoreboards import (
    largest_differences,
    not_explained,
    papers,
    scoreboard_markdown,
    undecided_markdown,
)
from scripts.values import filled

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
BLOCK = re.compile(r"<!-- (?!end)(\w+)( \S+)? -->\n.*?<!-- end -->", re.DOTALL)
QUOTE = re.compile(r"(<!-- quote\n(.*?) -->\n).*?(?=\n<!-- end -->)", re.DOTALL)
EXPLAINED = re.compile(r'(# quote (.*)\n +(?:explanation|unexplained): (?:&\w+ )?)".*?"')
CONFIGS, RESULTS = Path("configs"), Path("results")
BESIDE = {  # of a search on own data, and the columns of its table
    "grid": "grid",
    "HistGradientBoosting": "boosting",
    "HistGradientBoosting, searched": "boosting, searched",
    "linear": "linear",
}
EXPLAINING = [
    path.relative_to(ROOT)
    for path in sorted(ROOT.glob("configs/*/*.yaml"))
    if EXPLAINED.search(path.read_text(encoding="utf-8"))
]
SHORT = ("method", "accuracy (%)", "paper", "speed-up")
BENCHMARKS = (
    "TensorSketch : PolynomialCountSketch",
    "Nystrom : Nystroem, rbf",
    "RandomFourier : RBFSampler",
    "Newton : LIBLINEAR -s 2, to its objective",
    "Libsvm : SVC",
)


def updated(text: str, page: Path) -> str:
    """Return the text of a page with every block as results/ has it, or of a config with what it quotes."""
    of_paper = page.parent.parent in (RESULTS, CONFIGS)
    values = CONFIGS / page.parent.name if of_paper else Path("docs")

    def quoted(template: str) -> str:
        return filled(template, values, judgements(), RESULTS)

    if page in EXPLAINING:
        return EXPLAINED.sub(lambda match: f'{match[1]}"{quoted(match[2])}"', text)
    return QUOTE.sub(lambda match: match[1] + quoted(match[2]), BLOCK.sub(_block, text))


def _block(match: re.Match[str]) -> str:
    kind, name = match[1], (match[2] or "").strip()
    return f"<!-- {kind}{match[2] or ''} -->\n{CONTENTS[kind](name)}\n<!-- end -->"


@cache
def judgements() -> list[Judgement]:
    """Return how every config stands by its published rows."""
    paths = sorted(path for path in CONFIGS.rglob("*.yaml") if not path.name.startswith("_"))
    with TemporaryDirectory() as nothing:
        return judge_experiments([load_experiment(path) for path in paths], Path(nothing), RESULTS)


def _below(name: str) -> list[Judgement]:
    """Return how the configs of a folder stand, or one config."""
    return [one for one in judgements() if f"{one.experiment.name}/".startswith(f"{name}/")]


def _table(name: str) -> str:
    """Return the first table of a page of results/, or of a config."""
    page = RESULTS / f"{name}.md"
    page = page if page.exists() else RESULTS / name / "table.md"
    return _first_table(page.read_text(encoding="utf-8"))


def _numbers(name: str) -> str:
    """Return the verdicts on the printed numbers of a config, without where they are printed."""
    page = (RESULTS / name / "table.md").read_text(encoding="utf-8")
    return re.sub(r"[^|]+\|$", "", _first_table(page[page.index("| number") :]), flags=re.MULTILINE)


def _printed(name: str) -> str:
    """Return the table of a config without rows."""
    experiment = load_experiment(CONFIGS / f"{name}.yaml")
    return _first_table(render(experiment, cells_below(experiment, RESULTS), "markdown"))


def _papers(_: str) -> str:
    """Return a line for each paper: its title and its finding."""
    lines = [
        f"- [{title}]({RESULTS}/{name}/README.md): {finding}"
        for name, title, finding in _findings()
        if name != "survey"
    ]
    return "\n".join(fill(line, 100, subsequent_indent="  ", break_on_hyphens=False) for line in lines)


def _findings() -> list[tuple[str, str, str]]:
    """Return the folder, the title and the finding in one sentence of each paper and of the study."""
    names = sorted(path.parent.name for path in CONFIGS.glob("*/finding.md"))
    pages = ((RESULTS / name / "README.md").read_text(encoding="utf-8") for name in names)
    titles = [page.partition("\n")[0].removeprefix("# ").partition(":")[0] for page in pages]
    return [(name, title, _finding(name)[0]) for name, title in zip(names, titles, strict=True)]


def _finding(paper: str) -> tuple[str, str]:
    """Return the finding of a paper in one sentence, and the paragraphs on it."""
    text = (CONFIGS / paper / "finding.md").read_text(encoding="utf-8")
    headline, _, story = filled(text, CONFIGS / paper, judgements(), RESULTS).partition("\n")
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


def _short(name: str) -> str:
    """Return the columns of a config's first table that `SHORT` names."""
    table = [line for line in _table(name).splitlines() if line.startswith("|")]
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


def _search(_: str) -> str:
    """Return the scores of a search of 60 s, a line per table on which it is beside all of BESIDE."""
    rows = json.loads((RESULTS / "bench/own_data.json").read_text(encoding="utf-8"))["rows"]
    lines: dict[str, dict[str, str]] = {}
    for row in rows:
        search, _, other = row["what"].partition(" : ")
        if search == "search of 60 s" and other in BESIDE:
            name, shape, *metric = row["shape"].split(", ")
            first = {"data": ", ".join([name, *metric]), "training rows": shape}
            line = lines.setdefault(row["shape"], first)
            line["kfeat"], line[BESIDE[other]], *_ = [*re.findall(r"-?\d+\.\d\d", row["note"]), "given up"]
    titles = ["data", "training rows", "kfeat", *BESIDE.values()]
    whole = [line for line in lines.values() if len(line) == len(titles)]
    return Table(titles, [[line[title] for title in titles] for line in whole]).markdown()


def _maps(_: str) -> str:
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


CONTENTS: dict[str, Callable[[str], str]] = {
    # Links from the folder that the page is in.
    "scoreboard": lambda _: scoreboard_markdown(judgements(), RESULTS).strip().replace(f"]({RESULTS}/", "]("),
    "counts": lambda to: papers(judgements(), _findings()).replace("](", f"]({to}"),
    "papers": _papers,
    "finding": lambda paper: "**{}**\n\n{}".format(*_finding(paper)),
    "unexplained": lambda _: not_explained(judgements()),
    "not_decided": lambda _: undecided_markdown(undecided(judgements())),
    "tallies": lambda folder: bullets(in_short(_below(folder))),
    "verdicts": lambda name: bullets(in_short(_below(name))),
    "largest": lambda folder: bullets(largest_differences(_below(folder))),
    "table": _table,
    "numbers": _numbers,
    "short": _short,
    "printed": _printed,
    "closing": _closing,
    "benchmarks": lambda _: _benchmarks(BENCHMARKS),
    "comparisons": lambda _: _benchmarks(None),
    "search": _search,
    "maps": _maps,
}

if __name__ == "__main__":
    for page in [*EXPLAINING, *READMES, *DOCS]:
        page.write_text(updated(page.read_text(encoding="utf-8"), page), encoding="utf-8")
