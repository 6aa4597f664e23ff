"""Rows that are complete, made without running a trial, and what measures say."""

from contextlib import nullcontext

from kfeat.experiments.clock import environment
from kfeat.experiments.row import SCHEMA


def row(identity, status="done", **more):
    """A row of an exact machine; what its status asks for can be replaced."""
    header = {
        "schema": SCHEMA,
        "id": identity,
        "cell": "c",
        "status": status,
        "dataset": "digits",
        "source": None,
        "fingerprint": "f",
        "protocol": {},
        "kernel": {"name": "linear", "version": 1},
        "map": None,
        "solver": {"name": "libsvm", "version": 1},
        "repeat": 0,
        "seed": 0,
        "seeds": {"data": 0, "map": 0, "solver": 0},
        "environment": environment(),
    }
    if status == "failed":
        return {**header, "reason": "no reason", **more}
    ended = {"threads": 1, "timed": True}
    if status == "stopped":
        return {**header, **ended, "reason": "too long", "limit_s": 60.0, **more}
    sizes = {"verified": True, "n_train": 30, "n_test": 20, "n_features": 64}
    score = {"accuracy": 0.5, "predictions": "p"}
    phases = {phase: {"cpu": 0.5, "wall": 0.5} for phase in ("train", "predict")}
    return {
        **header,
        **ended,
        **sizes,
        **score,
        "columns": None,
        "learnt": {},
        "seconds": phases,
        "peak_memory_mb": None,
        **more,
    }


def measured(measure, feature_map, X):
    """What a measure says of a map on rows."""
    return measure.of(feature_map, X, lambda phase: nullcontext(), 0)
