"""The plan of an experiment: its trials, each with an identity and seeds that depend on nothing else."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from math import inf
from typing import Any, Literal

from kfeat.data import Protocol, Source
from kfeat.experiments.component import Component, Memory, canonical_json
from kfeat.experiments.config import Experiment
from kfeat.experiments.row import Row, counts_as_timed, ended
from kfeat.experiments.selectors import flat

# Which finished trials run again; a number N: untimed ones, until each cell has N timed runs.
Again = Literal["nothing", "untimed", "everything"] | int


def digest(value: Any) -> str:
    """Return the SHA-256 of a value's canonical JSON, in hex."""
    return _hash(canonical_json(value))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _joined(items: Mapping[str, str]) -> str:
    """Return the canonical JSON of a mapping whose values are canonical JSON."""
    return "{" + ",".join(f'"{key}":{items[key]}' for key in sorted(items)) + "}"


@cache
def _protocol_key(protocol: Protocol) -> str:
    """Return what determines the numbers of a protocol, as canonical JSON."""
    switches = protocol.model_dump(mode="json", exclude_defaults=True)
    return canonical_json({"version": protocol.algorithm_version, **switches})


@dataclass(frozen=True)
class Trial:
    """One map (or none: an exact method) and one solver or measure of the map, on one split, once.

    Its `id` is a hash over what determines its numbers. Seeds are derived so that comparisons are paired:
    all methods of a repeat share the split, all solvers of a map share the features, and neither loop
    order nor the other trials of the plan matter.

    `fingerprint` is None if the content of the data is not known: such a trial can be counted and named, but
    it has no row, and its source distinguishes it from others. `memory` is how the trial runs; it is not
    part of its identity. A `baseline` is trained on the prepared rows: it has neither map nor kernel, and
    `kernel` is that of the methods beside which it is shown.
    """

    source: Source
    fingerprint: str | None
    protocol: Protocol
    kernel: Component
    map: Component | None
    solver: Component | None
    repeat: int
    seed: int
    measure: Component | None = None
    memory: Memory = "in_core"
    baseline: bool = False

    @property
    def role(self) -> str:
        """Return the role of its solver: mapped, exact or baseline."""
        return "baseline" if self.baseline else "exact" if self.map is None else "mapped"

    @property
    def exact(self) -> bool:
        """Return whether it is an exact kernel method."""
        return self.role == "exact"

    @property
    def own_kernel(self) -> Component | None:
        """Return the kernel that its numbers depend on; None for a baseline."""
        return None if self.baseline else self.kernel

    @property
    def data_key(self) -> str:
        """Return what identifies the data: the hash of their content, else what the config says."""
        return self.fingerprint or f"unknown content: {self.source!r}"

    @property
    def _data(self) -> dict[str, Any]:
        return {
            "dataset": self.data_key,
            "protocol": self.protocol.model_dump(mode="json", exclude_defaults=True),
            "repeat": self.repeat if self.protocol.random else 0,
            "seed": self.seed,
        }

    @cached_property
    def id(self) -> str:
        """Return the identity, 16 hex digits."""
        before, after = self._around_repeat
        return _hash(f"{before}{self.repeat}{after}")[:16]

    @cached_property
    def cell(self) -> str:
        """Return the identity of all repeats together, 16 hex digits."""
        return _hash(_joined(self._parts))[:16]

    def at_repeat(self, repeat: int) -> "Trial":
        """Return the same trial in another repeat."""
        # Plans have tens of thousands of trials, and hashing takes most of the time. The constructor would
        # drop what all repeats have in common, so it is copied with the fields.
        common = {"cell": self.cell, "_around_repeat": self._around_repeat, **vars(self), "repeat": repeat}
        common.pop("id", None)
        common.pop("seeds", None)
        other = object.__new__(Trial)
        vars(other).update(common)
        return other

    @cached_property
    def _parts(self) -> dict[str, str]:
        """Return what determines the numbers of all repeats, each part as canonical JSON."""
        setting = {"dataset": canonical_json(self.data_key), "protocol": _protocol_key(self.protocol)}
        components = {"kernel": self.own_kernel, **self.components}
        return setting | {part: item.key if item else "null" for part, item in components.items()}

    @cached_property
    def _around_repeat(self) -> tuple[str, str]:
        """Return the canonical JSON whose hash is the id, before and after the number of the repeat."""
        whole = _joined(self._parts | {"repeat": "\0", "seed": str(self.seed)})
        before, _, after = whole.partition("\0")  # canonical JSON escapes it
        return before, after

    @property
    def components(self) -> dict[str, Component | None]:
        """Return the map (None: exact), and the solver or the measure."""
        if self.measure is not None:
            return {"map": self.map, "measure": self.measure}
        return {"map": self.map, "solver": self.solver}

    @cached_property
    def seeds(self) -> dict[str, int]:
        """Return the seeds of the split, the map and the solver, each below 2^31."""
        drawn = {**self._data, "repeat": self.repeat}
        kernel = self.own_kernel
        drawn |= {"kernel": kernel and kernel.draws(), "map": self.map and self.map.draws()}
        return {
            "data": _seed(["data", self._data]),
            "map": _seed(["map", drawn]),
            "solver": _seed(["solver", self.seed, self.repeat]),
        }

    def describe(self) -> Mapping[str, Any]:
        """Return the flat keys by which a config's `for:` and a table's columns select trials."""
        return self._flat

    @cached_property
    def _flat(self) -> Mapping[str, Any]:
        parts = {"kernel": self.own_kernel, **self.components}
        record = {
            "dataset": self.source.name,
            "source": self.source.parameters,
            "protocol": self.protocol.model_dump(mode="json"),
        }
        return flat(record | {part: item and item.entry() for part, item in parts.items()})


