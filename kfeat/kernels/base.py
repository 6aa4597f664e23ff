"""The base class of exact kernels: checks of matrices, and Gram blocks, computed tile by tile."""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from importlib.metadata import version
from math import inf
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from annotated_types import Gt, Lt
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.utils import gen_batches

from kfeat.errors import DataError, UnsupportedKernelError
from kfeat.kernels.distances import TILE, dense_if_quicker
from kfeat.kernels.operands import as_operand, check_finite
from kfeat.parameters import check_parameters
from kfeat.text import counted

Positive = Annotated[float, Gt(0), Lt(inf)]


class Estimator(BaseEstimator):
    """A scikit-learn estimator that knows which kfeat pickled it, and warns in another version."""

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes, and the version of kfeat."""
        return {**super().__getstate__(), "_kfeat_version": version("kfeat")}

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Return the call that makes it, with NumPy's numbers as plain ones."""
        with np.printoptions(legacy="1.25"):
            return str(super().__repr__(N_CHAR_MAX))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the attributes; warns as scikit-learn does if another version of kfeat wrote them."""
        state = dict(state)
        versions = {
            "original_sklearn_version": f"{state.pop('_kfeat_version', 'unknown')} of kfeat",
            "current_sklearn_version": f"{version('kfeat')} of kfeat",
        }
        if len({*versions.values()}) > 1:
            warning = InconsistentVersionWarning(estimator_name=type(self).__name__, **versions)
            warnings.warn(warning, stacklevel=2)
        super().__setstate__(state)


class Kernel(Estimator):
    """A positive definite kernel k(x, y); an estimator without fit, so `clone` and grids over it work.

    Examples
    --------
    >>> from kfeat.kernels import Gaussian, Polynomial
    >>> X, Y = [[1.0, 2.0], [1.0, 0.0]], [[3.0, 1.0]]
    >>> Polynomial(degree=2)(X, Y)
    array([[25.],
           [ 9.]])
    >>> Polynomial(degree=2).diagonal(X)
    array([25.,  1.])
    >>> Gaussian(gamma="median").resolve(X)
    Gaussian(gamma=0.125)
    """

    algorithm_version: ClassVar[int] = 1
    template: ClassVar[str]  # of the formula, with the names of parameters in braces
    learns: ClassVar[str | None] = None  # the parameter that may be a heuristic's name

    def __call__(self, X: Any, Y: Any = None) -> NDArray[Any]:
        """Return the Gram block K[i, j] = k(X[i], Y[j]), with Y = X by default.

        X (n, d) and Y (m, d) are dense or sparse; the block (n, m) is dense, and float32 if both are. Two
        rows (d,) give the number k(x, y), as scikit-learn's `pairwise_kernels` expects of a function. Raises
        ParameterError for invalid parameters, and DataError for data with different numbers of features or if
        kernel values are not finite.
        """
        self.check()
        if self._are_two_rows(X, Y):
            return self(X[None], Y[None])[0, 0]
        A = self.operand(X)
        B = A if Y is None else self.operand(Y)
        if A.shape[1] != B.shape[1]:
            raise DataError(
                f"X has {counted(A.shape[1], 'features')} and Y has {B.shape[1]:,}: give both the same"
            )
        try:
            with np.errstate(all="ignore"):  # check_finite finds overflows
                K = self._block(A, B, symmetric=Y is None)
        except MemoryError as error:
            raise DataError(f"{self!r}: {error}: give fewer rows or features at once") from None
        check_finite(K, f"values of {self!r}")
        return K

    def _are_two_rows(self, X: Any, Y: Any) -> bool:
        return all(isinstance(x, np.ndarray) and x.ndim == 1 for x in (X, Y))

    def against(self, Y: Any) -> Callable[[Any], NDArray[Any]]:
        """Return the function X -> k(X, Y), for many blocks of rows X in Y's precision.

        Work that depends only on Y is done once. The blocks should be small, since there are temporaries of
        their size. The kernel values are not checked to be finite.
        """
        self.check()
        Y = dense_if_quicker(as_operand(Y))
        Y = Y if issparse(Y) else np.asfortranarray(Y)  # Y.T is what CSR rows are multiplied with
        return lambda X: self._tile(X, Y)

    def operand(self, X: Any) -> Any:
        """Return rows in the form that the kernel computes with; raises DataError for others."""
        return as_operand(X)

    def parts(self) -> Sequence["Kernel"]:
        """Return the kernels of which this kernel consists."""
        return ()

    def check(self) -> None:
        """Raise ParameterError if a parameter of this kernel or of one of its parts is not valid."""
        check_parameters(self)
        for part in self.parts():
            part.check()

    def _block(self, A: Any, B: Any, symmetric: bool) -> NDArray[Any]:
        """Return the block tile by tile; if it is `symmetric`, only half of the tiles are computed."""
        if not symmetric and 0 < min(A.shape[0], B.shape[0]) <= max(A.shape[0], B.shape[0]) <= TILE:
            return self._tile(A, B)
        K: NDArray[Any] = np.empty((A.shape[0], B.shape[0]), dtype=np.result_type(A.dtype, B.dtype))
        if not K.size:
            return K
        for rows in gen_batches(A.shape[0], TILE):
            for columns in gen_batches(B.shape[0], TILE):
                if not symmetric or columns.start > rows.start:
                    K[rows, columns] = self._tile(A[rows], B[columns])
                elif columns == rows:
                    tile = A[rows]
                    K[rows, rows] = self._tile(tile, tile)
                    np.fill_diagonal(K[rows, rows], self.diagonal(tile))
                else:  # its transpose above the diagonal is already known
                    K[rows, columns] = K[columns, rows].T
        return K

    def diagonal(self, X: Any) -> NDArray[Any]:
        """Return k(X[i], X[i]), shape (n,)."""
        self.check()
        A = self.operand(X)
        with np.errstate(all="ignore"):
            values = self._diagonal(A).astype(A.dtype, copy=False)
        check_finite(values, f"values of {self!r}")
        return values

    @property
    def formula(self) -> str:
        """The kernel as tables and figures print it."""
        given = {name: v for name, v in self.get_params(deep=False).items() if v is not None}
        words = {name: v.replace("_", " ") if isinstance(v, str) else f"{v:g}" for name, v in given.items()}
        return self._template().format(**words)

    def _template(self) -> str:
        return self.template

    @abstractmethod
    def _tile(self, X: Any, Y: Any) -> NDArray[Any]:
        """Return k(X[i], Y[j]) of two operands of at most TILE rows."""

    @abstractmethod
    def _diagonal(self, X: Any) -> NDArray[Any]:
        """Return k(X[i], X[i]) of an operand, shape (n,)."""

    def resolve(self, X: Any, random_state: Any = None) -> Self:
        """Return this kernel with every bandwidth heuristic replaced by the number learnt on X."""
        if self.learns is None:
            return self
        self.check()
        if not isinstance(rule := getattr(self, self.learns), str):
            return self
        resolved: Self = clone(self).set_params(**{self.learns: self._learnt(X, rule, random_state)})
        return resolved

    def _learnt(self, X: Any, rule: str, random_state: Any) -> float:
        """Return the bandwidth that a heuristic gives on X."""
        raise NotImplementedError


def number(kernel: Any, name: str) -> float:
    """Return the kernel's bandwidth; raises UnsupportedKernelError if it is still a heuristic's name."""
    value = getattr(kernel, name)
    if isinstance(value, str):
        raise UnsupportedKernelError(
            f"{type(kernel).__name__}({name}={value!r}) is not a number yet: call kernel.resolve(X) first"
        )
    return float(value)
