"""A search within a budget of wall time: candidates on growing subsamples, then the test rows, once.

A candidate goes up a rung, to three times as many rows, once it is among the best third of its kind (exact
methods or maps) on its rung. No rung waits until another is full, so there is a best candidate at any time
(Li et al., "A system for massively parallel hyperparameter tuning", MLSys 2020, Algorithm 2). Optuna's own
pruner drops a candidate that does not go up at once; here it can go up later.

A linear model comes first, so that there is always a model; then the survey's advice and the config's own
methods. Optuna's TPE draws exact methods for the first
rung. Maps that approximate the best of them are tried on the rungs above, and finally steps around the best
candidate. `kfeat.own.search` says which one goes up a rung.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from math import ceil, inf, log
from pathlib import Path
from time import monotonic
from typing import Any

from kfeat.errors import ConfigError
from kfeat.experiments.plan import digest
from kfeat.files import append, writing
from kfeat.own.bench import MOST_FOLDS, LocalScorer
from kfeat.own.candidates import (
    Candidate,
    Facts,
    Proposals,
    advised,
    first_entries,
    linear_model,
    maps_of,
    neighbours,
    own_candidates,
)

ETA = 3
SMALLEST = 900  # rows of the first rung
NEAR = 5e-3  # of the score: half a point, or 0.005 of R²; twice this share of an error or a loss
EXACT_GROWTH, MAP_GROWTH = 10.0, 3.5  # factors of a candidate's time on three times the rows
TOO_LONG = "it took longer than"  # the beginning of the reason of a candidate that was ended


@dataclass(frozen=True)
class Scored:
    """A candidate scored on `n` training rows: `value` is the best C or alpha, `score` its mean over folds.

    `seconds` is the time of one value of C or alpha, over all folds.
    A candidate that failed or took too long has the score -inf and a `reason`.
    """

    candidate: Candidate
    n: int
    score: float
    sd: float
    value: float
    seconds: float
    reason: str = ""
    folds: tuple[float, ...] = ()

    @property
    def took_too_long(self) -> bool:
        """Whether it has no score because it took too long."""
        return TOO_LONG in self.reason


Step = tuple[Candidate, int, Scored | None]  # the next candidate, its rows, and its last score


def slack(metric: str, score: float) -> float:
    """Return by how much scores may differ and still be near: half a point, or 1 % of an error."""
    return 2 * NEAR * abs(score) if metric.startswith("neg_") else NEAR


def near(one: Scored, best: Scored, metric: str) -> bool:
    """Return whether a candidate is within half a point of the best."""
    return not one.reason and one.score >= best.score - slack(metric, best.score)


def grown(one: Scored, n: int) -> float:
    """Return the ratio of a candidate's time on n rows to its time on the rows where it was scored."""
    thrice = log(max(n / one.n, 1.0), ETA)
    return float((EXACT_GROWTH if one.candidate.exact else MAP_GROWTH) ** thrice)


