"""Running one trial: data, map, solver -> one row of numbers.

The clock times learning a metric, fitting the map, mapping the training rows, training, mapping the test rows
and predicting: wall and CPU seconds of each, CPU seconds summed over threads.
"""

import hashlib
import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from math import isfinite
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from kfeat.batches import ArrayBatches, MappedBatches, stored
from kfeat.data import Access, Dataset
from kfeat.data.cache import cache_folder
from kfeat.data.loading import load_under
from kfeat.errors import DataError, SolverError, StoreError
from kfeat.experiments.clock import Clock, Phase, environment, peak_memory_mb, reset_peak_memory, silent
from kfeat.experiments.component import Component
from kfeat.experiments.plan import Trial
from kfeat.experiments.row import SCHEMA, Row, check_row
from kfeat.kernels.distances import MAX_ROWS
from kfeat.memory import check_memory
from kfeat.solvers.base import Solver, weight_options
from kfeat.solvers.class_weights import with_codes
from kfeat.weights import by_weight

log = logging.getLogger(__name__)

WARM_UP = 1.0  # CPU seconds that a warm-up may take beyond the time limit of a trial
WARM_UP_ROWS = 300
_warm: set[str] = set()  # the cells of which this process has run a trial


def run_trial(
    trial: Trial,
    *,
    threads: int,
    alone: bool,
    access: Access,
    announce: Callable[[Phase | None], None] = silent,
) -> Row:
    """Return the row of `trial`; its status is `failed` if its work fails or its score is not finite.

    `alone` says that no other trial runs at the same time. The row is `timed` if, in addition, the rest of
    the machine was idle and the cap on threads held. Bad data raise DataError, since all rows would be wrong;
    but with random splits only this row fails, since the next split may be good. Code by its place that
    cannot be imported raises ConfigError: another machine may have it.
    """
    for item in (trial.own_kernel, *trial.components.values()):
        if item and item.place:
            item.place.load()
    clock = Clock(threads, announce)
    try:
        data = load_data(trial, access, clock("metric"))
    except DataError as error:
        if not trial.protocol.random:
            raise
        trial.source.load(access)  # raises if the data themselves are bad
        return header(trial) | failure(error)
    _refuse_other_data(trial, data)
    row = {
        **header(trial),
        "verified": data.verified,
        "n_train": data.X_train.shape[0],
        "n_test": data.X_test.shape[0],
        "n_features": data.X_train.shape[1],
        "threads": threads,
        **({} if trial.memory == "in_core" else {"memory": trial.memory}),
    }
    if alone and trial.cell not in _warm:
        _warm.add(trial.cell)
        announce(Phase("train" if trial.map is None else "map_fit", -WARM_UP, process_time()))
        _warm_up(trial, data, threads)
        announce(None)
    reset_peak_memory()
    try:
        result = _work(trial, data, clock, threads)
    except Exception as error:
        result = failure(error)
    row |= result | {
        "seconds": clock.seconds,
        "timed": alone and clock.counts(),
        "peak_memory_mb": peak_memory_mb(),
    }
    try:
        check_row(row)
    except StoreError as error:
        return header(trial) | {"status": "failed", "reason": f"the result is not valid: {error}"}
    return row


def _refuse_other_data(trial: Trial, data: Dataset) -> None:
    """Raise DataError if the data are not those with which the trial was planned."""
    if data.fingerprint != trial.fingerprint:
        raise DataError(
            f"{data.name} differs from the data with which this run began: expected the fingerprint "
            f"{trial.fingerprint}, got {data.fingerprint}; if the data changed, run the command again; "
            "if this is another machine, copy the data there"
        )


def _warm_up(trial: Trial, data: Dataset, threads: int) -> None:
    """Map, train on and predict a few rows, before the first trial of a cell in this process is timed.

    The first calls import modules and start threads, and the first features of a size are written to memory
    that the system has yet to provide: on a virtual machine the first 200 MB took 0.39 s to fill, the next
    ones 0.03 s. The trial itself meets an error again.
    """
    n = data.X_train.shape[0]
    try:
        classes = np.unique(data.y_train, return_index=True)[1][:WARM_UP_ROWS]  # a row of each
        rows = np.union1d(classes, np.linspace(0, n - 1, WARM_UP_ROWS).astype(int))
        few = replace(data, X_train=data.X_train[rows], y_train=data.y_train[rows])
        X, y = few.X_train, few.y_train
        with warnings.catch_warnings(action="ignore"):
            _, feature_map, solver = estimators(trial, few, threads)
            if feature_map is not None:
                X = feature_map.fit(X, y).transform(X)
                if trial.memory == "in_core":
                    needed = _feature_bytes(X, n, getattr(solver, "working_bytes", Solver.working_bytes))
                    check_memory("the warm-up", needed, "take fewer features")
                    np.ones(needed, np.uint8)
            if solver is not None:
                with_codes(solver, data.label_names).fit(X, y).predict(X)
    except Exception as error:
        log.debug("the warm-up failed", exc_info=error)


