"""What the Fourier features of the Gaussian kernel share whose frequencies depend on each other."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfeat.kernels import Gaussian, Kernel
from kfeat.maps.base import BlockMapper, FeatureMap
from kfeat.maps.random_fourier import write_waves
from kfeat.parameters import Components, Jobs

Phases = Callable[[Any], NDArray[Any]]  # (rows of X) -> a new array of <w_i, x>, frequencies as columns


class GaussianFourier(FeatureMap):
    """z(x) = sqrt(2 / D) (cos <w_1, x>, ..., sin <w_1, x>, ...), with one more cosine for an odd D.

    The frequencies come in independent blocks; within a block they depend on each other.
    """

    def __init__(
        self,
        kernel: Any = None,
        n_components: Components = 100,
        random_state: Any = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.random_state = random_state
        self.n_jobs = n_jobs

    @classmethod
    def supports(cls, kernel: Kernel) -> bool:
        """Return whether the kernel is Gaussian: its spectrum is the one that rotations do not change."""
        return isinstance(kernel, Gaussian)

    @classmethod
    def default_kernel(cls) -> Kernel:
        """Return exp(-||x - y||^2)."""
        return Gaussian()

    @abstractmethod
    def _draw_frequencies(self, rng: np.random.Generator, d: int, n_frequencies: int) -> None:
        """Draw what the frequencies are made of."""

    @abstractmethod
    def _phases(self, dtype: np.dtype[Any]) -> Phases:
        """Return the function that multiplies a dense or CSR block by the frequencies."""

    def _n_frequencies(self) -> int:
        return -(-self.n_components // 2)

    def _draw(self, X: Any, rng: np.random.Generator) -> int:
        self._draw_frequencies(rng, X.shape[1], self._n_frequencies())
        self.offsets_ = rng.uniform(0, 2 * np.pi, self.n_components % 2)
        return self.n_components

    def _block_mapper(self, dtype: np.dtype[Any]) -> BlockMapper:
        phases_of, offsets = self._phases(dtype), self.offsets_.astype(dtype)
        scales = np.array([np.sqrt(2 / self.n_components)], dtype)
        n_cosines, n_pairs = self._n_frequencies(), self.n_components // 2

        def map_block(X: Any, out: NDArray[Any]) -> None:
            phases = phases_of(X)
            phases[:, n_pairs:] += offsets
            write_waves(phases, scales, out[:, :n_cosines], out[:, n_cosines:])

        return map_block
