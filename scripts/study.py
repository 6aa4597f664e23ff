"""The study of configs/survey/plan.md: `python -m scripts.study choices`, then `configs`, then `answers`.

`choices` writes the configs in which each method chooses gamma and C, `configs` those of the study from the
published rows of the choices, and `answers` results/survey/study.md and its figures from all rows. `traits`
learns the density and the spread of each data set, for which their files are needed.
"""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import click
import pandas as pd
import yaml

from kfeat.data import load_raw
from kfeat.own.new_config import traits_of
from kfeat.survey.study import BOOSTING, EXACT, LINEAR, TUNED, choices, errors, method_of, results
from scripts.study_answers import figures, page

Entry = dict[str, Any]
ACCESS = {"mirror": os.environ.get("KFEAT_MIRROR"), "offline": False}
TRAITS = Path("kfeat/survey/traits.csv")
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


def choice_settings(of: Iterable[Part]) -> Iterator[Entry]:
    """Yield the settings of the choices; sizes that only more rows have are chosen at `TUNED` rows."""
    for part in of:
        if 0 < part.n <= TUNED:
            mapped, exact, boosting = part.solvers
            maps = part.maps
            if part.kernel == GAUSSIAN and part.n == TUNED and part.dataset not in FEW_ROWS:
                maps = [*maps, *sized((CHEAP, [1024]))]
            searches = [{"name": "search", "solver": mapped, "map": item} for item in maps]
            common = {"dataset": part.dataset, "protocol": part.own_protocol}
            own = {"name": "search", "solver": exact}
            yield {**common, "kernel": part.kernel, "solvers": {"exact": [*searches, own]}}
            if part.kernel == GAUSSIAN:
                others = [{"name": "search", "solver": solver} for solver in (mapped, boosting)]
                yield {**common, "kernel": {"name": LINEAR}, "solvers": {"exact": others}}


class Chosen:
    """What each method chose, from the rows of the choices."""

    def __init__(self, rows: Iterable[Entry]) -> None:
        lines = choices(rows).to_dict("records")
        keys = ("dataset", "kernel", "n", "method", "D")
        self._lines = {tuple(line[key] for key in keys): line for line in lines}

    def __call__(self, part: Part, item: Entry | str) -> Entry:
        """Return the choice of a map's entry, or of exact, linear or boosting, with four digits."""
        n = min(part.n or TUNED, TUNED)
        if isinstance(item, str):
            line = self._lines[part.dataset, part.kernel["name"] if item == EXACT else LINEAR, n, item, 0]
        else:
            method = method_of(item, part.kernel, {})
            line = self._lines[part.dataset, part.kernel["name"], n, method, item["n_components"]]
        return {str(key): float(f"{value:.4g}") for key, value in line.items() if isinstance(value, float)}


def study_settings(of: Iterable[Part], chosen: Chosen) -> Iterator[Entry]:
    """Yield the settings of the study, each method with its own gamma and C or alpha."""
    for part in of:
        mapped, exact, _ = part.solvers
        penalty = "C" if part.dataset in CLASSES else "alpha"
        common = {"dataset": part.dataset, "protocol": part.protocol, "repeats": part.repeats}
        for item in (*part.maps, EXACT):
            line = chosen(part, item)
            role, solver = ("exact", exact) if item == EXACT else ("mapped", mapped)
            yield {**common, "kernel": {**part.kernel, "gamma": line["gamma"]},
                   **({} if item == EXACT else {"maps": [item]}),
                   "solvers": {role: {"name": solver, penalty: line[penalty]}}}  # fmt: skip
        if part.kernel == GAUSSIAN:
            rate, leaves = (chosen(part, BOOSTING)[key] for key in ("learning_rate", "max_leaf_nodes"))
            kind = "classification" if part.dataset in CLASSES else "regression"
            trees = {"name": BOOSTING, "kind": kind, "learning_rate": rate, "max_leaf_nodes": int(leaves)}
            linear = {"name": mapped, penalty: chosen(part, LINEAR)[penalty]}
            yield {**common, "kernel": {"name": LINEAR}, "solvers": {"baseline": [linear, trees]}}


