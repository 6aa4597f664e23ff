"""The feature maps by name, and which of them can do a kernel."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from kfeat.errors import UnsupportedKernelError
from kfeat.kernels import Kernel

if TYPE_CHECKING:
    from kfeat.maps.base import FeatureMap

MAPS: "dict[str, type[FeatureMap]]" = {}
M = TypeVar("M", bound="type[FeatureMap]")


def register(name: str) -> Callable[[M], M]:
    """Return a class decorator that enters a map under its name in MAPS."""

    def enter(cls: M) -> M:
        MAPS[name] = cls
        return cls

    return enter


def maps_for(kernel: Kernel) -> list[str]:
    """Return the names of the maps that can approximate this kernel."""
    return [name for name, cls in MAPS.items() if cls.supports(kernel)]


def check_supported(cls: "type[FeatureMap]", kernel: object) -> None:
    """Raise UnsupportedKernelError, naming the maps that can, where `cls` cannot approximate this kernel."""
    if not isinstance(kernel, Kernel):
        raise UnsupportedKernelError(
            f"{cls.__name__}: kernel must be an object of kfeat.kernels, got {kernel!r}"
        )
    if not cls.supports(kernel):
        able = ", ".join(maps_for(kernel)) or "none"
        raise UnsupportedKernelError(f"{cls.__name__} cannot approximate {kernel!r}; maps that can: {able}")
