"""What a model says of itself, as plain JSON."""

from pathlib import Path
from typing import Any

from kfeat.models.estimator import KernelModel
from kfeat.parameters import HANDED_IN, plain
from kfeat.solvers.base import classifies


def told(model: KernelModel, path: Path) -> dict[str, Any]:
    """Return everything about a model: its training, data, labels, parts with what they learnt, and sizes."""
    coding, solver = model.coding, model.solver_
    names = coding.names if coding else []
    about = model.about_
    return {
        "file": path.name,
        "bytes": path.stat().st_size,
        "task": "classification" if classifies(solver) else "regression",
        "data": {
            "fingerprint": about.get("fingerprint"),
            "rows": about["n_train"],
            "columns": names or int(model.n_features_in_),
            "features": model.preparation_.n_features,
            "target": coding.target if coding else None,
        },
        "labels": [plain(label) for label in model.classes_] if classifies(solver) else None,
        "scale": model.scale,
        "map": None if model.map_ is None else {**_part(model.map_), "columns": _width(model)},
        "kernel": _kernel(model),
        "solver": {
            **_part(solver),
            "finished_by": solver.finished_by_,
            "iterations": int(solver.n_iter_),
            "converged": bool(solver.converged_),
        },
        "probabilities": _probabilities(model),
        "scores": about.get("scores"),
        "n_test": about.get("n_test"),
        "seconds": about.get("seconds"),
        "trial": about.get("trial"),
        "environment": about.get("environment"),
        "config": about.get("config"),
    }


def _part(estimator: Any) -> dict[str, Any]:
    """Return the class of a map or solver, its parameters, and what took the place of those left out."""
    given = estimator.get_params(deep=False)
    shown = {key: repr(value) if hasattr(value, "get_params") else value for key, value in given.items()}
    return {
        "name": type(estimator).__name__,
        **{
            key: plain(value)
            for key, value in shown.items()
            if key not in HANDED_IN and not hasattr(value, "shape")
        },
        **({"learnt": learnt} if (learnt := estimator.learnt_parameters()) else {}),
    }


def _width(model: KernelModel) -> int:
    return int(model.solver_.n_features_in_)


def _kernel(model: KernelModel) -> str:
    holder = model.solver_ if model.map_ is None else model.map_
    kernel = getattr(holder, "kernel_", None)
    return "linear" if kernel is None else f"{kernel!r}: {kernel.formula}"


def _probabilities(model: KernelModel) -> str:
    if model.calibration_ is not None:
        return "calibrated"
    return "the solver's own" if hasattr(model, "predict_proba") else "none"
