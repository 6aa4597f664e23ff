"""What a paper prints and claims: the keys `reported` and `claims` of a config.

Keys within them are those of `Trial.describe`: `protocol.scale`, `kernel.gamma`, `solver.C`. Such a key means
every component that has the parameter; with a name in the key (`solver.libsvm.C`), only that component.
"""

import re
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, Self

from annotated_types import Ge, Gt
from pydantic import (
    AfterValidator,
    Field,
    PlainValidator,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)

from kfeat.errors import ConfigError
from kfeat.experiments.names import Line, Name, Strict
from kfeat.experiments.numbers_file import NumbersFile
from kfeat.experiments.problems import validation_error
from kfeat.experiments.quantities import SCORE
from kfeat.experiments.selectors import Described, QuantityName, Selector, matches

_TIME = re.compile(r"(?P<bound><\s*)?(?P<number>\d+(?:\.(?P<decimals>\d+))?)\s*(?P<unit>[a-z]+)")
_UNITS = {
    "ms": 0.001,
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hour", "hours"), 3600.0),
}


def seconds_printed(text: str) -> tuple[float, float]:
    """Return the smallest and the largest number of seconds that a printed time can mean.

    The last digit is taken as rounded: `1.6 mins` is 93 to 99 seconds; `< 1 sec` is 0 to 1. Raises ValueError
    if the text is not a time.
    """
    match = _TIME.fullmatch(text.strip())
    if match is None or match["unit"] not in _UNITS or not float(match["number"]):
        raise ValueError(f"expected a time as printed, such as 3.6 secs, 2 hours or < 1 sec (got {text!r})")
    value, unit = float(match["number"]), _UNITS[match["unit"]]
    if match["bound"]:
        return 0.0, value * unit
    half = 0.5 * 10.0 ** -len(match["decimals"] or "")
    return (value - half) * unit, (value + half) * unit


def _checked_time(text: str) -> str:
    seconds_printed(text)
    return text


TimeText = Annotated[str, AfterValidator(_checked_time)]


class PrintedTime(NamedTuple):
    """A time that papers print: its key beside a printed number, and its name in tables and figures."""

    key: str
    name: str

    @property
    def title(self) -> str:
        """Return the title of a column of this printed time: `paper's test time`."""
        return f"paper's {self.key.replace('_', ' ')}"


# The times that are printed beside a score, by the quantity with which each is compared.
PRINTED_TIMES = {"fit": PrintedTime("time", "map + train"), "test": PrintedTime("test_time", "test")}


class Citation(NamedTuple):
    """A claim that an explanation cites: the name of its experiment and its `id` there."""

    experiment: str
    claim: str

    def __str__(self) -> str:
        return f"{self.experiment}#{self.claim}"


def citation(text: Any) -> Citation:
    """Return the citation written `experiment#id`, as in pham_pagh_2013/draws#wider."""
    experiment, mark, claim = text.partition("#") if isinstance(text, str) else ("", "", "")
    if not (experiment and mark and claim):
        raise ValueError(f"expected experiment#id of a claim, as in pham_pagh_2013/draws#wider, got {text!r}")
    return Citation(experiment, claim)


class Explainable(Strict):
    """What a config says about a printed number or claim that is not reproduced.

    `evidence` cites the claims on which an `explanation` rests: each must be reproduced on its rows, else the
    explanation does not count. `unexplained` says what was tried on a difference without an explanation.
    """

    explanation: str | None = None
    evidence: list[Annotated[Citation, PlainValidator(citation)]] = []
    unexplained: str | None = None

    @model_validator(mode="after")
    def _one_or_the_other(self) -> Self:
        if self.evidence and not self.explanation:
            raise ValueError("evidence: needs an explanation that rests on it")
        if self.explanation and self.unexplained:
            raise ValueError("needs explanation or unexplained, not both")
        return self


def _as_written(number: float, check: ValidatorFunctionWrapHandler) -> float:
    """Check a number, and keep whether it has decimals: 85 is printed with none, 85.0 with one."""
    check(number)
    return number


class ReportedNumber(Explainable):
    """A number that the paper prints: its cell, its mean and spread, and where the paper prints it.

    `for` names the cell by the keys of `Trial.describe`, `of` the quantity: by default the score. The mean is
    in the unit in which tables print the quantity, such as per cent of accuracy. `time` is the time printed
    beside it, such as `1.6 mins`, of mapping and training on the training rows (the quantity `fit`), and
    `test_time` that of mapping and predicting the test rows (`test`).
    """

    cell: Selector = Field(alias="for")
    of: QuantityName = SCORE
    mean: Annotated[float, Ge(0), WrapValidator(_as_written)]
    sd: Annotated[float, Ge(0)] | None = None
    runs: Annotated[int, Ge(1)] | None = None
    slack: Annotated[float, Gt(0)] | None = None
    time: TimeText | None = None
    test_time: TimeText | None = None
    where: str

    @property
    def times(self) -> dict[str, str]:
        """Return the printed times by the quantity with which each is compared, one of PRINTED_TIMES."""
        texts = {name: getattr(self, printed.key) for name, printed in PRINTED_TIMES.items()}
        return {name: text for name, text in texts.items() if text is not None}


