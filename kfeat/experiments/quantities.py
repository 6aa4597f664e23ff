"""The quantities of a trial, each declared once: its title, how to read it from a row, and its format.

Tables, figures, claims and printed numbers name them. A measure declares its own quantities in its class, so
that a new measure is one file.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

Row = Mapping[str, Any]
Read = Callable[[Row], float | None]

MEASURED = "measured."  # begins the names of quantities of measures by their place
SCORE = "score"  # stands for the quantity by which a row's trial is judged
# The names of sums of phases. As in the papers, mapping the training rows counts as training time; so does
# learning a metric, where a protocol has one.
PHASES = {
    "map": ("map_fit", "map_train"),
    "train": ("train",),
    "fit": ("metric", "map_fit", "map_train", "train"),
    "test": ("map_test", "predict"),
}
# The phases that a trial's clock distinguishes, beside `train`.
SINGLE = ("metric", "map_fit", "map_train", "map_test", "predict")
PARTS = ("kernel", "map", "solver", "measure")
CLOCKS = {"cpu": "", "wall": "_wall"}
MANY_DIGITS = 1e7  # from here on a value is written with an exponent


@dataclass(frozen=True)
class Quantity:
    """One number of a trial.

    title: its name, for a column, an axis or a sentence. note: its explanation below a table, in which
    `{spread}` is replaced by the kind of spread that follows the mean.
    read: reads it from a row, in the unit that is printed; None if the row has none. derive: computes it
    from the other quantities of a cell instead (by name, as `kfeat.analysis.statistics.Summary`).
    spec: the format of one value. unit: its unit, empty for a pure number.
    better: the better direction. timed: only rows whose trial ran alone on an idle machine count.
    measured: it differs between runs even if nothing is random.
    solved: it depends on the solver's convergence, and means less if the solver did not converge.
    score: trials are judged by it, and the name `score` means it for rows that have it.
    draws: for a share in per cent, the number of draws in a row.
    of_rows: it is a share of the test rows, in per cent.
    """

    name: str
    title: str
    read: Read = lambda row: None
    derive: Callable[[Callable[[str], Any]], float | None] | None = None
    spec: str = ".3g"
    unit: str = ""
    better: Literal["higher", "lower"] | None = None
    timed: bool = False
    measured: bool = False
    score: bool = False
    solved: bool = False
    draws: Read | None = None
    of_rows: bool = False
    note: str = ""

    @property
    def heading(self) -> str:
        """Return the title with the unit, for a column or an axis."""
        return f"{self.title} ({self.unit})" if self.unit else self.title

    def text(self, mean: float, sd: float | None = None) -> str:
        """Return `mean ± sd`, or the mean alone if no spread is known; without the unit."""
        return self._number(mean) + ("" if sd is None else f" ± {self._number(sd)}")

    def change(self, difference: float) -> str:
        """Return a difference of two values with its sign."""
        return "+" * (difference >= 0) + self._number(difference)

    def _number(self, value: float) -> str:
        if self.decimals is not None and abs(value) >= MANY_DIGITS:
            return f"{value:.{self.decimals + 1}g}"
        return f"{value:{self.spec}}"

    @property
    def decimals(self) -> int | None:
        """Return how many decimals are printed, or None if their number is not fixed."""
        return int(self.spec[1:-1]) if self.spec.endswith("f") else None


QUANTITIES: dict[str, Quantity] = {}


def declare(*quantities: Quantity) -> None:
    """Register quantities under their names; raises ValueError if a name is taken."""
    for quantity in quantities:
        if quantity.name in (*QUANTITIES, SCORE):
            raise ValueError(f"the quantity '{quantity.name}' is declared twice")
        QUANTITIES[quantity.name] = quantity


def score_of(row: Row) -> Quantity | None:
    """Return the quantity by which the row's trial is judged."""
    scores = (quantity for quantity in QUANTITIES.values() if quantity.score)
    known = next((score for score in scores if score.read(row) is not None), None)
    return known or next(map(measured_quantity, row.get("measured", ())), None)


@cache
def measured_quantity(name: str) -> Quantity:
    """Return the quantity `measured.NAME`: a number that a measure by its place returns under this name."""
    return Quantity(f"{MEASURED}{name}", name, at("measured", name), spec=".4g", note=f"{name}, {{spread}}")


def at(*path: str, factor: float = 1.0) -> Read:
    """Return a reader of the number below these keys of a row, times a factor."""

    def read(row: Row) -> float | None:
        value: Any = row
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return _number(value, factor)

    return read


def _number(value: Any, factor: float = 1.0) -> float | None:
    """Return a value of a row as a number; None if it is not a number or too large for a float."""
    try:
        return factor * float(value) if isinstance(value, int | float) else None
    except OverflowError:
        return None


def parameter_of(part: str, parameter: str) -> Read:
    """Return a reader of a component's parameter: the learnt value if there is one, else the given value."""
    learnt, given = at("learnt", part, parameter), at(part, parameter)

    def read(row: Row) -> float | None:
        value = learnt(row)
        return given(row) if value is None else value

    return read


