"""Your own data: the search for a method, trained models, and their files."""

from kfeat.own.model import KernelModel
from kfeat.own.model_file import load_model
from kfeat.own.model_format import save_model

__all__ = ["KernelModel", "load_model", "save_model"]
