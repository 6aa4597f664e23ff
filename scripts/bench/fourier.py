"""Structured Fourier features beside scikit-learn's RBFSampler, and what the weights of frequencies cost."""

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
from sklearn.kernel_approximation import RBFSampler

from kfeat.kernels import Gaussian
from kfeat.maps import MAPS, FeatureMap
from scripts.bench.harness import side_by_side
from scripts.bench.maps import Row, beside, shaped

TARGETS = {
    1_024: 2.0,
    4_096: 3.0,
}  # speed-up over RBFSampler at this D, for the quicker of fastfood and sorf


def run(threads: int) -> list[Row]:
    """Return all rows of the table, measured with this many threads on both sides."""
    return [*structured(threads), *(weights() if threads == 1 else ())]


def structured(threads: int) -> Iterable[Row]:
    """Yield Fastfood, SORF, ORF and random Fourier features beside RBFSampler at MNIST's dimension."""
    X = shaped(10_000, 784, 0.19)
    for D, target in TARGETS.items():
        theirs = RBFSampler(gamma=0.01, n_components=D, random_state=0).fit(X)
        for name in ("fastfood", "sorf", "orf", "random_fourier"):
            cls: Any = MAPS[name]
            ours: FeatureMap = cls(Gaussian(0.01), D)
            row = beside(
                f"{cls.__name__} : RBFSampler",
                f"10,000 x 784 (mnist), D = {D:,}",
                ours,
                theirs,
                X,
                target,
                threads,
            )
            yield row if name in ("fastfood", "sorf") else {**row, "target": None, "met": None}


def weights() -> Iterable[Row]:
    """Yield the seconds that the weights of 1,024 frequencies take, beyond drawing the frequencies."""
    X = shaped(2_000, 21)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    kernel: Any = Gaussian(gamma="median").resolve(X)
    for name, parameters, limit in (
        ("bayesian_quadrature", {}, 1.0),
        ("ses", {"n_pairs": 4_096}, 0.5),
        ("ses", {"n_pairs": "all"}, 2.0),
    ):
        cls: Any = MAPS[name]
        plain = MAPS["random_fourier"](kernel, 2_048, random_state=0)  # type: ignore[call-arg]
        weighted = cls(kernel, 2_048, random_state=0, **parameters)
        seconds = side_by_side({"kfeat": partial(weighted.fit, X), "plain": partial(plain.fit, X)})
        taken = seconds["kfeat"] - seconds["plain"]
        given = ", ".join(f"{key} = {value}" for key, value in parameters.items())
        yield {
            "what": f"{cls.__name__}, weights",
            "shape": f"2,000 x 21, 1,024 frequencies{', ' * bool(given)}{given}",
            "kfeat_s": taken,
            "target": f"< {limit:g} s",
            "met": bool(np.less(taken, limit)),
        }
