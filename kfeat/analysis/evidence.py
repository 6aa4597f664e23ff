"""Looking up the claims that explanations cite, and judging them on the rows of their experiments."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path

from kfeat.analysis.cells import Cell, summarise
from kfeat.analysis.claims import MISSING, Cited, Judged, LookUp, judge
from kfeat.errors import ConfigError
from kfeat.experiments.fingerprints import plan_from_rows
from kfeat.experiments.load import Experiment
from kfeat.experiments.paper import Citation
from kfeat.experiments.plan import Trial
from kfeat.experiments.row import Row
from kfeat.experiments.run import neighbour, rows_of


class Evidence:
    """Looks up cited claims; another experiment is judged on the first folder with rows of its trials.

    `roots` are folders of rows, such as runs/ and results/. `pending` has rows by the names of experiments,
    which are used first. A cited config is found by its name relative to the config that cites it.
    """

    def __init__(self, *roots: Path, pending: Mapping[str, Mapping[str, Row]] | None = None) -> None:
        self._roots, self._pending = roots, pending or {}
        self._judged: dict[str, list[Judged]] = {}

    def within(self, experiment: Experiment, cells: Sequence[Cell]) -> LookUp:
        """Return the function that looks up the citations of an experiment with these cells."""
        own = cache(partial(judge, experiment, cells))  # an experiment may cite itself many times
        return partial(self._look_up, experiment, own)

    def _look_up(self, experiment: Experiment, own: Callable[[], list[Judged]], citation: Citation) -> Cited:
        """Return the cited claim with its verdict; raises ConfigError if there is no such claim."""
        if citation.experiment == experiment.name:
            claims = own()
        else:
            claims = self._of(experiment, citation.experiment)
        for judged in claims:
            if judged.claim.id == citation.claim:
                return Cited(citation, judged.verdict)
        if citation.experiment == experiment.name and experiment.changed:
            return Cited(citation, MISSING)
        known = ", ".join(judged.claim.id for judged in claims if judged.claim.id) or "none has an id"
        raise ConfigError(f"{experiment.path}: evidence: no claim {citation}; ids there: {known}")

    def _of(self, experiment: Experiment, name: str) -> list[Judged]:
        """Return the verdicts on the claims of another experiment, without its own explanations."""
        if name not in self._judged:
            other = neighbour(experiment, name)
            self._judged[name] = judge(other, self._cells(other))
        return self._judged[name]

    def _cells(self, other: Experiment) -> list[Cell]:
        """Return the cells of an experiment, with the rows of the first folder that has any."""
        mine = self._pending.get(other.name)
        for rows in [mine] if mine else (rows_of(other, root) for root in self._roots):
            trials = plan_from_rows(other, rows.values())
            if are_there(trials, rows):
                return summarise(other, trials, rows)
        return summarise(other, plan_from_rows(other, []), {})


def are_there(trials: Sequence[Trial], rows: Mapping[str, Row]) -> bool:
    """Return whether any of the trials has a row."""
    return any(trial.id in rows for trial in trials)
