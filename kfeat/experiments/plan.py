"""The plan of an experiment: its trials, each with an identity and seeds that depend on nothing else.

A trial's time and memory are estimated before it starts, from past rows or from a formula of its sizes.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from math import inf, sqrt
from statistics import fmean, median
from typing import Any, Literal, NamedTuple

from kfeat.data import LoaderSource, Protocol, Source
from kfeat.data.catalogue import Shape, class_shares, shape_of
from kfeat.data.generators import Generator
from kfeat.data.sources import dataset_name
from kfeat.experiments.component import Component, Memory, canonical_json
from kfeat.experiments.config import Experiment
from kfeat.experiments.row import Row, counts_as_timed, cpu_seconds, ended
from kfeat.experiments.selectors import flat
from kfeat.memory import available_memory

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
            "dataset": dataset_name(self.source),
            "source": described(self.source) if isinstance(self.source, Generator) else None,
            "protocol": self.protocol.model_dump(mode="json"),
        }
        return flat(record | {part: item and item.entry() for part, item in parts.items()})


def described(source: Source) -> dict[str, Any] | None:
    """Return the source's parameters as in a row, and a loader's version; None for a registered dataset."""
    version = {"version": source.loader.version} if isinstance(source, LoaderSource) else {}
    return None if isinstance(source, str) else {**source.model_dump(mode="json"), **version}


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


BASE = 250_000_000  # bytes of Python with NumPy, SciPy and scikit-learn loaded: 172 to 230 MB
CACHE_SHARE = 0.5  # LIBSVM's kernel cache takes at most this share of the memory
NATIVE = ("linear", "polynomial", "gaussian")  # kernels of which LIBSVM keeps no Gram matrix beside its cache
TRIAL = 0.05  # seconds of a trial that does nothing
LIBSVM_ROWS = 50_000  # the estimate of LIBSVM's time grows only linearly beyond so many rows
DEFAULT_COLUMNS = 100
SEARCHES = 20  # trainings of a solver that chooses: gammas times folds
SEARCH_BYTES = 80_000_000  # of the libraries that it loads besides


@dataclass(frozen=True)
class Estimate:
    """Seconds on one core and bytes at the peak; None if they are unknown before the data are loaded.

    An unknown number counts as zero: such a trial is treated as a small one.
    """

    seconds: float | None
    memory: int | None


class Work(NamedTuple):
    """The sizes that a trial's time and memory depend on.

    n of all `rows` are for training, with d features, of which a share is `stored`. A map makes D columns. D
    is None for an exact kernel solver, whose largest problem of two classes has `pair` rows. A measure draws
    its map `draws` times. Gram matrices of the n rows are kept if `gram` is true, and `cache` bytes of kernel
    values at most. `kind` names the data, kernel, map and solver or measure, and ends with "search"
    where the solver is trained for each of many choices. `bytes` is the size of a number that the solver is
    given.
    """

    kind: tuple[str, ...]
    n: int
    rows: int
    d: int
    D: int | None
    k: int = 1
    pair: float = 0.0
    stored: float = 1.0
    generated: int = 0
    draws: int = 0
    gram: bool = False
    cache: float = inf
    on_disk: bool = False
    bytes: int = 4


def estimates(
    trials: Sequence[Trial], past: Iterable[Row], memory: float | None = None, time_limit: float = inf
) -> dict[str, Estimate]:
    """Return the estimate of each trial by its id, the same for all repeats of a cell.

    `past` are rows to learn from. `memory` is the number of bytes (None: what is available), of which LIBSVM
    takes a share. No trial runs longer than `time_limit` seconds.
    """
    learnt, available = Past(past), memory or available_memory()
    shape = cache(shape_of)  # many cells share their data
    by_cell: dict[str, Estimate] = {}
    for trial in trials:
        if trial.cell not in by_cell:
            sizes = shape(trial.source, trial.protocol)
            work = None if sizes is None else work_of(_described(trial), sizes)
            seconds = learnt.seconds(trial.cell, work)
            by_cell[trial.cell] = Estimate(
                None if seconds is None else min(seconds, time_limit),
                learnt.peaks.get(trial.cell) or (None if work is None else peak_bytes(work, available)),
            )
    return {trial.id: by_cell[trial.cell] for trial in trials}


def _described(trial: Trial) -> Row:
    """Return what a row says of the components of a trial."""
    known = {"kernel": trial.own_kernel, **trial.components}
    parts = {
        part: item and (item.description() if item.ready else item.entry()) for part, item in known.items()
    }
    return {"dataset": dataset_name(trial.source), "memory": trial.memory, **parts}


def work_of(row: Row, shape: Shape | None = None) -> Work:
    """Return the work of the trial of a row; without a `shape`, the shape of the data is that in the row."""
    shape = shape or _shape_in(row)
    solver, measure = row.get("solver") or {}, row.get("measure") or {}
    feature_map, name = row["map"] or solver.get("map"), (solver or measure)["name"]
    exact = not feature_map and row["kernel"] is not None
    method = (
        feature_map["name"] if feature_map else "exact" if exact else "baseline",
        *((solver["solver"], name) if name == "search" else (name,)),
    )
    kernel = row["kernel"]["name"] if row["kernel"] else ""
    n, classes = shape.n_train, len(shape.classes)
    return Work(
        kind=(row["dataset"], kernel, *method),
        n=min(measure.get("n_rows") or n, n),
        rows=n + shape.n_test,
        d=shape.n_features,
        D=None if exact else _columns(feature_map or {"n_components": shape.n_features}, shape.n_features),
        k=classes if classes > 2 else 1,
        pair=min(sum(shape.classes[:2]) or 1.0, 1.0) * n,
        stored=shape.stored,
        generated=shape.generated,
        draws=measure.get("n_draws", 1) if measure else 0,
        gram="n_rows" in measure or (exact and kernel not in NATIVE),
        cache=1e6 * (solver.get("cache_mb") or inf),
        on_disk=row.get("memory") == "out_of_core",
        bytes=8 if (row.get("protocol") or {}).get("dtype") == "float64" else 4,
    )


def _shape_in(row: Row) -> Shape:
    """Return the shape of a row's data; they count as dense, since the row does not say."""
    source, sizes = row["source"] or {}, (row["n_train"], row["n_test"], row["n_features"])
    generated = 0 if source.get("name") == "large_quadric" else source.get("n", 0) * source.get("d", 0)
    return Shape(*sizes, classes=class_shares(row["dataset"], row["protocol"]), generated=generated)


