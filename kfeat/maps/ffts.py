"""Fast Fourier transforms of rows, by SciPy or by ducc0."""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Literal, NamedTuple

from numpy.typing import NDArray
from scipy import fft

from kfeat.errors import ParameterError

Library = Literal["scipy", "ducc0"]


class FFTs(NamedTuple):
    """The transforms along axis 1; the inverse ones may use up the spectrum and write into `out`."""

    rfft: Callable[[NDArray[Any]], NDArray[Any]]
    fft: Callable[[NDArray[Any]], NDArray[Any]]
    irfft: Callable[[NDArray[Any], NDArray[Any]], None]
    ifft: Callable[[NDArray[Any]], NDArray[Any]]


def ffts(library: Library) -> FFTs:
    """Return the transforms of a library; raises ParameterError where ducc0 is not installed.

    ducc0 (Reinecke) continues the program that SciPy has: it uses AVX where there is any, and measured 1.4 to
    1.9 times as quick on single precision. Its last digits depend on the processor; SciPy's do not.
    """
    if library == "scipy":
        return FFTs(_rfft, _fft, _irfft, _ifft)
    if find_spec("ducc0") is None:
        raise ParameterError("fft: ducc0 is not installed; `pip install ducc0` adds it")
    from ducc0.fft import c2c, c2r, r2c

    def irfft(spectrum: NDArray[Any], out: NDArray[Any]) -> None:
        c2r(spectrum, axes=(1,), lastsize=out.shape[1], forward=False, inorm=2, out=out,
            allow_overwriting_input=True)  # fmt: skip

    return FFTs(
        rfft=lambda rows: r2c(rows, axes=(1,)),
        fft=lambda rows: c2c(rows, axes=(1,)),
        irfft=irfft,
        ifft=lambda spectrum: c2c(spectrum, axes=(1,), forward=False, inorm=2, out=spectrum),
    )


def _rfft(rows: NDArray[Any]) -> NDArray[Any]:
    spectrum: NDArray[Any] = fft.rfft(rows, axis=1)
    return spectrum


def _fft(rows: NDArray[Any]) -> NDArray[Any]:
    spectrum: NDArray[Any] = fft.fft(rows, axis=1)
    return spectrum


def _irfft(spectrum: NDArray[Any], out: NDArray[Any]) -> None:
    out[:] = fft.irfft(spectrum, n=out.shape[1], axis=1, overwrite_x=True)


def _ifft(spectrum: NDArray[Any]) -> NDArray[Any]:
    entries: NDArray[Any] = fft.ifft(spectrum, axis=1, overwrite_x=True)
    return entries
