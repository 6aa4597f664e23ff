"""Exact kernels, vectorised, with their Maclaurin series or their spectrum."""

from kfeat.kernels.base import Kernel
from kfeat.kernels.composed import Compositional, Sum
from kfeat.kernels.dot_product import (
    DotProductKernel,
    Exponential,
    Linear,
    Polynomial,
    VovkInfinite,
    VovkReal,
)
from kfeat.kernels.euclidean_laplacian import EuclideanLaplacian
from kfeat.kernels.objects import ObjectKernel
from kfeat.kernels.shift_invariant import Gaussian, Laplacian, Matern, ShiftInvariantKernel

KERNELS: dict[str, type[Kernel]] = {
    "linear": Linear,
    "polynomial": Polynomial,
    "exponential": Exponential,
    "vovk_real": VovkReal,
    "vovk_infinite": VovkInfinite,
    "gaussian": Gaussian,
    "laplacian": Laplacian,
    "sum": Sum,
    "compositional": Compositional,
    "matern": Matern,
    "euclidean_laplacian": EuclideanLaplacian,
}

__all__ = [
    "KERNELS",
    "Compositional",
    "DotProductKernel",
    "EuclideanLaplacian",
    "Exponential",
    "Gaussian",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "ObjectKernel",
    "Polynomial",
    "ShiftInvariantKernel",
    "Sum",
    "VovkInfinite",
    "VovkReal",
]
