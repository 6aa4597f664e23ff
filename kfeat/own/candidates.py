"""The candidates of a search: scaling, kernel, map and loss.

A candidate without a map is the exact method. On few rows it trains in a tenth of the time of a map with a
thousand features. Exact methods therefore choose scaling and kernel, and maps approximate the best of them on
more rows. Gamma is drawn as a multiple of 1 / (the sum of the columns' variances), which is 1/d after
z-scores, so that a multiple means the same under each scaling.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Literal

from kfeat.experiments.component import read_component
from kfeat.experiments.plan import digest
from kfeat.maps import maps_for
from kfeat.own.facts import DataFacts, Loss, rounded, steps_of
from kfeat.own.model import KernelModel
from kfeat.solvers.base import Target
from kfeat.solvers.least_squares import FOLD_RESIDUAL, FOLD_STEPS
from kfeat.survey.advice import advise

ConfigEntry = dict[str, Any]
Kind = Literal["linear", "exact", "map", "binning"]
FIRST_SIZE, SIZE, LARGEST = 256, 1024, 16384  # D of the very first map, of the first of a kind, of the last
FEW_COLUMNS = 10  # up to so many, rows have neighbours within a bandwidth far below the mean distance
BINNING = "random_binning"
GRIDS, MOST_GRIDS = 64, 1024  # of the first random binning, and of the last
WIDTHS = (2.0, 8.0)  # gamma of the first random binnings, over the scale of the Laplacian
MAPS = {
    "gaussian": ("orf", "nystrom"),
    "laplacian": ("random_fourier", "nystrom", BINNING),
    "polynomial": ("tensor_sketch", "nystrom"),
}
BOOSTING = {
    task: f"sklearn.ensemble:HistGradientBoosting{kind}"
    for task, kind in (("classification", "Classifier"), ("regression", "Regressor"))
}
PATHS = {  # values of C and alpha, of linear models on features and of exact methods
    ("C", False): [10.0**k for k in range(-1, 4)],
    ("C", True): [1.0, 10.0, 100.0],
    ("alpha", False): [10.0**k for k in range(-6, 4)],
    ("alpha", True): [10.0**k for k in range(-4, 2)],
}
SPARSE_PATHS = {"C": [10.0**k for k in range(-2, 3)], "alpha": [10.0**k for k in range(-2, 3)]}
STEP = 10**0.5  # between values of C or alpha beside one that is known


@dataclass(frozen=True)
class Candidate:
    """A scaling, a kernel and a map as a config's entries, and the loss of the linear model.

    `scale` is "own" for the scaling that the data or the config have. `map` is None for the exact method, an
    SVM or kernel ridge regression; with the linear kernel, for the linear model of the scaled rows. A
    regression learns its targets on the scale `target`.
    """

    scale: str
    kernel: ConfigEntry
    map: ConfigEntry | None
    loss: Loss
    class_weight: Literal["balanced"] | None = None
    target: Target = "none"

    def __hash__(self) -> int:
        return hash(self.key)

    @cached_property
    def key(self) -> str:
        """The identity of what is computed."""
        return digest(asdict(self))[:16]

    @property
    def linear(self) -> bool:
        """Whether this is the linear model of the scaled rows."""
        return self.map is None and self.kernel["name"] == "linear"

    @property
    def exact(self) -> bool:
        """Whether this is the exact method on the kernel."""
        return self.map is None and not self.linear

    @property
    def sparse(self) -> bool:
        """Whether its features are sparse: those of random binning."""
        return self.map is not None and self.map["name"] == BINNING

    @property
    def kind(self) -> Kind:
        """What candidates have in common whose times are alike up to their sizes, and which compete."""
        if self.map is None:
            return "linear" if self.linear else "exact"
        return "binning" if self.sparse else "map"

    @property
    def name(self) -> str:
        """The names of its kernel and its map, or `exact`, or `linear model`."""
        if self.linear:
            return "linear model"
        return f"{self.kernel['name']}, {'exact' if self.map is None else self.map['name']}"

    @property
    def D(self) -> int:  # noqa: N802
        """The number of columns of its map; 0 without one, so that candidates can be sorted by it."""
        return 0 if self.map is None else int(self.map.get("n_components", 0))


def path_of(candidate: Candidate) -> list[float]:
    """Return the values of C or alpha that a new candidate is scored at."""
    name = "alpha" if candidate.loss == "squares" else "C"
    values = SPARSE_PATHS[name] if candidate.sparse else PATHS[name, candidate.exact]
    # Weights of classes make the costs of rare ones larger.
    return [value / 10 for value in values] if candidate.class_weight else values


def options_of(candidate: Candidate, options: ConfigEntry) -> ConfigEntry:
    """Return the options of a candidate's classifier: the config's, its weights, a bias if it is linear."""
    weights = {"class_weight": candidate.class_weight} if candidate.class_weight else {}
    return {**({"bias": 1.0} if candidate.linear else {}), **options, **weights}


def solver_of(candidate: Candidate, value: float, options: ConfigEntry) -> ConfigEntry:
    """Return the solver of a candidate as a config's entry; with the `options` of the config's own."""
    options = options_of(candidate, options)
    if candidate.loss == "squares":
        scale = {"target": candidate.target} if candidate.target != "none" else {}
        tolerance = {"tol": FOLD_RESIDUAL, "max_iter": FOLD_STEPS} if candidate.sparse else {}
        name = "kernel_ridge" if candidate.exact else "ridge"
        return {"name": name, "alpha": value, **tolerance, **scale}
    if candidate.exact:
        return {"name": "svc", "C": value, **{key: options[key] for key in options if key == "class_weight"}}
    loss = {"loss": candidate.loss} if candidate.loss != "squared_hinge" else {}
    return {"name": "newton", **loss, "C": value, **options}


def model_of(candidate: Candidate, value: float, options: ConfigEntry, seed: int) -> KernelModel:
    """Return the model of a candidate, to be trained with this C or alpha."""
    kernel = read_component(candidate.kernel, "kernel").build()
    solver = read_component(solver_of(candidate, value, options), "solver").build(kernel=kernel)
    feature_map = candidate.map and read_component(candidate.map, "map").build(
        kernel=kernel, random_state=seed
    )
    return KernelModel(feature_map, solver, steps_of(candidate.scale))


def boosting_model(task: str, class_weight: Any, seed: int) -> KernelModel:
    """Return scikit-learn's HistGradientBoosting as a model of unscaled rows."""
    from sklearn import ensemble  # here, since its import takes a fifth of a second

    if task == "regression":
        return KernelModel(solver=ensemble.HistGradientBoostingRegressor(random_state=seed))
    classifier = ensemble.HistGradientBoostingClassifier(class_weight=class_weight, random_state=seed)
    return KernelModel(solver=classifier)


