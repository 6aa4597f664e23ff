"""Explicit random feature maps for kernel machines, and reproductions of the papers about them."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kfeat.own import load_model
    from kfeat.own.training import KernelClassifier, KernelRegressor

__all__ = ["KernelClassifier", "KernelRegressor", "__version__", "load_model"]
__version__: str


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__} - {"Any", "TYPE_CHECKING"})


if not TYPE_CHECKING:  # else every name would be known, as Any

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
