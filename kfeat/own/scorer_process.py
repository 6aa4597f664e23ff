"""Questions to a scorer, in this process or in one that can be ended at a deadline."""

import os
import warnings
from collections.abc import Callable
from math import inf
from multiprocessing.connection import Connection
from time import monotonic
from typing import Any

from kfeat.child import Child
from kfeat.errors import KfeatError
from kfeat.own.scorer import Scorer

Answer = dict[str, Any]
READY: Answer = {"ready": True}  # what a process sends first, once its data are read


class LocalScorer:
    """Answers as `ScorerProcess` does, in this process: a budget ends between candidates only."""

    def __init__(self, scorer: Any) -> None:
        self.scorer = scorer

    def ask(self, method: str, deadline: float, limit: float = inf, **question: Any) -> Answer | None:
        """Return the answer of a method of the scorer."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _answer(self.scorer, method, question)


class ScorerProcess(LocalScorer):
    """Calls methods of a `Scorer` in a process, which is ended if a call does not return in time.

    The next call then starts another process, which loads the data again.
    """

    def __init__(self, threads: int, **arguments: Any) -> None:
        self._threads, self._arguments = threads, {**arguments, "threads": threads}
        self._child: Child | None = None

    def ask(self, method: str, deadline: float, limit: float = inf, **question: Any) -> Answer | None:
        """Return the answer of a method of the scorer; None if there is none before the deadline.

        The scorer has `limit` seconds for it; the start of its process and the reading of data do not count.
        An answer with the key `failed` says why there is no number.
        """
        if monotonic() >= deadline:
            return None
        starts = self._child is None
        child = self._child = self._child or Child(_prepare, self._arguments, threads=self._threads)
        try:
            answer = child.receive(deadline - monotonic()) if starts else READY
            if answer == READY:
                child.send((method, question))
                answer = child.receive(min(deadline - monotonic(), limit))
                if answer is not None:
                    return dict(answer)
        except EOFError:
            answer = {"failed": child.ended()[1]}
        self.end()  # it is too late, has no data, or died
        return answer

    def end(self) -> None:
        """End the process, whatever it does."""
        if self._child is not None:
            self._child.kill()
            self._child = None


def _prepare(connection: Connection, arguments: dict[str, Any]) -> Callable[[tuple[str, Answer]], None]:
    """Return what the process does with a question, once it has read the data and said so."""
    try:
        scorer = Scorer(**arguments)
    except KfeatError as error:  # of data that cannot be loaded
        connection.send({"failed": str(error)})
        raise SystemExit from None
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # hides messages of C libraries
    connection.send(READY)
    return lambda asked: connection.send(_answer(scorer, *asked))


def _answer(scorer: Any, method: str, question: Answer) -> Answer:
    """Return the answer of a method; an exception becomes an answer too, so that other candidates go on."""
    try:
        with scorer.threads_for(question.get("n") or question.get("rows")):
            answer = getattr(scorer, method)(**question)
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {error}"}
    return dict(answer if isinstance(answer, dict) else vars(answer))
