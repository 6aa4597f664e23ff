"""Explicit random feature maps for kernel machines, and the papers about them, reproduced."""

from typing import Any


def __getattr__(name: str) -> Any:
    """Return `__version__`, which takes longer to find than all else that the command line starts with."""
    if name == "__version__":
        from importlib.metadata import version

        return version("kfeat")
    raise AttributeError(f"module 'kfeat' has no attribute '{name}'")
