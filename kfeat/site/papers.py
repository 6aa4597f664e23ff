"""The papers in their order with what was found, the scoreboard, what is not reproduced, what maps gain."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, floor, log10
from pathlib import Path
from statistics import median
from typing import Any

from markdown_it import MarkdownIt
from markupsafe import Markup

from kfeat.analysis import claims, numbers
from kfeat.analysis.cells import Cell, by_setting, exact_of
from kfeat.analysis.judgement import KINDS, OF_PAPERS, PRINTED, Judgement, in_short, tallies
from kfeat.experiments.config import Experiment
from kfeat.experiments.quantities import SCORE
from kfeat.render import text
from kfeat.render.overview import alike, opening
from kfeat.render.text import ratio
from kfeat.render.verdicts import TONES
from kfeat.site import links
from kfeat.site.tables import Text

# The verdicts that the scoreboard counts: title, tone, and the names that numbers and claims have for it.
COLUMNS = (
    ("reproduced", "good", (numbers.WITHIN_ERROR, numbers.WITHIN_SLACK, claims.REPRODUCED)),
    ("in direction only", "half", (claims.DIRECTION_ONLY,)),
    ("open", "open", (numbers.OPEN,)),
    ("not, explained", "explained", (numbers.EXPLAINED, claims.EXPLAINED, claims.REFUTED)),
    ("not, unexplained", "bad", (numbers.UNEXPLAINED, claims.UNEXPLAINED)),
    ("no rows", "none", (numbers.MISSING,)),
)
_LINES = {
    PRINTED: (PRINTED,),
    "claims": OF_PAPERS,
    "own questions": (KINDS["own"],),
}
_NOT_REPRODUCED = {numbers.UNEXPLAINED, claims.UNEXPLAINED, numbers.EXPLAINED, claims.EXPLAINED}

WIDTH, HEIGHT = 640, 260  # of the figure, in pixels
LEFT, RIGHT, TOP, BOTTOM = 48, 26, 24, 40  # the margins around its field
LEAST, MOST = -20.0, 5.0  # points of accuracy; what lies beyond stands at the edge
NEAR = 1.0  # points of accuracy that count as no loss


@dataclass(frozen=True)
class Paper:
    """A folder of configs: its title, how its configs stand, in the order of the paper, and what was found.

    `finding` is a sentence, `story` the paragraphs that follow it.
    """

    folder: str
    title: str
    judgements: Sequence[Judgement]
    finding: str = ""
    story: str = ""

    @property
    def short(self) -> str:
        """Return the authors and the year."""
        return self.title.partition(":")[0]

    @property
    def page(self) -> str:
        """Return the address of its page."""
        return links.paper(self.folder)

    @property
    def source(self) -> str:
        """Return what the paper is called in full; empty for configs of kfeat's own."""
        found = (one.experiment.reported for one in self.judgements)
        return next((one.source for one in found if one is not None), "")

    @property
    def story_html(self) -> Markup:
        """Return the paragraphs as HTML; a link to a config's published table leads to its section."""

        def section(match: re.Match[str]) -> str:
            return f'href="#{links.anchor(f"{self.folder}/{match[1]}")}"'

        def page(match: re.Match[str]) -> str:
            return f'href="{links.paper(match[1])}"'

        html = MarkdownIt("commonmark", {"html": False}).render(self.story)
        html = re.sub(r'href="([\w-]+)/table\.md"', section, html)
        return Markup(re.sub(r'href="\.\./([\w-]+)/README\.md"', page, html))

    @property
    def short_tallies(self) -> list[str]:
        """Return how many printed numbers and claims agree, differ and are undecided, a line each."""
        return in_short(self.judgements)

    @cached_property
    def tallies(self) -> dict[str, dict[str, int]]:
        """Return how many of each kind have each verdict."""
        return tallies(self.judgements)


def papers(judgements: Sequence[Judgement], results: Path) -> list[Paper]:
    """Return the papers by name, those first that print numbers; kfeat's own configs are the last.

    The order of a paper is that in which its README in `results` names the configs; others follow by name.
    The first heading of that README is the title; without one it is the name of the folder in words. Below it
    is what was found.
    """
    groups: dict[str, list[Judgement]] = {}
    for one in judgements:
        groups.setdefault(links.folder(one.experiment), []).append(one)
    found = []
    for name, members in groups.items():
        path = results / name / "README.md"
        readme = path.read_text(encoding="utf-8") if path.is_file() else ""
        title, finding, story, readme = opening(readme)
        words = "kfeat's own" if name == links.OWN else name.replace("_", " ").title()
        placed = sorted(members, key=lambda one: (_position(one.experiment, readme), one.experiment.name))
        found.append(Paper(name, title or words, placed, finding, story))
    return sorted(found, key=_rank)


