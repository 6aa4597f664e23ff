"""The survey as tables: a line per trial, and a line per cell with what its trials have in common.

A cell is a data set, a kernel and a method: a map with its variant and number of columns D, or the exact
method. Its columns are those of `CELL`. Scores are in points: accuracies in per cent, or 100 R^2.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import pandas as pd

from kfeat.experiments.row import Row, counts_as_timed

EXACT = "exact"
CELL = ["dataset", "kernel", "map", "variant", "n_components"]
METHOD = ["kernel", "map", "variant"]
VARIANTS = ("sequence", "landmarks", "h01")  # the parameters that tell the methods of one map apart
MAPPING = ("map_fit", "map_train")


def trials(rows: Iterable[Row]) -> pd.DataFrame:
    """Return a line per finished trial: its cell, sizes, score or kernel error, seconds and peak memory.

    `seconds` are the CPU seconds of mapping and training, `map_seconds` those of mapping the training rows
    alone, with the map's fit. They are missing for trials that measure the kernel's error, and if the machine
    was busy.
    """
    return pd.DataFrame([_line(row) for row in rows if row["status"] == "done"])


def _line(row: Row) -> dict[str, Any]:
    kernel, feature_map, phases = row["kernel"], row["map"] or {}, row["seconds"]
    measured = "kernel_error" in row
    timed = counts_as_timed(row) and not measured
    score = row.get("accuracy", row.get("r2"))
    return {
        "dataset": row["dataset"],
        "kernel": kernel["name"] + (f" {kernel['degree']}" if "degree" in kernel else ""),
        "map": feature_map.get("name", EXACT),
        "variant": _variant(feature_map),
        "n_components": feature_map.get("n_components", 0),
        "repeat": row["repeat"],
        "task": "classification" if "accuracy" in row else "regression" if "r2" in row else "",
        "n": row["n_train"],
        "d": row["n_features"],
        "score": None if score is None else 100 * score,
        "kernel_error": row["kernel_error"]["relative_frobenius"]["value"] if measured else None,
        "map_seconds": sum(phases[name]["cpu"] for name in MAPPING) if timed and row["map"] else None,
        "seconds": sum(phases[name]["cpu"] for name in (*MAPPING, "train") if name in phases)
        if timed
        else None,
        "memory_mb": row["peak_memory_mb"],
        "id": row["id"],
    }


def _variant(feature_map: Mapping[str, Any]) -> str:
    given = {name: feature_map[name] for name in VARIANTS if name in feature_map}
    return " ".join("h01" if value is True else value for value in given.values() if value)


def cells(lines: pd.DataFrame) -> pd.DataFrame:
    """Return a line per cell: mean and spread of the score, kernel error, seconds and memory."""
    scored, measured = lines[lines["score"].notna()], lines[lines["kernel_error"].notna()]
    found = scored.groupby(CELL, sort=False).agg(
        task=("task", "first"), n=("n", "first"), d=("d", "first"), runs=("score", "size"),
        score=("score", "mean"), sd=("score", "std"), map_seconds=("map_seconds", "mean"),
        seconds=("seconds", "mean"), memory_mb=("memory_mb", "max"),
    )  # fmt: skip
    errors = measured.groupby(CELL, sort=False).agg(kernel_error=("kernel_error", "mean"))
    return found.join(errors, how="outer").reset_index()


@cache
def published() -> pd.DataFrame:
    """Return the cells of the published survey, which come with kfeat."""
    return _shipped("cells").fillna({"variant": ""})


@cache
def described() -> pd.DataFrame:
    """Return the traits of each data set of the published survey, by its name (see `Traits`)."""
    return _shipped("datasets").set_index("dataset")


@cache
def regret() -> pd.DataFrame:
    """Return the published regrets of the advice and of the rules of thumb (see `regrets`)."""
    return _shipped("regret")


def _shipped(name: str) -> pd.DataFrame:
    with (files("kfeat.survey") / f"{name}.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file)