def advised(facts: DataFacts, budget: float) -> list[Candidate]:
    """Return the map that the study advises within CPU seconds, on the data as scaled."""
    gamma = facts.gammas["own"].get("gaussian")
    advice = advise(facts.task, facts.n_train, facts.n_features, budget)
    if gamma is None or advice is None or advice.entry is None:
        return []
    kernel = {"name": "gaussian", "gamma": gamma}
    return [Candidate("own", kernel, advice.entry, facts.loss, facts.class_weights[0])]


def linear_model(facts: DataFacts) -> Candidate:
    """Return logistic or ridge regression on the rows under the first scaling."""
    loss: Loss = "squares" if facts.task == "regression" else "logistic"
    return Candidate(next(iter(facts.gammas)), {"name": "linear"}, None, loss, facts.class_weights[0])


def binnings(facts: DataFacts, scale: str) -> list[Candidate]:
    """Return the first random binnings under a scaling; none where rows are sparse."""
    gamma = facts.gammas[scale].get("laplacian")
    if gamma is None:
        return []
    kernels = [{"name": "laplacian", "gamma": rounded(width * gamma)} for width in WIDTHS]
    grids = {"name": BINNING, "n_components": GRIDS}
    return [Candidate(scale, kernel, grids, facts.loss, facts.class_weights[0]) for kernel in kernels]


def with_metric(candidate: Candidate, scale: str, facts: DataFacts) -> list[Candidate]:
    """Return a candidate behind each learnt metric after a scaling, its kernel as wide as under its own."""
    gamma, name = candidate.kernel.get("gamma"), candidate.kernel["name"]
    before, after = facts.gammas[candidate.scale].get(name), facts.gammas[scale].get(name)
    if not isinstance(gamma, int | float) or name == "polynomial" or before is None or after is None:
        return []
    kernel = {**candidate.kernel, "gamma": rounded(gamma * after / before)}
    return [replace(candidate, scale=f"{scale}, {metric}", kernel=kernel) for metric in facts.metrics]


def at_first_size(candidate: Candidate) -> Candidate:
    """Return a candidate with a small map, or the exact method as it is."""
    if candidate.map is None:
        return candidate
    D = min(candidate.D, GRIDS if candidate.sparse else FIRST_SIZE)
    return replace(candidate, map={**candidate.map, "n_components": D})


def maps_of(exact: Candidate, facts: DataFacts, n: int, D: int = SIZE) -> list[Candidate]:
    """Return the maps that approximate an exact method on n rows."""
    names = [name for name in MAPS.get(exact.kernel["name"], ()) if name != "orf" or facts.n_features > 1]
    sizes = {BINNING: GRIDS}
    D = min(D, max(n // 3, 1))
    return [replace(exact, map={"name": name, "n_components": sizes.get(name, D)}) for name in names]


def neighbours(candidate: Candidate, facts: DataFacts) -> Iterator[Candidate]:
    """Yield the candidates one step away: another target, size, gamma, weight of classes or loss."""
    for target in facts.targets:
        if target != candidate.target:
            yield replace(candidate, target=target, loss=facts.loss)
    yield from larger_maps(candidate, facts)
    gamma = candidate.kernel.get("gamma")
    if isinstance(gamma, int | float):
        for factor in (2.0, 0.5):
            yield replace(candidate, kernel={**candidate.kernel, "gamma": rounded(factor * gamma)})
    for weight in facts.class_weights:
        if weight != candidate.class_weight:
            yield replace(candidate, class_weight=weight)
    for loss in facts.losses:
        if loss != candidate.loss and not candidate.exact:
            yield replace(candidate, loss=loss, target="none")


def larger_maps(candidate: Candidate, facts: DataFacts, most: int = LARGEST) -> Iterator[Candidate]:
    """Yield the candidate with four times, and with twice, as many features, `most` at most."""
    if candidate.map is not None and "n_components" in candidate.map:
        for times in (4, 2):
            largest = MOST_GRIDS if candidate.sparse else min(LARGEST, facts.n_train // 2)
            if (D := times * candidate.D) <= min(most, largest):
                yield replace(candidate, map={**candidate.map, "n_components": D})


def own_candidates(
    kernels: Sequence[ConfigEntry], maps: Sequence[ConfigEntry], facts: DataFacts, most: int
) -> list[Candidate]:
    """Return the config's own candidates, at most `most`: each kernel with each map that supports it."""
    candidates, weight = [], facts.class_weights[0]
    for kernel in kernels:
        suited = [
            entry for entry in maps if entry["name"] in maps_for(read_component(kernel, "kernel").build())
        ]
        candidates += [Candidate("own", kernel, entry, facts.loss, weight) for entry in suited]
    return candidates[:most]
