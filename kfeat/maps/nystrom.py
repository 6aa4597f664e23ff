"""The Nystrom approximation of any kernel (Drineas & Mahoney 2005)."""

import warnings
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge
from numpy.exceptions import RankWarning
from numpy.random import Generator
from pydantic import AfterValidator
from scipy.linalg import eigh, qr
from scipy.sparse import sparray, spmatrix
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_array

from kfeat.errors import DataError, ParameterError
from kfeat.kernels import Gaussian, Kernel
from kfeat.kernels.operands import as_operand, canonical
from kfeat.maps.base import Array, BlockMapper, Facts, FeatureMap, register
from kfeat.maps.landmarks import RULES
from kfeat.parameters import Components, did_you_mean
from kfeat.text import counted

DEFAULT_LANDMARKS = 100
PANEL = 64  # columns per product with the trapezoidal matrix of components
ROUNDING = 5e-5  # largest accepted error of kernel values in single precision, relative to the largest value
TRIED = 200  # number of rows and of landmarks on which this is tested


def _known_rule(landmarks: Any) -> Any:
    if landmarks is None:  # the default of version 2
        return "uniform"
    if isinstance(landmarks, np.ndarray | sparray | spmatrix) or (
        isinstance(landmarks, str) and landmarks in RULES
    ):
        return landmarks
    near = did_you_mean(landmarks, list(RULES)) if isinstance(landmarks, str) else ""
    raise ValueError(f"expected rows as an array or sparse matrix, or one of {', '.join(RULES)}{near}")


