"""The Nystrom approximation of any kernel (Drineas & Mahoney 2005), and rules that choose its landmarks."""

import warnings
from collections.abc import Callable
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge
from numpy.exceptions import RankWarning
from numpy.random import Generator
from numpy.typing import NDArray
from pydantic import AfterValidator
from scipy.linalg import cholesky, eigh, eigvalsh, qr, solve_triangular
from scipy.sparse import sparray, spmatrix
from sklearn import cluster
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_array

from kfeat.errors import DataError, ParameterError
from kfeat.kernels import Gaussian, Kernel
from kfeat.kernels.base import Objects, as_operand, canonical
from kfeat.maps.base import Array, BlockMapper, Facts, FeatureMap, register
from kfeat.memory import check_memory
from kfeat.parameters import Components, did_you_mean
from kfeat.text import counted

Indices = NDArray[np.intp]
Rule = Callable[[Kernel, Any, int, Generator], Indices]

EPS = float(np.finfo(np.float64).eps)
ROWS = 1024  # rows of the data at a time, in products with the landmarks
PROPOSALS = 5  # landmarks per proposal of a block: measured best
LEAST_RIDGE = 1e-10  # relative to the largest eigenvalue; below it leverage scores are rounding errors


def uniform(kernel: Kernel, X: Any, c: int, rng: Generator) -> Indices:
    """Return c rows drawn uniformly without replacement."""
    return np.sort(rng.choice(X.shape[0], size=c, replace=False))


def k_means(kernel: Kernel, X: Any, c: int, rng: Generator) -> Indices:
    """Return up to c different rows by k-means++ (Arthur & Vassilvitskii 2007), independent of the kernel.

    Each row is drawn with a probability in proportion to its squared Euclidean distance from the nearest row
    drawn before; the best of 2 + log c such draws is taken, as in scikit-learn.
    """
    if isinstance(X, Objects):
        raise ParameterError("Nystrom: landmarks 'kmeans++' need vectors, not objects; take another rule")
    check_memory("a copy of the data in double precision", 8 * X.size, "take fewer rows", ParameterError)
    drawn = cluster.kmeans_plusplus(X.astype(np.float64), c, random_state=int(rng.integers(2**31 - 1)))[1]
    return np.unique(drawn)  # rows repeat if there are fewer than c different ones


