"""The measures by name: every module of this package is imported, so that a new measure is one file."""

from importlib import import_module
from pkgutil import iter_modules

import sklearn.base  # noqa: F401 (its import would load a scipy.special that was postponed before)

from kfeat.experiments.measures.base import MEASURES, Measure, register

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = ["MEASURES", "Measure", "register"]
