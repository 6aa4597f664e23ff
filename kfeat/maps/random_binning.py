"""Random binning: sparse features of the Laplacian kernel by random grids (Rahimi & Recht 2007)."""

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from kfeat.errors import DataError, ParameterError
from kfeat.kernels import Laplacian
from kfeat.maps.base import Array, BlockMapper, Facts, FeatureMap, register
from kfeat.maps.blocks import one_blas_thread
from kfeat.maps.grids import Floats, Limits, RandomGrids
from kfeat.parameters import Components
from kfeat.text import counted

CODES_BYTES = 2**26  # of the codes that a thread makes before it looks them up
TRANSPOSED = 1024  # rows of a block that is transposed in the cache
FEWEST_BITS = 20  # of a multiplier for columns that are learnt
HASHED_BITS = 24  # of a multiplier for hashed columns, which collide more often than codes
LONELY = 0.9  # from this number of cells per entry on, almost every row is alone in its cells

# The finaliser of SplitMix64 (Steele, Lea and Flood 2014): shifts, each with the factor of the step.
SPLITMIX = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))

Codes = NDArray[np.int64]
Places = NDArray[np.int32]


@register("random_binning")
class RandomBinning(FeatureMap):
    """Random binning: z(x) is 1 / sqrt(R) in the columns of the cells of R random grids in which x lies.

    A grid has widths w_j ~ Gamma(2, 1 / gamma) and shifts s_j ~ U(0, 1); the cell of x is the vector of bins
    floor(x_j / w_j + s_j). Two rows share it with probability k(x, y) = exp(-gamma ||x - y||_1), so
    <z(x), z(y)> is the mean of R Bernoulli draws: unbiased, and its variance is k (1 - k) / R exactly. That
    of R random Fourier features of this kernel is (1 - k^2) / R, larger by the factor 1 + 1 / k.

    The features are a CSR matrix (n, D) of at most R values per row. A cell in which no training row lies has
    no column, and D is known after `fit`. So the law holds for pairs of which one is a training row, while
    new rows lose the cells that only they share: their own <z(x), z(x)> is the share of known cells. Hashed
    columns (`n_columns`) keep them.

    Use it for rough targets and many rows. Training takes longer the more cells there are: with hundreds of
    columns that all vary, most rows have cells of their own.

    Any kernel that is a product of factors k(|x_j - y_j|) with k'' >= 0 has such grids, with the density
    w k''(w) of widths; kfeat has the Laplacian's. Smoother kernels would need weights f within the cells
    (Kapralov et al., "Scaling up kernel ridge regression via locality sensitive hashing", 2020). With
    the integral of f^2 at 1, <z(x), z(x)> then has the variance ((the integral of f^4)^d - 1) / R, for a tent
    (1.8^d - 1) / R. At d = 8 the mean variance is more than 20 times that of as many random Fourier features,
    so kfeat has none.

    Two cells of a grid share a column with probability 2^-20 at most, usually 2^-38. A value within rounding
    of the edge of a bin may fall into the next: single and double precision differ in about one entry of a
    million. Wu, Yen, Chen and Yan, "Revisiting random binning features", KDD 2016.

    Parameters
    ----------
    kernel : Laplacian, optional
        The kernel; None is Laplacian().
    n_components : int, default 100
        The number R of grids: time, memory and the values per row are proportional to it.
    n_columns : int, optional
        A number D of columns that is fixed before `fit`, for streams and data larger than memory. Each cell
        gets a column and a sign by hashing, which is unbiased for all pairs of rows and adds about 1 / D to
        the variance. None gives every cell of the training rows a column of its own, without collisions.
    random_state, n_jobs : see FeatureMap

    Attributes
    ----------
    inverse_widths_, shifts_, multipliers_ : ndarray of shape (R, d)
        The grids: 1 / w, s, and integers that make a code of a cell (`kfeat.maps.grids`).
    codes_, first_ : ndarray of shapes (D,) and (R + 1,)
        The codes of the cells of all grids, and the place of each grid's first; empty for hashed columns.

    Examples
    --------
    >>> import numpy as np
    >>> from kfeat.kernels import Laplacian
    >>> from kfeat.maps import RandomBinning
    >>> X = np.random.default_rng(0).random((500, 3))
    >>> Z = RandomBinning(Laplacian(gamma=1.0), n_components=400, random_state=0).fit_transform(X)
    >>> Z.nnz == 500 * 400, bool(abs((Z @ Z.T).toarray() - Laplacian(gamma=1.0)(X)).max() < 0.15)
    (True, True)
    """

    facts = Facts(
        cost="d R, less where a column lies in one bin",
        variance="k (1 - k) / R",
        source="Rahimi & Recht 2007, Algorithm 2; Wu, Yen, Chen & Yan 2016",
        use="rough targets and many rows; sparse features, for LIBLINEAR",
    )
    approximates = Laplacian
    default_kernel = Laplacian()
    sparse_output = True

    n_components: Components = 100
    n_columns: Components | None = None

    def _draw(self, X: Any, rng: Generator) -> int:
        R, (n, d) = self.n_components, X.shape
        self._check_memory(f"{counted(R, 'grids')} of {counted(d, 'features')}", 24 * R * d)
        widths, self.shifts_ = self._draw_grids(rng, (R, d))
        self.inverse_widths_ = 1 / widths
        if not np.isfinite(self.inverse_widths_).all():
            raise ParameterError(f"RandomBinning: gamma = {self.kernel_.gamma:g} makes bins without width")
        limits = Limits.of(X)
        self.low_, self.high_ = limits.low - widths.max(axis=0), limits.high + widths.max(axis=0)
        self.multipliers_ = np.ones((R, d))
        self.multipliers_ = rng.integers(1, 2 ** self._bits(), (R, d)).astype(np.float64)
        self.codes_, self.first_ = np.empty(0, np.int64), np.zeros(R + 1, np.int64)
        self._tables: dict[int, Any] = {}
        if self.n_columns is not None:
            self.seeds_ = rng.integers(2**63, size=R)
            return self.n_columns
        self._check_memory(f"the cells of {counted(n, 'rows')} in {counted(R, 'grids')}", 12 * n * R)
        cells = self._per_grid(X, _cells)
        self.first_ = np.cumsum([0, *(len(codes) for codes, _ in cells)])
        self.codes_ = np.concatenate([codes for codes, _ in cells])
        self._training = [places for _, places in cells]
        self._warn_of_gamma(len(self.codes_) / R, n)
        return len(self.codes_)

    def _draw_grids(self, rng: Generator, shape: tuple[int, int]) -> tuple[Floats, Floats]:
        """Return the widths and the shifts of grids, shape (R, d) each; shifts are in widths."""
        return self.kernel_.sample_bin_widths(rng, shape), rng.random(shape)

    def _bits(self) -> int:
        """Return the bits of a multiplier; raises DataError for training rows of too many bins."""
        if self.n_columns is not None:
            return HASHED_BITS
        bits = self._grids(slice(None)).bits(Limits(self.low_, self.high_))
        if bits < FEWEST_BITS:
            j = int((self.high_ - self.low_).argmax())
            raise DataError(
                f"RandomBinning: feature {j} reaches from {self.low_[j]:.3g} to {self.high_[j]:.3g}, which "
                "is too many bins to tell apart: scale the features, or lower gamma"
            )
        return bits

    def _warn_of_gamma(self, cells: float, n: int) -> None:
        """Warn if grids have one cell, or about one for each row."""
        gamma = f"gamma, which is {self.kernel_.gamma:g}"
        if n > 1 and cells == 1:
            warnings.warn(f"RandomBinning: all rows share all cells: raise {gamma}", stacklevel=5)
        elif n > 1 and cells > LONELY * n:
            warnings.warn(
                f"RandomBinning: almost every row is alone in its cells: lower {gamma}", stacklevel=5
            )

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the grids and learn the cells of X (n, d), dense or sparse.

        Raises ParameterError, UnsupportedKernelError, DataError for features of too many bins, or
        scikit-learn's ValueError for NaN or misshapen data.
        """
        super().fit(X, y)
        self.__dict__.pop("_training", None)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Return the features (n, D) of the rows X (n, d) that it is fitted to: in one pass, where fit and
        transform take two.
        """
        super().fit(X, y)
        columns = self.__dict__.pop("_training", None)
        return self.transform(X) if columns is None else self._features(columns, self._rows(X, reset=False))

    def transform(self, X: Any, out: Array | None = None) -> Any:
        """Return the features of X (n, d) as a CSR matrix (n, D); float32 if X is, else float64.

        Raises ParameterError if `out` is given: sparse features have no place in an array.
        """
        check_is_fitted(self)
        if out is not None:
            raise ParameterError("RandomBinning: its features are sparse and cannot be written to `out`")
        X = self._rows(X, reset=False)
        n, R = X.shape[0], self.n_components
        self._check_memory(f"the features of {counted(n, 'rows')} in {counted(R, 'grids')}", 24 * n * R)
        return self._features(self._per_grid(X, self._known if self.n_columns is None else self._hashed), X)

    def unseen(self, Z: Any) -> float:
        """Return the share of cells of rows with features Z in which no training row lies."""
        return 0.0 if self.n_columns is not None else 1 - Z.nnz / (Z.shape[0] * self.n_components)

    def _block_mapper(self, dtype: np.dtype[Any]) -> BlockMapper:
        raise ParameterError("RandomBinning: its features are sparse and cannot stand beside dense ones")

    def _grids(self, grids: slice) -> RandomGrids:
        return RandomGrids(self.inverse_widths_[grids], self.shifts_[grids], self.multipliers_[grids])

    def _per_grid(self, X: Any, function: Callable[[int, Codes], Any]) -> list[Any]:
        """Return function(g, the codes of the rows' cells) for each grid g, computed in threads."""
        R, threads = self.n_components, effective_n_jobs(self.n_jobs)
        step = max(1, min(CODES_BYTES // (8 * X.shape[0]), -(-R // threads)))
        limits = Limits(self.low_, self.high_) if self.n_columns is None else None

        def of(grids: slice) -> list[Any]:
            return [*map(function, range(R)[grids], self._grids(grids).codes(X, limits))]

        with one_blas_thread(), ThreadPoolExecutor(threads) as pool:
            return [result for results in pool.map(of, gen_batches(R, step)) for result in results]

    def _known(self, g: int, codes: Codes) -> Places:
        """Return the place of each code among the cells of grid g, -1 if no training row lies there."""
        if g not in self._tables:
            from pandas import Index

            self._tables[g] = Index(self.codes_[self.first_[g] : self.first_[g + 1]])
        return self._tables[g].get_indexer(codes).astype(np.int32)

    def _hashed(self, g: int, codes: Codes) -> Places:
        """Return a place of n_columns for each code of grid g; if its sign is negative, -1 - place."""
        h = codes.view(np.uint64) + np.uint64(self.seeds_[g])
        for shift, factor in SPLITMIX:
            h = (h ^ (h >> np.uint64(shift))) * np.uint64(factor)
        place = ((h >> np.uint64(33)) * np.uint64(self._n_features_out) >> np.uint64(31)).astype(np.int32)
        return np.where(h >> np.uint64(32) & np.uint64(1), -1 - place, place)

    def _features(self, by_grid: list[Places], X: Any) -> Any:
        """Return the features of X from the places of its rows in each grid: -1 has no column.

        Of hashed columns -1 - place is a place with a negative sign.
        """
        n, R, D = X.shape[0], self.n_components, self._n_features_out
        index = np.int32 if max(D, n * R) < 2**31 else np.int64
        columns, first = np.empty((n, R), index), self.first_[:-1].astype(index)
        some_negative = any((places < 0).any() for places in by_grid)
        for rows in gen_batches(n, TRANSPOSED):
            block = columns[rows]
            np.stack([places[rows] for places in by_grid], axis=1, out=block)
            block += np.where(block < 0, 0, first) if some_negative else first
        values = np.full((n, R), 1 / np.sqrt(R), np.float32 if X.dtype == np.float32 else np.float64)
        ends = np.arange(0, n * R + 1, R, dtype=index)
        if some_negative:
            below = columns < 0
            if self.n_columns is None:
                ends[1:] -= np.cumsum(np.count_nonzero(below, axis=1), dtype=index)
                values, columns = values[~below], columns[~below]
            else:
                values[below] *= -1
                columns[below] = -1 - columns[below]
        Z = csr_array((values.ravel(), columns.ravel(), ends), shape=(n, D))
        if self.n_columns is not None:
            Z.sum_duplicates()
        return Z

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_tables"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._tables = {}


def _cells(g: int, codes: Codes) -> tuple[Codes, Places]:
    """Return the different codes in the order of their first rows, and the place of each row's code."""
    from pandas import factorize

    places, different = factorize(codes)
    return different, places.astype(np.int32)
