"""The verdicts on experiments by their rows: on printed numbers, published cells and claims.

A claim that an explanation cites is judged on the rows of its own experiment.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path

from kfeat.analysis import claims, numbers
from kfeat.analysis.cells import Cell, summarise
from kfeat.analysis.claims import Cited, ClaimVerdict, LookUp, claim_verdicts
from kfeat.analysis.comparisons import REGRESSED, SAME, Comparison, comparisons, number_compared
from kfeat.analysis.names import Names
from kfeat.analysis.numbers import (
    AGREES,
    MEANS,
    MISSING,
    CurveVerdict,
    NumberVerdict,
    curve_verdicts,
    number_verdicts,
)
from kfeat.errors import ConfigError
from kfeat.experiments.config import Experiment, load_experiment
from kfeat.experiments.paper import Citation, Explainable
from kfeat.experiments.plan import Trial
from kfeat.experiments.row import Row, wall_seconds
from kfeat.experiments.run import neighbour_path, plan_from_rows, rows_of
from kfeat.experiments.store import read_rows

Rows = Mapping[str, Row]  # by their ids
CELLS = (SAME, REGRESSED)
CLAIMS = claims.VERDICTS
UNEXPLAINED = (numbers.UNEXPLAINED, claims.UNEXPLAINED)


def counted(order: Sequence[str], verdicts: Iterable[str]) -> dict[str, int]:
    """Return how often each verdict occurs, in this order, without zeros."""
    tally = Counter(verdicts)
    return {verdict: tally[verdict] for verdict in order if tally[verdict]}


@dataclass(frozen=True)
class Disagreement:
    """A printed number or claim that is not reproduced, with its entry in the config.

    `correction` says so where only the correction for several cases leaves a claim open.
    """

    verdict: str
    what: str
    ours: str
    paper: str
    entry: Explainable
    cited: Sequence[Cited]
    correction: str = ""

    @property
    def fails(self) -> bool:
        """Return whether it is not explained, and the config does not say that it is unexplained."""
        return self.verdict in UNEXPLAINED and not self.entry.unexplained


@dataclass(frozen=True)
class Judgement:
    """The verdicts on an experiment; `place` is the folder that its rows come from."""

    experiment: Experiment
    cells: Sequence[Cell]
    numbers: Sequence[NumberVerdict]
    comparisons: Sequence[Comparison]
    claims: Sequence[ClaimVerdict]
    place: str = ""
    has_published: bool = False

    @cached_property
    def names(self) -> Names:
        """Return the names of the cells."""
        return Names(self.cells)

    @cached_property
    def curves(self) -> list[CurveVerdict]:
        """Return the verdicts on the printed curves."""
        return curve_verdicts(self.numbers)

    @property
    def has_rows(self) -> bool:
        """Return whether there are any rows."""
        return any(cell.rows or cell.failed or cell.stopped for cell in self.cells)

    @property
    def failed(self) -> list[Row]:
        """Return the rows of failed trials."""
        return [row for cell in self.cells for row in cell.failed]

    @property
    def seconds(self) -> float:
        """Return the total wall seconds of all rows, on any machine."""
        stopped = sum(row["limit_s"] for cell in self.cells for row in cell.stopped)
        return stopped + sum(wall_seconds(row) for cell in self.cells for row in cell.rows)

    @property
    def passes(self) -> bool:
        """Return whether nothing regressed or failed, and no difference lacks an explanation.

        Missing, open and compatible verdicts do not fail, nor do differences that the config marks as
        unexplained.
        """
        regressed = any(comparison.verdict == REGRESSED for comparison in self.comparisons)
        unexplained = any(disagreement.fails for disagreement in self.disagreements())
        return not (self.failed or regressed or unexplained)

    def counts(self) -> dict[str, dict[str, int]]:
        """Return how many numbers, claims and cells have each verdict, the best first, without zeros."""
        own, papers = (
            [judged.verdict for judged in self.claims if (judged.claim.kind == "own") == is_own]
            for is_own in (True, False)
        )
        return {
            "numbers": counted(MEANS, (judged.verdict for judged in self.numbers)),
            "curves": counted(MEANS, (curve.verdict for curve in self.curves)),
            "claims": counted(CLAIMS, papers),
            "own": counted(CLAIMS, own),
            "cells": counted(CELLS, (comparison.verdict for comparison in self.comparisons)),
        }

    def disagreements(self) -> list[Disagreement]:
        """Return the printed numbers, curves and claims that are not reproduced, in this order."""
        others = (AGREES, claims.REPRODUCED, MISSING)
        result = [self._of_number(judged) for judged in self.numbers if judged.verdict not in others]
        for curve in self.curves:
            if curve.verdict not in others:
                point, ours = curve.points[0], f"{curve.ratio.number:.2f} times the paper's"
                what = f"{curve.where}: the curve of {len(curve.points)} points"
                result.append(Disagreement(curve.verdict, what, ours, "1", point.number, point.cited))
        for judged in self.claims:
            if judged.verdict not in others:
                what, ours, paper = _title(judged), judged.ours, judged.paper
                own = judged.claim, judged.cited, judged.correction
                result.append(Disagreement(judged.verdict, what, ours, paper, *own))
        return result

    def _of_number(self, judged: NumberVerdict) -> Disagreement:
        number, verdict = judged.number, judged.verdict
        worst = next(item for item in judged.reproductions if judged.of(item) == verdict)
        what = f"{number.where}: {self.names.of(worst.cell)}"
        ours = worst.quantity.text(worst.ours.mean, worst.ours.sd)
        paper = worst.quantity.text(number.mean, number.sd)
        return Disagreement(verdict, what, ours, paper, number, judged.cited)

    def missing(self) -> list[str]:
        """Return the printed numbers and the claims without the rows that they need."""
        printed = [
            f"{judged.number.where}: {self.names.of(judged.cells[0]) if judged.cells else judged.number.cell}"
            for judged in self.numbers
            if judged.verdict == MISSING
        ]
        return printed + [_title(judged) for judged in self.claims if judged.verdict == claims.MISSING]


def _title(judged: ClaimVerdict) -> str:
    return f"{judged.claim.where}: {judged.claim.text}"


class Evidence:
    """Looks up cited claims; another experiment is judged on the first folder with rows of its trials.

    `roots` are folders of rows, such as runs/ and results/. `pending` has rows by the names of experiments,
    which are used first. A cited config is found by its name relative to the config that cites it; `known`
    has experiments that need not be loaded again, by their files, with their cells.
    """

    def __init__(
        self,
        *roots: Path,
        pending: Mapping[str, Mapping[str, Row]] | None = None,
        known: Mapping[Path, tuple[Experiment, Sequence[Cell]]] | None = None,
    ) -> None:
        self._roots, self._pending, self._known = roots, pending or {}, known or {}
        self._judged: dict[str, list[ClaimVerdict]] = {}

    def within(self, experiment: Experiment, cells: Sequence[Cell]) -> LookUp:
        """Return the function that looks up the citations of an experiment with these cells."""
        own = cache(partial(claim_verdicts, experiment, cells))  # an experiment may cite itself many times
        return partial(self._look_up, experiment, own)

    def _look_up(
        self, experiment: Experiment, own: Callable[[], list[ClaimVerdict]], citation: Citation
    ) -> Cited:
        """Return the cited claim with its verdict; raises ConfigError if there is no such claim."""
        is_own = citation.experiment == experiment.name
        candidates = own() if is_own else self._of(experiment, citation.experiment)
        for judged in candidates:
            if judged.claim.id == citation.claim:
                return Cited(citation, judged.verdict)
        if is_own and experiment.changed:
            return Cited(citation, claims.MISSING)
        known = ", ".join(judged.claim.id for judged in candidates if judged.claim.id) or "none has an id"
        raise ConfigError(f"{experiment.path}: evidence: no claim {citation}; ids there: {known}")

    def _of(self, experiment: Experiment, name: str) -> list[ClaimVerdict]:
        """Return the verdicts on the claims of another experiment, without its own explanations."""
        if name not in self._judged:
            path = neighbour_path(experiment, name)
            other, cells = self._known[path] if path in self._known else self._load(path)
            self._judged[name] = claim_verdicts(other, cells)
        return self._judged[name]

    def _load(self, path: Path) -> tuple[Experiment, list[Cell]]:
        """Return an experiment and its cells, with the rows of the first folder that has any."""
        other = load_experiment(path)
        pending = self._pending.get(other.name)
        for rows in [pending] if pending else (rows_of(other, root) for root in self._roots):
            trials = plan_from_rows(other, rows.values())
            if any(trial.id in rows for trial in trials):
                return other, summarise(other, trials, rows)
        return other, summarise(other, plan_from_rows(other, []), {})


def judge_experiment(
    experiment: Experiment,
    cells: Sequence[Cell],
    published: Mapping[str, Row],
    tests: int | None = None,
    place: str = "",
    evidence: Evidence | None = None,
) -> Judgement:
    """Return the verdicts on the experiment; raises ConfigError for a claim that cannot be judged.

    `tests` is the number of cells that the whole check compares with published rows, by default in `cells`.
    If the command line selected a part of the plan, printed numbers of other cells are left out. `evidence`
    has the folders with the rows of cited experiments, by default none.
    """
    look_up = (evidence or Evidence()).within(experiment, cells)
    reported = None if experiment.ranking else experiment.reported  # a ranking tries other choices too
    printed = number_verdicts(cells, reported, look_up) if reported else []
    if experiment.changed:
        printed = [judged for judged in printed if judged.cells]
    against = comparisons(cells, published, tests)
    claimed = claim_verdicts(experiment, cells, look_up)
    return Judgement(experiment, cells, printed, against, claimed, place, bool(published))


def judge_experiments(experiments: Sequence[Experiment], out: Path, results: Path) -> list[Judgement]:
    """Return the verdicts on each experiment by its rows below `out`, or else the published rows."""
    cells, published, places = [], [], []
    for experiment in experiments:
        trials, rows, place = own_or_published(experiment, out, results)
        cells.append(summarise(experiment, trials, rows))
        # Published rows are not compared with themselves.
        published.append(read_rows(results / experiment.name) if place == out else {})
        places.append(str(place))
    known = {
        experiment.path.resolve(): (experiment, own)
        for experiment, own in zip(experiments, cells, strict=True)
        if not experiment.changed and any(cell.all_rows for cell in own)
    }
    tests, evidence = number_compared(cells, published), Evidence(out, results, known=known)
    return [
        judge_experiment(experiment, own, theirs, tests, place, evidence)
        for experiment, own, theirs, place in zip(experiments, cells, published, places, strict=True)
    ]


def judge_against(experiments: Sequence[Experiment], out: Path, folder: Path) -> list[Judgement]:
    """Return how each experiment's rows below `out` compare with those below `folder`, and nothing else."""
    ours, theirs = ([rows_of(experiment, root) for experiment in experiments] for root in (out, folder))
    cells = [
        summarise(experiment, plan_from_rows(experiment, [*others.values(), *own.values()]), own)
        for experiment, own, others in zip(experiments, ours, theirs, strict=True)
    ]
    return compared(experiments, cells, theirs)


def compared(
    experiments: Sequence[Experiment], cells: Sequence[Sequence[Cell]], rows: Sequence[Rows]
) -> list[Judgement]:
    """Return how the cells of each experiment compare with its other `rows`, and nothing else."""
    tests = number_compared(cells, rows)
    judgements = []
    for experiment, own, others in zip(experiments, cells, rows, strict=True):
        against = comparisons(own, others, tests)
        judgements.append(Judgement(experiment, own, [], against, [], has_published=bool(against)))
    return judgements


def own_or_published(experiment: Experiment, out: Path, results: Path) -> tuple[list[Trial], Rows, Path]:
    """Return the trials, and the rows below `out`, or the published ones if no trial has a row there.

    The third value is the folder of the rows. The hash of data that is not pinned is taken from the rows.
    """
    own, theirs = rows_of(experiment, out), read_rows(results / experiment.name)
    trials = plan_from_rows(experiment, [*theirs.values(), *own.values()])
    return (trials, own, out) if any(trial.id in own for trial in trials) else (trials, theirs, results)
