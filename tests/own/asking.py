"""A bench asked in this process, and data with a planted answer."""

from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from kfeat.own.bench import LocalScorer, Scorer


class Direct(LocalScorer):
    """Answers as `kfeat.own.bench.ScorerProcess` does, in this process; keeps the questions."""

    def __init__(self, threads: int = 1, *, data: Any, **bench: Any) -> None:
        super().__init__(Scorer(data, threads=threads, **bench))
        self.questions: list[str] = []

    def ask(self, method: str, deadline: float, limit: float = inf, **question: Any) -> dict[str, Any] | None:
        self.questions.append(method)
        return super().ask(method, deadline, limit, **question)

    def end(self) -> None:
        """There is no process to end."""


def write_data(path: Path, X: Any, y: Any) -> Path:
    np.savez(path, X=X, y=y)
    return path


def config(folder: Path, kernel: str, X: Any, y: Any, solver: str = "{name: newton}") -> Path:
    """Write data and a config with this kernel."""
    data = write_data(folder / "data.npz", X, y)
    path = folder / "planted.yaml"
    path.write_text(
        f"title: Planted\ndataset: {{path: {data}}}\n"
        "protocol: {split: {kind: fraction, train: 0.8, seed: 0}}\n"
        f"kernel: {kernel}\nmaps:\n  - {{name: nystrom, n_components: 64}}\n"
        f"solvers: {{mapped: {solver}}}\n"
    )
    return path
