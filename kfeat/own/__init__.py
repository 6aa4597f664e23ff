"""Your own data: the search for a method, trained models, and their files."""

from kfeat.own.model import KernelModel, load_model, save_model

__all__ = ["KernelModel", "load_model", "save_model"]
