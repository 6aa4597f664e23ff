"""The front page: the scoreboard by paper, what is not reproduced and why."""

from collections.abc import Sequence
from dataclasses import dataclass

from kfeat.analysis import claims, numbers
from kfeat.analysis.standing import Difference, Standing
from kfeat.analysis.tallies import KINDS
from kfeat.render.overview import alike
from kfeat.render.tones import TONES
from kfeat.site import links
from kfeat.site.papers import Paper
from kfeat.site.tables import Text

# The verdicts that the scoreboard counts, each with the names that numbers and claims have for it.
COLUMNS = (
    ("reproduced", (numbers.WITHIN_ERROR, numbers.WITHIN_SLACK, claims.REPRODUCED)),
    ("in direction only", (claims.DIRECTION_ONLY,)),
    ("open", (numbers.OPEN,)),
    ("not, explained", (numbers.EXPLAINED, claims.EXPLAINED, claims.REFUTED)),
    ("not, unexplained", (numbers.UNEXPLAINED, claims.UNEXPLAINED)),
    ("no rows", (numbers.MISSING,)),
)
TITLES = [title for title, _ in COLUMNS]
COLUMN_TONES = ("good", "half", "open", "told", "bad", "none")
_LINES = {
    "printed numbers": ("printed numbers",),
    "claims": (KINDS["paper"], KINDS["stand_in"]),
    "own questions": (KINDS["own"],),
}
_TOLD = {numbers.UNEXPLAINED, claims.UNEXPLAINED, numbers.EXPLAINED, claims.EXPLAINED}


@dataclass(frozen=True)
class Line:
    """A line of the scoreboard: what is counted, and how many have each of the verdicts in COLUMNS."""

    paper: Paper
    first: bool
    what: str
    counts: Sequence[int]

    @property
    def total(self) -> int:
        """Return how many there are."""
        return sum(self.counts)


@dataclass(frozen=True)
class Reason:
    """What is said of differences of one paper, with links to their configs."""

    paper: Paper
    title: str
    words: str
    places: Sequence[Text]
    tone: str


def scoreboard(papers: Sequence[Paper]) -> list[Line]:
    """Return the lines of each paper that have anything to count."""
    found = []
    for paper in papers:
        lines = [(what, _counts(paper, kinds)) for what, kinds in _LINES.items()]
        lines = [(what, counts) for what, counts in lines if sum(counts)]
        found += [Line(paper, i == 0, what, counts) for i, (what, counts) in enumerate(lines)]
    return found


def _counts(paper: Paper, kinds: Sequence[str]) -> list[int]:
    there = [paper.tallies[kind].counts for kind in kinds if kind in paper.tallies]
    return [sum(counts.get(one, 0) for counts in there for one in names) for _, names in COLUMNS]


def reasons(papers: Sequence[Paper]) -> list[Reason]:
    """Return what is not reproduced and why, what nobody explains first, then by paper."""
    found = [_reason(paper, said, group) for paper in papers for said, group in alike(paper.standings, _TOLD)]
    return sorted(found, key=lambda one: one.tone != "bad")


def _reason(paper: Paper, said: str, group: Sequence[tuple[Standing, Difference]]) -> Reason:
    configs = {one.experiment.name: one.experiment for one, _ in group}
    places = [Text(links.anchor(name), links.section(one)) for name, one in configs.items()]
    tone = TONES.get(group[0][1].verdict, "")
    words = said.removeprefix("not explained: ") or "The config says nothing of it."
    first = group[0][1].what
    title = first if len(group) == 1 else f"{first}; and {len(group) - 1} more"
    return Reason(paper, title, words, places, tone)
