"""The draws of every map, pinned: published numbers rest on them, on every platform."""

import numpy as np
import pytest

from kfeat.kernels import Compositional, Exponential, Gaussian, Polynomial
from kfeat.maps import (
    ORF,
    SES,
    SORF,
    BayesianQuadrature,
    ComplexMaclaurin,
    ComplexTensorSketch,
    CompositionalMaclaurin,
    Fastfood,
    Nystrom,
    OptimisedMaclaurin,
    PolynomialTensorSketch,
    PositiveFeatures,
    RandomMaclaurin,
    RecursiveSketch,
    TensorSketch,
    TensorSRHT,
    TruncatedMaclaurin,
)

ZEROS = np.zeros((2, 3))
NORMAL = np.random.default_rng(0).standard_normal((60, 3))
NUMBERS = np.random.default_rng(3).integers(0, 9, (40, 3)).astype(float)
ROWS = np.array([[0.3, -0.2], [0.5, 0.9], [-0.4, 0.8], [1.2, 0.1]])
LANDMARKS = {
    "uniform": [1, 10, 12, 18, 22, 29],
    "kmeans++": [0, 11, 16, 17, 22, 35],
    "leverage": [1, 12, 14, 24, 25, 39],
    "rpcholesky": [10, 20, 25, 33, 36, 37],
}
PINNED = [
    (TensorSketch(Polynomial(2), 1000), ZEROS, {"buckets_": [[850, 636, 511, 269], [307, 40, 75, 16]]}),
    (RandomMaclaurin(Polynomial(2, coef0=1.0), 8), ZEROS, {"degrees_": [0, 0, 0, 3, 1, 1, 1, 2]}),
    (
        ComplexTensorSketch(Polynomial(2), 1000),
        ZEROS,
        {"buckets_": [[425, 318, 255, 134], [153, 20, 37, 8]], "exponents_": [[0, 1, 3, 0], [1, 1, 0, 3]]},
    ),
    (
        RecursiveSketch(Polynomial(3), 4),
        ZEROS[:, :2],
        {
            "buckets_": [[3, 2, 2], [1, 1, 0], [0, 0, 0]],
            "inner_buckets_": [[2, 2, 3, 2]],
            "inner_signs_": [[1, -1, 1, 1]],
        },
    ),
    (
        TensorSRHT(Polynomial(2, coef0=1.0), 6),
        ZEROS,
        {"signs_": [[-1, 1, 1, 1], [1, 1, -1, 1]], "coordinates_": [[1, 3, 2, 0, 3, 2], [3, 2, 3, 0, 1, 1]]},
    ),
    (
        Fastfood(n_components=8),
        ZEROS,
        {
            "signs_": [[-1, 1, 1, 1]],
            "permutations_": [[2, 0, 1, 3]],
            "normals_": [[0.6404227, 0.1049001, -0.5356694, 0.3615951]],
            "lengths_": [[2.8215392, 1.3514665, 1.4032583, 0.4613254]],
        },
    ),
    (
        SORF(n_components=4, lengths="chi"),
        ZEROS,
        {"signs_": [[[-1, 1, 1, 1]], [[1, 1, -1, 1]], [[-1, 1, 1, 1]]], "lengths_": [[2.296823, 1.4603822]]},
    ),
    (ORF(n_components=4), ZEROS[:, :2], {"frequencies_": [[0.2858297, -2.5055531], [1.4559096, 0.4918998]]}),
    (
        ComplexMaclaurin(Polynomial(3, coef0=1.0), 10, "truncated"),
        ZEROS + 1,
        {"degrees_": [1, 1, 1, 2, 3], "exponents_": [[3, 2, 0], [1, 2, 3], [3, 1, 2]], "dropped_": 2},
    ),
    (
        OptimisedMaclaurin(Polynomial(3, coef0=1.0), 12),
        np.eye(4) + 0.5,
        {"columns_": {1: 2, 2: 8}, "exponents_": [[1, 2, 3, 3], [3, 3, 0, 2]]},
    ),
    (
        PolynomialTensorSketch(Polynomial(2, coef0=1.0), 21, 2, "taylor"),
        [[0.7, -0.3], [0.4, 0.8], [-0.9, 0.3]],
        {"buckets_": [[8, 6, 5], [2, 3, 0]]},
    ),
    (
        PositiveFeatures(Exponential(2.0), 2),
        ZEROS[:, :2],
        {"directions_": [[0.12573022 / 2], [-0.13210486 / 2]]},
    ),
    (
        CompositionalMaclaurin(Compositional(Exponential(), Polynomial(2)), n_components=8),
        ROWS,
        {"degrees_": [0, 0, 0, 1, 1, 1, 2, 3], "columns_": [2, 1, 3, 6, 0, 4, 5, 7]},
    ),
    (TruncatedMaclaurin(Exponential(), 8), np.eye(2), {"degrees_": [0, 0, 0, 1, 1, 1, 2, 3]}),
    *(
        (Nystrom(Gaussian(0.1), 6, landmarks=rule), NUMBERS, {"landmark_indices_": indices})
        for rule, indices in LANDMARKS.items()
    ),
    (
        SES(Gaussian(0.5), 6, n_pairs=20, regularisation=0.1),
        NORMAL,
        {"weights_": [0.07845846678971871, 0.11414678556554456, 0.13204564768364377]},
    ),
    (
        BayesianQuadrature(Gaussian(0.5), 6, length=1.0),
        NORMAL,
        {"weights_": [0.29222895131408433, 0.022301861353655465, 0.48367581338135357]},
    ),
]


@pytest.mark.parametrize(("unfitted", "X", "pinned"), PINNED, ids=str)
def test_draws_are_the_same_on_every_platform(unfitted, X, pinned):
    fitted = unfitted.set_params(random_state=0).fit(X)
    for name, expected in pinned.items():
        met = getattr(fitted, name)
        if isinstance(expected, dict | int):
            assert met == expected
        else:
            np.testing.assert_allclose(met[: len(expected)], expected, rtol=2e-7)
            assert met.dtype.kind == "f" or np.array_equal(met[: len(expected)], expected)


def test_the_seed_of_an_inner_map_is_pinned():
    assert CompositionalMaclaurin(random_state=0).fit(ROWS).inner_.random_state == 493018052
