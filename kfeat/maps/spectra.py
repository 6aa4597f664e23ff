"""Spectra of count sketches: by a product with roots of unity where rows have few features, else by FFT."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import issparse

# Up to so many features a product of 2 d D operations per row by BLAS is quicker than a count sketch and its
# FFT: the whole map measured 2.4 to 3.9 times at d = 8, 1.5 to 2.1 at 54, and 0.9 to 1.4 at 123, the lower
# numbers with AVX2 alone, the higher ones with AVX-512.
FEW_FEATURES = 64
MANY_ROOTS = 2**20  # numbers in all matrices of roots, beyond which they fill a core's cache

Spectrum = Callable[[Any], NDArray[Any]]  # a block -> the spectra of its sketches, shape (n, frequencies)


def product_with_roots(
    buckets: NDArray[np.int64], values: NDArray[Any], D: int, dtype: DTypeLike
) -> Spectrum:
    """Return the function that takes blocks `with_ones` to the spectra of their count sketches.

    F_k = sum over the features i of x_i values_i exp(-2 pi i k buckets_i / D), a product with a matrix of
    shape (d + 1, frequencies); k = 0 .. D / 2 for real values, as `rfft` has it, and k < D for complex ones.
    """
    complex_type = np.result_type(dtype, np.complex64)
    n_frequencies = D if np.iscomplexobj(values) else D // 2 + 1
    roots = np.exp(-2j * np.pi / D * np.arange(D))
    turns = np.multiply.outer(buckets, np.arange(n_frequencies)) % D
    matrix = (roots[turns] * values[:, None]).astype(complex_type).view(dtype)  # Re F_0, Im F_0, Re F_1, ...
    return lambda block: (block @ matrix).view(complex_type)


def product_is_quicker(degree: int, d: int, D: int) -> bool:
    """Return whether products take less time than FFTs for sketches of d features into D real numbers."""
    return d <= FEW_FEATURES and degree * (d + 1) * D <= MANY_ROOTS


def transform_of(
    sketch: Callable[[Any], NDArray[Any]], transform: Callable[[NDArray[Any]], NDArray[Any]]
) -> Spectrum:
    """Return the function that takes blocks as `arranged` makes them to the FFTs of their count sketches."""
    return lambda block: transform(sketch(block))


def with_ones(X: Any) -> NDArray[Any]:
    """Return the rows of a dense or CSR block as dense ones, with the constant feature 1 as the last."""
    n, d = X.shape
    block = np.ones((n, d + 1), X.dtype)
    block[:, :d] = X.toarray() if issparse(X) else X
    return block


def multiplied(spectra: list[Spectrum], block: Any) -> NDArray[Any]:
    """Return the product of the spectra: that of the convolution of the count sketches."""
    product = spectra[0](block)
    for spectrum in spectra[1:]:
        product *= spectrum(block)
    return product
