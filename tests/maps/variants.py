"""Maps with other parameters than their defaults, which the contracts of all maps are held against."""

from kfeat.kernels import Compositional, Exponential, Gaussian, Laplacian, Matern, Polynomial, Sum
from kfeat.maps import Nystrom, RandomFourier, RandomMaclaurin, Stacked, TensorSketch
from kfeat.maps.complex_maclaurin import ComplexMaclaurin, OptimisedMaclaurin
from kfeat.maps.complex_tensor_sketch import ComplexTensorSketch
from kfeat.maps.compositional_maclaurin import CompositionalMaclaurin
from kfeat.maps.learnt_weights import SES, BayesianQuadrature
from kfeat.maps.orthogonal import ORF, SORF, Fastfood
from kfeat.maps.polynomial_tensor_sketch import PolynomialTensorSketch
from kfeat.maps.positive_features import PositiveFeatures
from kfeat.maps.random_maclaurin import TruncatedMaclaurin
from kfeat.maps.tensor_sketch import RecursiveSketch
from kfeat.maps.tensor_srht import TensorSRHT

VARIANTS = [
    TensorSketch(Polynomial(3, coef0=0.5), 40),
    TensorSketch(Polynomial(2), 41, domain="frequency", hashing="universal"),
    TensorSketch(Polynomial(4), 45, fft="ducc0"),
    RandomMaclaurin(Polynomial(3, coef0=1.0), 60),
    RandomMaclaurin(Exponential("median"), 60, degree_law="proportional", h01=True),
    RandomMaclaurin(Polynomial(4), 60, degree_law="truncated", constant=False),
    RandomMaclaurin(Gaussian(0.5), 60, degree_law="proportional", h01=True),
    ComplexMaclaurin(Polynomial(3, coef0=1.0), 40),
    ComplexMaclaurin(Gaussian("median"), 41, degree_law="truncated", h01=True),
    OptimisedMaclaurin(Polynomial(3, coef0=0.2), 60),
    OptimisedMaclaurin(Gaussian("median"), 40, signs="real"),
    PolynomialTensorSketch(Exponential("median"), 60),
    PolynomialTensorSketch(Gaussian(0.5), 61, degree=3, coefficients="taylor"),
    PositiveFeatures(Exponential(2.0), 41),
    PositiveFeatures(Gaussian("median"), 40, features="single"),
    RandomFourier(Laplacian(0.1), 40),
    RandomFourier(Gaussian("mean_distance"), 41),
    RandomFourier(Gaussian("median"), 40, features="offset"),
    TruncatedMaclaurin(Exponential(2.0), 60, allowed_error=0.1, h01=True),
    CompositionalMaclaurin(Compositional(Polynomial(2, coef0=1.0), Gaussian("median")), n_components=60),
    Nystrom(Laplacian(0.5), 30, rank=20),
    Fastfood(Gaussian(0.3), 41),
    ORF(Gaussian(0.3), 41),
    SORF(Gaussian(0.3), 51, lengths="chi"),
    SES(Laplacian(0.5), 40),
    SES(Gaussian(2.0), 41, n_pairs=300, sign="absolute"),
    BayesianQuadrature(Gaussian(2.0), 41),
    Nystrom(Laplacian(0.7), 20, landmarks="rpcholesky"),
    Nystrom(Laplacian(1.0), 20, landmarks="leverage"),
    Nystrom(Laplacian("median"), 20, rank=15, landmarks="kmeans++"),
    Stacked(
        Sum([Polynomial(2), Laplacian(), Polynomial(3, coef0=1.0)], weights=[0.5, 2.0, 1.0]),
        [TensorSketch(n_components=20), Nystrom(n_components=30), RandomMaclaurin(n_components=50, h01=True)],
    ),
    RandomFourier(Matern("median", nu=0.8), 41, sequence="lattice"),
    RandomFourier(Laplacian(0.1), 40, features="offset", sequence="digital_net"),
    ComplexTensorSketch(Polynomial(3, coef0=0.5), 40),
    ComplexTensorSketch(Polynomial(2), 41, domain="frequency"),
    ComplexTensorSketch(Polynomial(3), 39, fft="ducc0"),
    TensorSRHT(Polynomial(3, coef0=0.5), 40),
    RecursiveSketch(Polynomial(5, coef0=0.5), 40),
]