def leverage(kernel: Kernel, X: Any, c: int, rng: Generator) -> Indices:
    """Return c rows drawn without replacement in proportion to approximate ridge leverage scores.

    Recursive sampling (Musco & Musco 2017, Algorithm 3, with a fixed number of rows): the rows are in random
    order; c rows of the first half, drawn by their scores, give the scores of all rows; c rows of the first
    quarter give those of the half, and so on. Rows with k(x, x) = 0 are left out.
    """
    blocks = (X[some].astype(np.float64) for some in gen_batches(X.shape[0], ROWS))
    order = np.flatnonzero(np.concatenate([kernel.diagonal(block) > 0 for block in blocks]))
    positive_total(np.ones(len(order)), kernel)
    rng.shuffle(order)
    sizes = [len(order)]
    while sizes[-1] > c:
        sizes.append((sizes[-1] + 1) // 2)
    *larger, least = sizes
    sample, weights = order[:least], np.ones(least)
    for size in reversed(larger):
        rows = order[:size]
        p = ridge_leverage_scores(kernel, X, X[sample], weights, rows=rows)
        p /= positive_total(p, kernel)
        drawn = rng.choice(size, size=min(c, int(np.count_nonzero(p))), replace=False, p=p)
        sample, weights = rows[drawn], 1 / np.sqrt(np.minimum(c * p[drawn], 1))
    return np.sort(sample)


def ridge_leverage_scores(
    kernel: Kernel,
    X: Any,
    sample: Any,
    weights: Array,
    ridge: float | None = None,
    rows: Indices | None = None,
) -> Array:
    """Return (K - K S (S^T K S + r I)^(-1) S^T K)_ii / r, which is (K (K + r I)^(-1))_ii if S is all rows.

    S selects the rows of `sample` with these weights (Musco & Musco 2017, Lemma 6). The default ridge r is
    sum_{i > k} s_i / k over the eigenvalues s_i of S^T K S, with k = c / (4 log c) for c rows: so there are
    4 log c rows for each of k directions. With `rows`, the scores are those of these rows of X.
    """
    sample = sample.astype(np.float64)
    W = kernel(sample) * np.outer(weights, weights)
    if ridge is None:
        eigenvalues = eigvalsh(W)[::-1].clip(min=0)
        k = max(round(len(W) / (4 * np.log(len(W) + 1))), 1)
        ridge = max(eigenvalues[k:].sum() / k, LEAST_RIDGE * eigenvalues[0], np.finfo(np.float64).tiny)
    L = cholesky(W + ridge * np.eye(len(W)), lower=True)
    scores = np.empty(X.shape[0] if rows is None else len(rows))
    for some in gen_batches(len(scores), ROWS):
        block = X[some if rows is None else rows[some]].astype(np.float64)
        B = solve_triangular(L, (kernel(block, sample) * weights).T, lower=True, overwrite_b=True)
        scores[some] = (kernel.diagonal(block) - np.einsum("ij,ij->j", B, B)) / ridge
    return scores.clip(min=0)


def pivots(kernel: Kernel, X: Any, c: int, rng: Generator) -> Indices:
    """Return up to c rows by randomly pivoted Cholesky (Chen, Epperly, Tropp & Webber 2022), sorted.

    They are the pivots of `pivoted_cholesky` with blocks of c / 5 proposals.
    """
    n = X.shape[0]
    check_memory(
        f"the Cholesky factor of {n:,} rows by {c:,} landmarks", 8 * n * c, "take fewer", ParameterError
    )
    return np.sort(pivoted_cholesky(kernel, X, c, rng, -(-c // PROPOSALS))[0])


def pivoted_cholesky(kernel: Kernel, X: Any, c: int, rng: Generator, block: int = 1) -> tuple[Indices, Array]:
    """Return up to c pivots in the order of their choice, and F (n, pivots) with F F^T = C W^+ C^T.

    Each row is drawn with a probability in proportion to the diagonal of the residual K - F F^T of the rows
    before it (Chen, Epperly, Tropp & Webber 2022, Algorithm 1). `block` > 1 proposes so many rows at a time
    by the present residual, and rejects each with the share that its residual has lost since (Epperly, Tropp
    & Webber 2024, Algorithm 3): the distribution is the same, but the work is in matrix products. There are
    fewer than c pivots if the residual is 0 in double precision before.
    """
    n = X.shape[0]
    F, chosen = np.empty((n, c)), np.empty(c, dtype=np.intp)
    batches = list(gen_batches(n, ROWS))
    residual = np.concatenate([kernel.diagonal(X[rows].astype(np.float64)) for rows in batches])
    positive_total(residual, kernel)
    rounding, m = 16 * c * EPS * residual, 0
    while m < c and (total := residual.cumsum())[-1] > 0:
        proposed = np.searchsorted(total, rng.random(block) * total[-1], side="right")
        proposed = np.minimum(proposed, np.flatnonzero(residual)[-1])
        candidates = X[proposed].astype(np.float64)
        H = kernel(candidates) - F[proposed, :m] @ F[proposed, :m].T
        accepted = accepted_proposals(H, rng.random(block), rounding[proposed])[: c - m]
        new, landmarks = proposed[accepted], candidates[accepted]
        L = cholesky(H[np.ix_(accepted, accepted)], lower=True)
        columns, known = slice(m, m + len(new)), F[new, :m].T
        for rows in batches:
            G = kernel(X[rows].astype(np.float64), landmarks) - F[rows, :m] @ known
            F[rows, columns] = solve_triangular(L, G.T, lower=True, overwrite_b=True).T
            residual[rows] -= np.einsum("ij,ij->i", F[rows, columns], F[rows, columns])
        residual[residual <= rounding] = 0
        residual[new] = 0
        chosen[columns] = new
        m = columns.stop
    return chosen[:m], F[:, :m]


def accepted_proposals(H: Array, u: Array, rounding: Array) -> list[int]:
    """Return which proposals, with the residual Gram matrix H, become pivots; u is uniform on [0, 1).

    Proposal i is accepted with the probability h_i / H_ii, where h_i is its residual after those accepted
    before. It was proposed in proportion to H_ii, so it is chosen in proportion to h_i. The first is always
    accepted.
    """
    left, accepted = H.copy(), [0]
    for i in range(1, len(H)):
        last = accepted[-1]
        if last == i - 1:
            column = left[:, last] / np.sqrt(left[last, last])
            left -= np.outer(column, column)
        if left[i, i] > rounding[i] and u[i] * H[i, i] < left[i, i]:
            accepted.append(i)
    return accepted


def positive_total(weights: Array, kernel: Kernel) -> float:
    """Return the sum of the weights by which rows are drawn; raises DataError if all are 0."""
    total = float(weights.sum())
    if not total > 0:
        raise DataError(f"Nystrom: {kernel!r} is 0 on all rows, so landmarks cannot be chosen by it")
    return total


RULES: dict[str, Rule] = {
    "uniform": uniform,
    "kmeans++": k_means,
    "leverage": leverage,
    "rpcholesky": pivots,
}


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
