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
from kfeat.own.facts import DataFacts, Loss, rounded
from kfeat.own.model import KernelModel
from kfeat.solvers.base import Target
from kfeat.survey.advice import advise

ConfigEntry = dict[str, Any]
FIRST_SIZE, SIZE, LARGEST = 256, 1024, 16384  # D of the very first map, of the first of a kind, of the last
FEW_COLUMNS = 10  # up to so many, rows have neighbours within a bandwidth far below the mean distance
MAPS = {
    "gaussian": ("orf", "nystrom"),
    "laplacian": ("random_fourier", "nystrom"),
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
    values = PATHS["alpha" if candidate.loss == "squares" else "C", candidate.exact]
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
        return {"name": "kernel_ridge" if candidate.exact else "ridge", "alpha": value, **scale}
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
    return KernelModel(feature_map, solver, "none" if candidate.scale == "own" else candidate.scale)


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


def maps_of(exact: Candidate, facts: DataFacts, n: int, D: int = SIZE) -> list[Candidate]:
    """Return the maps that approximate an exact method on n rows."""
    names = [name for name in MAPS.get(exact.kernel["name"], ()) if name != "orf" or facts.n_features > 1]
    D = min(D, max(n // 3, 1))
    return [replace(exact, map={"name": name, "n_components": D}) for name in names]


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
            if (D := times * candidate.D) <= min(most, LARGEST, facts.n_train // 2):
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
