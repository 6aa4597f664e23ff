"""The kernel that an exact machine is given, checked, with its widths learnt."""

from typing import Any

from kfeat.errors import UnsupportedKernelError
from kfeat.kernels import Kernel, Linear


def resolved_kernel(kernel: Any, X: Any) -> Kernel:
    """Return the kernel (None: linear) with every width heuristic replaced by the number learnt on X."""
    if kernel is None:
        return Linear()
    if not isinstance(kernel, Kernel):
        raise UnsupportedKernelError(
            f"kernel: expected one of kfeat.kernels, Polynomial(2) say, got {kernel!r}"
        )
    kernel.check()
    return kernel.resolve(X, 0)
