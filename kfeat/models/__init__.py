"""Trained models: one scikit-learn estimator of raw rows, and the safe file that keeps it."""

from kfeat.models.estimator import KernelModel
from kfeat.models.file import load_model, save_model

__all__ = ["KernelModel", "load_model", "save_model"]
