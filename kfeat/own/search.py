"""A search within a budget of wall time: candidates on growing subsamples, then the test rows, once.

A candidate goes up a rung, to three times as many rows, once it is among the best third of its kind (exact
methods or maps) on its rung. No rung waits until another is full, so there is a best candidate at any time
(Li et al., "A system for massively parallel hyperparameter tuning", MLSys 2020, Algorithm 2). Optuna's own
pruner drops a candidate that does not go up at once; here it can go up later.

A linear model comes first, so that there is always a model; then the advice of the study of maps and the
config's own methods. Optuna's TPE draws exact methods for the first rung. Maps that approximate the best of
them are tried on the rungs above, and finally steps around the best candidate: more features, also on a third
of the rows. Optuna's study keeps all that was scored, so that the same command goes on.

The wall time of a candidate on few rows predicts that on more of them, and that of its training in the end,
at whatever load. The best is always one that there is time to train: on all rows, or on as many as the time
allows, at least those it was scored on. At most a third of the budget is kept for it, since a time on few
rows makes an exact method's training seem longer than it is.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from itertools import product
from math import inf, log
from pathlib import Path
from time import monotonic
from typing import Any

from kfeat.errors import ConfigError
from kfeat.experiments.plan import digest
from kfeat.files import writing
from kfeat.own.budget import expected, like, path_time, training
from kfeat.own.candidates import (
    FIRST_SIZE,
    SIZE,
    Candidate,
    advised,
    larger_maps,
    linear_model,
    maps_of,
    neighbours,
    own_candidates,
)
from kfeat.own.draws import draw, drawn, first_entries
from kfeat.own.facts import DataFacts
from kfeat.own.result import ETA, TOO_LONG, Row, Scored, SearchResult, slack, winner
from kfeat.own.rungs import Step, leaders, next_up, rungs
from kfeat.own.scorer_process import LocalScorer

FIRST_SHARE = 0.2  # the largest share of the budget for the first entries, before any goes up a rung
ONE_CANDIDATE = 0.25  # share of the budget: a candidate that takes longer is ended
QUICK = 0.04  # share of the budget: candidates that take less go up a rung before slower ones
ADVISED = 0.25  # share of the budget that the advised method may take to be trained on all rows
GUIDE = 0.15  # share of the budget for an exact method that there is no time to train
KEPT = 0.3  # the largest share of the budget that is kept to train the best
ENDS = 6  # steps from the rows that a candidate was scored on to all, of which one is what it is trained on
SPARE = 0.1  # share of the budget that the linear model and boosting have at least
CLOSING = 2.0  # seconds that writing the table and the figure takes
MOST_OWN = 3
MOST = 200  # candidates of one search
STALE = 15  # candidates in a row without a better one after which the search ends
GAIN = 0.04  # share of the slack that counts as better
AT_LEAST = 10.0  # seconds for the linear model, whatever the budget
PATHS = {
    ("C", False): [10.0**k for k in range(-1, 4)],
    ("C", True): [1.0, 10.0, 100.0],
    ("alpha", False): [10.0**k for k in range(-6, 4)],
    ("alpha", True): [10.0**k for k in range(-4, 2)],
}
STEP = 10**0.5
SURE = 0.8  # the largest share of the remaining time for the estimated time of a candidate
LONGER = 1.2  # factor for the estimated time of the training on all rows
READING = 86400.0  # seconds for reading the data


class Search:
    """One search within a budget, whose study is kept at a path; without one in memory."""

    def __init__(
        self, scorer: LocalScorer, path: Path | None, budget: float, seed: int,
        say: Callable[[Scored, Scored], None] | None = None,
    ) -> None:  # fmt: skip
        self._scorer, self._path, self._budget, self._seed, self._say = scorer, path, budget, seed, say
        self._longest, self._restart = ONE_CANDIDATE * budget, 0.0
        self._latest: dict[Candidate, Scored] = {}  # on the most rows
        self._rows: dict[str, Row] = {}
        self._earlier = frozenset[Scored]()  # of earlier calls

    def run(
        self, kernels: Sequence[dict[str, Any]] = (), maps: Sequence[dict[str, Any]] = ()
    ) -> SearchResult:
        """Return what was found; raises ConfigError where the budget ends before one candidate is scored."""
        with writing(self._path) if self._path else nullcontext():
            return self._run(kernels, maps)

    def _run(self, kernels: Sequence[dict[str, Any]], maps: Sequence[dict[str, Any]]) -> SearchResult:
        from kfeat.own.log import study_of  # here, since the import of Optuna takes half a second

        start = monotonic()
        self._study = study_of(self._path, self._seed)
        self._rows = self._study.user_attrs
        n_kept, self._earlier = len(self._rows), frozenset(self._scored())
        answer = self._scorer.ask("facts", start + READING)  # this starts the process too
        if answer is None or "failed" in answer:
            raise ConfigError(f"the data cannot be used: {answer['failed'] if answer else 'no answer'}")
        facts = self._facts = DataFacts(**answer)
        self._began = monotonic() - start  # seconds; on a busy machine the closing takes longer too
        closing = max(CLOSING, self._began) if facts.n_test else 0.0
        self._end = start + self._budget - min(closing, SPARE * self._budget)
        # A candidate that is ended costs the start of a new process.
        self._spare = min(max(SPARE * self._budget, self._began), 2 * SPARE * self._budget)
        own, linear = own_candidates(kernels, maps, facts, MOST_OWN), linear_model(facts)
        self._sizes = rungs(facts.n_train, facts.rarest)
        self._score(linear, self._sizes[0], end=max(self._search_end, monotonic() + AT_LEAST))
        self._candidates([*advised(facts, ADVISED * self._budget), *own])
        best = self._best()
        if best is None:
            reasons = {method.reason for method in self._scored()} or {
                "the budget ended; give a longer --budget"
            }
            raise ConfigError(f"no candidate could be scored: {'; '.join(sorted(reasons)[:3])}")
        end = self._end - self._closing(best, self._rows_of(best) or best.n)
        for candidate in (linear, *own[:1]):
            before = [
                method for method in self._scored() if method.candidate == candidate and not method.reason
            ]
            since = max(before, key=lambda method: method.n, default=None)
            if since and monotonic() + self._restart + 2 * expected(since, best.n) < end:
                self._score(candidate, best.n, since, end)
            elif not since and self._begins(candidate, best.n):
                self._score(candidate, best.n, None, end - self._spare / 2)
        best, n_train = self._best() or best, facts.n_train
        constant = (self._scorer.ask("constant", monotonic() + READING, n=best.n) or {}).get("score", -inf)
        good = [method for method in self._scored() if not method.reason and facts.capped]
        rows = {method: n for method in good if (n := self._rows_of(method) or method.n) < n_train}
        result = SearchResult(facts, self._scored(), best, own, n_kept=n_kept, constant=constant, rows=rows)
        if not facts.n_test:
            return result
        tests = {method: self._test(method, rows.get(method)) for method in (best, result.linear) if method}
        boosting = self._kept(digest(["boosting", best.n]), "boosting", n=best.n)
        others = [method for method in (result.quick, result.exact) if method and method not in tests]
        for method in others:
            left, n = self._end - monotonic(), rows.get(method, n_train)
            if self._tested(method, n) or self._closing(method, n) < left:
                tests[method] = self._test(method, rows.get(method))
        return replace(result, tests=tests, boosting=boosting)

    def _closing(self, method: Scored, n: int) -> float:
        """Return about how many seconds the training of a winner takes on n rows.

        Its time on the most rows tells. It learns probabilities too if there is no test, and reads the data
        again if n is not all rows.
        """
        tested, regression = self._facts.n_test > 0, self._facts.task == "regression"
        more = self._began * (n < self._facts.n_train) if tested else method.seconds * (not regression)
        return LONGER * training(self._latest.get(method.candidate, method), n) + more

    def _rows_of(self, method: Scored, later: float = 0.0) -> int:
        """Return on how many rows there is time to train a candidate, so many seconds later; 0 without.

        These are as many as it was scored on, or more, up to all; more need time to spare, since their time
        is less certain. Where nothing ends the training, there is always a tenth of the budget, so that a
        candidate that took longer than predicted does not cost the best. What an earlier call trained needs
        no time, and what it scored may take its budget, so that no call ends with less than the last one.
        """
        left = self._end - monotonic() - later
        left = left if self._facts.n_test else max(left, SPARE * self._budget)
        seconds = {n: self._closing(method, n) for n in self._ends(method) if not self._tested(method, n)}
        fits = [n for n in seconds if seconds[n] < (left if n == method.n else SURE * left)]
        fits += [n for n in self._ends(method) if n not in seconds]
        if not fits and method in self._earlier:
            fits = [n for n in seconds if seconds[n] < method.budget]
        return max(fits, default=0)

    def _ends(self, method: Scored) -> list[int]:
        """Return on how many rows a candidate may be trained: all, as many as its own, and some between."""
        most = self._facts.n_train
        parts = range(ENDS + 1) if self._facts.capped else [ENDS]
        return [round(method.n * (most / method.n) ** (part / ENDS)) for part in parts]

    def _best(self) -> Scored | None:
        """Return the best of those that there is time to train; else what trains fastest."""
        scored = [method for method in self._scored() if not method.reason]
        able = [method for method in scored if self._rows_of(method)]
        return winner(able) or min(scored, key=lambda method: self._closing(method, method.n), default=None)

    @property
    def _search_end(self) -> float:
        """When the last candidate must be scored, so that the best can be trained."""
        best, most = self._best(), KEPT * self._budget
        closings = [self._closing(best, n) for n in self._ends(best)] if best else [0.0]
        return (
            self._end - self._spare - max((closing for closing in closings if closing < most), default=most)
        )

    def _candidates(self, first: Sequence[Candidate]) -> None:
        """Score candidates until time is over or nothing gets better, first those that may go up a rung."""
        facts, sizes = self._facts, self._sizes
        n_first = min(len(first_entries(facts)) + len(first_entries(facts, "own")), MOST)
        first_end = monotonic() + FIRST_SHARE * self._budget
        stale, new, top = 0, drawn(self._study), -inf
        while monotonic() < self._search_end and stale < STALE:
            scored, best = self._scored(), self._best()
            if best and best.score > top + GAIN * slack(facts.metric, best.score):
                top, stale = best.score, 0
            known = {method.candidate for method in scored}
            rows = {candidate: next((n for n in sizes if n >= candidate.D), sizes[-1]) for candidate in first}
            waiting = [candidate for candidate in first if candidate not in known]
            waiting = [candidate for candidate in waiting if self._begins(candidate, rows[candidate])]
            begun = new >= n_first or monotonic() >= first_end
            up = next_up(scored, sizes, self._fits) or self._next_map(scored)
            if up is not None and begun:
                self._score(*up)
            elif waiting and new >= min(MOST, 1):  # after the first one; with a row for each landmark
                self._score(waiting[0], rows[waiting[0]])
            elif new >= MOST:
                return
            else:
                exact = next((candidate for candidate in known if candidate.exact), None)
                draws = self._begins(exact, sizes[0]) if exact else self._in_time(self._began / 2, 1.0)
                step = best and begun and self._next_step(best, scored)
                if step and (new % 2 or not draws):
                    self._score(*step)
                elif draws:
                    draw(self._study, facts, lambda candidate: self._score(candidate, sizes[0]))
                else:
                    return
                new, stale = new + 1, stale + (new >= n_first)

    def _next_map(self, scored: Sequence[Scored]) -> Step | None:
        """Return a map for one of the best exact methods, where one is missing, on the second rung or above.

        It is small where there is no time for a larger one. The first of all maps is small too, and on the
        second rung: its time tells that of others.
        """
        begun: dict[Any, int] = {}
        sizes = self._sizes
        for method in sorted(scored, key=lambda method: method.candidate.D):
            begun[_without_size(method.candidate)] = method.candidate.D
        second = sizes[:2][-1]
        reached = max(
            (method.n for method in scored if method.candidate.exact and not method.reason), default=second
        )
        for n in [n for n in reversed(sizes) if n >= min(reached, second)]:
            for method, D in product(leaders(scored, n, exact=True), (SIZE, FIRST_SIZE)):
                for candidate in maps_of(method.candidate, self._facts, max(n, second), D):
                    if not any(begun.values()):
                        return maps_of(method.candidate, self._facts, second, FIRST_SIZE)[0], second, None
                    new = begun.get(_without_size(candidate), 0) < candidate.D / 2
                    if new and self._begins(candidate, max(n, second)):
                        return candidate, max(n, second), None
        return None

    def _next_step(self, best: Scored, scored: Sequence[Scored]) -> Step | None:
        """Return a candidate one step from the best, on as many rows, or on a third of them.

        The best of another kind of map gets more features too, since some kinds need more and take less time.
        """
        done, facts = {(method.candidate, method.n) for method in scored}, self._facts
        steps = [(best, candidate) for candidate in neighbours(best.candidate, facts)]
        others = [method for method in scored if method.n >= best.n // ETA and method.candidate.map]
        for name in dict.fromkeys(method.candidate.name for method in others):
            start = winner(method for method in others if method.candidate.name == name)
            if start and name != best.candidate.name:
                most = 4 * max(best.candidate.D, SIZE)
                steps += [(start, larger) for larger in larger_maps(start.candidate, facts, most)]
        for start, candidate in sorted(steps, key=_keeps_size_and_target):
            since = like(start, candidate)
            for n in (start.n, *(n for n in self._sizes if n == start.n // ETA)):
                if (candidate, n) in done or n < candidate.D:
                    break
                if self._fits(since, n):
                    return candidate, n, since
        return None

    def _in_time(self, seconds: float, most: float) -> bool:
        """Return whether so many seconds are most likely left, and at most a share of the budget."""
        return seconds < SURE * min(most * self._budget, self._search_end - monotonic())

    def _begins(self, candidate: Candidate, n: int) -> bool:
        """Return whether there is most likely time for a new candidate, by another of its kind.

        Another kernel or map may take twice as long. Before any map only a small one begins.
        """
        kind = candidate.exact, candidate.linear
        kin = [
            method
            for method in self._scored()
            if (method.candidate.exact, method.candidate.linear) == kind and not method.reason
        ]
        if not kin:
            return candidate.D <= FIRST_SIZE and self._in_time(self._began / 2, 1.0)
        nearest = min(kin, key=lambda method: abs(log(method.n / n)))
        seconds = expected(nearest, n, candidate) * path_time(candidate, len(PATHS["C", candidate.exact]))
        return self._in_time(seconds * (1 if nearest.candidate.name == candidate.name else 2), ONE_CANDIDATE)

    def _fits(self, method: Scored, n: int, best: bool = True) -> bool:
        """Return whether there is most likely time for a candidate on n rows; the `best` may take more.

        What there would be no time to train may take less: an exact method, as a guide to maps.
        """
        seconds = expected(method, n)
        closes = self._rows_of(replace(method, n=n, seconds=seconds), later=seconds + self._spare)
        most = QUICK if not best else ONE_CANDIDATE if closes else GUIDE * method.candidate.exact
        return self._in_time(seconds, most)

    def _score(
        self, candidate: Candidate, n: int, since: Scored | None = None, end: float | None = None
    ) -> Row | None:
        """Return the row of a candidate, scored now or in an earlier call; None without time."""
        key = digest([candidate.key, n])[:16]
        row, end = self._rows.get(key), self._search_end if end is None else end
        if row is not None and row.get("limit", inf) >= self._longest:
            self._note(_of_row(row))
            return dict(row)
        if monotonic() >= end:
            return None
        values = PATHS["alpha" if candidate.loss == "squares" else "C", candidate.exact]
        if candidate.class_weight:  # which makes the costs of rare classes larger
            values = [value / 10 for value in values]
        if since is not None:
            values = [since.value]
            if self._in_time(path_time(candidate, 3) * expected(since, n), ONE_CANDIDATE / 3):
                values = [since.value / STEP, since.value, since.value * STEP]
        began, limit = monotonic(), max(self._longest, AT_LEAST * candidate.linear)
        answer = self._scorer.ask("score", end, limit, candidate=candidate, n=n, values=values)
        self._restart = self._began if answer is None else 0.0  # seconds until the next answer begins
        if answer is None and monotonic() >= end:
            return None  # the next call tries it again
        if answer is None:
            answer = {"failed": f"{TOO_LONG} {limit:.3g} s", "limit": limit}
        about = {"candidate": asdict(candidate), "n": n, "values": len(values), "budget": self._budget}
        row = self._keep(key, about | {"seconds": monotonic() - began} | answer)
        self._note(_of_row(row))
        if self._say and (best := winner(self._scored())):
            self._say(_of_row(row), best)
        return row

    def _note(self, method: Scored) -> None:
        if not method.reason and method.n >= self._latest.get(method.candidate, method).n:
            self._latest[method.candidate] = method

    def _keep(self, key: str, row: Row) -> Row:
        self._rows[key] = row
        self._study.set_user_attr(key, row)
        return row

    def _scored(self) -> list[Scored]:
        """Return the scores; a candidate that took too long counts only if the limit is not longer now."""
        rows = [row for row in self._rows.values() if "candidate" in row]
        return [_of_row(row) for row in rows if row.get("limit", inf) >= self._longest]

    def _test(self, method: Scored, rows: int | None) -> Row:
        """Return a candidate's result on the test rows, trained on all training rows or on so many."""
        question = {"candidate": method.candidate, "value": method.value, "rows": rows}
        return self._kept(self._test_key(method, rows), "test", **question)

    def _test_key(self, method: Scored, rows: int | None) -> str:
        return digest(["test", method.candidate.key, method.value, rows])

    def _tested(self, method: Scored, n: int) -> bool:
        """Return whether a candidate has a result on the test rows after training on n rows."""
        rows = n if n < self._facts.n_train else None
        return "score" in self._rows.get(self._test_key(method, rows)[:16], {})

    def _kept(self, key: str, method: str, **question: Any) -> Row:
        """Return an answer, perhaps of an earlier call; nothing without time."""
        row = self._rows.get(key[:16])
        if row is not None and "failed" not in row:
            return dict(row)
        answer = self._scorer.ask(method, self._end, **question)
        return {} if answer is None else self._keep(key[:16], answer)


def _of_row(row: Row) -> Scored:
    candidate = Candidate(**row["candidate"])
    if "failed" in row:
        return Scored(candidate, row["n"], -inf, 0.0, 0.0, row["seconds"], str(row["failed"]))
    seconds = row["seconds"] / path_time(candidate, row["values"])
    folds = tuple(row.get("folds", ()))
    numbers = row["score"], row["sd"], row["value"], seconds
    return Scored(candidate, row["n"], *numbers, folds=folds, budget=row["budget"])


def _keeps_size_and_target(step: tuple[Scored, Candidate]) -> bool:
    before, after = step[0].candidate, step[1]
    return (before.D, before.target) == (after.D, after.target)


def _without_size(candidate: Candidate) -> str:
    return str((candidate.scale, candidate.kernel, (candidate.map or {}).get("name")))