def plan(experiment: Experiment, fingerprints: Mapping[Source, str]) -> list[Trial]:
    """Return the trials in the order they run: repeat by repeat, then the exact solvers, which are slow.

    `fingerprints` maps each dataset to the hash of its content; trials of other datasets have no rows.
    """
    trials: dict[str, Trial] = {}
    for trial in every_trial(experiment, fingerprints):
        trials.setdefault(trial.id, trial)
    return list(trials.values())


def every_trial(experiment: Experiment, fingerprints: Mapping[Source, str]) -> Iterator[Trial]:
    """Yield the trial of each point of the settings' grids in order; equal trials may occur several times."""
    for here in experiment.settings:
        for source, protocol, kernel in product(here.datasets, here.protocols, here.kernels):
            common = (source, fingerprints.get(source), protocol, kernel)
            seed = experiment.seed
            methods = [
                Trial(*common, item, solver, 0, seed, memory=here.memory)
                for item, solver in product(here.maps, here.mapped_solvers)
            ]
            methods += [
                Trial(*common, item, None, 0, seed, measure)
                for item, measure in product(here.maps, here.measures)
            ]
            methods += [
                Trial(*common, None, solver, 0, seed, baseline=True) for solver in here.solvers.baseline
            ]
            exact = [Trial(*common, None, solver, 0, seed) for solver in here.exact_solvers]
            # An exact solver is not random: it repeats to measure times, or runs once on each random split.
            exact_repeats = here.repeats if protocol.random else here.exact_repeats
            for group, repeats in ((methods, here.repeats), (exact, exact_repeats)):
                for repeat, trial in product(range(repeats), group):
                    yield trial.at_repeat(repeat)


def _seed(value: Any) -> int:
    return int(digest(value)[:8], 16) % 2**31


def pending(
    trials: Sequence[Trial], rows: dict[str, Row], again: Again = "nothing", time_limit: float = inf
) -> list[Trial]:
    """Return the trials without a row of status `done`, and those that have to run again.

    A stopped trial runs again if the time limit is longer now. If `again` is a number of timed runs, the
    first repeats of a cell are chosen first. Trials that run anyway count as timed, unless they failed
    before.
    """
    if again == "everything":
        return list(trials)
    needed = again if isinstance(again, int) else inf if again == "untimed" else 0
    known = {trial.id: rows[trial.id] for trial in trials if trial.id in rows}
    over = {
        key for key, row in known.items() if ended(row) >= ended({"status": "stopped", "limit_s": time_limit})
    }
    untimed = {identity for identity in over if not counts_as_timed(known[identity])}
    failed = {identity for identity, row in known.items() if row["status"] == "failed"}
    timed = Counter(trial.cell for trial in trials if trial.id not in untimed | failed)
    todo = []
    for trial in trials:
        more = trial.id in untimed and timed[trial.cell] < needed
        timed[trial.cell] += more
        if more or trial.id not in over:
            todo.append(trial)
    return todo
