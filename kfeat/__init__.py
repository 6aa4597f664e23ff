"""Explicit random feature maps for kernel machines, and the papers about them, reproduced."""

from importlib.metadata import version

__version__ = version("kfeat")
