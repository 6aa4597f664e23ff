"""What an experiment file says of its figure."""

from typing import Annotated, Any, Literal

from annotated_types import MinLen
from pydantic import BaseModel, BeforeValidator, ValidationInfo, field_validator

from kfeat.experiments.names import Line, Name
from kfeat.experiments.quantities import SCORE
from kfeat.experiments.strict import STRICT, QuantityName


class ReferenceLine(BaseModel):
    """A line across a figure at a value of a quantity, such as an error of 1, and its words in the legend."""

    model_config = STRICT

    of: QuantityName = SCORE
    at: float
    label: Line


def logarithmic_axes(value: Any) -> Any:
    """Return the axes that `log` names, of which `true` is the y axis alone."""
    return ["y"] * value if isinstance(value, bool) else value


class FigureLayout(BaseModel):
    """A figure: `methods` (a line per method), `curves` of `y` against `x`, or the `ratios` of the table.

    Of curves, settings that differ in what `rows` and `columns` name get a panel each; what they do not name
    goes into the legend. With `y` among the rows the quantities stand below each other, else side by side.
    The points of a curve differ in `x`, or in the parameter `along` where x is
    measured: errors against `x: sample`, the seconds, `along: n_components`. A figure of methods shows the
    score and the seconds of each phase, or the quantities `y` where they are given; one of ratios shows the
    columns of the table that have `over`.
    `log` names the logarithmic axes: x, y (or `true`), or some of the quantities `y`. `lines` are drawn
    across. `numbers_from` names experiments whose printed numbers are marked beside the cells that they are
    of, as the experiment's own numbers always are; no verdict counts them here.
    """

    model_config = STRICT

    kind: Literal["methods", "curves", "ratios"]
    x: QuantityName = "n_components"
    along: QuantityName | None = None
    y: Annotated[list[QuantityName], MinLen(1)] = ["score", "fit"]
    rows: list[Literal["dataset", "kernel", "y"]] = ["dataset", "kernel"]
    columns: list[Literal["dataset", "kernel"]] = []
    log: Annotated[list[str], BeforeValidator(logarithmic_axes)] = []
    lines: list[ReferenceLine] = []
    numbers_from: list[Name] = []

    @field_validator("log")
    @classmethod
    def _axes(cls, log: list[str], info: ValidationInfo) -> list[str]:
        known = ["x", "y", *info.data.get("y", [])]
        if unknown := [name for name in log if name not in known]:
            raise ValueError(f"expected true, or some of {', '.join(known)} (got {unknown[0]})")
        return log

    @property
    def abreast(self) -> int:
        """Return how many panels of a setting stand side by side: one for each quantity, or one."""
        return 1 if "y" in self.rows else len(self.y)

    def in_decades(self, name: str) -> bool:
        """Tell whether the axis of a quantity of `y` is logarithmic."""
        return "y" in self.log or name in self.log
