"""Explicit random feature maps for kernel machines, and reproductions of the papers about them."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kfeat.analysis.records import read_rows
    from kfeat.learnt_metric import LearntMetric
    from kfeat.own import load_model
    from kfeat.own.estimators import KernelClassifier, KernelRegressor

__all__ = ["KernelClassifier", "KernelRegressor", "LearntMetric", "__version__", "load_model", "read_rows"]
__version__: str

_HOMES = {
    "KernelClassifier": "kfeat.own.estimators",
    "KernelRegressor": "kfeat.own.estimators",
    "LearntMetric": "kfeat.learnt_metric",
    "load_model": "kfeat.own",
    "read_rows": "kfeat.analysis.records",
}


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__} - {"TYPE_CHECKING", "import_module"})


if not TYPE_CHECKING:  # else a type checker would take every name for one of kfeat's

    def __getattr__(name: str) -> object:
        """Import the slow parts of the package only when they are asked for."""
        if name == "__version__":
            from importlib.metadata import version

            return version("kfeat")
        if name in _HOMES:
            return getattr(import_module(_HOMES[name]), name)
        raise AttributeError(f"module 'kfeat' has no attribute '{name}'")