class Reported(Strict):
    """What the paper prints: means over `runs` runs, on the `machine`.

    A number agrees if the 95 % interval of the difference lies within `slack`, or within two of the printed
    standard deviations. `decimals` is the least number of decimals that are printed, since YAML drops zeros
    at the end; `reading_error` is the error of numbers that are read from a drawing. `files` has tables of
    further numbers. With `curves`, positive
    numbers whose `where` is equal up to its last comma are points of a curve, which has a verdict of its own.
    `lost` names what is printed but cannot be read, such as curves that a scan has lost; this is missing.
    """

    source: str
    runs: Annotated[int, Ge(1)]
    machine: str | None = None
    slack: Annotated[float, Gt(0)] = 1.0
    decimals: Annotated[int, Ge(0)] = 0
    reading_error: Annotated[float, Ge(0)] = 0.0
    curves: bool = False
    numbers: list[ReportedNumber] = []
    files: list[NumbersFile] = []
    lost: list[Line] = []

    @model_validator(mode="after")
    def _with_files(self, info: ValidationInfo) -> Self:
        """Add the numbers of the files."""
        config: Any = info.context and info.context.path
        if self.files and config is None:
            raise ValueError("files: they lie beside a config, and this one is not in a file")
        for i, file in enumerate(self.files):
            try:
                self.numbers.extend(map(ReportedNumber.model_validate, file.numbers(config)))
            except ValueError as error:
                raise validation_error([(("files", i), str(error))]) from None
        return self

    @model_validator(mode="after")
    def _spreads_have_runs(self) -> "Reported":
        for number in self.numbers:
            if number.sd and (number.runs or self.runs) == 1:
                raise ValueError(f"{number.where}: a standard deviation needs at least 2 runs")
            if self.curves and not number.mean > 0:
                raise ValueError(f"{number.where}: a point of a curve needs a mean above 0")
        return self

    def slack_of(self, number: ReportedNumber) -> float:
        """Return how far ours may differ: the slack, or two of the printed standard deviations."""
        return max(number.slack or self.slack, 2 * (number.sd or 0.0))

    def rounding_of(self, number: ReportedNumber) -> float:
        """Return half a unit of a number's last printed decimal, or the error with which it was read."""
        written = -int(Decimal(str(number.mean)).as_tuple().exponent)
        return max(0.5 * 10.0 ** -max(self.decimals, written), self.reading_error)


def reported_numbers(reported: Reported | None, trial: Described) -> dict[str, ReportedNumber]:
    """Return the printed numbers of the trial's cell by quantity; raises ConfigError if two have the same."""
    numbers: dict[str, ReportedNumber] = {}
    for number in reported.numbers if reported else []:
        if matches(number.cell, trial) and numbers.setdefault(number.of, number) is not number:
            places = f"{numbers[number.of].where} and {number.where}"
            raise ConfigError(f"reported.numbers: {places} are for the same cell; make their `for` differ")
    return numbers


class Claim(Explainable):
    """A sentence of the paper as an assertion about cells.

    `kind` says whose claim it is: the paper's (`paper`), the paper's judged on other data (`stand_in`), or
    kfeat's own (`own`). Explanations cite it by its `id`. `bound_before` marks a bound that was set after the
    rows were seen, and has the earlier bound.

    `of` is the quantity. Cells are selected by the keys of `Trial.describe`, where a list means any of its
    values: by `value`, or by the two sides of `difference` (A - B) or `ratio` (A / B). This is done once in
    every setting that `for` selects, or, with `across`, once over all of them, and for each value that a list
    in `value` or a side has; a list that both sides have is one. If both sides have maps of several sizes,
    equal sizes are compared. `minus` has a number for each value that `value` lists, mostly the printed one,
    which is subtracted; by those of `over` it is divided. `growth` is the exponent e of quantity ~ x^e, with
    x the key `against` (or `n_features` of the data), fitted over the upper half of its values. The direction
    holds if the number is above (below) the bound in all cases, or in any case with `cases: any`. `size` is
    the interval that agrees with the paper, `printed` the paper's text.
    """

    id: Name | None = None
    kind: Literal["paper", "stand_in", "own"] = "paper"
    text: str
    where: str
    cell: Selector = Field(alias="for", default={})
    of: QuantityName = "score"
    value: Selector | None = None
    minus: Annotated[list[float], Field(min_length=1)] | None = None
    over: Annotated[list[Annotated[float, Gt(0)]], Field(min_length=1)] | None = None
    difference: Annotated[list[Selector], Field(min_length=2, max_length=2)] | None = None
    ratio: Annotated[list[Selector], Field(min_length=2, max_length=2)] | None = None
    growth: Selector | None = None
    against: str = "map.n_components"
    across: bool = False
    cases: Literal["all", "any"] = "all"
    above: float | None = None
    below: float | None = None
    size: Annotated[list[float | None], Field(min_length=2, max_length=2)] | None = None
    printed: str | None = None
    bound_before: str | None = None

    @model_validator(mode="after")
    def _one_form(self) -> "Claim":
        if sum(form is not None for form in (self.value, self.difference, self.ratio, self.growth)) != 1:
            raise ValueError("needs exactly one of value, difference, ratio and growth")
        if (self.minus or self.over) and self.value is None:
            raise ValueError(f"{'minus' if self.minus else 'over'}: only value takes it")
        if self.minus and self.over:
            raise ValueError("needs minus or over, not both")
        if self.above is None and self.below is None:
            raise ValueError("needs a bound: above or below")
        if self.growth is None and "against" in self.model_fields_set:
            raise ValueError("against: only growth takes it")
        if self.growth is not None and self.against == "n_features" and not self.across:
            raise ValueError("growth against n_features needs `across: true`: a setting has one n_features")
        ends = [end for end in self.size or [] if end is not None]
        if self.size and (not ends or ends != sorted(ends)):
            raise ValueError(f"size: expected [low, high], either end null if open (got {self.size})")
        return self
