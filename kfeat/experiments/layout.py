"""What an experiment file says of its table and its figure."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from annotated_types import MinLen
from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from kfeat.experiments.grid import OneOrMany
from kfeat.experiments.names import Line, Name, QuantityName, Strict
from kfeat.experiments.quantities import SCORE
from kfeat.experiments.selectors import Selector

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

    With `quickest`, `over` may speak of several cells: it is the one that maps and trains in the least time.
    `show` is the quantity of this column alone, or a list of several. `printed` has the paper's words for a
    ratio, by line: one for each quantity that the column shows, in their order.
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
                "`printed` is for a column with `over`; other columns print what stands in `reported`"
            )
        if self.quickest and self.over is None:
            raise ValueError("`quickest` chooses among the cells of `over`, and there is none")
        return self

    def quantities(self, lines: Sequence[str]) -> Sequence[str]:
        """Return what the column shows in a table with these quantities on its lines."""
        return self.show or lines

    def printed_ratio(self, name: str, quantity: str, lines: Sequence[str]) -> str | None:
        """Return the paper's words for the ratio of a quantity on the line of this name; None without any."""
        shown = list(self.quantities(lines))
        return self.printed[name][shown.index(quantity)] if name in self.printed else None


class TableLayout(Strict):
    """A table as the paper prints it: a line per setting, named by `lines`, and the columns of methods.

    `show` has the quantities of a setting, each on a line of its own.
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
    """A line across a figure at a value of a quantity, such as an error of 1, and its words in the legend."""

    of: QuantityName = SCORE
    at: float
    label: Line


class FigureLayout(Strict):
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

    kind: Literal["methods", "curves", "ratios"]
    x: QuantityName = "n_components"
    along: QuantityName | None = None
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
        """Return how many panels of a setting stand side by side: one for each quantity, or one."""
        return 1 if "y" in self.rows else len(self.y)

    def in_decades(self, name: str) -> bool:
        """Tell whether the axis of a quantity of `y` is logarithmic."""
        return "y" in self.log or name in self.log


def as_figure(value: Any) -> Any:
    """Return a figure given by its kind alone as a mapping."""
    return {"kind": value} if isinstance(value, str) else value


Figure = Annotated[
    FigureLayout,
    BeforeValidator(as_figure, json_schema_input_type=Literal["methods", "curves", "ratios"] | FigureLayout),
]
