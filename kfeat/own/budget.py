"""The wall time of a search: what is left, what fits, and what must be kept to train the best.

The wall time of a candidate on few rows predicts that on more of them, and that of its training in the end,
at whatever load. The best is always one that there is time to train: on all rows, or on as many as the time
allows, at least those it was scored on.
"""

from collections.abc import Callable
from dataclasses import replace
from math import log
from time import monotonic
from typing import Any

from kfeat.own.candidates import FIRST_SIZE, PATHS, Candidate
from kfeat.own.cost import expected, learning, path_time, training
from kfeat.own.facts import DataFacts
from kfeat.own.log import ScoreLog
from kfeat.own.result import TOO_LONG, Row, Scored, winner

# Shares of the budget.
ONE_CANDIDATE = 0.25  # a candidate that takes longer is ended
QUICK = 0.03  # candidates that take less go up a rung before slower ones
GUIDE = 0.15  # an exact method that there is no time to train
FIRST = 0.2  # the first entries, before any goes up a rung
KEPT = 0.3  # at most kept to train the best, since a time on few rows makes an exact method seem too slow
SPARE = 0.1  # at least for the linear model and boosting
# Factors of estimated times.
SURE = 0.8  # of the remaining time: what is estimated to take more does not begin
LONGER = 1.2  # of the training on all rows
DOUBT = 2  # of another kernel or map than the one that was timed
# Seconds.
CLOSING = 2.0  # for the table and the figure
AT_LEAST = 10.0  # for the linear model, whatever the budget
ANY = 86400.0  # for what is never ended: the reading of the data, and a constant
ENDS = 6  # steps from the rows that a candidate was scored on to all, of which one is what it is trained on


