"""Explicit random feature maps: scikit-learn transformers with the kernel that they approximate."""

from kfeat.diagnostics import ColumnCounts, Diagnosis, Estimate, column_counts, diagnose
from kfeat.maps.base import MAPS, FeatureMap, kernels_of, maps_for
from kfeat.maps.complex_maclaurin import ComplexMaclaurin, OptimisedMaclaurin
from kfeat.maps.complex_tensor_sketch import ComplexTensorSketch
from kfeat.maps.compositional_maclaurin import CompositionalMaclaurin
from kfeat.maps.learnt_weights import SES, BayesianQuadrature
from kfeat.maps.nystrom import Nystrom
from kfeat.maps.orthogonal import ORF, SORF, Fastfood
from kfeat.maps.polynomial_tensor_sketch import PolynomialTensorSketch
from kfeat.maps.positive_features import PositiveFeatures
from kfeat.maps.random_binning import RandomBinning
from kfeat.maps.random_fourier import RandomFourier
from kfeat.maps.random_maclaurin import RandomMaclaurin, TruncatedMaclaurin
from kfeat.maps.stacked import Stacked
from kfeat.maps.tensor_sketch import RecursiveSketch, TensorSketch
from kfeat.maps.tensor_srht import TensorSRHT

__all__ = [
    "MAPS",
    "ORF",
    "SES",
    "SORF",
    "BayesianQuadrature",
    "ColumnCounts",
    "ComplexMaclaurin",
    "ComplexTensorSketch",
    "CompositionalMaclaurin",
    "Diagnosis",
    "Estimate",
    "Fastfood",
    "FeatureMap",
    "Nystrom",
    "OptimisedMaclaurin",
    "PolynomialTensorSketch",
    "PositiveFeatures",
    "RandomBinning",
    "RandomFourier",
    "RandomMaclaurin",
    "RecursiveSketch",
    "Stacked",
    "TensorSRHT",
    "TensorSketch",
    "TruncatedMaclaurin",
    "column_counts",
    "diagnose",
    "kernels_of",
    "maps_for",
]
