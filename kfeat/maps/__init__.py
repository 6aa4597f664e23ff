"""Explicit random feature maps: scikit-learn transformers that hold the kernel they approximate."""

from kfeat.maps.base import FeatureMap
from kfeat.maps.columns import ColumnCounts, column_counts
from kfeat.maps.random_maclaurin import RandomMaclaurin
from kfeat.maps.registry import MAPS, maps_for
from kfeat.maps.tensor_sketch import TensorSketch

__all__ = [
    "MAPS",
    "ColumnCounts",
    "FeatureMap",
    "RandomMaclaurin",
    "TensorSketch",
    "column_counts",
    "maps_for",
]
