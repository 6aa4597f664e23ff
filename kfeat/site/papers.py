"""The papers, their configs in the order of the paper, and how each stands."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from kfeat.analysis.standing import Standing
from kfeat.analysis.tallies import Tally, tallies
from kfeat.experiments.load import Experiment
from kfeat.site import links


@dataclass(frozen=True)
class Paper:
    """A folder of configs: what it is called, and how its configs stand, in the order of the paper."""

    folder: str
    title: str
    standings: Sequence[Standing]

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
        found = (one.experiment.reported for one in self.standings)
        return next((one.source for one in found if one is not None), "")

    @cached_property
    def tallies(self) -> dict[str, Tally]:
        """Return how many of each kind have each verdict."""
        return {tally.what: tally for tally in tallies(self.standings)}


def papers(standings: Sequence[Standing], results: Path) -> list[Paper]:
    """Return the papers by name, those first that print numbers; kfeat's own configs are the last.

    The order of a paper is that in which its README in `results` names the configs; others follow by name.
    """
    groups: dict[str, list[Standing]] = {}
    for one in standings:
        groups.setdefault(links.folder(one.experiment), []).append(one)
    found = []
    for name, members in groups.items():
        text = _readme(results / name)
        placed = sorted(members, key=lambda one: (_position(one.experiment, text), one.experiment.name))
        found.append(Paper(name, _title(name, text), placed))
    return sorted(found, key=_rank)


def _rank(paper: Paper) -> tuple[bool, int, str]:
    printed = sum(len(one.numbers) for one in paper.standings)
    return paper.folder == links.OWN, -printed, paper.folder


def _readme(folder: Path) -> str:
    path = folder / "README.md"
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _title(name: str, readme: str) -> str:
    """Return the first heading of a paper's README, or the name of its folder in words."""
    heading = re.match(r"# (.+)", readme)
    if heading:
        return heading[1].strip()
    return "kfeat's own" if name == links.OWN else name.replace("_", " ").title()


def _position(experiment: Experiment, readme: str) -> int:
    local = experiment.name.rpartition("/")[2]
    marks = (f"]({local}/table.md)", f"{experiment.name} -->", f"{experiment.name}.yaml")
    found = [at for at in map(readme.find, marks) if at >= 0]
    return min(found, default=len(readme))
