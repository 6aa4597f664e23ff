"""Explicit random feature maps: scikit-learn transformers that hold the kernel they approximate."""

from kfeat.maps.base import MAPS, FeatureMap, maps_for
from kfeat.maps.complex_maclaurin import ComplexMaclaurin
from kfeat.maps.diagnostics import ColumnCounts, Diagnosis, Estimate, column_counts, diagnose
from kfeat.maps.nystrom import Nystrom
from kfeat.maps.optimised_maclaurin import OptimisedMaclaurin
from kfeat.maps.polynomial_tensor_sketch import PolynomialTensorSketch
from kfeat.maps.positive_features import PositiveFeatures
from kfeat.maps.random_fourier import RandomFourier
from kfeat.maps.random_maclaurin import RandomMaclaurin
from kfeat.maps.stacked import Stacked
from kfeat.maps.tensor_sketch import TensorSketch

__all__ = [
    "MAPS",
    "ColumnCounts",
    "ComplexMaclaurin",
    "Diagnosis",
    "Estimate",
    "FeatureMap",
    "Nystrom",
    "OptimisedMaclaurin",
    "PolynomialTensorSketch",
    "PositiveFeatures",
    "RandomFourier",
    "RandomMaclaurin",
    "Stacked",
    "TensorSketch",
    "column_counts",
    "diagnose",
    "maps_for",
]