def error_settings(of: Iterable[Part], chosen: Chosen) -> Iterator[Entry]:
    """Yield the settings of the errors of kernels on held-out rows, at the gamma of the exact method."""
    for part in of:
        if part.kernel == GAUSSIAN and part.n == TUNED:
            kernel = {**GAUSSIAN, "gamma": chosen(part, EXACT)["gamma"]}
            yield {"dataset": part.dataset, "protocol": part.protocol, "kernel": kernel,
                   "maps": sized((CHEAP + DEAR, [256]))}  # fmt: skip


class Plain(yaml.SafeDumper):
    """A dumper that writes equal objects out, instead of naming them."""

    def ignore_aliases(self, data: Any) -> bool:
        """Return that no object is named."""
        return True


def config(asks: str, title: str, settings: Iterable[Entry], **more: Any) -> str:
    """Return a config, with a comment that says what it asks; empty without settings."""
    value = {"title": f"Study: {title}", "publish": "rows", **more, "settings": list(settings)}
    text = yaml.dump(value, Dumper=Plain, sort_keys=False, default_flow_style=None, width=10**6)
    return f"# {asks} Written by `python -m scripts.study`.\n{text}" if value["settings"] else ""


def choice_configs(of: list[Part]) -> dict[str, str]:
    """Return the configs of the choices by name."""
    asks = "Which gamma and C (or alpha) does each method of the study choose for itself?"
    gaussian = [part for part in of if part.kernel == GAUSSIAN]
    groups = {
        "classification": [part for part in gaussian if part.dataset in CLASSES],
        "regression": [part for part in gaussian if part.dataset in NUMBERS],
        "kernels": [part for part in of if part.kernel != GAUSSIAN],
    }
    return {
        f"choices_{name}": config(asks, f"choices, {name}", choice_settings(group), repeats=1)
        for name, group in groups.items()
    }


def study_configs(of: list[Part], chosen: Chosen) -> dict[str, str]:
    """Return the configs of the study by name: one for each data set, and three across them."""
    asks = "What does each map score, with its own gamma and C, and what does it take, on"
    groups: dict[str, list[Part]] = {}
    for part in of:
        name = "kernels" if part.kernel != GAUSSIAN else part.dataset if part.n else "all_rows"
        groups.setdefault(name, []).append(part)
    found = {
        f"study_{name}": config(f"{asks} {name}?", name, study_settings(group, chosen))
        for name, group in groups.items()
    }
    asks = "How large is the error of each map's kernel on rows that the map was not fitted to?"
    measure = {"name": "kernel_error", "n_rows": 2000, "held_out": True}
    found["study_errors"] = config(
        asks, "kernel errors", error_settings(of, chosen), repeats=1, measure=measure
    )
    return found


def rows_below(folder: Path, pattern: str) -> list[Entry]:
    """Return the rows of the configs whose names match."""
    paths = sorted(folder.glob(f"{pattern}/trials.jsonl"))
    return [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()]


@click.command()
@click.argument("step", type=click.Choice(["choices", "configs", "traits", "answers"]))
@click.option("--configs", "folder", default="configs/survey", type=click.Path(path_type=Path))
@click.option("--rows", default="results/survey", type=click.Path(path_type=Path))
@click.option("--data", default=",".join(CLASSES + NUMBERS), help="The data sets, with commas.")
def study(step: str, folder: Path, rows: Path, data: str) -> None:
    """Write the configs of the study, or its answers."""
    names = data.split(",")
    if step == "traits":
        known = [
            {"dataset": name, **asdict(traits_of(name, load_raw(name, **ACCESS), **ACCESS))} for name in names
        ]
        pd.DataFrame(known).round(5).to_csv(TRAITS, index=False)
        return
    own = rows_below(rows, "choices_*") if step != "choices" else []
    if step == "answers":
        found = rows_below(rows, "study_*")
        traits = pd.read_csv(TRAITS, index_col="dataset")
        (rows / "study.md").write_text(
            page(results(found), choices(own), errors(found), traits), encoding="utf-8"
        )
        figures(results(found), choices(own), rows)
        return
    of = parts(names)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (choice_configs(of) if step == "choices" else study_configs(of, Chosen(own))).items():
        if text:
            (folder / f"{name}.yaml").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    study()
