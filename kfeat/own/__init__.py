"""Own data: a model of raw rows as one scikit-learn estimator, and the safe file that keeps it."""

from kfeat.own.file import load_model, save_model
from kfeat.own.model import KernelModel

__all__ = ["KernelModel", "load_model", "save_model"]