def _rank(paper: Paper) -> tuple[bool, int, str]:
    printed = sum(len(one.numbers) for one in paper.judgements)
    return paper.folder == links.OWN, -printed, paper.folder


def _position(experiment: Experiment, readme: str) -> int:
    local = experiment.name.rpartition("/")[2]
    marks = (f"{experiment.name} -->", f"]({local}/table.md)", f"{experiment.name}.yaml")
    return next((at for mark in marks if (at := readme.find(mark)) >= 0), len(readme))


def scoreboard(found: Sequence[Paper]) -> list[dict[str, Any]]:
    """Return the lines of each paper that have anything to count, with a count for each of COLUMNS."""
    lines: list[dict[str, Any]] = []
    for paper in found:
        for what, kinds in _LINES.items():
            tallied = [paper.tallies.get(kind, {}) for kind in kinds]
            counts = [sum(one.get(name, 0) for one in tallied for name in names) for *_, names in COLUMNS]
            if sum(counts):
                first = not lines or lines[-1]["paper"] is not paper
                lines.append({"paper": paper, "first": first, "what": what, "counts": counts})
    return lines


def reasons(found: Sequence[Paper]) -> list[dict[str, Any]]:
    """Return what is not reproduced and why, what nobody explains first, then by paper."""
    lines: list[dict[str, Any]] = []
    for paper in found:
        for said, group in alike(paper.judgements, _NOT_REPRODUCED):
            configs = {one.experiment.name: one.experiment for one, _ in group}
            first, more = group[0][1], len(group) - 1
            lines.append(
                {
                    "paper": paper,
                    "title": f"{first.what}; and {more} more" if more else first.what,
                    "words": said.removeprefix("not explained: ") or "The config says nothing of it.",
                    "places": [Text(links.anchor(name), links.section(one)) for name, one in configs.items()],
                    "tone": TONES.get(first.verdict, ""),
                }
            )
    return sorted(lines, key=lambda one: one["tone"] != "bad")


def speed_ups(judgements: Sequence[Judgement]) -> dict[str, Any] | None:
    """Return the figure over all cells of maps beside a timed exact kernel SVM; None where there is none.

    It has dots, the ticks of both axes as (pixel, label), and a sentence. A cell that several configs have
    stands there once.
    """
    found: dict[str, tuple[float, float, str]] = {}
    for one in judgements:
        for peers in by_setting(one.cells):
            exact = exact_of(peers[0], peers)
            for cell in peers:
                if point := _gain(cell, exact):
                    said = f"{one.names.of(cell)}: {text.factor(point[0])} the speed, {point[1]:+.2f} points"
                    found.setdefault(cell.trial.cell, (*point, said))
    return _drawn(list(found.values())) if found else None


def _gain(cell: Cell, exact: Cell | None) -> tuple[float, float] | None:
    """Return how many times faster a map's cell is, and its accuracy less the exact one's."""
    if cell.trial.map is None or exact is None or not (cell.score and exact.score):
        return None
    number = ratio(exact, cell, "fit").number
    if cell.named(SCORE).name != "accuracy" or not number.value or number.sign or number.busy:
        return None
    return number.value, cell.score.mean - exact.score.mean


def _drawn(points: Sequence[tuple[float, float, str]]) -> dict[str, Any]:
    """Return the figure of points (times faster, points of accuracy, name)."""
    speeds, near = [x for x, _, _ in points], [x for x, y, _ in points if y >= -NEAR]
    low = floor(log10(min(speeds)))
    high = max(low + 1, ceil(log10(max(speeds))))

    def across(x: float) -> float:
        return round(LEFT + (log10(x) - low) / (high - low) * (WIDTH - LEFT - RIGHT), 1)

    def upward(y: float) -> float:
        share = (min(MOST, max(LEAST, y)) - LEAST) / (MOST - LEAST)
        return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)

    levels = (LEAST, -15.0, -10.0, -5.0, 0.0, MOST)
    quicker = sum(x > 1 for x in speeds)
    said = f"{len(points)} methods beside exact LIBSVM on the same data: {quicker} are faster"
    if near:
        said += (
            f". {len(near)} lose at most {NEAR:g} point of its accuracy: half of these are more than "
            f"{text.factor(median(near))} faster, and the fastest is {text.factor(max(near))} faster"
        )
    return {
        "dots": [(across(x), upward(y), y >= -NEAR, name) for x, y, name in points],
        "across": [(across(10.0**power), f"{10.0**power:g}×") for power in range(low, high + 1)],
        "upward": [(upward(y), f"{'≤ ' if y == LEAST else ''}{y:+g}" if y else "0") for y in levels],
        "said": f"{said}.",
    }
