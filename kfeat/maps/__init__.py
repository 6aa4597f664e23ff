"""Explicit random feature maps: scikit-learn transformers that hold the kernel they approximate."""

from kfeat.maps.base import MAPS, FeatureMap, maps_for
from kfeat.maps.complex_tensor_sketch import ComplexTensorSketch
from kfeat.maps.diagnostics import ColumnCounts, Diagnosis, Estimate, column_counts, diagnose
from kfeat.maps.nystrom import Nystrom
from kfeat.maps.random_fourier import RandomFourier
from kfeat.maps.random_maclaurin import RandomMaclaurin
from kfeat.maps.recursive_sketch import RecursiveSketch
from kfeat.maps.stacked import Stacked
from kfeat.maps.tensor_sketch import TensorSketch
from kfeat.maps.tensor_srht import TensorSRHT

__all__ = [
    "MAPS",
    "ColumnCounts",
    "ComplexTensorSketch",
    "Diagnosis",
    "Estimate",
    "FeatureMap",
    "Nystrom",
    "RandomFourier",
    "RandomMaclaurin",
    "RecursiveSketch",
    "Stacked",
    "TensorSRHT",
    "TensorSketch",
    "column_counts",
    "diagnose",
    "maps_for",
]
