"""The Gaussian kernel through the exponential one: exp(-g ||x||^2) exp(-g ||y||^2) exp(2 g <x, y>).

Features of exp(2 g <x, y>), each row's times exp(-g ||x||^2), are features of the Gaussian (Cotter, Keshet &
Srebro 2011, section 3). What follows gives maps of dot-product kernels the Gaussian in three calls.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfeat.errors import ParameterError
from kfeat.kernels import DotProductKernel, Exponential, Gaussian, Kernel
from kfeat.kernels.bandwidths import number
from kfeat.kernels.base import squared_norms


def has_series(kernel: Kernel) -> bool:
    """Return whether the kernel is a series in <x, y>, or the Gaussian: one with weighted rows."""
    return isinstance(kernel, DotProductKernel | Gaussian)


def series_of(kernel: Kernel) -> DotProductKernel:
    """Return the kernel whose features become those of `kernel` by `damp`: itself but for the Gaussian."""
    if isinstance(kernel, Gaussian):
        return Exponential(sigma=float(np.sqrt(0.5 / number(kernel, "gamma"))))
    assert isinstance(kernel, DotProductKernel)  # `supports` lets no other in
    return kernel


def decay(kernel: Kernel) -> float:
    """Return the g by which rows are weighted with exp(-g ||x||^2): 0 for a dot-product kernel."""
    return number(kernel, "gamma") if isinstance(kernel, Gaussian) else 0.0


def damp(kernel: Kernel, X: Any, out: NDArray[Any]) -> None:
    """Multiply the rows of `out` by exp(-g ||x||^2) where the kernel is Gaussian.

    A product of many factors takes this first, while it is small, so that no factor overflows.
    """
    if isinstance(kernel, Gaussian):
        out *= np.exp(-out.dtype.type(decay(kernel)) * squared_norms(X))[:, None]


def check_constant(kernel: Kernel, constant: bool) -> None:
    """Raise ParameterError where the constant is to be left out of the Gaussian, which has none."""
    if isinstance(kernel, Gaussian) and not constant:
        raise ParameterError(
            "constant=False leaves a number out of a dot-product kernel; the Gaussian's term of degree 0 is "
            "exp(-gamma (||x||^2 + ||y||^2)): set constant=True"
        )
