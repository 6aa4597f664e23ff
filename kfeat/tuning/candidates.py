"""The candidates of a search: kernel, map, D and loss, drawn in an order that a seed fixes."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from kfeat.experiments.component import read_component
from kfeat.experiments.plan import digest
from kfeat.maps import maps_for

Entry = dict[str, Any]
Loss = Literal["squared_hinge", "logistic", "squares"]
GOLDEN = 0.6180339887498949  # of steps that cover an interval evenly, however many there are
# Around the median heuristic's gamma: Gaussian bandwidths from 10 times to a hundredth of it; with many
# columns to a tenth, below which hardly a row is near another.
DECADES_BELOW, DECADES_ABOVE, DECADES_ABOVE_MANY = 2.0, 4.0, 2.0
MANY_COLUMNS = 10
DEGREES = (1, 2, 3, 4)
SIZES = (64, 128, 256, 512, 1024)  # of D
MAPS = {
    "gaussian": ("orf", "random_fourier", "nystrom"),
    "laplacian": ("random_fourier", "nystrom"),
    "polynomial": ("tensor_sketch", "nystrom"),
}
FIRST_NEAR = 9  # candidates before others are drawn near the best of them


@dataclass(frozen=True)
class Candidate:
    """A kernel and a map as a config's entries, and the loss of the linear machine on the features.

    `own` says that the config itself has this kernel and this map.
    """

    kernel: Entry
    map: Entry
    loss: Loss
    own: bool = False

    @property
    def key(self) -> str:
        """The identity of what is computed."""
        return digest({name: value for name, value in asdict(self).items() if name != "own"})[:16]


@dataclass(frozen=True)
class Facts:
    """What the draws depend on: sizes of the data, the median heuristic's gamma, the mean of ||x||^2."""

    task: Literal["classification", "regression"]
    n_train: int
    n_test: int
    n_features: int
    sparse: bool
    gamma: float
    laplacian_gamma: float
    square: float
    rarest: int  # training rows of the rarest class; of a regression all


def solver_of(loss: str, value: float, options: Entry) -> Entry:
    """Return the solver of a candidate as a config's entry; with the `options` of the config's own."""
    if loss == "squares":
        return {"name": "ridge", "alpha": value, **options}
    return {"name": "newton", **({"loss": loss} if loss == "logistic" else {}), "C": value, **options}


def drawn(i: int, facts: Facts, seed: int, smallest: int, best: Candidate | None = None) -> Candidate:
    """Return the i-th candidate; `smallest` is the number of rows of the first rung, which caps landmarks.

    From the tenth on, every second one is drawn near the `best` so far.
    """
    rng = np.random.default_rng([seed, i])
    if best is not None and i >= FIRST_NEAR and i % 2 and best.kernel["name"] in MAPS:
        kernel = _near(best.kernel, rng)
    else:
        kernel = _far(i, facts, seed)
    name = str(rng.choice([one for one in MAPS[kernel["name"]] if one != "orf" or facts.n_features > 1]))
    most = min(smallest, facts.n_train) if name == "nystrom" else facts.n_train
    size = int(rng.choice([one for one in SIZES if one <= most] or [max(most // 2, 1)]))
    feature_map: Entry = {"name": name, "n_components": size}
    loss: Loss = "squares" if facts.task == "regression" else _loss(rng)
    return Candidate(kernel, feature_map, loss)


def own_candidates(kernels: Sequence[Entry], maps: Sequence[Entry], loss: Loss, most: int) -> list[Candidate]:
    """Return the config's own candidates, `most` of them: each kernel with each map that supports it."""
    found = []
    for kernel in kernels:
        suited = maps_for(read_component(kernel, "kernel").build())
        found += [Candidate(kernel, one, loss, own=True) for one in maps if one["name"] in suited]
    return found[:most]


def _loss(rng: np.random.Generator) -> Loss:
    return "logistic" if rng.random() < 0.25 else "squared_hinge"


def _far(i: int, facts: Facts, seed: int) -> Entry:
    """Return a kernel: of five two Gaussians, two polynomials, one Laplacian (a third Gaussian if sparse)."""
    kind = ("gaussian", "polynomial", "gaussian", "polynomial", "laplacian")[i % 5]
    if kind == "laplacian" and facts.sparse:
        kind = "gaussian"
    if kind == "polynomial":
        degree = DEGREES[(i // 5 * 2 + i % 5 // 3 + 1) % len(DEGREES)]
        return {"name": kind, "degree": degree, "gamma": _rounded(1 / facts.square), "coef0": 1}
    few = kind == "gaussian" and facts.n_features <= MANY_COLUMNS
    high = DECADES_ABOVE if few else DECADES_ABOVE_MANY
    at = (seed * GOLDEN**2 + 0.4 + i * GOLDEN) % 1
    middle = facts.gamma if kind == "gaussian" else facts.laplacian_gamma
    return {"name": kind, "gamma": _rounded(middle * 10 ** (at * (DECADES_BELOW + high) - DECADES_BELOW))}


def _near(kernel: Entry, rng: np.random.Generator) -> Entry:
    """Return the kernel with a parameter moved: gamma by a factor of up to 5, a degree by one at most."""
    moved = {**kernel}
    if kernel["name"] == "polynomial":
        moved["degree"] = int(np.clip(kernel["degree"] + rng.integers(-1, 2), 1, 6))
    if isinstance(moved.get("gamma"), float):
        moved["gamma"] = _rounded(moved["gamma"] * 5 ** rng.uniform(-1, 1))
    return moved


def _rounded(value: float) -> float:
    """Return three digits of a number: what a config says is what was tried."""
    return float(f"{value:.3g}")
