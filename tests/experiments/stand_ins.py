"""Measures that stand in for a trial's work; a worker's process imports them from here."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import process_time, sleep
from typing import Any, ClassVar

import numpy as np

from kfeat.data import fingerprint
from kfeat.experiments.component import Component
from kfeat.experiments.config import load_experiment
from kfeat.experiments.plan import Trial, plan

SCORE = {"mean_square": 1.0, "columns": None}


class Quick:
    """Uses a tenth of a CPU second, or as many as asked, in the phase asked for; gives the score asked for.

    The phase `fails` ends in an error that nothing foresees; `before` is work before the first phase.
    """

    algorithm_version: ClassVar[int] = 1
    resource_parameters: ClassVar[frozenset[str]] = frozenset({"seconds", "phase", "score"})

    def __init__(self, seconds: float = 0.1, phase: str = "map_fit", score: float = 1.0) -> None:
        self.seconds = seconds
        self.phase = phase
        self.score = score

    def of(self, feature_map: Any, X: Any, clock: Any, seed: int) -> dict[str, Any]:
        if self.phase == "before":
            work(self.seconds)
        with clock("map_fit" if self.phase == "before" else self.phase):
            if self.phase != "before":
                work(self.seconds)
            if self.phase == "fails":
                raise RecursionError("out of luck")
        return {**SCORE, "mean_square": self.score}


def work(seconds: float) -> None:
    began = process_time()
    while process_time() - began < seconds:
        pass


class Pools:
    """Uses NumPy's and SciPy's linear algebra and says on how many threads each library works."""

    algorithm_version: ClassVar[int] = 1

    def of(self, feature_map: Any, X: Any, clock: Any, seed: int) -> dict[str, Any]:
        A = np.random.default_rng(0).normal(size=(1500, 1500))
        with clock("map_fit"):
            from scipy.linalg import cho_factor
            from threadpoolctl import threadpool_info

            cho_factor(A @ A.T + 1500 * np.eye(1500))
        return {**SCORE, "pools": [[pool["filepath"], pool["num_threads"]] for pool in threadpool_info()]}


class Waits:
    """Leaves a file named after its process in a folder, and works until there is a file `go`."""

    algorithm_version: ClassVar[int] = 1
    resource_parameters: ClassVar[frozenset[str]] = frozenset({"folder"})

    def __init__(self, folder: str = "") -> None:
        self.folder = folder

    def of(self, feature_map: Any, X: Any, clock: Any, seed: int) -> dict[str, Any]:
        folder = Path(self.folder)
        with clock("map_fit"):
            (folder / str(os.getpid())).touch()
            while not (folder / "go").exists():
                sleep(0.02)
        return SCORE


def stand_ins(write: Callable[..., Path], *measures: Any) -> list[Trial]:
    """Trials of the small experiment's first map with these measures."""
    experiment = load_experiment(write())
    trial = plan(experiment, {source: fingerprint(source) or "" for source in experiment.datasets})[0]
    return [
        replace(
            trial, solver=None, repeat=repeat, measure=Component("map_time", type(measure), {}, vars(measure))
        )
        for repeat, measure in enumerate(measures)
    ]
