"""What an experiment file may say, as one strict pydantic model; `load` makes an Experiment of it."""

from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import Annotated, Any, Literal

from annotated_types import Ge, MinLen
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    PlainValidator,
    ValidationInfo,
    field_validator,
    model_validator,
)

from kfeat.data import FileSource, Protocol, Source
from kfeat.data.registry import registry
from kfeat.experiments.compatibility import unsupported, wrong_tasks
from kfeat.experiments.component import Component, read_component
from kfeat.experiments.features import Memory
from kfeat.experiments.figure_layout import FigureLayout
from kfeat.experiments.grid import any_number, laid_out, one_or_many
from kfeat.experiments.names import Line, Name, one_line
from kfeat.experiments.paper import Claim, Reported
from kfeat.experiments.problems import refuse
from kfeat.experiments.strict import STRICT, QuantityName
from kfeat.parameters import did_you_mean

ProtocolGrid = Annotated[list[Protocol], BeforeValidator(laid_out)]


def reader(part: str) -> Any:
    """Return the validator of a component of this part of a trial."""
    return PlainValidator(partial(read_component, part=part))


def in_role(role: Literal["mapped", "exact"]) -> Any:
    """Return the validator of a solver of this role."""

    def check(solver: Component) -> Component:
        if solver.cls.needs_kernel and role == "mapped":
            raise refuse([((), f"{solver.name} trains on a kernel, not on features")])
        if not solver.cls.needs_kernel and role == "exact":
            raise refuse([((), f"{solver.name} trains on features, not on a kernel")])
        return solver

    return AfterValidator(check)


# One entry of the file each: the components at the points of its grid.
KernelGrid = Annotated[list[Annotated[Component, reader("kernel")]], BeforeValidator(laid_out)]
MapGrid = Annotated[list[Annotated[Component, reader("map")]], BeforeValidator(laid_out)]
MappedGrid = Annotated[
    list[Annotated[Component, reader("solver"), in_role("mapped")]], BeforeValidator(laid_out)
]
ExactGrid = Annotated[
    list[Annotated[Component, reader("solver"), in_role("exact")]], BeforeValidator(laid_out)
]
MeasureGrid = Annotated[list[Annotated[Component, reader("measure")]], BeforeValidator(laid_out)]


class Strict(BaseModel):
    """A mapping of the file: no unknown keys, no conversions."""

    model_config = STRICT


class Column(Strict):
    """A column of a mirrored table: the cell of the line's setting, or with `over` the ratio over / for.

    With `quickest`, `over` may speak of several cells: it is the one that maps and trains in the least time.
    `show` is the quantity of this column alone, or a list of several. `printed` has the paper's words for a
    ratio, by line: one for each quantity that the column shows, in their order.
    """

    title: Line
    cell: dict[str, Any] = Field(alias="for")
    over: dict[str, Any] | None = None
    quickest: bool = False
    show: Annotated[list[QuantityName], MinLen(1)] | None = None
    printed: dict[str, Annotated[list[str], BeforeValidator(one_or_many)]] = {}

    @field_validator("show", mode="before")
    @classmethod
    def _several(cls, show: Any) -> Any:
        return None if show is None else one_or_many(show)

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
    show: Annotated[list[QuantityName], MinLen(1)] = ["score", "fit"]

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


class Switch(Strict):
    """A choice of the protocol: how well it is known, and by what evidence; `value` where no key holds it.

    `key` is one of `Trial.describe` (solver.C), or names one component's (solver.libsvm.C): see
    `kfeat.experiments.switches`. `alternatives` are values to try in place of the present one.
    """

    key: str
    status: Literal["known", "inferred", "open"]
    evidence: str
    value: str | None = None
    alternatives: list[Any] = []


def drawable(source: Source) -> Source:
    """Return data whose name tables and figures can show; raises pydantic's ValidationError for others."""
    if isinstance(source, FileSource):
        try:
            one_line(source.name)
        except ValueError as error:
            text = f"the file's name: {error} (got {source.name[:100]!r}); rename the file"
            raise refuse([((), text)]) from None
    return source


class Solvers(Strict):
    """The solvers: linear machines on mapped features, and exact kernel machines."""

    mapped: Annotated[list[MappedGrid], BeforeValidator(any_number)] = []
    exact: Annotated[list[ExactGrid], BeforeValidator(any_number)] = []


