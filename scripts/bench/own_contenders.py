"""The contenders of the part own_data: the search of kfeat, and what a user would pick instead."""

import re
from collections.abc import Callable
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np
from scipy import stats
from sklearn.base import BaseEstimator
from sklearn.compose import TransformedTargetRegressor, make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, ParameterSampler, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVC, SVR

import kfeat
from kfeat.child import Child

GRID_ROWS = 3_000
LONGEST = 120  # seconds after which the training of a grid's best on all rows is given up
XRFM_SECONDS = 60
BY_HAND = {"xRFM": "xrfm", "liquidSVM": "liquidSVM"}  # packages that are contenders where they are installed


def names(limits: tuple[int, ...], by_hand: bool) -> list[str]:
    """Return the names of all contenders in their order; with `by_hand` also the packages that are there."""
    boosting = "HistGradientBoosting"
    searched = [f"{boosting}, searched for {limit} s" for limit in limits]
    installed = [name for name, package in BY_HAND.items() if find_spec(package)]
    ours = [f"search of {limit} s" for limit in limits]
    return [*ours, boosting, *searched, "linear", "SVC()", "grid", *(installed if by_hand else [])]


def model_of(name: str, shape: tuple[int, int], split: int, threads: int, metric: str) -> Any:
    """Return the contender of this name as an unfitted model, for training rows of this shape."""
    regression, limit = metric == "r2", int((re.findall(r"(\d+) s$", name) or [0])[0])
    weights = {"class_weight": "balanced"} if metric == "balanced_accuracy" else {}
    if name.startswith("search of"):
        kind = kfeat.KernelRegressor if regression else kfeat.KernelClassifier
        return kind(budget=limit, scoring=metric, random_state=split, n_jobs=threads)
    if name.startswith("HistGradientBoosting"):
        boosting = HistGradientBoostingRegressor if regression else HistGradientBoostingClassifier
        pipeline = make_pipeline(ordinal(), boosting(random_state=split, **weights))
        return BoostingSearch(pipeline, metric, split, limit) if limit else pipeline
    if at_size := re.fullmatch(r"SVC on ([\d,]+) rows", name):
        some = int(at_size[1].replace(",", ""))
        return OnSome(make_pipeline(StandardScaler(), SVC(C=10, gamma=1 / shape[1], cache_size=1000)), some)
    machine = SVR() if regression else SVC(**weights)
    last: dict[str, Callable[[], Any]] = {
        "linear": lambda: Ridge() if regression else LogisticRegression(max_iter=1000, **weights),
        "SVC()": lambda: machine,
        "grid": lambda: machine,
        "xRFM": lambda: XRFM(regression, split, threads),
        "liquidSVM": lambda: LiquidSVM(regression, threads),
    }
    pipeline = scaled(last[name](), regression)
    return Grid(pipeline, shape[1], regression, metric, split, threads) if name == "grid" else pipeline


def ordinal() -> Any:
    """Return what makes numbers of words."""
    words = make_column_selector(dtype_exclude="number")
    coder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    return make_column_transformer((coder, words), remainder="passthrough")


def scaled(last: Any, regression: bool) -> Any:
    """Return a model behind z-scores and words one by one; of a regression with standardised targets."""
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    words = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
    select = make_column_selector
    columns = make_column_transformer(
        (numbers, select(dtype_include="number")), (words, select(dtype_exclude="number"))
    )
    if regression:
        last = TransformedTargetRegressor(last, transformer=StandardScaler())
    return make_pipeline(columns, last)


class OnSome:
    """A model that is trained on so many random rows."""

    def __init__(self, model: Any, rows: int) -> None:
        self._model, self._rows = model, rows

    def fit(self, X: Any, y: Any) -> Any:
        """Return the model, fitted."""
        some = np.random.default_rng(0).permutation(len(y))[: self._rows]
        return self._model.fit(X.iloc[some], y[some])


class Grid:
    """15 points of C and gamma on 3,000 rows, and the best of them on all rows."""

    def __init__(self, pipeline: Any, d: int, regression: bool, metric: str, seed: int, threads: int) -> None:
        place = "transformedtargetregressor__regressor" if regression else "svc"
        gammas = [factor / d for factor in (0.1, 0.3, 1, 3, 10)]
        grid = {f"{place}__C": [1, 10, 100], f"{place}__gamma": gammas}
        self._search = GridSearchCV(pipeline, grid, scoring=metric, cv=3, n_jobs=threads, refit=False)
        self._pipeline, self._seed = pipeline, seed

    def fit(self, X: Any, y: Any) -> Any:
        """Search, and return the best, fitted."""
        some = np.random.default_rng(self._seed).permutation(len(y))[:GRID_ROWS]
        self._search.fit(X.iloc[some], y[some])
        child = Child(_prepare, threads=1)  # an SVM uses one thread, and does not stop when it is asked to
        child.send((self._pipeline.set_params(**self._search.best_params_), X, y))
        best = child.receive(LONGEST)
        child.kill()
        return best


