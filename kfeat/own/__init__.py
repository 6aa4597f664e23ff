"""Data of one's own: the search for a method, trained models, and the file that keeps them."""

from kfeat.own.file import load_model, save_model
from kfeat.own.model import KernelModel

__all__ = ["KernelModel", "load_model", "save_model"]
