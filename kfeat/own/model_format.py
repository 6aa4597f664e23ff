"""What a model file holds, and how it is written."""

import io
import json
import os
import zipfile
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from kfeat.data import preparation
from kfeat.data.coding import Coding, date_numbers
from kfeat.data.preparation import Preparation
from kfeat.errors import ModelError
from kfeat.files import new_file
from kfeat.kernels import KERNELS
from kfeat.learnt_metric import LearntMetric
from kfeat.maps import MAPS
from kfeat.maps.random_maclaurin import TruncatedSeries
from kfeat.solvers import SOLVERS
from kfeat.solvers.base import Solver, Subproblem, TargetScale
from kfeat.solvers.libsvm_model import GivenKernel, NativeKernel, SupportVectors

VERSION = 5  # of the format, raised when older models would predict something else
# Beside numbers, words, arrays and scikit-learn's estimators, a model may hold the registered kernels, maps
# and solvers, and these. Anything else has to be added here.
OTHERS = (
    LearntMetric,
    *(Coding, date_numbers, Preparation, TruncatedSeries),
    *(preparation.DivideBy, preparation.GlobalNorm, preparation.NumberScaler),
    *(Subproblem, TargetScale, GivenKernel, NativeKernel, SupportVectors),
)
BY_NAME = (
    "kfeat.own.model.KernelModel",  # which can save itself, so that it cannot be imported here
    *("numpy.dtype", "scipy.sparse._csr.csr_array"),
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
)


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file; if that fails, an existing file stays as it was.

    Raises ModelError if the model holds what a file cannot hold, or if the file cannot be written.
    """
    from skops import io as skops  # here, since it imports all of scikit-learn

    if not hasattr(model, "solver_"):
        raise ModelError("expected a model that is fitted, got one that is not: call fit first")
    check_solver(model.solver_)
    model.about_["format"] = VERSION
    content = skops.dumps(model, compression=zipfile.ZIP_STORED)
    if foreign := set(skops.get_untrusted_types(data=content)) - trusted():
        raise ModelError(
            f"a model file cannot hold an object of {', '.join(sorted(foreign))}; it holds numbers, words, "
            "arrays, kfeat's kernels, maps and solvers, and HistGradientBoosting"
        )
    with new_file(Path(path), "the model") as file:
        file.write(_without_indentation(content))


def _without_indentation(content: bytes) -> bytes:
    """Return skops's archive with its JSON on one line: indentation is most of a small model's file."""
    shorter = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(shorter, "w") as new:
        for entry in old.infolist():
            stored = old.read(entry)
            if entry.filename == "schema.json":
                stored = json.dumps(json.loads(stored), separators=(",", ":")).encode()
            new.writestr(entry, stored)
    return shorter.getvalue()


def is_model(path: Path) -> bool:
    """Return whether a new model may replace a file: a model or an empty file."""
    try:
        with zipfile.ZipFile(path) as archive:
            return "schema.json" in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return path.stat().st_size == 0


def check_solver(solver: Any) -> None:
    """Raise ModelError unless it is kfeat's, or boosting whose nodes split by a feature, into later nodes."""
    if isinstance(solver, Solver):
        return
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    if not isinstance(solver, HistGradientBoostingClassifier | HistGradientBoostingRegressor):
        raise ModelError(
            f"a model file cannot hold the solver {type(solver).__name__}; it holds kfeat's and "
            "HistGradientBoosting"
        )
    for tree in chain(*solver._predictors):
        inner = np.flatnonzero(tree.nodes["is_leaf"] == 0)
        left, right, feature = (tree.nodes[name][inner] for name in ("left", "right", "feature_idx"))
        later = (np.minimum(left, right) > inner) & (np.maximum(left, right) < len(tree.nodes))
        known = (feature >= 0) & (feature < solver.n_features_in_)
        if not len(tree.nodes) or not (later & known).all() or tree.nodes["is_categorical"].any():
            raise ModelError("the trees of its boosting are damaged")


@cache
def trusted() -> frozenset[str]:
    """Return the names of the classes and functions that a model may hold."""
    items: list[Any] = [*OTHERS, *KERNELS.values(), *MAPS.values(), *SOLVERS.values()]
    return frozenset([*(f"{item.__module__}.{item.__qualname__}" for item in items), *BY_NAME])