def _prepare(connection: Any) -> Callable[[Any], None]:
    """Return what sends a trained pipeline back."""
    return lambda asked: connection.send(asked[0].fit(*asked[1:]))


class BoostingSearch:
    """Random parameters of HistGradientBoosting in three folds, and the best of them on all rows.

    The search ends where training the best on all rows would exceed the `seconds`: that takes about half as
    long as its three folds.
    """

    def __init__(self, pipeline: Any, metric: str, seed: int, seconds: float) -> None:
        self._pipeline, self._metric, self._seed, self._seconds = pipeline, metric, seed, seconds

    def fit(self, X: Any, y: Any) -> Any:
        """Search, and return the best, fitted."""
        last = self._pipeline.steps[-1][0]
        space = {
            f"{last}__learning_rate": stats.loguniform(0.02, 0.3),
            f"{last}__max_iter": [100, 200, 400],
            f"{last}__max_leaf_nodes": [7, 15, 31, 63, 127],
            f"{last}__min_samples_leaf": [5, 10, 20, 50],
            f"{last}__l2_regularization": stats.loguniform(1e-3, 10),
        }
        start, scored = perf_counter(), []
        for parameters in ParameterSampler(space, 1000, random_state=self._seed):
            began = perf_counter()
            self._pipeline.set_params(**parameters)
            score = cross_val_score(self._pipeline, X, y, scoring=self._metric, cv=3).mean()
            scored.append((score, len(scored), perf_counter() - began, parameters))
            best = max(scored)
            if perf_counter() - start + best[2] / 2 >= self._seconds:
                break
        return self._pipeline.set_params(**best[3]).fit(X, y)


class XRFM(BaseEstimator):
    """xRFM with its defaults, leaves of 10,000 rows and 60 s; a fifth of the rows choose the round."""

    def __init__(self, regression: bool, seed: int, threads: int) -> None:
        self.regression, self.seed, self.threads = regression, seed, threads

    def fit(self, X: Any, y: Any) -> Any:
        """Train on a dense X (n, d)."""
        import torch
        from xrfm import xRFM

        torch.manual_seed(self.seed)
        self.classes_, codes = np.unique(y, return_inverse=True)
        Y = np.asarray(y, np.float32)[:, None] if self.regression else codes
        parts = train_test_split(np.asarray(X, np.float32), Y, test_size=0.2, random_state=self.seed)
        rows, held_out, targets, held_out_targets = map(torch.from_numpy, parts)
        self.model_ = xRFM(
            device="cpu", tuning_metric="mse" if self.regression else "accuracy", min_subset_size=10_000,
            time_limit_s=XRFM_SECONDS, n_threads=self.threads,
        )  # fmt: skip
        self.model_.fit(rows, targets, held_out, held_out_targets)
        return self

    def predict(self, X: Any) -> Any:
        """Return values or labels (n,)."""
        import torch

        answers = np.asarray(self.model_.predict(torch.from_numpy(np.asarray(X, np.float32)))).ravel()
        return answers if self.regression else self.classes_[answers.astype(int)]


class LiquidSVM(BaseEstimator):
    """liquidSVM with its own cross-validation, in cells, which it needs on so many rows."""

    def __init__(self, regression: bool, threads: int) -> None:
        self.regression, self.threads = regression, threads

    def fit(self, X: Any, y: Any) -> Any:
        """Train on a dense X (n, d)."""
        import liquidSVM

        self.classes_, codes = np.unique(y, return_inverse=True)
        kind = liquidSVM.lsSVM if self.regression else liquidSVM.mcSVM
        targets = np.asarray(y if self.regression else codes, np.float64)
        self.model_ = kind(np.asarray(X), targets, threads=self.threads, useCells=True)
        return self

    def predict(self, X: Any) -> Any:
        """Return values or labels (n,)."""
        answers = self.model_.predict(np.asarray(X))
        return answers if self.regression else self.classes_[answers.astype(int)]
