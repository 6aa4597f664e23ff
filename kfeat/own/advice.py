"""Advice for data from the published survey: its traits, and the advice in sentences."""

from math import log
from typing import Any

from kfeat.data import Protocol, load
from kfeat.data.dataset import Raw
from kfeat.own.new_config import scaling_of, split_of
from kfeat.saying import in_yaml
from kfeat.survey.advice import ADVICE, BUDGETS, Advice, Traits
from kfeat.survey.table import regret

PAGE = "results/survey/README.md"
ROWS = 10_000  # of most data sets of the survey, at which its budgets are meant
RULES = {
    "random_fourier 1000": "random Fourier features with 1,000 columns",
    "nystrom 500": "Nystrom with 500 landmarks",
    "RBFSampler": "scikit-learn's RBFSampler as it comes",
    "Nystroem": "scikit-learn's Nystroem as it comes",
}


def traits_of(source: Any, raw: Raw, rows: int | None = None, **access: Any) -> Traits:
    """Return the traits of data under the first scaling that `kfeat new` would choose.

    `rows` replaces the number of training rows.
    """
    scale, _ = scaling_of(raw, source if isinstance(source, dict) else {})
    protocol = Protocol.model_validate({"scale": scale, "split": split_of(raw)})
    X = load(source, protocol, random_state=0, **access).X_train
    return Traits.of(X, raw.parts["train"].X, raw.task, rows)


def sentences(name: str, traits: Traits, budget: float, found: Advice) -> list[str]:
    """Return the advice, what to expect of it, its evidence, and how good such advice was."""
    regression = traits.task == "regression"
    points = "points of R² (in per cent)" if regression else "points of accuracy"
    if found.exact:
        method = "exact kernel ridge regression" if regression else "the exact SVM (LIBSVM)"
    else:
        linear = "ridge regression" if regression else "Newton's linear SVM"
        method = f"the map {in_yaml(found.entry)}, and {linear}"
    shares = ", ".join(f"{one} ({share:.0%})" for one, share in found.evidence.items())
    past = regret()
    at = past[past["budget"] == min(BUDGETS, key=lambda one: abs(log(one * traits.n / ROWS / budget)))]
    mean, worst = at.groupby("rule")["regret"].mean(), at.groupby("rule")["regret"].max()
    others = ", ".join(f"{mean[rule]:.1f} for {words}" for rule, words in RULES.items())
    sign = "less" if found.loss >= 0 else "more"
    return [
        f"{name}: {traits.n:,} training rows, {traits.d:,} features, {traits.task}.",
        f"Use the kernel {found.kernel} and {method}.",
        f"Expect {abs(found.loss):.1f} {points} {sign} than the best exact kernel method, about "
        f"{_time(found.seconds)} of CPU time to map and train, and {found.memory_mb:.0f} MB.",
        f"Evidence: the survey, mostly {shares}: {PAGE}.",
        f"How sure: with each data set of the survey left out, such advice lost {mean[ADVICE]:.1f} points on "
        f"average, and {worst[ADVICE]:.1f} at most, against the best method within such a budget. "
        f"A fixed rule lost {others}.",
        "`kfeat tune` chooses gamma and C, and starts from such advice.",
    ]


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