def _feature_bytes(Z: Any, n: int, own: Callable[[int, int, int], float]) -> int:
    """Return the bytes of n rows of features such as Z, and of a solver's `own`; of CSR, by its non-zeros."""
    D = Z.shape[1]
    if not issparse(Z):
        return int(n * D * Z.dtype.itemsize + own(n, D, 1))
    in_row = -(-Z.nnz // Z.shape[0])
    return int(n * in_row * (Z.dtype.itemsize + Z.indices.itemsize) + 8 * D + own(n, in_row, 1))


def failure(error: BaseException) -> dict[str, Any]:
    """Return the fields of a row for an error that ended its trial; the log has the traceback."""
    log.debug("a trial failed", exc_info=error)
    return {"status": "failed", "reason": f"{type(error).__name__}: {error}"}


def header(trial: Trial) -> dict[str, Any]:
    """Return the fields of a row that are known before anything is computed."""
    return {
        "schema": SCHEMA,
        "id": trial.id,
        "cell": trial.cell,
        "status": "done",
        "dataset": trial.source.name,
        "source": trial.source.description,
        "fingerprint": trial.fingerprint,
        "protocol": {
            "version": trial.protocol.algorithm_version,
            **trial.protocol.model_dump(mode="json"),
        },
        "kernel": trial.own_kernel and trial.own_kernel.description(),
        **{part: item and item.description() for part, item in trial.components.items()},
        "repeat": trial.repeat,
        "seed": trial.seed,
        "seeds": trial.seeds,
        "environment": environment(),
    }


def load_data(trial: Trial, access: Access, timed: AbstractContextManager[None] | None = None) -> Dataset:
    """Return the data of a trial, split and scaled; out of core, its dense rows are on the disk.

    A learnt metric is learnt within `timed`.
    """
    on_disk = trial.memory == "out_of_core"
    return load_under(trial.source, trial.protocol, access, trial.seeds["data"], on_disk=on_disk, timed=timed)


def estimators(trial: Trial, data: Dataset, n_jobs: int | None = None) -> tuple[Any, Any, Any]:
    """Return the kernel of a trial, its bandwidths learnt from the training rows; its map and its solver.

    Where the trial has no kernel, map or solver, that is None. Raises SolverError if the solver is for
    another task.
    """
    own = trial.own_kernel
    rows = by_weight(data.X_train, data.weights, MAX_ROWS)
    kernel = own and own.build().resolve(rows, trial.seeds["data"])
    feature_map = trial.map and trial.map.build(kernel=kernel, random_state=trial.seeds["map"], n_jobs=n_jobs)
    if trial.solver is None:
        return kernel, feature_map, None
    solver = trial.solver.build(kernel=kernel, random_state=trial.seeds["solver"])
    if solver.task != data.task:
        raise SolverError(f"{trial.solver.name} is for {solver.task}, the data for {data.task}")
    return kernel, feature_map, solver


def features(
    trial: Trial, feature_map: Any, X: Any, timed: AbstractContextManager[None],
    observe: Callable[[Any], None] | None = None,
) -> Any:  # fmt: skip
    """Return the features of X under a fitted map, in the form that the solver of the trial takes.

    In core that is an array. Out of core, the features need not fit into memory. A solver that passes over
    them once gets batches that are mapped while it trains or predicts, outside `timed`. Other solvers get the
    features from a temporary file in the cache. Reading 100,000 x 500 random Fourier features back took a
    sixth of the time of mapping them again (from the page cache), or the same time (from a disk of 1 GB/s).
    `observe` is called with all features, perhaps in blocks.
    """
    assert trial.solver is not None
    if trial.memory == "in_core":
        with timed:
            Z = feature_map.transform(X)
        if observe is not None:
            observe(Z)
        return Z
    batches, how = MappedBatches(feature_map, X, observe=observe), trial.solver.cls.out_of_core
    if how == "one pass":
        return batches
    with timed:
        Z = stored(batches, cache_folder())
    return ArrayBatches(Z) if how == "passes" else Z


def _work(trial: Trial, data: Dataset, clock: Clock, threads: int) -> dict[str, Any]:
    """Fit the map and train the solver; return the scores on the test rows, and how it ended."""
    from sklearn import config_context

    from kfeat.diagnostics import ColumnCounter

    kernel, feature_map, solver = estimators(trial, data, threads)
    if trial.measure is not None:
        measured = trial.measure.build().of(feature_map, data.X_train, clock, trial.seeds["data"])
        # Some measures fit clones of the map only.
        fitted = feature_map if hasattr(feature_map, "kernel_") else None
        return {**measured, "learnt": _learnt(trial, kernel, data, map=fitted)}
    train, test, columns = data.X_train, data.X_test, ColumnCounter()
    if feature_map is not None:
        if getattr(feature_map, "sparse_output", False):
            with clock("map_train"):
                train = feature_map.fit_transform(train, data.y_train)  # one pass, where two calls take two
            columns.see(train)
        else:
            # Rows on disk are not checked for finite values here, since mapping checks them.
            with clock("map_fit"), config_context(assume_finite=trial.memory == "out_of_core"):
                feature_map.fit(train, data.y_train)
            train = features(trial, feature_map, train, clock("map_train"), columns.see)
        test = features(trial, feature_map, test, clock("map_test"))
    solver = with_codes(solver, data.label_names)
    with clock("train"):
        solver.fit(train, data.y_train, **weight_options(solver, data.weights))
    with clock("predict"):
        predicted = solver.predict(test)
    return {
        **_scores(data, predicted),
        "columns": None if feature_map is None else columns.counts()._asdict(),
        **(_sparse(feature_map, train, test) if feature_map is not None and issparse(train) else {}),
        "learnt": _learnt(trial, kernel, data, solver=solver, map=feature_map),
        "solve": _solve(solver),
    }


def _sparse(feature_map: Any, train: Any, test: Any) -> dict[str, Any]:
    """Return the size of CSR features, and the share of test entries without a column if the map knows it."""
    unseen = {"unseen": feature_map.unseen(test)} if hasattr(feature_map, "unseen") else {}
    return {"sparse": {"columns": train.shape[1], "nonzeros": train.nnz / train.shape[0], **unseen}}


def _learnt(trial: Trial, kernel: Any, data: Dataset, **fitted: Any) -> dict[str, dict[str, float]]:
    """Return by part the values of parameters that the data or a library determined.

    `fitted` has the map and the solver, by part; None for one that is missing.
    """
    values = {"kernel": dict(_bandwidths(trial.kernel, kernel)) if kernel is not None else {}}
    if data.preparation is not None:
        names = [] if data.coding is None else data.coding.names
        values["protocol"] = data.preparation.learnt_parameters(names)
    for part, estimator in fitted.items():
        if hasattr(estimator, "learnt_parameters"):  # a class by its place need not have it
            values[part] = estimator.learnt_parameters()
    return {part: numbers for part, numbers in values.items() if numbers}


def _bandwidths(component: Component, kernel: Any, place: str = "") -> Iterator[tuple[str, float]]:
    """Yield each parameter that is given by a rule and its value on the data, also of inner kernels."""
    if component.place is not None:
        return
    for name, value in sorted(component.parameters.items()):
        resolved = getattr(kernel, name)
        if isinstance(value, str):
            yield f"{place}{name}", float(resolved)
        elif isinstance(value, Component):
            yield from _bandwidths(value, resolved, f"{place}{name}.")
        elif isinstance(value, list):
            for i, (item, kernel_item) in enumerate(zip(value, resolved, strict=True)):
                if isinstance(item, Component):
                    yield from _bandwidths(item, kernel_item, f"{place}{name}.{i}.")


def _scores(data: Dataset, predicted: NDArray[Any]) -> dict[str, Any]:
    """Return the accuracy, or the errors of a regression, and a hash of the predictions."""
    from kfeat.solvers import regression_errors

    scores: dict[str, Any] = {"predictions": hashlib.sha256(predicted.tobytes()).hexdigest()[:16]}
    if data.task == "classification":
        scores["accuracy"] = float(np.average(predicted == data.y_test, weights=data.weights_test))
    else:
        if not np.isfinite(predicted).all():
            raise SolverError("the predictions are not finite")
        scores |= regression_errors(data.y_test, predicted, data.weights_test)
    return scores


def _solve(solver: Any) -> dict[str, Any]:
    names = ("finished_by", "n_iter", "objective", "converged", "stop_reason", "n_support", "cache_mb")
    report = {name: np.asarray(getattr(solver, f"{name}_", None)).tolist() for name in names}
    # JSON has no infinity: an objective that overflowed is left out.
    return {
        name: value
        for name, value in report.items()
        if value is not None and not (isinstance(value, float) and not isfinite(value))
    }
