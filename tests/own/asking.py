"""A scorer asked in this process, and data with a planted answer."""

from math import inf

import numpy as np
import pandas as pd

from kfeat.experiments.config import load_experiment
from kfeat.own.candidates import Candidate, boosting_model
from kfeat.own.facts import DataFacts
from kfeat.own.result import Scored
from kfeat.own.scorer import Scorer
from kfeat.own.scorer_process import LocalScorer
from kfeat.own.tune import setup_of


class Direct(LocalScorer):
    """Answers as `kfeat.own.scorer_process.ScorerProcess` does, in this process; keeps the questions."""

    def __init__(self, threads=1, *, data, **arguments):
        super().__init__(Scorer(data, threads=threads, **arguments))
        self.questions: list[str] = []

    def ask(self, method, deadline, limit=inf, **question):
        self.questions.append(method)
        return super().ask(method, deadline, limit, **question)

    def end(self):
        """There is no process to end."""


def few_trees(task, class_weight, seed):
    """Return boosting that is trained in a tenth of the time."""
    return boosting_model(task, class_weight, seed).set_params(solver__max_iter=10)


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


def churn(n=2500, seed=3):
    """Customers of whom 4 % leave, by numbers, words and gaps; and which of them leave."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n).astype(float),
            "months": rng.exponential(30, n).round(1),
            "calls": rng.poisson(2.0, n),
            "plan": rng.choice(["basic", "family", "firm"], n, p=[0.6, 0.3, 0.1]),
            "region": rng.choice([f"r{k}" for k in range(8)], n),
            "bill": rng.lognormal(3, 0.5, n).round(2),
        }
    )
    calls, young = frame["calls"].to_numpy(), ((frame["age"] - 35) ** 2 < 80).to_numpy()
    odds = 0.9 * calls + 2.0 * young - 0.03 * frame["months"] + 1.0 * (frame["plan"] == "firm")
    odds += rng.logistic(size=n) * 0.8
    leaves = odds > np.quantile(odds, 0.96)
    frame.loc[::17, "age"] = np.nan
    return frame, np.where(leaves, "yes", "no")


def product(n=240):
    """The sign of x_1 x_2, which no linear function of x tells."""
    X = np.random.default_rng(7).uniform(-1, 1, (n, 6))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


def small(folder):
    return setup_of(load_experiment(config(folder, "{name: linear}", *product(120))), 0)


FACTS = DataFacts(
    "classification", 30_000, 100, 20, 9_000,
    {"own": {"gaussian": 0.1, "polynomial": 0.1}, "zscore": {"gaussian": 0.05, "polynomial": 0.05}},
)  # fmt: skip


def scored(n, score, gamma, exact=True):
    feature_map = None if exact else {"name": "orf", "n_components": 64}
    kernel = {"name": "gaussian", "gamma": gamma}
    return Scored(Candidate("own", kernel, feature_map, "squared_hinge"), n, score, 0.01, 1.0, 0.1)
