"""Products with roots of unity and both libraries of FFTs give the same features; a missing one is told."""

from functools import partial
from importlib import util

import numpy as np
import pytest
from scipy.sparse import csr_array

from kfeat.errors import ParameterError
from kfeat.kernels import Polynomial
from kfeat.maps import ComplexTensorSketch, TensorSketch

LENGTHS = [1, 2, 3, 16, 45, 97, 500]  # even and odd, a prime among them


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("D", LENGTHS)
@pytest.mark.parametrize("domain", ["real", "frequency"])
@pytest.mark.parametrize("map_class", [TensorSketch, ComplexTensorSketch])
def test_products_with_roots_of_unity_and_both_libraries_give_the_same_features(
    map_class, domain, D, dtype, monkeypatch
):
    X = np.random.default_rng(D).standard_normal((70, 9)).astype(dtype)
    make = partial(map_class, Polynomial(3, coef0=0.5), D, domain, random_state=1)
    by_product = make().fit_transform(X)
    assert by_product.dtype == dtype
    atol = 50 * np.finfo(dtype).eps * np.abs(by_product).max()
    np.testing.assert_allclose(make().fit_transform(csr_array(X)), by_product, rtol=0, atol=atol)
    monkeypatch.setattr("kfeat.maps.tensor_sketch.FEW_FEATURES", 0)
    for fft in ("scipy", "ducc0"):
        for rows in (X, csr_array(X)):
            Z = make(fft=fft).fit_transform(rows)
            np.testing.assert_allclose(Z, by_product, rtol=0, atol=atol)
    assert not np.array_equal(Z, by_product) or D <= 3  # so it was another way


@pytest.mark.parametrize("domain", ["real", "frequency"])
@pytest.mark.parametrize("map_class", [TensorSketch, ComplexTensorSketch])
def test_features_differ_by_rounding_only(map_class, domain):
    X = np.random.default_rng(0).random((300, 80), dtype=np.float32)
    scipy, ducc0, threads = (
        map_class(Polynomial(3, coef0=1.0), 250, domain, random_state=1, **more).fit_transform(X)
        for more in ({}, {"fft": "ducc0"}, {"fft": "ducc0", "n_jobs": 2})
    )
    np.testing.assert_allclose(ducc0, scipy, rtol=0, atol=1e-5 * np.abs(scipy).max())
    np.testing.assert_array_equal(threads, ducc0)
    sparse = map_class(Polynomial(3, coef0=1.0), 250, domain, fft="ducc0", random_state=1)
    np.testing.assert_allclose(
        sparse.fit_transform(csr_array(X)), ducc0, rtol=0, atol=1e-5 * np.abs(scipy).max()
    )


def test_a_library_that_is_not_installed_is_told_before_anything_is_mapped(monkeypatch):
    there = util.find_spec
    monkeypatch.setattr(
        "kfeat.maps.tensor_sketch.find_spec", lambda name: None if name == "ducc0" else there(name)
    )
    X = np.ones((3, 2))
    for map_class in (TensorSketch, ComplexTensorSketch):
        with pytest.raises(ParameterError, match="ducc0 is not installed; `pip install ducc0`"):
            map_class(fft="ducc0").fit(X)
        assert map_class().fit(X).transform(X).shape == (3, 100)  # SciPy's needs nothing
    with pytest.raises(ParameterError, match="fft"):
        TensorSketch(fft="fftw").fit(X)


@pytest.mark.parametrize(
    ("map_class", "sizes"), [(TensorSketch, (1, 2, 9, 10)), (ComplexTensorSketch, (2, 10, 12))]
)
def test_the_frequency_domain_keeps_inner_products(map_class, sizes):
    X = np.random.default_rng(0).random((20, 7))
    for D in sizes:
        real, frequency = (
            map_class(Polynomial(3, coef0=0.5), D, domain, random_state=3).fit_transform(X)
            for domain in ("real", "frequency")
        )
        assert real.shape == frequency.shape == (20, D)
        np.testing.assert_allclose(frequency @ frequency.T, real @ real.T, rtol=1e-10)
