"""Scorers with a clock of their own, and the seconds and scores that they tell."""

from dataclasses import replace
from math import inf

from kfeat.own import budget as module
from kfeat.own.cost import path_time
from kfeat.own.result import Scored
from tests.own.asking import FACTS


class Simulated:
    """A clock, and a scorer that takes seconds of it by rows and features, times the load of the machine.

    More rows and more features score better. Only a process can be ended in time.
    """

    def __init__(self, monkeypatch, load, process, n_train=40_000):
        self.now, self.load, self.process, self.n_train, self.longest = 0.0, load, process, n_train, 0.0
        self.asked, self.most, self.ended, self.capped = [], inf, False, True
        monkeypatch.setattr(module, "monotonic", lambda: self.now)

    def training(self, candidate, n):
        return self.load * (n**2 / 2e7 if candidate.exact else n * max(candidate.D, 50) ** 2 / 4e10)

    def ask(self, method, deadline, limit=inf, *, candidate=None, n=0, values=(), value=0.0, rows=None):
        if len(self.asked) == self.most:
            raise KeyboardInterrupt
        self.asked.append((method, candidate, rows if method == "test" else n))
        if self.ended:  # a new process starts
            self.now, self.ended = self.now + self.load, False
        if method == "facts":
            self.now += self.load
            sizes = {"n_train": self.n_train, "n_test": 100 * self.process}
            return vars(replace(FACTS, **sizes, capped=self.capped))
        folds = 1 if n > 30_000 else 3
        seconds = self.load * (0.5 if method == "boosting" else 0.02)
        if method == "score":
            seconds = folds * len(values) * self.training(candidate, 2 * n / 3)
        if method == "test":
            seconds = self.training(candidate, rows or self.n_train) + self.load * bool(rows)  # to read them
        most = min(deadline - self.now, limit) if self.process else inf
        self.now += min(seconds, most)
        if method == "score":
            self.longest = max(self.longest, min(seconds, most))
        if seconds > most:
            self.ended = True
            return None
        score = 0.8 - 2 / (n + 1) ** 0.5
        if candidate and not candidate.exact:
            score -= 10 / max(candidate.D, 50)
        scores = {"score": score, "sd": 0.0, "value": 1.0, "folds": [score] * folds, "seconds": seconds}
        return scores | ({"train": seconds, "predict": 0.1} if method == "test" else {})


class Answers:
    """A scorer that answers at once, with the scores and the seconds of one value that functions give.

    The clock stands still, so that all times are those that it tells.
    """

    def __init__(self, monkeypatch, score, seconds, **facts):
        self.facts, self.score, self.seconds = replace(FACTS, **facts), score, seconds
        monkeypatch.setattr(module, "monotonic", lambda: 0.0)

    def ask(self, method, deadline, limit=inf, *, candidate=None, n=0, values=(), **question):
        if method == "facts":
            return vars(self.facts)
        if candidate is None:
            return {"score": 0.1}
        n = n or self.facts.n_train
        seconds = self.seconds(candidate, n) * path_time(candidate, len(values))
        if seconds == inf:
            return None
        scores = {"score": self.score(candidate, n), "sd": 0.0, "value": 1.0, "seconds": seconds}
        return scores | {"train": seconds, "predict": 0.1}


BUDGET = 60.0
LEFT = BUDGET - module.CLOSING  # for the training of the best, once all is scored


def one_second(candidate, n):
    """A candidate that takes a second for a value of C or alpha on so many rows."""
    return Scored(candidate, n, 0.5, 0.0, 1.0, 1.0)
