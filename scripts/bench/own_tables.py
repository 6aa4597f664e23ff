"""The tables of the part own_data: registered data sets and generated ones, and how they are split."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from kfeat.data import load_raw

MOST_ROWS, MOST_TEST, MOST_AT_SIZE = 50_000, 20_000, 1_100_000
FIRST = (
    "sensors", "protein", "cal_housing", "covertype", "letter", "kin40k", "bike", "magic", "churn", "claims",
)  # fmt: skip
LATER = (
    "pendigits", "digits", "spambase", "nursery", "mixed", "ripples", "cpu_act", "house_16h", "ijcnn1",
    "cod_rna", "adult",
)  # fmt: skip
AT_SIZE = ("covertype_binary", "waves", "covertype_whole")
REGRESSIONS = ("protein", "cal_housing", "kin40k", "bike", "claims", "ripples", "cpu_act", "house_16h")
UNUSUAL = {"churn": ("roc_auc", "balanced_accuracy")}


def metrics_of(name: str) -> tuple[str, ...]:
    """Return the metrics of a table: the accuracy, or R², or what its entry in UNUSUAL says."""
    return UNUSUAL.get(name, ("r2" if name in REGRESSIONS else "accuracy",))


def parts_of(name: str, split: int) -> Any:
    """Return X, y, and X and y of the test rows, of a table under a split."""
    X, y = table(name.removesuffix("_binary"), MOST_AT_SIZE if name in AT_SIZE else MOST_ROWS)
    if name.endswith("_binary"):
        y = y == 2
    share, stratify = min(0.25, MOST_TEST / len(y)), None if name in REGRESSIONS else y
    X, X_test, y, y_test = train_test_split(X, y, test_size=share, random_state=split, stratify=stratify)
    return X, y, X_test, y_test


def table(name: str, most: int) -> tuple[pd.DataFrame, Any]:
    """Return a generated table, or a registered dataset's training rows, so many at most, as a frame."""
    if name in GENERATED:
        return GENERATED[name]()
    part = load_raw(name.removesuffix("_whole"), offline=True).parts["train"]
    rows = np.sort(np.random.default_rng(0).permutation(len(part.y))[:most])
    X = part.X[rows]
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    return pd.DataFrame(X.astype(np.float64)).add_prefix("x"), np.asarray(part.y)[rows]


def digits() -> tuple[pd.DataFrame, Any]:
    """Return scikit-learn's handwritten digits."""
    X, y = load_digits(return_X_y=True)
    return pd.DataFrame(X).add_prefix("x"), y


def mixed() -> tuple[pd.DataFrame, Any]:
    """Return 15,000 rows with words and missing cells; 5 % of the labels are wrong: 95 % is the ceiling."""
    rng, n = np.random.default_rng(5), 15_000
    age, income = rng.uniform(18, 90, n), rng.lognormal(10, 0.6, n)
    city, job = rng.choice(list("abcdefg"), n), rng.choice(list("xyz"), n)
    hours = rng.normal(40, 10, n)
    sign = np.where(np.isin(city, ["a", "c"]), 1, -1)
    y = np.sin(age / 9) + 0.8 * np.log(income / 22_000) * sign + 0.05 * (hours - 40) * (job == "x") > 0
    frame = pd.DataFrame({"age": age, "income": income, "city": city, "job": job, "hours": hours})
    for name in ("age", "hours"):
        frame.loc[rng.random(n) < 0.04, name] = np.nan
    return frame, np.where(y ^ (rng.random(n) < 0.05), "yes", "no")


def ripples() -> tuple[pd.DataFrame, Any]:
    """Return 10,000 rows of a smooth regression; noise of a tenth of the variance: R² of 0.909 at most."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(10_000, 6))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + np.exp(-(X[:, 3] ** 2))
    return pd.DataFrame(X).add_prefix("x"), y + rng.normal(scale=np.sqrt(0.1 * y.var()), size=len(y))


def claims() -> tuple[pd.DataFrame, Any]:
    """Return 30,000 rows: 30 % are 0, the others a smooth function times a lognormal draw with sigma 1.5."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(30_000, 8))
    level = 1_000 * np.exp(0.8 * np.sin(2 * X[:, 0]) + 0.4 * X[:, 1] * X[:, 2] + 0.4 * X[:, 3])
    y = level * rng.lognormal(0, 1.5, len(X)) * (rng.random(len(X)) > 0.3)
    return pd.DataFrame(X).add_prefix("x"), y


def churn() -> tuple[pd.DataFrame, Any]:
    """Return 20,000 rows with words and missing cells, 4 % of them "yes", by what happens together."""
    rng, n = np.random.default_rng(8), 20_000
    months, calls, bill = rng.gamma(2, 12, n), rng.poisson(1.5, n).astype(float), rng.lognormal(3.5, 0.5, n)
    plan, region = rng.choice(["flat", "metered", "family"], n), rng.choice(list("nesw"), n)
    odds = 2.5 * np.exp(-((months - 12) ** 2) / 18) + 0.9 * (calls > 3) * (plan == "metered")
    odds += 1.5 * np.tanh((bill - 45) / 20) * (plan == "flat") + 0.3 * (region == "n")
    yes = rng.random(n) < 1 / (1 + np.exp(5.0 - 1.6 * odds))
    frame = pd.DataFrame({"months": months, "calls": calls, "bill": bill, "plan": plan, "region": region})
    frame.loc[rng.random(n) < 0.05, "bill"] = np.nan
    return frame, np.where(yes, "yes", "no")


def waves() -> tuple[pd.DataFrame, Any]:
    """Return 1,020,000 rows of 10 columns; 5 % of the labels are wrong: 95 % is the ceiling."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(1_020_000, 10))
    y = np.sin(2 * X[:, 0] + X[:, 1]) + X[:, 2] * X[:, 3] + np.cos(2 * X[:, 4]) - 0.5 * X[:, 5] > 0
    return pd.DataFrame(X).add_prefix("x"), y ^ (rng.random(len(y)) < 0.05)


def sensors() -> tuple[pd.DataFrame, Any]:
    """Return 50,000 rows of 12 columns with a smooth boundary; 11 % of the labels are wrong."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(50_000, 12))
    y = np.sin(2 * X[:, 0] + X[:, 1]) + X[:, 2] * X[:, 3] + np.cos(2 * X[:, 4]) - 0.5 * X[:, 5] > 0
    return pd.DataFrame(X).add_prefix("x"), y ^ (rng.random(len(y)) < 0.11)


GENERATED: dict[str, Callable[[], tuple[pd.DataFrame, Any]]] = {
    "digits": digits, "mixed": mixed, "ripples": ripples, "waves": waves,
    "churn": churn, "claims": claims, "sensors": sensors,
}  # fmt: skip