class SettingKeys(Strict):
    """What one setting of an experiment says: the data, and what is run on them.

    `repeats` is how often each map is drawn. `exact_repeats` is how often the exact kernel machine runs where
    nothing is drawn: for the spread of its seconds alone, since its score is the same each time. Where the
    split is drawn anew for every repeat it has no part: the exact machine then runs once on each of the
    `repeats` splits, as the maps do.

    `memory: out_of_core` says that features and dense rows stay on the disk and reach the solver in batches;
    numbers agree with those in memory to rounding.

    A check of a field against others sees those above it that are valid, so that one problem does not hide
    another.
    """

    dataset: Annotated[
        list[Annotated[Source, AfterValidator(drawable)]], BeforeValidator(one_or_many), MinLen(1)
    ]
    protocol: Annotated[list[ProtocolGrid], BeforeValidator(one_or_many), MinLen(1)] = [[Protocol()]]
    kernel: Annotated[list[KernelGrid], BeforeValidator(one_or_many), MinLen(1)]
    maps: list[MapGrid] = []
    solvers: Solvers = Solvers()
    measure: Annotated[list[MeasureGrid], BeforeValidator(any_number)] = []
    repeats: Annotated[int, Ge(1)] = 5
    exact_repeats: Annotated[int, Ge(1)] = 1
    memory: Memory = "in_core"

    @field_validator("maps")
    @classmethod
    def _supported(cls, maps: Any, info: ValidationInfo) -> Any:
        kernels = list(chain.from_iterable(info.data.get("kernel", [])))
        kinds = [{point.name: point for point in grid}.values() for grid in maps]  # `name` may be an axis
        wrong = [
            ((i,), text) for i, each in enumerate(kinds) for one in each for text in unsupported(one, kernels)
        ]
        if wrong:
            raise refuse(wrong)
        return maps

    @field_validator("solvers")
    @classmethod
    def _of_the_task(cls, solvers: Solvers, info: ValidationInfo) -> Solvers:
        wrong = wrong_tasks(
            info.data.get("dataset", []), list(chain.from_iterable([*solvers.mapped, *solvers.exact]))
        )
        if wrong:
            raise refuse(((), text) for text in wrong)
        return solvers

    @field_validator("measure")
    @classmethod
    def _alone(cls, measure: Any, info: ValidationInfo) -> Any:
        solvers = info.data.get("solvers", Solvers())
        if measure and (solvers.mapped or solvers.exact):
            raise refuse([((), "stands in the place of `solvers`, not beside them")])
        return measure

    @field_validator("memory")
    @classmethod
    def _in_batches(cls, memory: Memory, info: ValidationInfo) -> Memory:
        solvers = info.data.get("solvers", Solvers())
        if memory == "out_of_core" and (wrong := all_at_once(solvers, bool(info.data.get("measure")))):
            raise ValueError(wrong)
        return memory


def all_at_once(solvers: Solvers, measures: bool) -> str:
    """Return what of a setting needs all its rows in memory, in words; "" for nothing."""
    if measures or solvers.exact:
        what = "a `measure`" if measures else "an `exact` solver"
        return f"{what} needs all rows in memory: give it a setting of its own, without `memory: out_of_core`"
    for solver in chain.from_iterable(solvers.mapped):
        if solver.cls.out_of_core == "no":
            return (
                f"{solver.name} needs all features in memory; those that do not: {', '.join(out_of_core())}"
            )
    return ""


def out_of_core() -> list[str]:
    """Return the names of the solvers for features that do not fit in memory."""
    from kfeat.solvers import SOLVERS

    return [name for name, cls in SOLVERS.items() if cls.out_of_core != "no"]


class ExperimentKeys(Strict):
    """All that an experiment file says, once its shared keys have been handed to each of its settings.

    `stand_ins` says of a dataset which one it stands in for, such as `gisette_mnist: Gisette`: figures say so
    where they name it, and tables below.
    """

    settings: Annotated[list[SettingKeys], MinLen(1)]
    title: Line
    seed: Annotated[int, Ge(0)] = 0
    rows_from: list[Name] = []
    reported: Reported | None = None
    claims: list[Claim] = []
    switches: list[Switch] = []
    stand_ins: dict[str, Line] = {}
    table: TableLayout | None = None
    figure: Annotated[
        FigureLayout | None,
        BeforeValidator(lambda value: {"kind": value} if isinstance(value, str) else value),
    ] = None

    @field_validator("stand_ins")
    @classmethod
    def _known_data(cls, stand_ins: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        here = [source for setting in info.data.get("settings", []) for source in setting.dataset]
        known = {*registry(), *(one if isinstance(one, str) else one.name for one in here)}
        if unknown := [name for name in stand_ins if name not in known]:
            raise ValueError(f"unknown dataset '{unknown[0]}'{did_you_mean(unknown[0], sorted(known))}")
        return stand_ins

    @field_validator("figure")
    @classmethod
    def _of_the_table(cls, figure: FigureLayout | None, info: ValidationInfo) -> FigureLayout | None:
        table = info.data.get("table")
        has_ratios = table is not None and any(column.over for column in table.columns)
        if figure is not None and figure.kind == "ratios" and not has_ratios:
            raise ValueError("ratios are those of a `table` with columns that have `over`, and there is none")
        return figure
