"""Maps with other parameters than their defaults, which the contracts of all maps are held against."""

from kfeat.kernels import Exponential, Gaussian, Laplacian, Polynomial, Sum
from kfeat.maps import Nystrom, RandomFourier, RandomMaclaurin, Stacked, TensorSketch

VARIANTS = [
    TensorSketch(Polynomial(3, coef0=0.5), 40),
    TensorSketch(Polynomial(2), 41, domain="frequency", hashing="universal"),
    RandomMaclaurin(Polynomial(3, coef0=1.0), 60),
    RandomMaclaurin(Exponential("median"), 60, degree_law="proportional", h01=True),
    RandomMaclaurin(Polynomial(4), 60, degree_law="truncated", constant=False),
    RandomFourier(Laplacian(0.1), 40),
    RandomFourier(Gaussian("mean_distance"), 41),
    RandomFourier(Gaussian("median"), 40, features="offset"),
    Nystrom(Laplacian(0.5), 30, rank=20),
    Nystrom(Laplacian(0.7), 20, landmarks="rpcholesky"),
    Nystrom(Laplacian(1.0), 20, landmarks="leverage"),
    Nystrom(Laplacian("median"), 20, rank=15, landmarks="kmeans++"),
    Stacked(
        Sum([Polynomial(2), Laplacian(), Polynomial(3, coef0=1.0)], weights=[0.5, 2.0, 1.0]),
        [TensorSketch(n_components=20), Nystrom(n_components=30), RandomMaclaurin(n_components=50, h01=True)],
    ),
]
