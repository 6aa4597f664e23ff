"""The two libraries of FFTs give the same features, and one that is missing is told."""

from importlib import util

import numpy as np
import pytest
from scipy.sparse import csr_array

from kfeat.errors import ParameterError
from kfeat.kernels import Polynomial
from kfeat.maps import ComplexTensorSketch, TensorSketch
from kfeat.maps.ffts import ffts

LENGTHS = [1, 2, 3, 16, 45, 97, 500]  # even and odd, a prime among them


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("D", LENGTHS)
def test_both_libraries_transform_rows_alike_and_invert(D, dtype):
    rows = np.random.default_rng(D).standard_normal((70, D)).astype(dtype).T.copy().T  # columns lie together
    atol = 50 * np.finfo(dtype).eps * D**0.5
    for library in ("scipy", "ducc0"):
        transforms, out = ffts(library), np.zeros((70, D + 3), dtype)
        spectrum = transforms.rfft(rows)
        assert spectrum.dtype == np.result_type(dtype, np.complex64)
        np.testing.assert_allclose(spectrum, np.fft.rfft(rows.astype(float), axis=1), rtol=0, atol=atol)
        transforms.irfft(spectrum, out[:, 1 : D + 1])
        np.testing.assert_allclose(out[:, 1 : D + 1], rows, rtol=0, atol=atol)
        assert not out[:, [0, D + 1, D + 2]].any()  # what is beside is left alone
        entries = rows + 1j * rows[::-1]
        back = transforms.ifft(transforms.fft(entries))
        assert back.dtype == entries.dtype
        np.testing.assert_allclose(back, entries, rtol=0, atol=2 * atol)


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
    monkeypatch.setattr("kfeat.maps.ffts.find_spec", lambda name: None if name == "ducc0" else there(name))
    X = np.ones((3, 2))
    for map_class in (TensorSketch, ComplexTensorSketch):
        with pytest.raises(ParameterError, match="ducc0 is not installed; `pip install ducc0`"):
            map_class(fft="ducc0").fit(X)
        assert map_class().fit(X).transform(X).shape == (3, 100)  # SciPy's needs nothing
    with pytest.raises(ParameterError, match="fft"):
        TensorSketch(fft="fftw").fit(X)