def seconds_of(phases: Iterable[str], clock: str = "cpu", last: str | None = None) -> Read:
    """Return a reader of the total seconds of some phases; None if all are missing, or the `last` one is."""
    names = tuple(phases)

    def read(row: Row) -> float | None:
        seconds = row["seconds"]
        parts = [seconds[name][clock] for name in names if name in seconds]
        return sum(parts) if parts and (last is None or last in seconds) else None

    return read


def _error_rate(row: Row) -> float | None:
    return 100.0 * (1 - row["accuracy"]) if "accuracy" in row else None


def _n_support(row: Row) -> float | None:
    """Return the number of support vectors over all classes."""
    counts = (row.get("solve") or {}).get("n_support")
    numbers = [_number(number) for number in (counts if isinstance(counts, list) else [counts])]
    known = [number for number in numbers if number is not None]
    return sum(known) if known and len(known) == len(numbers) else None


def _ratio(over: Any, under: Any) -> float | None:
    return over.mean / under.mean if over is not None and under is not None and under.mean else None


declare(
    Quantity(
        "accuracy", "accuracy", at("accuracy", factor=100.0), spec=".2f", unit="%", better="higher",
        score=True, solved=True, of_rows=True, note="on the test rows, {spread}",
    ),
    Quantity(
        "relative_error", "relative error", at("relative_error"), spec=".4f", better="lower", score=True,
        solved=True,
        note="‖predicted - y‖ / ‖y‖ on the test rows, {spread}",
    ),
    Quantity("rmse", "root mean squared error", at("rmse"), spec=".4g", better="lower", solved=True),
    Quantity("mae", "mean absolute error", at("mae"), spec=".4g", better="lower", solved=True),
    Quantity("r2", "R²", at("r2"), spec=".4f", better="higher", solved=True),
    Quantity(
        "error_rate", "error", _error_rate,
        spec=".2f", unit="%", better="lower", solved=True, of_rows=True,
        note="100 % minus the accuracy on the test rows, {spread}",
    ),
    Quantity("spread", "standard deviation over the runs", derive=lambda of: getattr(of(SCORE), "sd", None)),
    Quantity("share", "share of mapping in the time", derive=lambda of: _ratio(of("map"), of("fit"))),
    Quantity("n_components", "number of random features D", at("map", "n_components"), spec=".0f"),
    Quantity("n_features", "dimension d", at("n_features"), spec=".0f"),
    Quantity("n_train", "training rows", at("n_train"), spec=".0f"),
    Quantity("n_test", "test rows", at("n_test"), spec=".0f"),
    Quantity("live", "live features", at("columns", "live"), spec=".0f"),
    Quantity("zero", "features that are zero", at("columns", "zero"), spec=".0f"),
    Quantity("constant", "constant features", at("columns", "constant"), spec=".0f"),
    Quantity("columns", "columns of sparse features", at("sparse", "columns"), spec=".0f"),
    Quantity("nonzeros", "non-zeros per row", at("sparse", "nonzeros"), spec=".1f"),
    Quantity(
        "unseen", "share of cells without a training row", at("sparse", "unseen", factor=100.0),
        spec=".2f", unit="%",
    ),
    Quantity(
        "memory", "peak memory", at("peak_memory_mb"),
        spec=".0f", unit="MB", better="lower", measured=True,
    ),
    Quantity("support_vectors", "support vectors", _n_support, spec=".0f", solved=True),
    Quantity("iterations", "iterations", at("solve", "n_iter"), spec=".0f", solved=True),
    Quantity("objective", "objective", at("solve", "objective"), spec=".6g", solved=True),
)  # fmt: skip

# The titles of parameters; for others the key itself is the title.
TITLES = {
    "kernel.degree": "degree p of the kernel",
    "kernel.gamma": "γ of the kernel",
    "map.n_pairs": "pairs of rows for the weights",
    "map.rank": "rank of the map",
    "measure.cosine": "cosine of the angle between the rows",
    "measure.n_rows": "sampled rows",
    "solver.C": "cost C",
    "solver.alpha": "regularisation α",
}

_WORDS = {
    "map": "mapping",
    "train": "training",
    "fit": "mapping and training",
    "test": "mapping and predicting the test rows",
    "metric": "learning the metric",
    "map_fit": "fitting the map",
    "map_train": "mapping the training rows",
    "map_test": "mapping the test rows",
    "predict": "predicting",
}
for _clock, _suffix in CLOCKS.items():
    declare(
        *(
            Quantity(
                f"{name}{_suffix}",
                f"{'CPU' if _clock == 'cpu' else 'wall'} time of {_WORDS[name]}",
                seconds_of(phases, _clock, "train" if name == "fit" else None),
                unit="s",
                better="lower",
                timed=True,
                solved="train" in phases,
            )
            for name, phases in (PHASES | {part: (part,) for part in SINGLE}).items()
        )
    )
