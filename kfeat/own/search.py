"""A search within a budget of wall time: candidates on growing subsamples, then the test rows, once.

A candidate goes up a rung, to three times as many rows, once it is among the best third of its kind (exact
methods, maps or random binning) on its rung. No rung waits until another is full, so there is a best
candidate at any time (Li et al., "A system for massively parallel hyperparameter tuning", MLSys 2020,
Algorithm 2). Optuna's own pruner drops a candidate that does not go up at once; here it can go up later.

A linear model comes first, so that there is always a model; then random binning, the advice of the study of
maps and the config's own methods. Optuna's TPE draws exact methods for the first rung. Maps that approximate
the best of them are tried on the rungs above, the best of each kind behind a learnt metric, and finally steps
around the best candidate: more features, also on a third of the rows. Optuna's study keeps all that was
scored, so that the same command goes on.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import product
from math import inf
from pathlib import Path
from typing import Any

from kfeat.errors import ConfigError
from kfeat.experiments.plan import digest
from kfeat.files import writing
from kfeat.own.budget import Budget
from kfeat.own.candidates import (
    FIRST_SIZE,
    SIZE,
    STEP,
    Candidate,
    advised,
    at_first_size,
    binnings,
    larger_maps,
    linear_model,
    maps_of,
    neighbours,
    own_candidates,
    path_of,
    with_metric,
)
from kfeat.own.cost import like
from kfeat.own.counted import CountedBudget
from kfeat.own.draws import draw, drawn, first_entries
from kfeat.own.facts import DataFacts, parted
from kfeat.own.log import ScoreLog, row_of, score_key, scored_of, tested_key
from kfeat.own.result import ETA, Row, Scored, SearchResult, slack, winner
from kfeat.own.rungs import KINDS, Step, leaders, next_up, rungs
from kfeat.own.scorer_process import LocalScorer

MOST_OWN = 3  # of the config's own candidates
MOST = 200  # candidates of one search
LEAST = 1_500  # rows of the first candidate behind a learnt metric, or more
STALE = 15  # candidates in a row without a better one after which the search ends
GAIN = 0.04  # share of the slack that counts as better


class Search:
    """One search within a budget of seconds, or of `n_candidates`, whose study is kept at a path, if any."""

    def __init__(
        self, scorer: LocalScorer, path: Path | None, budget: float, seed: int,
        say: Callable[[Scored, Scored], None] | None = None, n_candidates: int | None = None,
    ) -> None:  # fmt: skip
        self._new_budget: Callable[[], Budget] = partial(Budget, budget)
        if n_candidates is not None:
            self._new_budget = partial(CountedBudget, n_candidates)
        self._scorer, self._path, self._seed, self._say = scorer, path, seed, say

    def run(
        self, kernels: Sequence[dict[str, Any]] = (), maps: Sequence[dict[str, Any]] = ()
    ) -> SearchResult:
        """Return what was found; raises ConfigError where the budget ends before one candidate is scored."""
        with writing(self._path) if self._path else nullcontext():
            return self._run(kernels, maps)

    def _run(self, kernels: Sequence[dict[str, Any]], maps: Sequence[dict[str, Any]]) -> SearchResult:
        budget = self._budget = self._new_budget()
        self._log = ScoreLog(self._path, self._seed, budget.limit)
        answer = self._scorer.ask("facts", budget.any_time)  # this starts the process too
        if answer is None or "failed" in answer:
            raise ConfigError(f"the data cannot be used: {answer['failed'] if answer else 'no answer'}")
        facts = self._facts = DataFacts(**answer)
        budget.begin(facts, self._log)
        own, linear = own_candidates(kernels, maps, facts, MOST_OWN), linear_model(facts)
        self._sizes = rungs(facts.n_train, facts.rarest)
        self._score(linear, self._sizes[0], end=budget.linear_end)
        self._candidates([*binnings(facts, linear.scale), *advised(facts, budget.limit), *own])
        best = budget.best()
        if best is None:
            reasons = {method.reason for method in self._log.scored()} or {
                "the budget ended; give a longer --budget"
            }
            raise ConfigError(f"no candidate could be scored: {'; '.join(sorted(reasons)[:3])}")
        self._compare(best, [linear, *own[:1]])
        return self._result(budget.best() or best, own)

    def _compare(self, best: Scored, candidates: Sequence[Candidate]) -> None:
        """Score candidates on as many rows as the best."""
        again, anew = self._budget.comparison_ends(best)
        for candidate in candidates:
            before = [
                method for method in self._log.scored() if method.candidate == candidate and not method.reason
            ]
            since = max(before, key=lambda method: method.n, default=None)
            if since and self._budget.repeats(since, best.n, again):
                self._score(candidate, best.n, since, again)
            elif not since and self._budget.begins(candidate, best.n):
                self._score(candidate, best.n, None, anew)

    def _result(self, best: Scored, own: Sequence[Candidate]) -> SearchResult:
        """Return the result, with the scores on the test rows for which there is time."""
        facts, budget, scored = self._facts, self._budget, self._log.scored()
        constant = (self._scorer.ask("constant", budget.any_time, n=best.n) or {}).get("score", -inf)
        good = [method for method in scored if not method.reason and facts.capped]
        rows = {method: n for method in good if (n := budget.rows_of(method) or method.n) < facts.n_train}
        kept = self._log.n_kept
        result = SearchResult(facts, scored, best, own, n_kept=kept, constant=constant, rows=rows)
        if not facts.n_test:
            return result
        tests = {method: self._test(method, rows.get(method)) for method in (best, result.linear) if method}
        boosting = self._kept(digest(["boosting", best.n])[:16], "boosting", n=best.n)
        others = [method for method in (result.quick, result.exact) if method and method not in tests]
        for method in others:
            if budget.trains(method, rows.get(method, facts.n_train)):
                tests[method] = self._test(method, rows.get(method))
        return replace(result, tests=tests, boosting=boosting)

    def _candidates(self, first: Sequence[Candidate]) -> None:
        """Score candidates until time is over or nothing gets better, first those that may go up a rung."""
        facts, sizes = self._facts, self._sizes
        n_first = min(len(first_entries(facts)) + len(first_entries(facts, "own")), MOST)
        budget, study = self._budget, self._log.study
        budget.begin_candidates()
        stale, new, top, turn = 0, drawn(study), -inf, True
        while budget.searches and stale < STALE:
            scored, best = self._log.scored(), budget.best()
            if best and best.score > top + GAIN * slack(facts.metric, best.score):
                top, stale = best.score, 0
            known = {method.candidate for method in scored}
            rows = {candidate: next((n for n in sizes if n >= candidate.D), sizes[-1]) for candidate in first}
            waiting = [candidate for candidate in first if candidate not in known]
            waiting = [candidate for candidate in waiting if budget.begins(candidate, rows[candidate])]
            begun = new >= n_first or budget.first_are_over
            quick = (
                next_up(scored, sizes, budget.fits, False)
                or self._best_up(scored)
                or self._next_metric(scored)
            )
            slow = next_up(scored, sizes, budget.fits, True) or self._next_map(scored)
            step = self._next_step(best, scored) if best and begun else None
            up = quick or (None if step and turn else slow)
            if begun and up:
                turn = True
                self._score(*up)
            elif waiting and new >= min(MOST, 1):  # after the first one; with a row for each landmark
                self._score(waiting[0], rows[waiting[0]])
            elif new >= MOST:
                return
            else:
                turn = False
                exact = next((method.candidate for method in scored if method.candidate.exact), None)
                draws = budget.begins(exact, sizes[0]) if exact else budget.begins_a_kind()
                if step and (new % 2 or slow or not draws):
                    self._score(*step)
                elif draws:
                    draw(study, facts, lambda candidate: self._score(candidate, sizes[0]))
                else:
                    return
                new, stale = new + 1, stale + (new >= n_first)

    def _best_up(self, scored: Sequence[Scored]) -> Step | None:
        """Return the best without a metric on more rows, as far as it can go: the metric comes after."""
        best = next(iter(best_of_kinds(scored)), None)
        if best is None or best.n < self._few or best.has_enough_rows:
            return None
        above = next((n for n in self._sizes if n > best.n), None)
        if above is None:
            return None
        tried = any((method.candidate, method.n) == (best.candidate, above) for method in scored)
        return None if tried or not self._budget.fits(best, above) else (best.candidate, above, best)

    @property
    def _few(self) -> int:
        """The rows of the first candidate behind a learnt metric."""
        return next((n for n in self._sizes if n >= LEAST), self._sizes[-1])

    def _next_metric(self, scored: Sequence[Scored]) -> Step | None:
        """Return the best of the two best kinds behind a learnt metric, on as many rows.

        The first metric is on few rows, since its time tells that of others. All follow the scaling of the
        best, so that a metric is learnt once.
        """
        facts, budget, few = self._facts, self._budget, self._few
        best = best_of_kinds(scored)[:2]
        if not best or best[0].n < few:
            return None
        best = [method for method in best if method.n >= best[0].n // ETA]
        behind = [with_metric(method.candidate, best[0].candidate.scale, facts) for method in best]
        metrics = [method for method in scored if parted(method.candidate.scale)[1]]
        if not metrics:
            small = [at_first_size(candidate) for candidate in behind[0]]
            return (small[0], few, None) if small and budget.begins(small[0], few) else None
        done = {(m.candidate.kind, parted(m.candidate.scale)[1], m.n) for m in metrics}
        for method, candidates in zip(best, behind, strict=True):
            for candidate in candidates:
                since = budget.behind_metric(method, candidate)
                new = (candidate.kind, parted(candidate.scale)[1], method.n) not in done
                if new and method.n >= few and budget.fits(since, method.n, method is best[0]):
                    return candidate, method.n, since
        return None

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
            for method, D in product(leaders(scored, n, "exact"), (SIZE, FIRST_SIZE)):
                for candidate in maps_of(method.candidate, self._facts, max(n, second), D):
                    if not any(begun.values()):
                        return maps_of(method.candidate, self._facts, second, FIRST_SIZE)[0], second, None
                    new = begun.get(_without_size(candidate), 0) < candidate.D / 2
                    if new and self._budget.begins(candidate, max(n, second)):
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
                if self._budget.fits(since, n):
                    return candidate, n, since
        return None

    def _score(
        self, candidate: Candidate, n: int, since: Scored | None = None, end: float | None = None
    ) -> Row | None:
        """Return the row of a candidate, scored now or in an earlier call; None without time."""
        key, budget = score_key(candidate, n), self._budget
        if (row := self._log.row(key)) is not None:
            budget.note(scored_of(row))
            return row
        values = path_of(candidate)
        if since is not None:
            values = [since.value]
            if budget.fits_path(since, candidate, n):
                values = [since.value / STEP, since.value, since.value * STEP]
        end = budget.search_end if end is None else end
        answer = budget.score(self._scorer.ask, end, candidate, n=n, values=values)
        if answer is None:
            return None  # the next call tries it again
        row = self._log.keep(key, row_of(candidate, n, len(values), answer))
        budget.note(scored_of(row))
        if self._say and (best := winner(self._log.scored())):
            self._say(scored_of(row), best)
        return row

    def _test(self, method: Scored, rows: int | None) -> Row:
        """Return a candidate's result on the test rows, trained on all training rows or on so many."""
        question = {"candidate": method.candidate, "value": method.value, "rows": rows}
        return self._kept(tested_key(method, rows), "test", **question)

    def _kept(self, key: str, method: str, **question: Any) -> Row:
        """Return an answer, perhaps of an earlier call; nothing without time."""
        row = self._log.row(key)
        if row is not None and "failed" not in row:
            return row
        answer = self._scorer.ask(method, self._budget.deadline, **question)
        return {} if answer is None else self._log.keep(key, answer)


def best_of_kinds(scored: Sequence[Scored]) -> list[Scored]:
    """Return the best candidate of each kind without a learnt metric, the best first."""
    kin = [[method for method in scored if method.candidate.kind == kind] for kind in KINDS]
    plain = [winner(method for method in kind if not parted(method.candidate.scale)[1]) for kind in kin]
    return sorted(filter(None, plain), key=lambda method: -method.score)


def _keeps_size_and_target(step: tuple[Scored, Candidate]) -> bool:
    before, after = step[0].candidate, step[1]
    return (before.D, before.target) == (after.D, after.target)


def _without_size(candidate: Candidate) -> str:
    return str((candidate.scale, candidate.kernel, (candidate.map or {}).get("name")))
