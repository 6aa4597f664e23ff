"""The parts of the study: its data sets, protocols, kernels, maps and sizes (configs/survey/plan.md)."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import pandas as pd

from kfeat.survey.study import BOOSTING, EXACT, LINEAR, TUNED, method_of

Entry = dict[str, Any]
CLASSES = ("adult", "mnist", "covertype", "ijcnn1", "cod_rna", "spambase", "nursery", "gisette_mnist",
           "letter", "pendigits", "magic")  # fmt: skip
NUMBERS = ("cpu_act", "house_16h", "kin40k", "protein", "pol", "elevators", "bike", "tamielectric", "puma32h",
           "ailerons", "bank32nh", "cal_housing")  # fmt: skip
SCALES = {
    "adult": "none",
    "mnist": {"divide": 255},
    "covertype": "zscore_numbers",
    "gisette_mnist": {"divide": 999},
}
WITH_TEST_FILE = ("adult", "mnist", "ijcnn1", "gisette_mnist")
FEW_ROWS = ("spambase",)  # at most 4,000 to train
WHOLE = ("adult", "mnist", "ijcnn1", "cod_rna", "covertype")  # exact regression of more rows would take 16 GB
HALF = ("adult", "mnist", "covertype", "ijcnn1", "letter", "magic",
        "cpu_act", "kin40k", "protein", "elevators", "bike", "ailerons")  # fmt: skip

GAUSSIAN: Entry = {"name": "gaussian", "gamma": "mean_distance"}
LAPLACIAN: Entry = {"name": "laplacian", "gamma": "mean_distance"}
CUBIC: Entry = {"name": "polynomial", "degree": 3, "coef0": 1}
CORE: list[Entry] = [{"name": "nystrom"}, {"name": "random_fourier"}, {"name": "orf"}]
CHEAP: list[Entry] = [*CORE, {"name": "fastfood"}, {"name": "positive_features"}]
DEAR: list[Entry] = [{"name": "nystrom", "landmarks": "rpcholesky"}, {"name": "bayesian_quadrature"},
                     {"name": "optimised_maclaurin"}]  # fmt: skip
OF_LAPLACIAN: list[Entry] = [{"name": "random_fourier"}, {"name": "random_fourier", "sequence": "halton"},
                             {"name": "nystrom"}]  # fmt: skip
OF_CUBIC: list[Entry] = [{"name": "tensor_sketch"}, {"name": "tensor_srht"},
                         {"name": "random_maclaurin", "h01": True}, {"name": "nystrom"}]  # fmt: skip


class Part(NamedTuple):
    """A data set, a kernel and a number of training rows (0: all), with its maps and the number of splits."""

    dataset: str
    kernel: Entry
    n: int
    maps: list[Entry]
    repeats: int

    @property
    def protocol(self) -> Entry:
        """The protocol of the study."""
        side: Entry = {"kind": "fraction", "train": 0.8, "deal": 0}
        if self.dataset in WITH_TEST_FILE:
            side = {"kind": "official"}
        split = {**side, **({"max_train": self.n} if self.n else {}), "max_test": 5000}
        return {"scale": SCALES.get(self.dataset, "zscore"), "split": split}

    @property
    def own_protocol(self) -> Entry:
        """The protocol of a choice: a quarter of the training rows is held out, and no row tests."""
        whole = self.protocol
        return {**whole, "split": {"kind": "validation", "share": 0.25, "of": whole["split"]}}

    @property
    def solvers(self) -> tuple[str, str, str]:
        """What is trained on features, on the kernel, and beside them."""
        if self.dataset in CLASSES:
            return "newton", "libsvm", BOOSTING
        return "ridge", "kernel_ridge", f"{BOOSTING}_regression"

    @property
    def penalty(self) -> str:
        """The parameter of the solvers that is chosen."""
        return "C" if self.dataset in CLASSES else "alpha"

    def choosing(self, maps: Sequence[Entry], *solvers: str) -> Entry:
        """Return the setting in which maps with their solver, and other solvers, choose for themselves."""
        searches = [{"name": "search", "solver": self.solvers[0], "map": item} for item in maps]
        searches += [{"name": "search", "solver": solver} for solver in solvers]
        common = {"dataset": self.dataset, "protocol": self.own_protocol}
        return {**common, "kernel": self.kernel, "solvers": {"exact": searches}}

    def chosen(self, item: Entry | None, choice: Entry) -> Entry:
        """Return the setting of a map, or of the exact method, with its own gamma and C or alpha."""
        mapped, exact, _ = self.solvers
        role, solver = ("exact", exact) if item is None else ("mapped", mapped)
        common = {"dataset": self.dataset, "protocol": self.protocol, "repeats": self.repeats}
        return {**common, "kernel": {**self.kernel, "gamma": choice["gamma"]},
                **({} if item is None else {"maps": [item]}),
                "solvers": {role: {"name": solver, self.penalty: choice[self.penalty]}}}  # fmt: skip


def sized(*pairs: tuple[list[Entry], list[int]]) -> list[Entry]:
    """Return the entries of maps, one for each size."""
    return [{**item, "n_components": D} for items, sizes in pairs for item in items for D in sizes]


def parts(datasets: Sequence[str]) -> list[Part]:
    """Return the parts of the study on some data sets."""
    found = []
    for name in datasets:
        found += [Part(name, GAUSSIAN, 1000, sized((CORE, [64])), 5)]
        found += [Part(name, GAUSSIAN, TUNED, sized((CHEAP + DEAR, [64, 256])), 5)]
        if name not in FEW_ROWS:
            found += [Part(name, GAUSSIAN, 16000, sized((CHEAP, [64, 256, 1024]), (DEAR, [64, 256])), 3)]
        if name in WHOLE:
            found += [Part(name, GAUSSIAN, 0, sized((CORE, [256, 1024])), 1)]
        if name in HALF:
            found += [Part(name, LAPLACIAN, TUNED, sized((OF_LAPLACIAN, [256])), 3)]
            found += [Part(name, CUBIC, TUNED, sized((OF_CUBIC, [256])), 3)]
    return found


class Chosen:
    """What each method chose, from the lines of `choices` or `cells`."""

    def __init__(self, lines: pd.DataFrame) -> None:
        keys = ("dataset", "kernel", "n", "method", "D")
        self._lines = {tuple(line[key] for key in keys): line for line in lines.to_dict("records")}

    def __call__(self, part: Part, item: Entry | str) -> Entry:
        """Return the choice of a map's entry, or of exact, linear or boosting, with four digits.

        It is empty where the method has chosen nothing.
        """
        kernel, n = part.kernel["name"], min(part.n or TUNED, TUNED)
        if isinstance(item, str):
            key = (part.dataset, kernel if item == EXACT else LINEAR, n, item, 0)
        else:
            key = (part.dataset, kernel, n, method_of(item, part.kernel, {}), item["n_components"])
        line = self._lines.get(key, {})
        return {str(key): four_digits(value) for key, value in line.items() if isinstance(value, float)}


def four_digits(value: float) -> float:
    """Return a chosen value as the configs of the study have it."""
    return float(f"{value:.4g}")