def rungs(n_train: int, rarest: int) -> list[int]:
    """Return how many training rows each rung has: all, a third of them, a ninth ..., at least 900.

    Each rung but the last has a row per fold of the rarest class, which has `rarest` training rows.
    """
    least = max(SMALLEST, ceil((MOST_FOLDS + 1) * n_train / rarest))
    sizes = [n_train]
    while sizes[0] / ETA >= least:
        sizes.insert(0, sizes[0] // ETA)
    return sizes


def next_up(
    scored: Sequence[Scored], sizes: Sequence[int], fits: Callable[[Scored, int, bool], bool]
) -> Step | None:
    """Return the candidate that goes up a rung next, from the highest rung that has one.

    Exact methods and maps compete only among themselves, since exact methods are the best on few rows and too
    slow on many. `fits(one, n, best)` says whether there is time for a candidate on n rows. First all fast
    candidates go up, then only the best of each kind that there is time for.
    """
    for best in (False, True):
        for n, above in reversed(list(pairwise(sizes))):
            up = {one.candidate for one in scored if one.n == above}
            for exact in (True, False):
                good = leaders(scored, n, exact)
                able = [one for one in good if one.candidate in up or fits(one, above, best)]
                for one in able[: 1 if best else None]:
                    if one.candidate not in up:
                        return one.candidate, above, one
    return None


def leaders(scored: Sequence[Scored], n: int, exact: bool) -> list[Scored]:
    """Return the best third of a kind on n rows, the best first."""
    kind = [one for one in scored if one.n == n and one.candidate.exact == exact]
    best = sorted(kind, key=lambda one: (-one.score, one.candidate.size))[: ceil(len(kind) / ETA)]
    return [one for one in best if not one.reason]


def winner(scored: Iterable[Scored]) -> Scored | None:
    """Return the best candidate on the largest number of rows reached, or on a third of it.

    More rows rarely harm, so a better score on a third of them counts more than a worse one on all. Of equal
    scores the one with the fewest features wins, and an exact method before all maps; times would not be
    reproducible.
    """
    good = [one for one in scored if not one.reason]
    least = max((one.n for one in good), default=0) // ETA
    good = [one for one in good if one.n >= least]
    return max(good, key=lambda one: (one.score, -one.candidate.size), default=None)


SEARCH = 0.7  # share of the budget after which no candidate begins; the rest trains the best on all rows
FIRST_SHARE = 0.2  # the largest share of the budget for the first entries, before any goes up a rung
ONE_CANDIDATE = 0.25  # share of the budget: a candidate that takes longer is ended
QUICK = 0.04  # share of the budget: candidates that take less go up a rung before slower ones
SPARE = 0.15  # share of the budget that the linear model and boosting have at least
CLOSING = 2.0  # seconds that writing the table and the figure takes
MOST_OWN = 3
MOST = 200  # candidates of one search
STALE = 15  # candidates in a row without a better one after which the search ends
GAIN = 0.04  # share of the slack that counts as better
AT_LEAST, BOOSTING = 10.0, 5.0  # seconds for the linear model, and for boosting, whatever the budget
PATHS = {
    ("C", False): [10.0**k for k in range(-1, 4)],
    ("C", True): [1.0, 10.0, 100.0],
    ("alpha", False): [10.0**k for k in range(-6, 4)],
    ("alpha", True): [10.0**k for k in range(-4, 2)],
}
STEP = 10**0.5
SURE = 0.8  # the largest share of the remaining time for the estimated time of a candidate
MAP_SECONDS = 2.0  # about the time of the first map of a kernel
PATIENCE = 86400.0  # seconds for reading the data
Row = dict[str, Any]


class ScoreLog:
    """The rows of one search by key, kept in a file, a JSON object per line; without a file in memory."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.rows: dict[str, Row] = {}
        for line in path.read_bytes().splitlines() if path and path.exists() else []:
            with suppress(ValueError):  # an incomplete line
                row = json.loads(line)
                self.rows[row["key"]] = row

    def append(self, key: str, row: Row) -> Row:
        """Keep a row under a key, in memory and on disk, and return it; raises StoreError."""
        self.rows[key] = row = {"key": key, **row}
        if self._path is None:
            return row
        with writing(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
        append(self._path, b"\n" + json.dumps(row, allow_nan=False).encode())  # ends an incomplete line
        return row


@dataclass(frozen=True)
class SearchResult:
    """The result of a search: its candidates, the winner, and what was trained on all training rows.

    `own` are the config's own candidates. `tests` has for each candidate that was trained on all training
    rows the `score` on the test rows, the seconds to `train` and to `predict` 1,000 rows, or why it `failed`.
    `constant` is the score of always the most frequent class, or of the mean, on the folds of the best, and
    `boosting` has there the scores of HistGradientBoosting, and its `test`.
    """

    facts: Facts
    scored: Sequence[Scored]
    best: Scored
    own: Sequence[Candidate] = ()
    tests: Mapping[Scored, Row] = field(default_factory=dict)
    n_kept: int = 0  # rows of earlier calls
    constant: float = -inf
    boosting: Row = field(default_factory=dict)

    @property
    def constant_is_as_good(self) -> bool:
        """Whether the best is not better than a constant."""
        return self.best.score <= self.constant + slack(self.facts.metric, self.constant)

    @property
    def ahead(self) -> float:
        """By how much boosting is ahead of the best: in each fold, and by more than the slack; else 0."""
        gains = [
            theirs - ours
            for theirs, ours in zip(self.boosting.get("folds", ()), self.best.folds, strict=False)
        ]
        gain = sum(gains) / len(gains) if gains else 0.0
        return gain if gain > slack(self.facts.metric, self.best.score) and min(gains) > 0 else 0.0

    @property
    def trained(self) -> Scored:
        """The best; if it could not be trained on all rows, the best of those that were."""
        done = [one for one, row in self.tests.items() if "score" in row]
        return self.best if self.best in done or not done else max(done, key=lambda one: one.score)

    @property
    def linear(self) -> Scored | None:
        """The linear model on as many rows as the best."""
        return winner(one for one in self.scored if one.n >= self.best.n and one.candidate.linear)

    def near(self, one: Scored) -> bool:
        """Return whether a candidate is within half a point of the best."""
        return near(one, self.best, self.facts.metric)

    @property
    def before(self) -> Scored | None:
        """The best of the config's own candidates on as many rows as the best."""
        return winner(one for one in self.scored if one.n >= self.best.n and one.candidate in self.own)

    @property
    def exact(self) -> Scored | None:
        """The best exact method on the largest rung that one reached."""
        return winner(one for one in self.scored if one.candidate.exact)

    @property
    def quick(self) -> Scored | None:
        """The map with the fewest features within half a point of the best on its rows."""
        maps = [one for one in self.scored if not one.candidate.exact and self.near(one)]
        rows = [one for one in maps if one.n >= self.best.n]
        return min(rows, key=lambda one: (one.candidate.size, -one.score), default=None)

    @property
    def quickest(self) -> Scored | None:
        """The tested candidate that predicts fastest of those within half a point of the best."""
        rows = {one: row for one, row in self.tests.items() if "score" in row and one.n >= self.best.n}
        good = [one for one in rows if self.near(one)]
        return min(good, key=lambda one: rows[one]["predict"], default=None)


class Search:
    """One search within a budget."""

    def __init__(
        self, scorer: LocalScorer, log: ScoreLog, budget: float, seed: int,
        say: Callable[[Scored, Scored], None] | None = None,
    ) -> None:  # fmt: skip
        self._scorer, self._log, self._seed, self._say = scorer, log, seed, say
        self._longest = ONE_CANDIDATE * budget
        self._budget = budget

    def run(
        self, kernels: Sequence[dict[str, Any]] = (), maps: Sequence[dict[str, Any]] = ()
    ) -> SearchResult:
        """Return what was found; raises ConfigError where the budget ends before one candidate is scored."""
        n_kept = len(self._log.rows)
        answer = self._scorer.ask("facts", monotonic() + PATIENCE)  # this starts the process too
        if answer is None or "failed" in answer:
            raise ConfigError(f"the data cannot be used: {answer['failed'] if answer else 'no answer'}")
        facts = Facts(**answer)
        start = monotonic()  # the start of a process and reading the data have no limit
        self._search_end = start + SEARCH * self._budget
        self._end = start + max(self._budget - CLOSING, 0.9 * self._budget)
        sizes = rungs(facts.n_train, facts.rarest)
        own, linear = own_candidates(kernels, maps, facts, MOST_OWN), linear_model(facts)
        self._at_once(linear, sizes[0], start + AT_LEAST)
        first = advised(facts, (1 - SEARCH) * self._budget)  # what remains for training the best
        self._candidates([*first, *own], facts, sizes)
        n_best = self._winner(facts).n
        self._at_once(linear, n_best, monotonic() + SPARE * self._budget)
        for one in own[:1]:
            if not any(other.candidate == one and other.n >= n_best for other in self._scored()):
                self._score(one, n_best)
        best = self._winner(facts)
        ended = monotonic()  # where the last candidate was ended, a new process starts, again without a limit
        constant = (self._scorer.ask("constant", ended + PATIENCE, n=best.n) or {}).get("score", -inf)
        self._end += monotonic() - ended
        result = SearchResult(facts, self._scored(), best, own, n_kept=n_kept, constant=constant)
        if not facts.n_test:
            return result
        tests = {one: self._test(one, facts.n_train) for one in (best, result.linear) if one}
        boosting = self._boosting(best.n)
        others = [one for one in (result.quick, result.exact) if one and one not in tests]
        tests |= {one: self._test(one, facts.n_train) for one in others}
        return replace(result, tests=tests, boosting=boosting)

    def _at_once(self, candidate: Candidate, n: int, end: float) -> None:
        """Score a candidate by a time of its own."""
        search_end, self._search_end = self._search_end, max(self._search_end, end)
        longest, self._longest = self._longest, max(self._longest, AT_LEAST)
        if not any((one.candidate, one.n) == (candidate, n) for one in self._scored()):
            self._score(candidate, n)
        self._search_end, self._longest = search_end, longest

    def _boosting(self, n: int) -> Row:
        """Return the scores of boosting on the folds of n rows, perhaps of an earlier call."""
        key = digest(["boosting", n])[:16]
        row = self._log.rows.get(key, {"failed": ""})
        if "failed" in row:
            answer = self._scorer.ask(
                "boosting", max(self._end, monotonic() + max(SPARE * self._budget, BOOSTING)), n=n
            )
            row = {} if answer is None else self._log.append(key, {"boosting": True, **answer})
        return row

    def _winner(self, facts: Facts) -> Scored:
        """Return the best, or one that can most likely be trained on all rows in the budget left.

        That one is near the best, or the best would take longer than the whole budget.
        """
        scored = self._scored()
        rest = (1 - SEARCH) * self._budget

        def training(one: Scored) -> float:
            return one.seconds * grown(one, facts.n_train)

        best, quick = winner(scored), winner(one for one in scored if training(one) < rest)
        if best:
            longer = training(best) > self._budget
            return quick if quick and (longer or near(quick, best, facts.metric)) else best
        reasons = "; ".join(sorted({one.reason for one in scored})[:3])
        if scored and not any(one.took_too_long for one in scored):
            raise ConfigError(f"no candidate could be scored: {reasons}")
        raise ConfigError(
            f"the budget of {self._budget:g} s ended before one candidate was scored; give a longer --budget"
        )

    def _candidates(self, first: Sequence[Candidate], facts: Facts, sizes: Sequence[int]) -> None:
        """Score candidates until time is over or nothing gets better, first those that may go up a rung."""
        proposals = Proposals(facts, self._seed)
        n_first = min(len(first_entries(facts)) + len(first_entries(facts, "own")), MOST)
        first_end = monotonic() + FIRST_SHARE * self._budget
        stale, new, top = 0, 0, -inf
        while monotonic() < self._search_end and stale < STALE:
            scored = self._scored()
            best = winner(scored)
            if best and best.score > top + GAIN * slack(facts.metric, best.score):
                top, stale = best.score, 0
            waiting = [one for one in first if one not in {other.candidate for other in scored}]
            begun = new >= n_first or monotonic() >= first_end
            up = next_up(scored, sizes, self._fits) or self._next_map(scored, sizes, facts)
            if up is not None and begun:
                self._score(up[0], up[1], up[2])
            elif waiting and new >= min(MOST, 1):  # after the first one; with a row for each landmark
                self._score(waiting[0], next((n for n in sizes if n >= waiting[0].size), sizes[-1]))
            elif new >= MOST:
                return
            elif best and begun and new % 2 and (step := self._next_step(best, scored, facts)):
                self._score(*step)
                new, stale = new + 1, stale + 1
            else:
                new, stale = new + 1, stale + (new > n_first)
                trial, candidate = proposals.ask()
                known = any((one.candidate, one.n) == (candidate, sizes[0]) for one in scored)
                key = _key(candidate, sizes[0])
                row = self._log.rows[key] if known else self._score(candidate, sizes[0])
                proposals.tell(trial, row.get("score") if row else None)

    def _next_map(self, scored: Sequence[Scored], sizes: Sequence[int], facts: Facts) -> Step | None:
        """Return a map for one of the best exact methods of a rung above the first, where one is missing."""
        if monotonic() + MAP_SECONDS >= self._search_end:
            return None
        begun = [_without_size(one.candidate) for one in scored]
        for n in reversed(sizes[1:] or sizes):
            for one in leaders(scored, n, exact=True):
                for candidate in maps_of(one.candidate, facts, n):
                    if _without_size(candidate) not in begun:
                        return candidate, n, None
        return None

    def _next_step(self, best: Scored, scored: Sequence[Scored], facts: Facts) -> Step | None:
        """Return a candidate one step from the best that was not scored on the same rows."""
        done = {one.candidate for one in scored if one.n == best.n}
        for candidate in neighbours(best.candidate, facts):
            grows = max(candidate.size / (best.candidate.size or 1), 1.0) ** 2.3  # n D^2, and D^3 beside it
            since = replace(best, seconds=grows * best.seconds)
            if candidate not in done and self._fits(since, best.n):
                return candidate, best.n, since
        return None

    def _fits(self, one: Scored, n: int, best: bool = True) -> bool:
        """Return whether there is most likely time for a candidate on n rows; the `best` may take more."""
        longest = self._longest if best else QUICK * self._budget
        return one.seconds * grown(one, n) < SURE * min(longest, self._search_end - monotonic())

    def _score(self, candidate: Candidate, n: int, since: Scored | None = None) -> Row | None:
        parameter = "alpha" if candidate.loss == "squares" else "C"
        values = PATHS[parameter, candidate.exact]
        if candidate.class_weight:  # which makes the costs of rare classes larger
            values = [value / 10 for value in values]
        if since is not None and (since.candidate.loss == "squares") == (parameter == "alpha"):
            values = [since.value]
            if 3 * since.seconds * grown(since, n) < self._longest / 3:
                values = [since.value / STEP, since.value, since.value * STEP]
        began = monotonic()
        answer = self._scorer.ask(
            "score", self._search_end, self._longest, candidate=candidate, n=n, values=values
        )
        if answer is None and monotonic() >= self._search_end:
            return None  # the next call tries it again
        if answer is None:
            answer = {"failed": f"{TOO_LONG} {self._longest:.3g} s", "limit": self._longest}
        about = {"candidate": asdict(candidate), "n": n, "values": len(values)}
        row = self._log.append(_key(candidate, n), about | {"seconds": monotonic() - began} | answer)
        if self._say and (best := winner(self._scored())):
            self._say(_of_row(row), best)
        return row

    def _scored(self) -> list[Scored]:
        """Return the scores; a candidate that took too long counts only if the limit is not longer now."""
        rows = [row for row in self._log.rows.values() if "candidate" in row]
        return [_of_row(row) for row in rows if row.get("limit", inf) >= self._longest]

    def _test(self, one: Scored, n_train: int) -> Row:
        """Return a candidate's result on the test rows, perhaps of an earlier call; nothing without time."""
        key = digest(["test", one.candidate.key, one.value])[:16]
        row = self._log.rows.get(key)
        if row is not None and "failed" not in row:
            return row
        if one.seconds * grown(one, n_train) > 2 * self._budget:
            return {}
        answer = self._scorer.ask("test", self._end, candidate=one.candidate, value=one.value)
        return {} if answer is None else self._log.append(key, {"test": True, **answer})


def _of_row(row: Row) -> Scored:
    candidate = Candidate(**row["candidate"])
    if "failed" in row:
        return Scored(candidate, row["n"], -inf, 0.0, 0.0, row["seconds"], str(row["failed"]))
    seconds = row["seconds"] / row["values"]
    folds = tuple(row.get("folds", ()))
    return Scored(candidate, row["n"], row["score"], row["sd"], row["value"], seconds, folds=folds)


def _without_size(candidate: Candidate) -> tuple[Any, ...]:
    return candidate.scale, candidate.kernel, (candidate.map or {}).get("name")


def _key(candidate: Candidate, n: int) -> str:
    return digest([candidate.key, n])[:16]
