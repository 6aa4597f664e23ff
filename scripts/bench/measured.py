"""One part of the benchmarks, in the process that it is given."""

from importlib import import_module
from time import perf_counter

from threadpoolctl import threadpool_limits

from scripts.bench.report import Record, record


def measured(part: str, threads: tuple[int, ...]) -> Record:
    """Return the rows of one part at each number of threads, or at those that it knows only."""
    module = import_module(f"scripts.bench.{part}")
    start, rows = perf_counter(), []
    for count in getattr(module, "THREADS", threads):
        with threadpool_limits(count):
            rows += [{"threads": count, **row} for row in module.run(count)]
    return record(module.__doc__ or "", rows, perf_counter() - start)
