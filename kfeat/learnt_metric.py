"""A metric learnt from labels: columns, or directions, are scaled by how much a predictor depends on them."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import LinAlgError, cho_solve, eigh
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from kfeat.errors import DataError, ParameterError
from kfeat.kernels.base import Estimator
from kfeat.kernels.operands import canonical
from kfeat.parameters import Components, Iterations, Seed, check_parameters
from kfeat.solvers.base import checked_weights
from kfeat.solvers.newton_system import cholesky

Floats = NDArray[np.float64]
MOST_TRAINED, MOST_HELD_OUT = 9_000, 3_000  # rows
MOST_ROWS = MOST_TRAINED + MOST_HELD_OUT
GRADIENT_ROWS = 3_000
MOST_DIRECTIONS = 500  # columns of the full matrix
FACTOR, MOST_POWER = 4.0, 4  # between neighbouring values of gamma, and its largest power
ALPHAS = (1e-2, 1e-1, 1.0, 10.0)
STANDARD_ERRORS = 3.0  # by which the predictor must be better than a constant
FEWEST = 50  # rows from which there is a metric
PATIENCE = 2  # rounds without a better one after which it ends
TINY = 1e-5  # share of the mean of the weights below which a column is left out


@dataclass(eq=False, repr=False)
class LearntMetric(TransformerMixin, Estimator):
    """Scales columns by the root mean square of the derivative of a predictor of the labels.

    z(x) = x A with A = M^(1/2), and M the average gradient outer product M = mean_i sum_c g_c(x_i) g_c(x_i)',
    g_c the gradient of the predictor's output c. Of the diagonal metric only M_jj counts: column j is
    multiplied by sqrt(M_jj). The predictor is ridge regression on random Fourier features of the Gaussian
    kernel under the metric of the last round, and the first round has the rows as they are. A is scaled so
    that the columns' variances have the same sum as before.

    The round with the smallest squared error on held-out rows is kept, and the last ones are left out once
    none is better. A is the identity, with a warning, if that is the first round, or if its predictor is no
    better than a constant by three standard errors. Kernels of z(x) then look mostly along what
    the labels depend on. Give it rows of one scale, such as z-scores. The squares of `weights_` say how much
    the predictor varies with a column, not what causes what: of two equal columns each gets a half.

    With rows of d columns, D features and `rounds` r the cost is about 9,000 r (3 D^2 + D d) at most.
    Radhakrishnan, Beaglehole, Pandit and Belkin, "Mechanism for feature learning in neural networks and
    backpropagation-free machine learning models", Science 2024: recursive feature machines, whose predictor
    is kernel ridge regression; Beaglehole, Holzmueller, Radhakrishnan and Belkin, xRFM, arXiv 2508.10053,
    2025.

    Parameters
    ----------
    task : {"classification", "regression"}, default "classification"
        Whether y has labels, of two classes or more, or numbers.
    matrix : {"diagonal", "full"}, default "diagonal"
        Whether A is diagonal, or a full matrix, which turns the rows as well; of 500 columns at most.
    rounds : int, default 8
        How often the predictor is trained at most.
    n_components : int, default 512
        The number D of random features of the predictor.
    random_state : int, optional
        The seed of the features and of the rows that are held out; None is 0.

    Attributes
    ----------
    matrix_ : ndarray of shape (d,) or (d, d)
        The diagonal of A, or A.
    weights_ : ndarray of shape (d,)
        sqrt(M_jj) on the same scale; 1 for all without a metric. A column of weight 0 is left out: it is
        constant, or the predictor hardly varies with it.
    losses_ : ndarray
        The mean squared error of each round on held-out rows, relative to that of a constant.
    round_ : int
        The round that is kept; 0 is no metric.

    Examples
    --------
    >>> import numpy as np
    >>> from kfeat.learnt_metric import LearntMetric
    >>> X = np.random.default_rng(0).standard_normal((2000, 10))
    >>> metric = LearntMetric(task="regression").fit(X, np.sin(3 * X[:, 2]) + X[:, 5])
    >>> sorted(np.argsort(metric.weights_)[-2:].tolist())
    [2, 5]
    """

    task: Literal["classification", "regression"] = "classification"
    matrix: Literal["diagonal", "full"] = "diagonal"
    rounds: Iterations = 8
    n_components: Components = 512
    random_state: Seed | None = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows X (n, d), dense or CSR, labels or targets y (n,), and weights (n,), if any."""
        check_parameters(self)
        numbers = {"y_numeric": True} if self.task == "regression" else {}
        X, y = validate_data(self, canonical(X), y, accept_sparse="csr", dtype=np.float64, **numbers)
        n, d = X.shape
        if self.matrix == "full" and d > MOST_DIRECTIONS:
            raise ParameterError(
                f"LearntMetric: a full matrix takes {MOST_DIRECTIONS} columns at most, got {d:,}: give "
                "matrix='diagonal'"
            )
        weights = np.ones(n) if sample_weight is None else checked_weights(sample_weight, X)
        weights = weights / weights.mean()
        targets, rng = self._targets(y, weights), np.random.default_rng(int(self.random_state or 0))
        variances = column_variances(X, weights)
        self.matrix_ = np.ones(d) if self.matrix == "diagonal" else np.eye(d)
        self.weights_, self.losses_, self.round_ = np.ones(d), np.ones(1), 0
        order = rng.permutation(np.flatnonzero(weights))
        trained = min(MOST_TRAINED, 2 * len(order) // 3)
        if len(order) >= FEWEST and variances.any() and np.ptp(targets, axis=0).any():
            parts = order[:trained], order[trained:][:MOST_HELD_OUT]
            rows = [Labelled(X[rows], targets[rows], weights[rows]) for rows in parts]
            with threadpool_limits(1, "blas"):  # matrices of this size gain nothing from more
                self._learn(rows[0], rows[1], variances, rng)
        if self.round_ == 0:
            warnings.warn(
                "LearntMetric: no metric predicts better than none, so all columns keep their scale",
                stacklevel=2,
            )
        return self

    def _targets(self, y: NDArray[Any], weights: Floats) -> Floats:
        """Return the standardised targets (n, 1), or 1 and -1 for each class, standardised, (n, classes).

        Two classes have one column.
        """
        if self.task == "regression":
            Y = np.asarray(y, np.float64)[:, None]
        else:
            classes, codes = np.unique(y, return_inverse=True)
            if len(classes) < 2:
                raise DataError("LearntMetric: expected labels of two classes or more, got one class")
            Y = np.where(codes[:, None] == np.arange(len(classes)), 1.0, -1.0)
            Y = Y[:, 1:] if len(classes) == 2 else Y
        Y = Y - np.average(Y, axis=0, weights=weights)
        spread = np.sqrt(np.average((Y**2).sum(axis=1), weights=weights))
        return Y / (spread or 1.0)

    def _learn(self, trained: "Labelled", held_out: "Labelled", variances: Floats, rng: Any) -> None:
        """Set the metric of the best round, if it is better than none."""
        d, total = len(variances), float(variances.sum())
        A, losses, power = self.matrix_, list[Floats](), 0
        metrics = [A]
        frequencies = rng.standard_normal((d, self.n_components))
        phases = rng.uniform(0, 2 * np.pi, self.n_components)
        while len(losses) < self.rounds and not stale(losses, held_out.weights):
            W = A[:, None] * frequencies if A.ndim == 1 else A @ frequencies
            predictor, power = self._best(trained, held_out, W, phases, total, power)
            losses.append(predictor.errors)
            A = root_of(predictor.gradient_products(trained, self.matrix == "full"), variances)
            if not A.any():
                break
            A = A * np.sqrt(total / column_variances(times(trained.X, A), trained.weights).sum())
            metrics.append(A)
        w, constant = held_out.weights, (held_out.Y**2).sum(axis=1)
        means = np.array([np.average(errors, weights=w) for errors in losses])
        self.losses_ = means / np.average(constant, weights=w)
        best = int(means.argmin())
        gain = constant - losses[best]
        mean = np.average(gain, weights=w)
        error = np.sqrt(np.average((gain - mean) ** 2, weights=w) / len(gain))
        if best and mean > STANDARD_ERRORS * error:
            self.round_, A = best, metrics[best]
            self.matrix_, self.weights_ = A, A if A.ndim == 1 else np.sqrt((A**2).sum(axis=1))

    def _best(
        self, trained: "Labelled", held_out: "Labelled", W: Floats, b: Floats, total: float, power: int
    ) -> tuple["Predictor", int]:
        """Return the best predictor over gamma = FACTOR^k / total and its k, from `power` on."""
        fits: dict[int, Predictor] = {}
        waiting = [power - 1, power, power + 1]
        while waiting:
            for k in waiting:
                fits[k] = Predictor.fit(trained, W, b, FACTOR**k / total, held_out)
            best = min(fits, key=lambda k: fits[k].loss)
            waiting = [k for k in (best - 1, best + 1) if k not in fits and abs(k) <= MOST_POWER]
        return fits[best], best

    def transform(self, X: Any) -> Any:
        """Return x A for each row of X (n, d); CSR stays CSR under a diagonal metric."""
        check_is_fitted(self, "matrix_")
        X = validate_data(
            self, canonical(X), accept_sparse="csr", dtype=[np.float64, np.float32], reset=False
        )
        return times(X, self.matrix_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse, tags.target_tags.required = True, True
        tags.transformer_tags.preserves_dtype = []
        return tags


class Labelled(NamedTuple):
    """Rows X (n, d), targets Y (n, k) of mean 0 and weights (n,)."""

    X: Any
    Y: Floats
    weights: Floats


class Predictor(NamedTuple):
    """Ridge regression on sqrt(2 / D) cos(X W + b): W (d, D), b (D,), coefficients (D, k).

    `errors` (m,) are the squared errors of held-out rows, and `loss` is their mean.
    """

    W: Floats
    b: Floats
    coefficients: Floats
    errors: Floats
    loss: float

    @classmethod
    def fit(cls, rows: Labelled, W: Floats, b: Floats, gamma: float, held_out: Labelled) -> Self:
        """Return the predictor with the best alpha on held-out rows; W are frequencies of gamma 1/2."""
        W = W * np.sqrt(2 * gamma)
        Z, Z_held_out = waves(rows.X, W, b), waves(held_out.X, W, b)
        root = np.sqrt(rows.weights)[:, None]
        Z *= root.astype(np.float32)
        gram, right = (Z.T @ Z).astype(np.float64), Z.T @ (root * rows.Y)
        fits = []
        for alpha in ALPHAS:
            A = gram.copy()
            A[np.diag_indices(len(A))] += alpha
            try:
                coefficients = cho_solve(cholesky(A), right)
            except LinAlgError:
                continue
            errors = ((Z_held_out @ coefficients - held_out.Y) ** 2).sum(axis=1)
            fits.append(cls(W, b, coefficients, errors, float(np.average(errors, weights=held_out.weights))))
        return min(fits, key=lambda fit: fit.loss)

    def gradient_products(self, rows: Labelled, full: bool) -> Floats:
        """Return M = mean_i sum_c g_c(x_i) g_c(x_i)' (d, d), or its diagonal (d,), by all columns."""
        some = slice(None, GRADIENT_ROWS)
        slopes = -np.sqrt(2 / len(self.b)) * np.sin(rows.X[some] @ self.W + self.b)
        share = rows.weights[some] / rows.weights[some].sum()
        gradients = self._gradients(slopes)
        if full:
            return sum((G.T * share) @ G for G in gradients)
        return sum(share @ G**2 for G in gradients)

    def _gradients(self, slopes: Floats) -> Iterator[Floats]:
        """Yield the gradients (n, d) of each output."""
        for coefficients in self.coefficients.T:
            yield (slopes * coefficients) @ self.W.T


def stale(losses: list[Floats], weights: Floats) -> bool:
    """Return whether the last PATIENCE rounds are no better than one before."""
    means = [np.average(errors, weights=weights) for errors in losses]
    return len(means) > PATIENCE and bool(min(means[-PATIENCE:]) >= min(means[:-PATIENCE]))


def waves(X: Any, W: Floats, b: Floats) -> Floats:
    """Return sqrt(2 / D) cos(X W + b)."""
    Z = (X @ W + b).astype(np.float32)
    return np.cos(Z, out=Z) * np.float32(np.sqrt(2 / len(b)))


def times(X: Any, A: Floats) -> Any:
    """Return X A for a diagonal (d,) or a matrix (d, d)."""
    if A.ndim == 2:
        return X @ A
    return X @ sparse.diags_array(A) if sparse.issparse(X) else X * A


def root_of(M: Floats, variances: Floats) -> Floats:
    """Return M^(1/2), of a diagonal (d,) or a matrix (d, d); columns that hardly count have weight 0."""
    shares = (M if M.ndim == 1 else np.diagonal(M)) * variances
    kept = shares > TINY * shares.mean()
    if M.ndim == 1:
        return np.where(kept, np.sqrt(M), 0.0)
    values, V = eigh(np.where(np.outer(kept, kept), M, 0.0))
    return (V * np.sqrt(np.maximum(values, 0.0))) @ V.T


def column_variances(X: Any, weights: Floats) -> Floats:
    """Return the weighted variance of each column of X (n, d), dense or CSR."""
    share = weights / weights.sum()
    mean = share @ X
    squares = X.multiply(X) if sparse.issparse(X) else X**2
    return np.maximum(share @ squares - mean**2, 0.0)
