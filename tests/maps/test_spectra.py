"""The spectra of count sketches by a product with roots of unity are those by FFT."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from kfeat.maps.complex_tensor_sketch import ComplexCountSketch
from kfeat.maps.count_sketch import CountSketch, arranged
from kfeat.maps.ffts import ffts
from kfeat.maps.signs import FOURTH_ROOTS
from kfeat.maps.spectra import multiplied, product_is_quicker, product_with_roots, transform_of, with_ones

BUCKETS = [1, 2, 7, 12, 100]


def rows_of(dtype):
    return np.random.default_rng(0).standard_normal((6, 9)).astype(dtype)


def close(found, expected, dtype):
    assert found.dtype == expected.dtype == np.result_type(dtype, np.complex64)
    np.testing.assert_allclose(found, expected, rtol=0, atol=10 * np.finfo(dtype).eps * abs(expected).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("D", BUCKETS)
@pytest.mark.parametrize("library", ["scipy", "ducc0"])
def test_the_product_is_the_real_fft_of_the_sketch(library, D, dtype):
    rng, X = np.random.default_rng(D), rows_of(dtype)
    buckets, values = rng.integers(D, size=10), rng.choice([-1.0, 1.0], size=10) * 0.7
    by_fft = transform_of(CountSketch(buckets, values.astype(dtype), D), ffts(library).rfft)
    product = product_with_roots(buckets, values, D, dtype)
    for rows in (X, csr_array(X)):
        close(product(with_ones(rows)), by_fft(arranged(rows)), dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("D", BUCKETS)
@pytest.mark.parametrize("library", ["scipy", "ducc0"])
def test_the_product_is_the_fft_of_the_complex_sketch(library, D, dtype):
    rng, X = np.random.default_rng(D), rows_of(dtype)
    buckets, exponents = rng.integers(D, size=10), rng.integers(4, size=10).astype(np.int8)
    scales = np.full(10, 0.7, dtype)
    by_fft = transform_of(ComplexCountSketch(buckets, exponents, scales, D), ffts(library).fft)
    product = product_with_roots(buckets, FOURTH_ROOTS[exponents] * scales, D, dtype)
    close(product(with_ones(X)), by_fft(arranged(X)), dtype)


def test_spectra_are_multiplied_frequency_by_frequency():
    spectra = [lambda block, k=k: block * k for k in (2.0, 3.0, 5.0)]
    np.testing.assert_array_equal(multiplied(spectra, np.array([[1.0, -2.0]])), [[30.0, -240.0]])


def test_products_are_for_few_features_and_matrices_that_fit_a_cache():
    assert product_is_quicker(4, 54, 500)
    assert not product_is_quicker(4, 123, 200)
    assert not product_is_quicker(2, 10, 1_000_000)
