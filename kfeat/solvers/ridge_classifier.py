"""Least squares of classes, each against the rest with the targets 1 and -1: linear, tuned, with a kernel."""

from dataclasses import dataclass

from kfeat.solvers.least_squares import KernelLeastSquares, LeastSquares, LeastSquaresCV


@dataclass(eq=False, repr=False)
class RidgeClassifier(LeastSquares):
    """Classes by least squares: min over w, b of sum_i c_i (s_i - <w, x_i> - b)^2 + alpha ||w||^2.

    s_i is 1 for rows of the class and -1 for all others, c_i are the weights; the class of the largest score
    is predicted. Solved as Ridge solves it, for all classes at once.

    Parameters
    ----------
    alpha, fit_intercept : float, default 1.0, and bool or "mean", default True
        The weight of the penalty, above 0, and whether there is an intercept b; otherwise it is 0. With
        "mean", b is the mean of the s_i, and the rows are not centred, as in some papers.
    tol, max_iter : float, default 1e-6, and int, default 1000
        Where conjugate gradients solve it (more than 1,024 sparse columns): they stop at this residual,
        relative to the right side, or after so many steps.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from kfeat.solvers import RidgeClassifier
    >>> RidgeClassifier(alpha=0.1).fit(X, y).score(X, y) > 0.8
    True
    """

    task = "classification"


@dataclass(eq=False, repr=False)
class RidgeClassifierCV(LeastSquaresCV):
    """RidgeClassifier with the alpha of the smallest mean squared error, by cross-validation.

    Errors are those of the targets 1 and -1, not of the labels, since they follow from the folds' moments.

    Parameters
    ----------
    alpha_min, alpha_max, alpha_factor : float, default 1e-6, 1e3 and 10
        alpha is alpha_min, alpha_min alpha_factor, ... up to alpha_max.
    folds : int or None, default 5
        The number of random folds of equal size; None leaves each row out once, as in RidgeCV.
    fit_intercept : bool, default True
        Whether there is an intercept.
    random_state : int, optional
        The seed of the folds; None is 0.

    Attributes
    ----------
    alpha_, alphas_, cv_errors_ : float, ndarray, ndarray
        The chosen alpha, all values that were tried, and their mean squared errors, summed over classes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from kfeat.solvers import RidgeClassifierCV
    >>> solver = RidgeClassifierCV(alpha_min=1e-3, alpha_max=10.0).fit(X, y)
    >>> len(solver.alphas_), bool(solver.alpha_ == solver.alphas_[solver.cv_errors_.argmin()])
    (5, True)
    """

    task = "classification"


@dataclass(eq=False, repr=False)
class KernelRidgeClassifier(KernelLeastSquares):
    """Classes by exact kernel ridge regression, each against the rest with the targets 1 and -1.

    All classes share the Gram matrix and its factor: 8 n^2 bytes. See KernelRidge for the problem and its
    errors.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel; None is linear.
    alpha, fit_intercept : float, default 1.0, and bool or "mean", default True
        The weight of the penalty, above 0, and whether there is an intercept b; with "mean" it is the mean
        of the targets.

    Attributes
    ----------
    kernel_, dual_coef_, intercept_ : Kernel, ndarrays of shapes (n, problems) and (problems,)
        The kernel with its bandwidth as a number, the coefficients a, and b.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from kfeat.kernels import Gaussian
    >>> from kfeat.solvers import KernelRidgeClassifier
    >>> KernelRidgeClassifier(Gaussian(gamma="median"), alpha=0.1).fit(X, y).score(X, y) > 0.95
    True
    """

    task = "classification"