@register("nystrom")
class Nystrom(FeatureMap):
    """The Nystrom map of any kernel (Bellet 2020, "Nystrom approximation: explicit feature map").

    z(x) = k(x, landmarks) V_k L_k^(-1/2), up to a rotation, with W_k = V_k L_k V_k^T the best rank-k
    approximation of the landmarks' Gram matrix W, so that Z Z^T = C W_k^+ C^T. It is exact if all rows are
    landmarks, at full rank. (The slides' exponent 1/2 belongs to W^+.) Eigenvalues that are zero in double
    precision are left out: then there are fewer columns than `rank`, and a RankWarning says so.

    L_k^(-1/2) magnifies the rounding of kernel values by up to 10^6. So float32 data are mapped in single
    precision only if that changes kernel values by less than 5e-5 of the largest one. Otherwise they are
    mapped in double precision, and the features are rounded to float32; `precision_` says which.

    Parameters
    ----------
    kernel : any kernel, default exp(-||x - y||^2)
    n_components : int, optional
        The number c of landmarks; None: 100. With fewer rows than that, all are landmarks, and a warning
        says so where the number was given.
    rank : int, optional
        The rank k <= c; None: c. Further eigenvalues of W count as noise.
    landmarks : str, or ndarray or sparse matrix of shape (c, d), default "uniform"
        The landmarks, or how to choose c of the n rows of X, without replacement:

        - "uniform": each with the same probability. It costs nothing, and is hard to beat if the rows are
          similar.
        - "kmeans++": rows far from each other, by scikit-learn's `kmeans_plusplus` (Euclidean distances for
          any kernel; about n c d log c operations and a copy of X in double precision). For kernels
          of the distance: the smallest error of a Gaussian on cpu and MNIST, not on Adult.
        - "leverage": by approximate ridge leverage scores, with recursive sampling (Musco & Musco 2017;
          about 2 n c kernel values and n c^2 operations). It finds small groups of rows, in little memory.
        - "rpcholesky": the pivots of randomly pivoted Cholesky (Chen et al. 2022), in blocks of rejection
          sampling (Epperly et al. 2024), which has the same distribution (n c kernel values, n c^2 operations
          and n c doubles of memory). The best choice for kernels that do not depend on the distance, or for
          many features. Fewer than c rows if they determine the kernel on all rows in double precision.
    random_state, n_jobs : see FeatureMap

    Attributes
    ----------
    landmarks_ : ndarray or sparse array of shape (c, d)
        The landmarks.
    landmark_indices_ : ndarray of shape (c,) or None
        Their row numbers in X, in ascending order; None for given landmarks.
    rank_ : int
        The numerical rank, which is the number of columns.
    components_ : ndarray of shape (c, rank_)
        The matrix by which kernel values with the landmarks are multiplied.
    precision_ : dtype
        The precision in which float32 data are mapped: float32 or float64.

    Examples
    --------
    >>> import numpy as np
    >>> from kfeat.kernels import Gaussian
    >>> from kfeat.maps import Nystrom
    >>> X = np.random.default_rng(0).random((50, 3))
    >>> Z = Nystrom(Gaussian(gamma=1.0), n_components=20, random_state=0).fit_transform(X)
    >>> Z.shape
    (50, 20)
    >>> bool(np.abs(Z @ Z.T - Gaussian(gamma=1.0)(X)).max() < 0.1)
    True
    """

    facts = Facts(
        cost="c kernel values + c D / 2 products",
        variance="not random given the landmarks: the error is that of a projection onto their span",
        source="Williams & Seeger 2001; Drineas & Mahoney 2005; Musco & Musco 2017; Chen et al. 2022",
        use="any kernel, above all where the spectrum of the Gram matrix decays fast; fits to the data",
    )
    algorithm_version: ClassVar[int] = 3
    min_rows: ClassVar[int] = 512  # each block reads all landmarks again
    approximates = Kernel
    default_kernel = Gaussian()

    n_components: Components | None = None
    rank: Annotated[int, Ge(1)] | None = None
    landmarks: Annotated[Any, AfterValidator(_known_rule)] = "uniform"

    @property
    def bias(self) -> str:
        """Why the estimates are biased."""
        return "it projects on the span of the landmarks"

    def learnt_parameters(self) -> dict[str, float]:
        """Return the numerical rank, which may be below `rank`."""
        return {"rank": self.rank_}

    def _draw(self, X: Any, rng: Generator) -> int:
        c = self._n_landmarks(X)
        rank = c if self.rank is None else self.rank
        asked_for = c if self._given() or self.n_components is None else self.n_components
        if rank > asked_for:
            raise ParameterError(
                f"Nystrom: rank must be at most the number of landmarks, {asked_for}, got {rank}"
            )
        rank = min(rank, c)
        self.landmarks_ = self._choose_landmarks(X, c, rng)
        self.components_ = self._components(rank)
        self.rank_ = self.components_.shape[1]
        asked = any(given is not None for given in (self.n_components, self.rank)) or self._given()
        if asked and self.rank_ < rank:
            warnings.warn(
                f"Nystrom: the kernel has the numerical rank {self.rank_} on the landmarks instead of the "
                f"requested {rank}, so the map has {counted(self.rank_, 'columns')}",
                RankWarning,
                stacklevel=3,  # of the call to fit
            )
        self.precision_ = self._precision_for(X)
        return self.rank_

    def _given(self) -> bool:
        """Return whether the user gives the landmarks."""
        return not (self.landmarks is None or isinstance(self.landmarks, str))

    def _n_landmarks(self, X: Any) -> int:
        n, c = X.shape[0], self.n_components
        if self._given():
            shape = self.landmarks.shape
            if len(shape) != 2 or shape[1] != X.shape[1] or c not in (None, shape[0]):
                raise DataError(
                    f"Nystrom: expected landmarks of shape ({c or 'any'}, {X.shape[1]}) "
                    f"to match n_components and X, got {shape}"
                )
            return int(shape[0])
        c = min(DEFAULT_LANDMARKS, n) if c is None else c
        if c > n:
            warnings.warn(
                f"Nystrom: n_components={c} landmarks need as many rows, got n_samples={n}: all rows are "
                "landmarks; use fewer, or give rows as `landmarks`",
                stacklevel=4,  # of the call to fit
            )
        return min(c, n)

    def _choose_landmarks(self, X: Any, c: int, rng: Generator) -> Any:
        if self._given():
            self.landmark_indices_ = None
            return as_operand(check_array(canonical(self.landmarks), accept_sparse="csr", copy=True))
        self.landmark_indices_ = RULES[self.landmarks or "uniform"](self.kernel_, X, c, rng)
        return as_operand(X[self.landmark_indices_])

    def _components(self, rank: int) -> Array:
        """Return V_k L_k^(-1/2) of the landmarks' Gram matrix, rotated to lower trapezoidal form.

        This is an LQ decomposition. The rotation does not change inner products, the zeros above the diagonal
        save half of the product in `transform`, and a positive diagonal makes the features independent of the
        signs and bases that LAPACK chooses for the eigenvectors.
        """
        c = self.landmarks_.shape[0]
        rank = min(rank, c)  # a rule may find fewer than c landmarks
        W = self.kernel_(self.landmarks_.astype(np.float64))
        values, vectors = eigh(W, subset_by_index=[c - rank, c - 1])
        # Smaller eigenvalues are rounding errors, which their inverse would magnify.
        kept = values > max(values[-1], 0) * c * np.finfo(np.float64).eps
        if not kept.any():
            raise DataError(f"Nystrom: {self.kernel_!r} is 0 on all landmarks: choose others")
        R = qr((vectors[:, kept] / np.sqrt(values[kept])).T, mode="r")[0]
        return np.ascontiguousarray(R.T * np.where(np.diagonal(R) < 0, -1, 1))

    def _precision_for(self, X: Any) -> np.dtype[Any]:
        """Return float32 if it is exact enough for float32 data, by a bound and by a test.

        Independent relative errors u = eps / 2 of kernel values, up to k_max, change <z(x), z(y)> by at most
        u sqrt(k_max) ||components|| k_max in root mean square (Frobenius norm). Cancellation in distances
        causes larger errors, which the test on rows of X and on landmarks shows.
        """
        single, double = np.dtype(np.float32), np.dtype(np.float64)
        parts = [
            A[np.unique(np.linspace(0, A.shape[0] - 1, TRIED).astype(int))] for A in (X, self.landmarks_)
        ]
        grams = []
        for precision in (double, single):
            try:
                map_block = self._mapper(precision)
                features = [np.empty((A.shape[0], self.rank_), precision) for A in parts]
                for A, Z in zip(parts, features, strict=True):
                    map_block(A.astype(single).astype(precision), Z)
            except DataError:  # values beyond single precision
                return double
            Z = np.vstack(features).astype(double)
            grams.append(Z @ Z.T)
        exact, rounded = grams
        largest = exact.max()
        expected = np.finfo(single).eps / 2 * np.sqrt(largest) * np.linalg.norm(self.components_)
        measured = np.abs(rounded - exact).max() / largest
        return single if expected <= ROUNDING / 2 and measured <= ROUNDING / 2 else double

    def _block_mapper(self, dtype: np.dtype[Any]) -> BlockMapper:
        return self._mapper(self.precision_ if dtype == np.float32 else dtype)

    def _mapper(self, precision: np.dtype[Any]) -> BlockMapper:
        kernel_values = self.kernel_.against(self.landmarks_.astype(precision))
        panels = [
            (columns, np.ascontiguousarray(self.components_[columns.start :, columns], dtype=precision))
            for columns in gen_batches(self.rank_, PANEL)
        ]

        def map_block(X: Any, out: Array) -> None:
            K = kernel_values(X.astype(precision, copy=False))
            for columns, part in panels:
                if out.dtype == precision:
                    np.matmul(K[:, columns.start :], part, out=out[:, columns])
                else:
                    out[:, columns] = K[:, columns.start :] @ part

        return map_block

    def _row_bytes(self, itemsize: int) -> int:
        size = max(itemsize, self.precision_.itemsize)
        return size * (int(self.n_features_in_) + self.landmarks_.shape[0])
