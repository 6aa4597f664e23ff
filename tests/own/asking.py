"""A bench asked in this process, and data with a planted answer."""

from math import inf

import numpy as np

from kfeat.own.bench import LocalScorer, Scorer


class Direct(LocalScorer):
    """Answers as `kfeat.own.bench.ScorerProcess` does, in this process; keeps the questions."""

    def __init__(self, threads=1, *, data, **bench):
        super().__init__(Scorer(data, threads=threads, **bench))
        self.questions: list[str] = []

    def ask(self, method, deadline, limit=inf, **question):
        self.questions.append(method)
        return super().ask(method, deadline, limit, **question)

    def end(self):
        """There is no process to end."""


def write_data(path, X, y):
    np.savez(path, X=X, y=y)
    return path


def config(folder, kernel, X, y, solver="{name: newton}"):
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
