"""A trained model from its file, with all checks of the file."""

import os
import re
import warnings
import zipfile
from collections.abc import Mapping
from importlib.metadata import version as installed
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier as classifies
from sklearn.exceptions import InconsistentVersionWarning

from kfeat.data.content import check_regular
from kfeat.errors import ModelError
from kfeat.files import SUFFIXES
from kfeat.kernels.base import Kernel
from kfeat.learnt_metric import LearntMetric
from kfeat.maps import FeatureMap
from kfeat.own.model import KernelModel, task_of
from kfeat.own.model_format import VERSION, check_solver, trusted
from kfeat.own.scoring import judged
from kfeat.parameters import check_parameters, plain
from kfeat.solvers.base import Solver
from kfeat.text import printable

MOST_SIZE = 10**7  # features or components of a model whose file has fewer bytes


def load_model(path: str | os.PathLike[str]) -> KernelModel:
    """Return the fitted model in a file that `kfeat fit` or `KernelModel.save` wrote.

    It predicts exactly what the saved model predicts on the same machine. No code in the file is run, and
    only objects of kfeat and scikit-learn are created. Raises ModelError for a file that is damaged, not a
    model, or in another version of the format, and DataError if it does not exist.
    """
    path = Path(path)
    check_regular(path)
    if path.suffix in SUFFIXES:
        raise ModelError(f"{path}: is a config, not a model; `kfeat fit {path} --model FILE` writes a model")
    try:
        with path.open("rb") as file:
            return _read(file)
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror or error})") from None
    # What skops, zipfile and NumPy raise on damaged content is open-ended.
    except Exception as error:
        why = printable(error) or type(error).__name__
        raise ModelError(
            f"{path}: expected a model that kfeat {installed('kfeat')} can use, got another file ({why}); "
            "get it again, train again with `kfeat fit CONFIG --model FILE`, or use the kfeat that wrote it"
        ) from None


def _read(file: IO[bytes]) -> KernelModel:
    """Return the model in a file; raises any exception for a wrong file."""
    from skops import io as skops

    with zipfile.ZipFile(file) as archive:
        if any(entry.compress_type for entry in archive.infolist()):
            raise ModelError("its entries are packed, which is never so in a model file")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InconsistentVersionWarning)  # VERSION tells what can be used
        model = skops.load(file, trusted=sorted(trusted()))
    if not isinstance(model, KernelModel):
        raise ModelError(f"it holds a {type(model).__name__}, not a model")
    if (version := model.about_.get("format")) != VERSION:
        raise ModelError(f"it is in version {version} of the format, not {VERSION}")
    _check(model, max(MOST_SIZE, os.fstat(file.fileno()).st_size))
    check_solver(model.solver_)
    d, kept, D = model.preparation_.n_features, model.preparation_.columns, model.solver_.n_features_in_
    columns = d if kept is None else len(kept)
    width = columns if model.map_ is None else model.map_._n_features_out
    if (width, model.coding_.width) != (D, model.n_features_in_):
        raise ModelError("the numbers of its features do not match")
    # A model whose parts are missing or do not match fails here, and not when it is used.
    row, methods = np.zeros((1, d)), judged(model)
    _check_labels(model)
    _check_shapes(model, model.outputs(row, methods, coded=True))
    describe(model, Path(file.name))
    return model


def _check(part: Any, most: int) -> None:
    """Raise an error for a part with a parameter that its class refuses, or with a size above `most`.

    A size is a whole number whose name begins with n_.
    """
    if isinstance(part, KernelModel | Solver | FeatureMap | LearntMetric):
        check_parameters(part)
    elif isinstance(part, Kernel):
        part.check()
    for name, value in part.items() if isinstance(part, dict) else vars(part).items():
        if isinstance(value, int) and re.match("_?n_", str(name)) and not 0 <= value <= most:
            raise ModelError(f"its {name} is {value:,}, which its arrays do not have")
        values = value if isinstance(value, list | tuple) else [value]
        for inner in values:
            if isinstance(inner, dict) or type(inner).__module__.startswith("kfeat."):
                _check(inner, most)


def _check_labels(model: KernelModel) -> None:
    """Raise ModelError unless a classifier has at least two labels, each once, and its solver has as many."""
    if classifies(model.solver_):
        own, shown = model.solver_.classes_.tolist(), model.classes_.tolist()
        if len(own) < 2 or own != sorted(set(own)) or len({*shown}) != len(own) or len(shown) != len(own):
            raise ModelError(f"its labels, {shown!s:.100}, do not match its solver's, {own!s:.100}")


def _check_shapes(model: KernelModel, outputs: Mapping[str, NDArray[Any]]) -> None:
    """Raise ModelError unless the outputs of one row are a label or value, and a number for each class."""
    n = len(model.classes_) if classifies(model.solver_) else 0
    shapes = {"predict": (1,), "decision_function": (1,) if n == 2 else (1, n), "predict_proba": (1, n)}
    for method, output in outputs.items():
        if output.shape != shapes[method]:
            raise ModelError(f"its {method} has the shape {output.shape}, not {shapes[method]}")


def describe(model: KernelModel, path: Path) -> dict[str, Any]:
    """Return everything about a model as plain JSON: its training, data, labels, parts and sizes."""
    coding, solver = model.coding_, model.solver_
    kernel = getattr(model.map_ or solver, "kernel_", None)
    ours = {}
    if isinstance(solver, Solver):
        ended = {"finished_by": solver.finished_by_, "converged": bool(solver.converged_)}
        ours = {**solver.learnt_parameters(), **ended}
    return {
        "file": path.name,
        "bytes": path.stat().st_size,
        "task": task_of(solver),
        "data": {
            "columns": coding.names or coding.width,
            "features": model.preparation_.n_features,
            "target": coding.target,
        },
        "labels": plain(model.classes_.tolist()) if classifies(solver) else None,
        "scale": model.scale,
        "map": repr(model.map_) if model.map_ else None,
        "kernel": f"{kernel!r}: {kernel.formula}" if kernel else "linear" if ours else None,
        "solver": {
            "parameters": repr(solver),
            "features": int(solver.n_features_in_),
            "iterations": int(solver.n_iter_),
            **ours,
        },
        "probabilities": hasattr(model, "predict_proba"),
        **model.about_,
    }
