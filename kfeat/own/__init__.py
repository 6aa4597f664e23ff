"""Your own data: the search for a method, trained models, and their files."""

from kfeat.own.file import load_model, save_model
from kfeat.own.model import KernelModel

__all__ = ["KernelModel", "load_model", "save_model"]
