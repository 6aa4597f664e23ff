"""A search within a budget of wall time: candidates, then the test rows, once, then the exact machine."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from math import inf
from time import monotonic
from typing import Any, Protocol

from kfeat.errors import ConfigError
from kfeat.experiments.plan import digest
from kfeat.tuning.candidates import Candidate, Facts, drawn, own_candidates
from kfeat.tuning.halving import MOST, TOO_LONG, Scored, baseline, first_rung, next_up, rungs, winner
from kfeat.tuning.journal import Journal, Row

# Shares of the budget: until then candidates begin, until then they end, until then the test rows are scored.
BEGIN, SEARCH, TEST = 0.6, 0.68, 0.85
ONE_CANDIDATE = 0.15  # of the budget at most: who takes longer is ended
CLOSING = 2.0  # seconds that writing the table and the figure takes
MOST_EXACT = 2000  # rows on which the exact machine is scored, at most
MOST_OWN = 6
GROWTH = 4.0  # times that a candidate takes on three times the rows
PATHS = {"C": [8.0**k for k in range(-3, 4)], "alpha": [10.0**k for k in range(-6, 4)]}
PATIENCE = 86400.0  # seconds for reading the data
STEPS = {"C": 4.0, "alpha": 10.0}


class Asked(Protocol):
    """Who answers: `kfeat.tuning.process.Assistant`."""

    def ask(self, method: str, deadline: float, limit: float = inf, **question: Any) -> dict[str, Any] | None:
        """Return an answer; None if there is none before the deadline, or within the limit in seconds."""


@dataclass(frozen=True)
class Found:
    """What a search ends with.

    `best` is the winner, `before` the config's own candidate on as many rows. `exact` is the exact machine's
    best on `exact.n` rows, and `beside` the winner on the same rows. `test` is the winner's score on the test
    rows. Each is None where the budget ended before.
    """

    facts: Facts
    scored: Sequence[Scored]
    best: Scored
    before: Scored | None
    exact: Scored | None
    beside: Scored | None
    test: float | None
    n_kept: int  # rows of earlier calls
    failed: Mapping[str, str]  # why there is no "test" or "exact", where it was tried


class Search:
    """One search: what there is to be asked, what is known, and until when."""

    def __init__(
        self, asked: Asked, journal: Journal, budget: float, seed: int,
        say: Callable[[Scored, Scored], None] = lambda one, best: None,
    ) -> None:  # fmt: skip
        self._asked, self._journal, self._seed, self._say = asked, journal, seed, say
        self._longest = ONE_CANDIDATE * budget
        self._budget = budget
        self._own: frozenset[str] = frozenset()
        self._failed: dict[str, str] = {}

    def _begin(self) -> None:
        """Start the clock: what comes before, the start of a process and reading the data, has no limit."""
        start, budget = monotonic(), self._budget
        self._ends = {share: start + share * budget for share in (BEGIN, SEARCH, TEST)}
        self._end = start + max(budget - CLOSING, TEST * budget)

    def run(self, kernels: Sequence[dict[str, Any]], maps: Sequence[dict[str, Any]], loss: Any) -> Found:
        """Return what was found; raises ConfigError where the budget ends before one candidate is scored."""
        n_kept = len(self._journal.rows)
        facts = self._facts()
        self._begin()
        sizes = rungs(facts.n_train, facts.rarest)
        own = own_candidates(kernels, maps, "squares" if facts.task == "regression" else loss, MOST_OWN)
        self._own = frozenset(one.key for one in own)
        self._candidates(own, facts, sizes)
        scored = self._scored()
        best = winner(scored)
        if best is None:
            reasons = "; ".join(sorted({one.reason for one in scored})[:3])
            if scored and not any(one.took_too_long for one in scored):
                raise ConfigError(f"no candidate could be scored: {reasons}")
            raise ConfigError(
                f"the budget of {self._budget:g} s ended before one candidate was scored"
                f"{f' ({reasons})' if reasons else ''}; give a longer --budget"
            )
        beside = max(
            (one for one in scored if one.candidate == best.candidate and one.n <= max(MOST_EXACT, sizes[0])),
            key=lambda one: one.n,
            default=None,
        )
        test = self._test(best)
        exact = self._exact(best, beside.n) if beside else None
        return Found(facts, scored, best, baseline(scored, best.n), exact, beside, test, n_kept, self._failed)

    def _facts(self) -> Facts:
        answer = self._asked.ask("facts", monotonic() + PATIENCE)  # known or not: the process is ready then
        if answer is None or "failed" in answer:
            raise ConfigError(f"the data cannot be used: {answer['failed'] if answer else 'no answer'}")
        return Facts(**answer)

    def _candidates(self, own: Sequence[Candidate], facts: Facts, sizes: Sequence[int]) -> None:
        """Score candidates until time is over: who may go up a rung goes first, then comes a new one."""
        end = self._ends[SEARCH]
        new = 0
        while monotonic() < self._ends[BEGIN]:
            scored = self._scored()
            up = next_up(scored, sizes, partial(self._fits, end=end))
            if up is not None:
                self._score(up[0].candidate, up[1], end, up[0].value)
                continue
            known = {one.candidate.key for one in scored}
            waiting = [one for one in own if one.key not in known]
            if not waiting:
                while new < MOST:
                    one = drawn(new, facts, self._seed, sizes[0], getattr(winner(scored), "candidate", None))
                    new += 1
                    if one.key not in known:
                        waiting = [one]
                        break
            if not waiting:
                return
            self._score(waiting[0], first_rung(waiting[0], sizes), end)

    def _fits(self, one: Scored, end: float) -> bool:
        """Tell whether there most likely is the time to score a candidate on the next rung."""
        return one.seconds * GROWTH < end - monotonic()

    def _score(self, candidate: Candidate, n: int, end: float, near: float | None = None) -> None:
        parameter = "alpha" if candidate.loss == "squares" else "C"
        step = STEPS[parameter]
        values = PATHS[parameter] if near is None else [near / step, near, near * step]
        began = monotonic()
        limit = self._longest if near is None else inf
        answer = self._asked.ask("score", end, limit, candidate=candidate, n=n, values=values)
        if answer is None and monotonic() >= end:
            return  # the next call tries it again
        if answer is None:
            answer = {"failed": f"{TOO_LONG} {self._longest:.3g} s", "limit": self._longest}
        row = self._journal.append(
            digest([candidate.key, n])[:16],
            {"candidate": asdict(candidate), "n": n, **({"seconds": monotonic() - began} | answer)},
        )
        if best := winner(self._scored()):
            self._say(self._of_row(row), best)

    def _scored(self) -> list[Scored]:
        """Return what is known; who took too long is known as long as the limit is no longer."""
        rows = [row for row in self._journal.rows.values() if "candidate" in row and "n" in row]
        return [self._of_row(row) for row in rows if row.get("limit", inf) >= self._longest]

    def _of_row(self, row: Row) -> Scored:
        candidate = Candidate(**row["candidate"])
        candidate = replace(candidate, own=candidate.key in self._own)  # the config may have changed since
        if "failed" in row:
            return Scored(candidate, row["n"], -inf, 0.0, 0.0, row["seconds"], str(row["failed"]))
        return Scored(candidate, row["n"], row["score"], row["sd"], row["value"], row["seconds"])

    def _exact(self, best: Scored, n: int) -> Scored | None:
        """Return the exact machine's best of five values of C (or alpha) around the winner's, on n rows."""
        step = STEPS["alpha" if best.candidate.loss == "squares" else "C"]
        found = []
        for power in (0, 1, -1, 2, -2):
            value = best.value * step**power
            key = digest(["exact", best.candidate.kernel, n, value])[:16]
            row = self._journal.rows.get(key)
            if row is None or "failed" in row:
                answer = self._asked.ask("exact", self._end, kernel=best.candidate.kernel, n=n, value=value)
                if answer is None:
                    break
                row = self._journal.append(key, {"exact": True, "at": value, **answer})
            if "failed" in row:
                self._failed["exact"] = str(row["failed"])
            else:
                found.append(Scored(best.candidate, n, row["score"], row["sd"], row["value"], row["seconds"]))
        return max(found, key=lambda one: one.score, default=None)

    def _test(self, best: Scored) -> float | None:
        """Return the winner's score on the test rows, from an earlier call if there was one."""
        key = digest(["test", best.candidate.key, best.value])[:16]
        row = self._journal.rows.get(key)
        if row is None or "failed" in row:
            answer = self._asked.ask("test", self._ends[TEST], candidate=best.candidate, value=best.value)
            if answer is None:
                return None
            row = self._journal.append(key, {"test": True, **answer})
        if "failed" in row:
            self._failed["test"] = str(row["failed"])
        return row.get("score")