class Budget:
    """The wall time of a search, in seconds from now; `begin` comes once the data have been read."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.limit = seconds, ONE_CANDIDATE * seconds
        self._start, self._restart = self.now(), 0.0
        self._latest: dict[Candidate, Scored] = {}  # on the most rows

    def now(self) -> float:
        """Return the time by which everything is decided."""
        return monotonic()

    @property
    def deadline(self) -> float:
        """When the last test must be over."""
        return self.end

    def begin(self, facts: DataFacts, log: ScoreLog) -> None:
        """Take the time until now for that of reading the data, as every new process does."""
        self._facts, self._log, self._reading = facts, log, self.now() - self._start
        # On a busy machine the closing takes longer too.
        closing = max(CLOSING, self._reading) if facts.n_test else 0.0
        self.end = self._start + self.seconds - min(closing, SPARE * self.seconds)
        # A candidate that is ended costs the start of a new process.
        self._spare = min(max(SPARE * self.seconds, self._reading), 2 * SPARE * self.seconds)

    def begin_candidates(self) -> None:
        """Let the time of the first entries begin."""
        self._first_end = self.now() + FIRST * self.seconds

    @property
    def any_time(self) -> float:
        """The deadline of what is never ended."""
        return self.now() + ANY

    @property
    def linear_end(self) -> float:
        """When the first linear model must be scored."""
        return max(self.search_end, self.now() + AT_LEAST)

    @property
    def search_end(self) -> float:
        """When the last candidate must be scored, so that the best can be trained."""
        best, most = self.best(), KEPT * self.seconds
        closings = [self.closing(best, n) for n in self._ends(best)] if best else [0.0]
        kept = max((closing for closing in closings if closing < most), default=most)
        return self.end - self._spare - kept

    @property
    def searches(self) -> bool:
        """Whether there is time for another candidate."""
        return self.now() < self.search_end

    @property
    def first_are_over(self) -> bool:
        """Whether the time of the first entries has ended."""
        return self.now() >= self._first_end

    def best(self) -> Scored | None:
        """Return the best of those that there is time to train; else what trains fastest."""
        scored = [method for method in self._log.scored() if not method.reason]
        able = [method for method in scored if self.rows_of(method)]
        return winner(able) or min(scored, key=lambda method: self.closing(method, method.n), default=None)

    def closing(self, method: Scored, n: int) -> float:
        """Return about how many seconds the training of a winner takes on n rows.

        Its time on the most rows tells. It learns probabilities too if there is no test, and reads the data
        again if n is not all rows.
        """
        tested, regression = self._facts.n_test > 0, self._facts.task == "regression"
        more = self._reading * (n < self._facts.n_train) if tested else method.seconds * (not regression)
        return LONGER * training(self._latest.get(method.candidate, method), n) + more

    def rows_of(self, method: Scored, later: float = 0.0) -> int:
        """Return on how many rows there is time to train a candidate, so many seconds later; 0 without.

        These are as many as it was scored on, or more, up to all; more need time to spare, since their time
        is less certain. Where nothing ends the training, there is always a tenth of the budget, so that a
        candidate that took longer than predicted does not cost the best. What an earlier call trained needs
        no time, and what it scored may take its budget, so that no call ends with less than the last one.
        """
        left = self.end - self.now() - later
        left = left if self._facts.n_test else max(left, SPARE * self.seconds)
        ends = self._ends(method)
        seconds = {n: self.closing(method, n) for n in ends if not self._tested(method, n)}
        fits = [n for n in seconds if seconds[n] < (left if n == method.n else SURE * left)]
        fits += [n for n in ends if n not in seconds]
        if not fits and method in self._log.earlier:
            fits = [n for n in seconds if seconds[n] < method.budget]
        return max(fits, default=0)

    def trains(self, method: Scored, n: int) -> bool:
        """Return whether there is time to train a candidate on n rows, or it was trained."""
        return self._tested(method, n) or self.closing(method, n) < self.end - self.now()

    def _tested(self, method: Scored, n: int) -> bool:
        return self._log.tested(method, n if n < self._facts.n_train else None)

    def _ends(self, method: Scored) -> list[int]:
        """Return on how many rows a candidate may be trained: all, as many as its own, and some between."""
        most = self._facts.n_train
        parts = range(ENDS + 1) if self._facts.capped else [ENDS]
        return [round(method.n * (most / method.n) ** (part / ENDS)) for part in parts]

    def _in_time(self, seconds: float, most: float) -> bool:
        """Return whether so many seconds are most likely left, and at most a share of the budget."""
        return seconds < SURE * min(most * self.seconds, self.search_end - self.now())

    def begins_a_kind(self) -> bool:
        """Return whether there is most likely time for the first candidate of a kind."""
        return self._in_time(self._reading / 2, 1.0)

    def begins(self, candidate: Candidate, n: int) -> bool:
        """Return whether there is most likely time for a new candidate, by another of its kind.

        Another kernel or map may take twice as long. Before any map only a small one begins.
        """
        kin = [
            method
            for method in self._log.scored()
            if method.candidate.kind == candidate.kind and not method.reason
        ]
        if not kin:
            return candidate.D <= FIRST_SIZE and self.begins_a_kind()
        nearest = min(kin, key=lambda method: abs(log(method.n / n)))
        seconds = expected(nearest, n, candidate) * path_time(candidate, len(PATHS["C", candidate.exact]))
        more = 1 if nearest.candidate.name == candidate.name else DOUBT
        return self._in_time(seconds * more, ONE_CANDIDATE)

    def fits(self, method: Scored, n: int, best: bool = True) -> bool:
        """Return whether there is most likely time for a candidate on n rows; the `best` may take more.

        What there would be no time to train may take less: an exact method, as a guide to maps.
        """
        seconds = expected(method, n) + (learning(method, n) if n != method.n else 0.0)
        closes = self.rows_of(replace(method, n=n, seconds=seconds), later=seconds + self._spare)
        most = QUICK if not best else ONE_CANDIDATE if closes else GUIDE * method.candidate.exact
        return self._in_time(seconds, most)

    def behind_metric(self, method: Scored, candidate: Candidate) -> Scored:
        """Return what a candidate is expected to take behind a metric, by what another such metric took.

        A metric that another candidate has had takes no time again.
        """
        behind = [other for other in self._log.scored() if other.learning]
        learnt = any((other.candidate.scale, other.n) == (candidate.scale, method.n) for other in behind)
        known = max(behind, key=lambda other: other.n, default=method)
        seconds = method.seconds + (0.0 if learnt else learning(known, method.n))
        return replace(method, candidate=candidate, seconds=seconds)

    def fits_path(self, method: Scored, candidate: Candidate, n: int) -> bool:
        """Return whether there is most likely time for three values of C or alpha, not one alone."""
        return self._in_time(path_time(candidate, 3) * expected(method, n), ONE_CANDIDATE / 3)

    def comparison_ends(self, best: Scored) -> tuple[float, float]:
        """Return when a candidate that is compared with the best must be scored, and one without a time yet.

        They may take what is spared, but not the time in which the best is trained.
        """
        end = self.end - self.closing(best, self.rows_of(best) or best.n)
        return end, end - self._spare / 2

    def repeats(self, method: Scored, n: int, end: float) -> bool:
        """Return whether a candidate is most likely scored on n rows before this end."""
        return self.now() + self._restart + DOUBT * expected(method, n) < end

    def score(
        self, ask: Callable[..., Row | None], end: float, candidate: Candidate, **question: Any
    ) -> Row | None:
        """Return what a scorer answers within the limit of a candidate, with the wall time that it took.

        None is no answer before the end.
        """
        began, limit = self.now(), max(self.limit, AT_LEAST * candidate.linear)
        if began >= end:
            return None
        answer = ask("score", end, limit, candidate=candidate, **question)
        self._restart = self._reading if answer is None else 0.0  # seconds until the next answer begins
        if answer is None and self.now() >= end:
            return None
        failed = {"failed": f"{TOO_LONG} {limit:.3g} s", "limit": limit}
        return {
            "budget": self.seconds,
            "seconds": self.now() - began,
            **(failed if answer is None else answer),
        }

    def note(self, method: Scored) -> None:
        """Take the time of a candidate for that of its training, if it has no time on more rows."""
        if not method.reason and method.n >= self._latest.get(method.candidate, method).n:
            self._latest[method.candidate] = method