def _columns(feature_map: dict[str, Any], d: int) -> int:
    """Return the largest number of columns that a map makes from d features."""
    if "maps" in feature_map:
        return sum(_columns(inner, d) for inner in feature_map["maps"])
    components = int(feature_map.get("n_components") or DEFAULT_COLUMNS)
    return min(feature_map.get("rank") or components, components) + (1 + d if feature_map.get("h01") else 0)


def peak_bytes(work: Work, available: float) -> int:
    """Return the bytes that a trial takes at its peak: `BASE`, the data, the features, and the solver's own.

    The data are in double precision. A map keeps 2 d D numbers. Features count one and a half times; a
    measure's two and a half times, beside five Gram matrices of the rows that it samples, if any. Sparse
    features have D non-zeros in a row, of 12 bytes, and at most a bin of 8 bytes for each of training. A
    solver that says nothing, and a map that takes more, meet the limit of the process.
    """
    from kfeat.maps import MAPS
    from kfeat.solvers import SOLVERS, Solver  # slow to import

    n, d, D, k = work.n, work.d, work.D, work.k
    base = BASE + SEARCH_BYTES * len(work.kind[4:])
    own = SOLVERS.get(work.kind[3], Solver).working_bytes
    if work.on_disk and D is not None:
        return int(BASE + own(n, D, k, on_disk=True))
    data = 8 * (work.rows * d * work.stored + 2 * work.generated)
    if D is None:
        gram_rows = min(own(int(work.pair), d, k), CACHE_SHARE * available, work.cache)
        return int(base + 2 * data + gram_rows + (8 * n**2 if work.gram else 0))
    sparse = work.kind[2] in MAPS and MAPS[work.kind[2]].sparse_output
    in_core = 12 * work.rows * D + 8 * n * D if sparse else 1.5 * work.bytes * work.rows * D
    features = 10 * n * D if work.draws else in_core + own(n, D, k)
    return int(base + data + 16 * d * D + features + (40 * n**2 if work.gram else 0))


def formula(work: Work) -> float:
    """Return the seconds on one core from the sizes alone, correct to a factor of ten."""
    n, d, D = work.n, work.d, work.D
    if work.kind[4:]:
        return SEARCHES * formula(work._replace(kind=work.kind[:4]))
    if D is None:
        return TRIAL + 7e-10 * d * n * min(n, LIBSVM_ROWS)
    mapping = 1e-9 * n * D * sqrt(d)  # between maps that multiply by a d x D matrix and those by FFTs
    if work.draws:
        return TRIAL + work.draws * (mapping + (5e-11 * n**2 * D if work.gram else 0.0))
    return TRIAL + mapping + 3e-7 * work.k * n * D


class Past:
    """The seconds and the memory of trials, estimated from past rows.

    If the trial's cell has rows, the estimates are the mean of their seconds and the smallest of their memory
    peaks. (Exact kernel solvers get no peak from rows: their cache grows with the memory.) Otherwise the
    formula is multiplied by the median ratio of seconds to formula, over rows of the same kind, or else of
    the same map and solver on any data. Without such rows the formula alone is used. If all rows of a cell
    were stopped, the estimate is at least their limit.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self.peaks: dict[str, int] = {}
        self._cells: dict[str, list[float]] = defaultdict(list)
        self._ratios: dict[tuple[str, ...], list[float]] = defaultdict(list)
        self._stopped: dict[str, float] = {}
        for row in rows:
            if row["status"] == "stopped":
                self._stopped[row["cell"]] = max(row["limit_s"], self._stopped.get(row["cell"], 0.0))
            elif row["status"] == "done":
                self._learn(row)

    def _learn(self, row: Row) -> None:
        """Learn from a row; a row that this version cannot interpret serves its own cell only."""
        seconds, cell = cpu_seconds(row), row["cell"]
        self._cells[cell].append(seconds)
        if (peak := row.get("peak_memory_mb")) and row["map"]:
            self.peaks[cell] = min(int(1e6 * peak), self.peaks.get(cell, int(1e6 * peak)))
        with suppress(ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            work = work_of(row)
            if 0 < (ratio := (seconds + TRIAL) / formula(work)) < inf:
                for key in (work.kind, work.kind[2:]):
                    self._ratios[key].append(ratio)

    def seconds(self, cell: str, work: Work | None) -> float | None:
        """Return the seconds of a trial of this cell; None if neither its work nor a past run is known."""
        if cell in self._cells:
            return fmean(self._cells[cell])
        if work is None:
            return self._stopped.get(cell)
        ratios = self._ratios.get(work.kind) or self._ratios.get(work.kind[2:]) or [1.0]
        return max(formula(work) * median(ratios), self._stopped.get(cell, 0.0))
