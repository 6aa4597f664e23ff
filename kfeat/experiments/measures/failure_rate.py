"""How often the error of random Fourier features exceeds its bound, also with misprinted densities."""

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Gt
from numpy.typing import NDArray
from scipy import special
from scipy.sparse import issparse
from sklearn.base import clone

from kfeat.diagnostics import sampled_rows
from kfeat.errors import ParameterError
from kfeat.experiments.measures import Clock, Measure, register
from kfeat.experiments.quantities import Quantity, at
from kfeat.kernels import Gaussian, Laplacian
from kfeat.maps import RandomFourier

REACH = 3.0  # where the printed density is cut off, in standard deviations of the Gaussian's frequencies


@register("failure_rate")
class FailureRate(Measure):
    """How often the largest error of a map exceeds factor sqrt(d / D), over `n_draws` draws of the map.

    Rahimi & Recht (NIPS 2007) bound sup |<z(x), z(y)> - k(x, y)| by O(sqrt(d / D)) with high probability.
    Here the supremum is over all pairs of `n_rows` sampled rows.

    failure_rate: the share of draws in which it is at least factor sqrt(d / D).
    largest_error: its mean over the draws.

    `density` says whether the frequencies are those of the `kernel`, or come from the density that is
    `printed` for it (`printed_frequencies`).
    """

    keys: ClassVar[frozenset[str]] = frozenset({"failure_rate", "largest_error"})
    quantities: ClassVar[tuple[Quantity, ...]] = (
        Quantity(
            "failure_rate", "failure rate", at("failure_rate", factor=100.0),
            draws=at("measure", "n_draws"), spec=".1f", unit="%", better="lower", score=True,
            note="share of the draws whose largest error is factor · sqrt(d / D) or more, {spread}",
        ),
        Quantity(
            "largest_error", "largest error", at("largest_error"), spec=".4g", better="lower", score=True,
            note="max |<z(x), z(y)> - k(x, y)| over the pairs of sampled rows, mean over the draws, {spread}",
        ),
    )  # fmt: skip

    factor: Annotated[float, Gt(0)] = 3.0
    density: Literal["kernel", "printed"] = "kernel"
    n_rows: Annotated[int, Ge(3)] = 100
    n_draws: Annotated[int, Ge(2)] = 100

    def of(self, feature_map: Any, X: Any, clock: Clock, seed: int) -> dict[str, Any]:
        """Return the share of draws beyond the bound on rows sampled from X (n, d), for a row."""
        rows, _ = sampled_rows(X, self.n_rows, seed)
        x = np.asarray(rows.toarray() if issparse(rows) else rows, dtype=np.float64)
        drawn, largest = clone(feature_map), np.empty(self.n_draws)
        with clock("draws"):
            for i in range(self.n_draws):
                source = [feature_map.random_state, i]
                drawn.set_params(random_state=source).fit(x)
                if self.density == "printed":
                    take_printed(drawn, np.random.default_rng([*source, 1]))
                Z = drawn.transform(x)
                largest[i] = np.abs(Z @ Z.T - drawn.kernel_(x)).max()
        bound = self.factor * np.sqrt(x.shape[1] / feature_map.n_components)
        return {
            "failure_rate": float((largest >= bound).mean()),
            "largest_error": float(largest.mean()),
            "columns": None,
        }


def take_printed(fitted: Any, rng: np.random.Generator) -> None:
    """Replace the frequencies of a fitted map by frequencies of the printed density."""
    if not isinstance(fitted, RandomFourier) or not isinstance(fitted.kernel_, Gaussian | Laplacian):
        raise ParameterError(
            "failure_rate: the printed densities are for random_fourier with the gaussian or the laplacian "
            f"kernel, got {fitted!r}; take density: kernel"
        )
    fitted.frequencies_ = printed_frequencies(fitted.kernel_, rng, fitted.frequencies_.shape)


def printed_frequencies(
    kernel: Gaussian | Laplacian, rng: np.random.Generator, shape: tuple[int, ...]
) -> NDArray[np.float64]:
    """Return frequencies of the densities in Bellet (2020), "Random kernel features: examples".

    Laplacian exp(-gamma ||x - y||_1): the product of 1 / (pi (1 + w^2 / (2 gamma))), which is the Cauchy
    density of scale sqrt(2 gamma) up to a factor. Its Fourier transform is exp(-sqrt(2 gamma) ||x - y||_1);
    the kernel needs the scale gamma.

    Gaussian exp(-gamma ||x - y||^2): exp(+w^2 / (4 gamma)) without the minus sign, which grows and has no
    finite integral. Frequencies are drawn on |w| <= REACH sqrt(2 gamma), by the inverse of its distribution
    function there.
    """
    gamma = float(kernel.gamma)
    if isinstance(kernel, Laplacian):
        return rng.standard_cauchy(shape) * np.sqrt(2 * gamma)
    grid = np.linspace(-REACH, REACH, 10_001)
    share = special.erfi(grid / np.sqrt(2))
    return np.interp(rng.uniform(share[0], share[-1], shape), share, grid) * np.sqrt(2 * gamma)
