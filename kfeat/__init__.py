"""Explicit random feature maps for kernel machines, and reproductions of the papers about them."""

from typing import Any


def __getattr__(name: str) -> Any:
    """Import the slow parts of the package only when they are asked for."""
    if name == "__version__":
        from importlib.metadata import version

        return version("kfeat")
    if name == "load_model":
        from kfeat.own import load_model

        return load_model
    if name in ("KernelClassifier", "KernelRegressor"):
        from kfeat.own import training

        return getattr(training, name)
    raise AttributeError(f"module 'kfeat' has no attribute '{name}'")
