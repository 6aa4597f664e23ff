"""The scores of a search as scikit-learn's searches have them, in `cv_results_`."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from scipy.stats import rankdata

from kfeat.own.candidates import Candidate, solver_of
from kfeat.own.facts import steps_of
from kfeat.own.result import Scored


def params_of(candidate: Candidate, value: float) -> dict[str, Any]:
    """Return the scale, kernel, map and solver of a candidate, with their parameters as configs name them."""
    entries = {
        "kernel": candidate.kernel,
        "map": candidate.map or {"name": None},
        "solver": solver_of(candidate, value, {}),
    }
    steps = steps_of(candidate.scale, ["own"])
    params: dict[str, Any] = {"scale": steps if len(steps) > 1 else steps[0]}
    for part, entry in entries.items():
        params |= {part if name == "name" else name: value for name, value in entry.items()}
    return params


def cv_results(scored: Sequence[Scored]) -> dict[str, Any]:
    """Return the candidates of a search by the keys of GridSearchCV, an array (candidates,) each.

    The same method on more rows is another candidate: `n_samples` has on how many it was scored. Without a
    score, or a fold, scores are NaN. `seconds` is about the time of one value of C or alpha, over all folds.
    """
    params = [params_of(method.candidate, method.value) for method in scored]
    for method, one in zip(scored, params, strict=True):
        if method.reason:  # no value was chosen
            one.pop("C" if "C" in one else "alpha")
    results: dict[str, Any] = {"params": params}
    for name in dict.fromkeys(chain(*params)):
        values, missing = [one.get(name) for one in params], [name not in one for one in params]
        results[f"param_{name}"] = np.ma.MaskedArray(values, missing, dtype=object)
    splits = np.full((len(scored), max(len(method.folds) for method in scored)), np.nan)
    for row, method in zip(splits, scored, strict=True):
        row[: len(method.folds)] = method.folds
    means = np.array([np.nan if method.reason else method.score for method in scored])
    return {
        **results,
        **{f"split{k}_test_score": column for k, column in enumerate(splits.T)},
        "mean_test_score": means,
        "std_test_score": np.array([np.std(method.folds) if method.folds else np.nan for method in scored]),
        "rank_test_score": rankdata(-np.nan_to_num(means, nan=-np.inf), method="min").astype(np.int32),
        "n_samples": np.array([method.n for method in scored]),
        "seconds": np.array([method.seconds for method in scored]),
    }
