"""A method for your own data before any of it is trained: the study's advice, in words and in a config."""

from collections.abc import Mapping, Sequence
from typing import Any

from kfeat.data.dataset import Raw
from kfeat.data.inspection import class_counts
from kfeat.errors import ConfigError
from kfeat.kernels import Gaussian
from kfeat.maps import MAPS, maps_for
from kfeat.parameters import did_you_mean
from kfeat.survey.advice import RULE, SIZES, Advice, advise
from kfeat.text import counted, in_yaml

BUDGET = 60.0  # CPU seconds of mapping and training, where nobody says otherwise
LEAST = min(SIZES)  # features of a map
PAGE = "results/survey/study.md"
RARE = 0.2  # of an equal share of the rows: with two classes a tenth


def first_maps(raw: Raw, n: int, names: Sequence[str] | None) -> tuple[list[dict[str, Any]], str]:
    """Return the maps of a first config for n training rows, and the reason in a sentence.

    These are the maps with the given `names`, or else the one that is advised. Raises ConfigError for a name
    of no map of the Gaussian kernel.
    """
    advice = advise(raw.task, n, raw.n_features, BUDGET)
    entry = advice and advice.entry
    use = in_yaml(entry) if entry else "a linear model without a map"
    advised = f"`kfeat advise` recommends {use} for {counted(n, 'training rows')}"
    if names is None:
        return [entry] if entry else [], advised
    known = list(maps_for(Gaussian()))
    for name in names:
        if name not in known:
            near = "" if name in MAPS else did_you_mean(name, known)
            raise ConfigError(
                f"--maps: expected maps of the Gaussian kernel, got {name!r}{near}; "
                f"known are {', '.join(known)}"
            )
    D = entry["n_components"] if entry else min(LEAST, n)
    return [{"name": name, "n_components": D} for name in names], f"the maps of --maps; {advised}"


def sizes(raw: Raw, n: int) -> str:
    """Return the numbers of rows, of rows that train, and of features, in words."""
    rows, features = counted(len(raw.y), "rows"), counted(raw.n_features, "features")
    return f"{rows} ({n:,} for training), {features}"


def sentences(
    raw: Raw, size: str, advice: Advice, regret: tuple[float, tuple[float, float]], others: Mapping[str, Any]
) -> list[str]:
    """Return the advice for data of a `size`, what it costs, its regret, and by how much others lose more."""
    linear = "ridge regression" if raw.task == "regression" else "Newton's linear SVM"
    use = f"the Gaussian kernel, the map {in_yaml(advice.entry)}, and {linear}"
    if advice.entry is None:
        use = f"{linear} on the scaled features: no map of the rule fits the rows and the budget"
    mean, (low, high) = regret
    told = "; ".join(f"{rule} {_more(*more)}" for rule, more in others.items())
    return [
        f"{raw.name}: {size}, {raw.task}.",
        *imbalance(raw),
        f"Use {use}.",
        f"Expect about {_time(advice.seconds)} of CPU time to map and train, by the rows of {advice.like}.",
        f"Why: this is a rule of thumb ({RULE}). Within 0.1 to 30 s it lost {mean:.0%} of the best gain over "
        f"the linear model (95% CI {low:.0%} to {high:.0%}), on average over the data sets of the study "
        f"({PAGE}).",
        f"Other rules lost more (+) or less (-) than this one: {told}.",
        "Number of rows, number of features, density and spectrum do not predict where Nystrom wins: "
        "`kfeat tune` compares methods on your rows, and chooses gamma and C.",
    ]


def _more(mean: float, ends: tuple[float, float]) -> str:
    """Return by how much more a rule loses, with its interval."""
    low, high = ends
    return f"{mean:+.0%} (CI {low:+.0%} to {high:+.0%}{': inconclusive' * (low <= 0 <= high)})"


def imbalance(raw: Raw) -> list[str]:
    """Return a sentence on the rarest of the classes where it has less than a fifth of an equal share."""
    if raw.task == "regression":
        return []
    counts = class_counts(raw, raw.y)
    rarest = min(counts, key=lambda label: counts[label])
    share = counts[rarest] / sum(counts.values())
    if share >= RARE / len(counts):
        return []
    metric = "roc_auc" if len(counts) == 2 else "f1_macro"
    return [
        f"Only {share:.1%} of the rows have the class {rarest}, so that the accuracy tells little: judge by "
        f"`kfeat tune --metric balanced_accuracy` or `--metric {metric}`."
    ]


def _time(seconds: float) -> str:
    return f"{max(seconds, 0.01):.2g} s" if seconds < 99 else f"{seconds / 60:.0f} min"
