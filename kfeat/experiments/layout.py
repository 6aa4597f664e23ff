"""How a config lays out its table and its figure."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from annotated_types import MinLen
from pydantic import (
    BeforeValidator,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from kfeat.experiments.grids import OneOrMany
from kfeat.experiments.names import Line, Name, Strict
from kfeat.experiments.quantities import SCORE
from kfeat.experiments.selectors import Keys, QuantityName, Selector

Quantities = Annotated[list[QuantityName], MinLen(1)]
Axes = Annotated[
    list[str],  # of which `true` is the y axis alone
    BeforeValidator(
        lambda value: ["y"] * value if isinstance(value, bool) else value,
        json_schema_input_type=bool | list[str],
    ),
]


class Column(Strict):
    """A column of a paper's table: the cell of the line's setting, or with `over` the ratio over / for.

    With `quickest`, `over` may select several cells: the one that maps and trains in the least time is used.
    `show` is the quantity or the list of quantities of this column. `printed` has the paper's text for a
    ratio, by line: one text for each quantity that the column shows, in the same order.
    """

    title: Line
    cell: Selector = Field(alias="for")
    over: Selector | None = None
    quickest: bool = False
    show: Annotated[Quantities, OneOrMany()] | None = None
    printed: dict[str, Annotated[list[str], OneOrMany()]] = {}

    @model_validator(mode="after")
    def _printed_ratios(self) -> "Column":
        if self.printed and self.over is None:
            raise ValueError(
                "`printed` is for a column with `over`; other columns take printed numbers from `reported`"
            )
        if self.quickest and self.over is None:
            raise ValueError("`quickest` chooses among the cells of `over`, so the column needs `over`")
        return self

    def quantities(self, lines: Sequence[str]) -> Sequence[str]:
        """Return the column's own quantities, or else those of the table's lines."""
        return self.show or lines

    def printed_ratio(self, name: str, quantity: str, lines: Sequence[str]) -> str | None:
        """Return the paper's text for the ratio of a quantity on the line `name`; None if there is none."""
        shown = list(self.quantities(lines))
        return self.printed[name][shown.index(quantity)] if name in self.printed else None


class TableLayout(Strict):
    """A table in the form of the paper's: a line per setting, named by `lines`, and columns of methods.

    `show` has the quantities of a setting; each has its own line.
    """

    lines: Literal["dataset", "kernel"]
    columns: Annotated[list[Column], MinLen(1)]
    show: Quantities = ["score", "fit"]

    @model_validator(mode="after")
    def _room(self) -> "TableLayout":
        has_lines = any(column.show is None for column in self.columns)
        for column in self.columns:
            count = len(column.quantities(self.show))
            if has_lines and count > len(self.show):
                raise ValueError(
                    f"the column '{column.title}' shows {count} quantities, and the table has "
                    f"{len(self.show)} lines for each of its {self.lines}s: list more in its `show`"
                )
            for name, words in column.printed.items():
                if len(words) != count:
                    raise ValueError(
                        f"the column '{column.title}' shows {count} quantities, and `printed` has "
                        f"{len(words)} words for {name}"
                    )
        return self


class ReferenceLine(Strict):
    """A line across a figure at a value of a quantity, such as an error of 1, and its label in the legend."""

    of: QuantityName = SCORE
    at: float
    label: Line


class FigureLayout(Strict):
    """A figure: `methods` (a line per method), `curves` of `y` against `x`, or the `ratios` of the table.

    A figure of curves has one panel for each value of the keys in `rows` and `columns`; other differences are
    in the legend. With `y` among the rows, the quantities are below each other, else side by side.
    The points of a curve differ in `x`. If x is measured, they differ in the parameter `along`: for example,
    errors against the seconds (`x: sample`) with `along: n_components`. A figure of methods shows the
    score and the seconds of each phase, or the quantities `y` if they are given. A figure of ratios shows the
    columns of the table that have `over`.
    `join` has parameters that differ along a curve and tell no curves apart, as [kernel.gamma, solver.alpha]
    where each size has its own. A method without a map stands at its `cell_size`, if it has one, and along
    kernel.gamma a kernel with a bandwidth stands at that. `x_title` replaces the title of the x axis.
    `log` names the logarithmic axes: x, y (or `true`), or some of the quantities `y`. `lines` are drawn
    across. `numbers_from` names experiments whose printed numbers are marked beside the same cells, as the
    experiment's own printed numbers always are; verdicts do not count them here.
    """

    kind: Literal["methods", "curves", "ratios"]
    x: QuantityName = "n_components"
    x_title: Line | None = None
    along: QuantityName | None = None
    join: Keys = []
    y: Quantities = ["score", "fit"]
    rows: list[Literal["dataset", "kernel", "y"]] = ["dataset", "kernel"]
    columns: list[Literal["dataset", "kernel"]] = []
    log: Axes = []
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
        """Return how many panels of a setting are side by side: one for each quantity, or one."""
        return 1 if "y" in self.rows else len(self.y)

    def in_decades(self, name: str) -> bool:
        """Return whether the axis of a quantity of `y` is logarithmic."""
        return "y" in self.log or name in self.log


def as_figure(value: Any) -> Any:
    """Return a figure as a mapping, if it is given by its kind alone."""
    return {"kind": value} if isinstance(value, str) else value


Figure = Annotated[
    FigureLayout,
    BeforeValidator(as_figure, json_schema_input_type=Literal["methods", "curves", "ratios"] | FigureLayout),
]
