"""Tensor Sketch and a linear machine beside the exact machine, end to end: `python -m scripts.bench.speedup`.

(1 + <x, y>)^4 on the datasets of Pham & Pagh (KDD 2013), Table 2: seconds to map the training rows and train,
one thread, against seconds to train the exact machine: LIBSVM with its default cache (100 MB) and with the
Gram matrix cached, and scikit-learn's SVC, which holds rows densely. The ratio is against the fastest of
them. Takes hours: name the datasets to measure only these. Rows come as they are measured; with --save DIR
they are written to DIR/speedup.json and .md. Run it alone on the machine.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import click
import numpy as np
from sklearn.svm import SVC
from tabulate import tabulate
from threadpoolctl import threadpool_limits

from kfeat.data import Dataset, Protocol, load
from kfeat.experiments.machine import environment
from kfeat.kernels import Polynomial
from kfeat.maps import TensorSketch
from kfeat.solvers import Liblinear, Libsvm, Newton
from kfeat.solvers.libsvm import fair_cache_mb

Row = dict[str, Any]
KERNEL = Polynomial(4, gamma=1.0, coef0=1.0)
SAMPLE = {"kind": "sample", "n_train": 100_000, "n_test": 20_000, "seed": 0}
CASES = {  # protocol, features, and the paper's speed-up over the exact machine
    "adult": ({}, 200, 1600),
    "mnist": ({"scale": {"divide": 255}}, 1000, 2),
    "gisette_mnist": ({"scale": "minmax"}, 5000, 8),
    "covertype": ({"split": SAMPLE}, 500, 50),
}
LINEAR = {"LIBLINEAR -s 1": Liblinear(1), "LIBLINEAR -s 2": Liblinear(2), "Newton": Newton()}
EXACT = {
    "LIBSVM, 100 MB": Libsvm(KERNEL, cache_mb=100),
    "LIBSVM, full cache": Libsvm(KERNEL),
    "SVC, full cache": None,
}


def measure(name: str, exact: tuple[str, ...]) -> Iterator[Row]:
    """Yield a row per machine on one dataset, exact machines first."""
    protocol, D, paper = CASES[name]
    data = load(name, Protocol.model_validate(protocol))
    fastest = np.inf
    for title in exact:
        row = trained(name, title, EXACT[title] or svc(data), data, data.X_train, data.X_test)
        fastest = min(fastest, row["train_s"])
        yield row
    start = perf_counter()
    sketch = TensorSketch(KERNEL, D, random_state=0, n_jobs=1).fit(data.X_train)
    Z_train = sketch.transform(data.X_train)
    mapping = perf_counter() - start
    Z_test = sketch.transform(data.X_test)
    for title, solver in LINEAR.items():
        row = trained(name, title, solver, data, Z_train, Z_test)
        both = mapping + row["train_s"]
        ratio = fastest / both
        yield {**row, "map_s": mapping, "speed-up": ratio, "paper": paper, "met": bool(ratio >= paper)}


def trained(name: str, title: str, solver: Any, data: Dataset, X_train: Any, X_test: Any) -> Row:
    """Return the row of one machine: seconds to train and to predict, accuracy, and how the solve ended."""
    if isinstance(solver, SVC) and not isinstance(X_train, np.ndarray):
        X_train, X_test = X_train.toarray(), X_test.toarray()
    start = perf_counter()
    solver.fit(X_train, data.y_train)
    fitted = perf_counter()
    found = solver.predict(X_test)
    done = perf_counter()
    vectors = f"{np.sum(solver.n_support_):,} support vectors" if hasattr(solver, "n_support_") else ""
    return {
        "data": f"{name}, {X_train.shape[0]:,} x {X_train.shape[1]:,}",
        "machine": title,
        "accuracy %": 100 * float(np.mean(found == data.y_test)),
        "map_s": None,
        "train_s": fitted - start - getattr(solver, "times_", {}).get("evaluate", 0.0),
        "predict_s": done - fitted,
        "note": vectors or f"{solver.finished_by_}, {solver.n_iter_} iterations",
    }


def svc(data: Dataset) -> SVC:
    """Return scikit-learn's exact machine with a cache for the Gram matrix of its largest problem."""
    largest = sum(sorted(np.unique(data.y_train, return_counts=True)[1])[-2:])
    return SVC(kernel="poly", degree=4, gamma=1.0, coef0=1.0, cache_size=fair_cache_mb(int(largest)))


def table(rows: list[Row]) -> str:
    """Return the rows as a Markdown table, numbers at three digits."""
    return tabulate(rows, headers="keys", tablefmt="github", floatfmt=".4g", missingval="–")


@click.command()
@click.argument("datasets", nargs=-1, type=click.Choice(list(CASES)))
@click.option("--exact", multiple=True, type=click.Choice(list(EXACT)), default=tuple(EXACT))
@click.option("--save", type=click.Path(path_type=Path), help="Write the rows below this folder too.")
def speedup(datasets: tuple[str, ...], exact: tuple[str, ...], save: Path | None) -> None:
    """Measure mapping and linear training beside exact training, with one thread."""
    rows: list[Row] = []
    with threadpool_limits(1):
        for name in datasets or CASES:
            for row in measure(name, exact):
                rows.append(row)
                click.echo(json.dumps(row))
                if save is not None:
                    save.mkdir(parents=True, exist_ok=True)
                    record = {"environment": environment(), "rows": rows}
                    (save / "speedup.json").write_text(json.dumps(record, indent=1) + "\n")
                    (save / "speedup.md").write_text(f"## Speed-up over exact machines\n\n{table(rows)}\n")
    click.echo(table(rows))


if __name__ == "__main__":
    speedup()
