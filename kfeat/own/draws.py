"""The exact methods that a search draws: the usual ones first, then those of Optuna."""

from collections.abc import Callable
from typing import Any

from kfeat.own.candidates import FEW_COLUMNS, MAPS, Candidate, ConfigEntry
from kfeat.own.facts import DataFacts, rounded


def first_entries(facts: DataFacts, scale: str | None = None) -> list[ConfigEntry]:
    """Return what a practitioner tries first: SVMs with gamma about 1/d, under each scaling.

    With a `scale`, the best of these, return what is tried next: other bandwidths, and a cubic kernel.
    """
    weight = {"class_weight": facts.class_weights[0]}
    if scale is None:
        return [{"scale": name, "kernel": "gaussian", "factor": 1.0, **weight} for name in facts.gammas]
    factors = (4.0, 0.25, 16.0, 256.0)[: 4 if facts.n_features <= FEW_COLUMNS else 3]
    entries: list[ConfigEntry] = [
        {"scale": scale, "kernel": "gaussian", "factor": factor} for factor in factors
    ]
    return [entry | weight for entry in [*entries, {"scale": scale, "kernel": "polynomial", "degree": 3}]]


def suggested(trial: Any, facts: DataFacts) -> Candidate:
    """Return the exact method that an Optuna trial suggests."""
    scale = trial.suggest_categorical("scale", list(facts.gammas))
    name = trial.suggest_categorical("kernel", [kernel for kernel in MAPS if kernel in facts.gammas[scale]])
    shape: ConfigEntry = {}
    factor = 1.0
    if name == "polynomial":
        shape = {"degree": trial.suggest_int("degree", 1, 4), "coef0": 1}
    else:
        most = 1e4 if facts.n_features <= FEW_COLUMNS else 100.0
        factor = trial.suggest_float("factor", 0.01, most, log=True)
    kernel = {"name": name, "gamma": rounded(factor * facts.gammas[scale][name]), **shape}
    weights = facts.class_weights
    weight = trial.suggest_categorical("class_weight", list(weights)) if len(weights) > 1 else weights[0]
    targets = facts.targets
    target = trial.suggest_categorical("target", list(targets)) if len(targets) > 1 else targets[0]
    return Candidate(scale, kernel, None, facts.loss, weight, target)


def draw(study: Any, facts: DataFacts, score: Callable[[Candidate], ConfigEntry | None]) -> None:
    """Score the exact method that Optuna draws, the usual ones first, the last of them on the best scaling.

    A method without a score is a trial that failed; one without an answer comes again in the next call.
    """
    from optuna.trial import TrialState

    entries: list[ConfigEntry] = []
    states = [trial.state for trial in study.get_trials(deepcopy=False)]
    first = first_entries(facts)
    if not states:
        entries = first
    elif TrialState.WAITING not in states and TrialState.COMPLETE in states:
        others = first_entries(facts, study.best_params["scale"])
        entries = others if len(states) < len(first) + len(others) else []
    for entry in entries:
        study.enqueue_trial(entry)
    trial = study.ask()
    row = score(suggested(trial, facts))
    if row is not None:
        value = row.get("score")
        study.tell(trial, value, state=TrialState.FAIL if value is None else TrialState.COMPLETE)


def drawn(study: Any) -> int:
    """Return how many exact methods were drawn."""
    return sum(trial.state.name != "WAITING" for trial in study.get_trials(deepcopy=False))
