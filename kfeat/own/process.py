"""A child process that does the work of a search and can be ended at any time, so that the budget holds."""

import logging
import multiprocessing
import os
import warnings
from contextlib import suppress
from math import inf
from multiprocessing.connection import Connection
from time import monotonic
from typing import Any

from threadpoolctl import threadpool_limits

from kfeat.errors import KfeatError
from kfeat.experiments.worker import end_with_parent, interrupts_held_back, threads_capped

Answer = dict[str, Any]
READY: Answer = {"ready": True}  # what a process sends first, once its data are read


class InProcess:
    """Answers as `Assistant` does, from a bench in this process: a budget ends between candidates only."""

    def __init__(self, bench: Any) -> None:
        self.bench = bench

    def ask(self, method: str, deadline: float, limit: float = inf, **question: Any) -> Answer | None:
        """Return the answer of a method of the bench."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _answer(self.bench, method, question)


class Assistant(InProcess):
    """Calls methods of a `Bench` in a process, which is ended if a call does not return in time.

    The next call then starts another process, which loads the data again.
    """

    def __init__(self, threads: int, **bench: Any) -> None:
        self._threads, self._bench = threads, {**bench, "threads": threads}
        self._process: Any = None

    def ask(self, method: str, deadline: float, limit: float = inf, **question: Any) -> Answer | None:
        """Return the answer of a method of the bench; None if there is none before the deadline.

        The bench has `limit` seconds for it; the start of its process and the reading of data do not count.
        An answer with the key `failed` says why there is no number.
        """
        if monotonic() >= deadline:
            return None
        try:
            if self._process is None:
                self._start()
                begun = self._received(deadline - monotonic())
                if begun != READY:
                    self.end()
                    return begun
            self._connection.send((method, question))
            return self._received(min(deadline - monotonic(), limit))
        except (EOFError, OSError):
            self.end()
            return {"failed": "the process died, most likely because it ran out of memory"}

    def _received(self, seconds: float) -> Any:
        """Return what the process sends; None, and the process is ended, where it sends nothing in time."""
        if self._connection.poll(max(seconds, 0)):
            return self._connection.recv()
        self.end()
        return None

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, self._bench), daemon=True)
        with threads_capped(self._threads), interrupts_held_back():
            self._process.start()
        theirs.close()

    def end(self) -> None:
        """End the process, whatever it does."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._connection.close()
            self._process = None


def _serve(connection: Connection, bench: dict[str, Any]) -> None:
    from kfeat.own.bench import Bench

    end_with_parent()
    logging.basicConfig(level=logging.ERROR)
    warnings.simplefilter("ignore")
    with threadpool_limits(bench["threads"]), suppress(EOFError):
        try:
            at = Bench(**bench)
        except KfeatError as error:  # of data that cannot be loaded
            connection.send({"failed": str(error)})
            return
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # hides messages of C libraries
        connection.send(READY)
        while True:
            method, question = connection.recv()
            connection.send(_answer(at, method, question))


def _answer(bench: Any, method: str, question: Answer) -> Answer:
    """Return the answer of a method; an exception becomes an answer too, so that other candidates go on."""
    try:
        answer = getattr(bench, method)(**question)
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {error}"}
    return dict(answer if isinstance(answer, dict) else vars(answer))
