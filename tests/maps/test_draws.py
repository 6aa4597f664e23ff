"""The draws of every map, pinned: published numbers rest on them, on every platform."""

import numpy as np
import pytest

from kfeat import maps
from kfeat.kernels import Compositional, Exponential, Gaussian, Matern, Polynomial

ZEROS, ONES = np.zeros((2, 3)), np.ones((2, 3))
TWO = [[0.7, -0.3], [0.4, 0.8], [-0.9, 0.3]]
NORMAL = np.random.default_rng(0).standard_normal((60, 3))
NUMBERS = np.random.default_rng(3).integers(0, 9, (40, 3)).astype(float)
ROWS = np.array([[0.3, -0.2], [0.5, 0.9], [-0.4, 0.8], [1.2, 0.1]])
SQUARE, CUBE = Polynomial(2, coef0=1.0), Polynomial(3, coef0=1.0)
COMPOSED = Compositional(Exponential(), Polynomial(2))
LANDMARKS = {"uniform": 192.15544, "kmeans++": 212.1948, "leverage": 241.65107, "rpcholesky": 318.71511}
SEQUENCES = {"mc": 41.110338, "halton": 8.5778048, "sobol": -11.675208, "lattice": -0.86057032}
SEQUENCES["digital_net"] = -1.7518877
PINNED = [  # a map, its rows, what it draws, and the sum of those numbers times the roots of 1, 2, 3, ...
    (maps.TensorSketch(Polynomial(2), 1000), ZEROS, "buckets_ signs_", 4187.1265),
    (maps.TensorSketch(Polynomial(2), 1000, hashing="universal"), ZEROS, "buckets_ signs_", 11595.707),
    (maps.RandomMaclaurin(SQUARE, 8), ZEROS, "degrees_ signs_", 29.388514),
    (maps.ComplexTensorSketch(Polynomial(2), 1000), ZEROS, "buckets_ exponents_", 2128.4806),
    (maps.RecursiveSketch(Polynomial(3), 4), ZEROS, "buckets_ signs_ inner_buckets_ inner_signs_", 90.954715),
    (maps.TensorSRHT(SQUARE, 6), ZEROS, "signs_ coordinates_", 87.253851),
    (maps.Fastfood(n_components=8), ZEROS, "signs_ permutations_ normals_ lengths_", 43.988439),
    (maps.SORF(n_components=4), ZEROS, "signs_", 15.957502),
    (maps.ORF(n_components=4), ZEROS, "frequencies_", 4.0439463),
    (maps.ComplexMaclaurin(CUBE, 10, "truncated"), ONES, "degrees_ exponents_ dropped_", 131.20482),
    (maps.OptimisedMaclaurin(CUBE, 12), np.eye(4) + 0.5, "n_factors_ exponents_", 243.72773),
    (maps.PolynomialTensorSketch(SQUARE, 21, 2, "taylor"), TWO, "buckets_ signs_", 29.726661),
    (maps.PositiveFeatures(Exponential(2.0), 2), ZEROS, "directions_", 0.52407515),
    (maps.TruncatedMaclaurin(Exponential(), 8), np.eye(2), "degrees_ signs_", 35.761672),
    (maps.CompositionalMaclaurin(COMPOSED, None, 8), ROWS, "degrees_ columns_", 122.69065),
    (maps.CompositionalMaclaurin(COMPOSED, None, 8, "proportional"), ROWS, "degrees_ columns_", 157.09553),
    (maps.RandomFourier(None, 64, sequence="digital_net"), np.zeros((2, 10)), "frequencies_", -64.010739),
    *((maps.RandomFourier(Matern(0.5, nu=2), 7, sequence=name), ROWS, "frequencies_ offsets_", total)
      for name, total in SEQUENCES.items()),
    *((maps.Nystrom(Gaussian(0.1), 6, landmarks=rule), NUMBERS, "landmark_indices_", total)
      for rule, total in LANDMARKS.items()),
    (maps.SES(Gaussian(0.5), 6, n_pairs=20, regularisation=0.1), NORMAL, "weights_", 0.46859617),
    (maps.BayesianQuadrature(Gaussian(0.5), 6, length=1.0), NORMAL, "weights_", 1.1615196),
]  # fmt: skip


@pytest.mark.parametrize(("unfitted", "X", "names", "total"), PINNED, ids=str)
def test_draws_are_the_same_on_every_platform(unfitted, X, names, total):
    fitted = unfitted.set_params(random_state=0).fit(X)
    drawn = np.concatenate([np.ravel(getattr(fitted, name)) for name in names.split()]).astype(float)
    assert drawn @ np.sqrt(np.arange(1, drawn.size + 1)) == pytest.approx(total, rel=2e-7)


def test_the_seed_of_an_inner_map_is_pinned():
    assert maps.CompositionalMaclaurin(random_state=0).fit(ROWS).inner_.random_state == 493018052
