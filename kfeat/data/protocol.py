"""The protocol: the steps from a dataset's files to the arrays of an experiment."""

from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Gt, Lt
from pydantic import AfterValidator, BeforeValidator, Discriminator, Tag

from kfeat.data.base import Model
from kfeat.data.splits import AnySplit, Official, Seed


class Divide(Model):
    """Divide every value by one fixed number, such as 255 for the pixels of MNIST."""

    divide: Annotated[float, Gt(0)]


def _whole(number: float) -> float | int:
    """Return a whole number as an integer: 3.0 is the class 3."""
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


class Against(Model):
    """One class becomes +1, all others -1."""

    positive: Annotated[int, Ge(-(2**63)), Lt(2**63)] | Annotated[float, AfterValidator(_whole)] | str


class RandomHalf(Model):
    """A random half of the classes, fixed by this seed, becomes +1, the other half -1."""

    random_half: Seed


def binarise_tag(binarise: Any) -> str:
    """Return which binarisation is meant, so that errors are reported for that kind only."""
    if isinstance(binarise, RandomHalf) or (isinstance(binarise, dict) and "random_half" in binarise):
        return "random_half"
    return "positive" if isinstance(binarise, dict | Against) else "name"


def as_chain(scale: Any) -> Any:
    """Return one scaling step as a chain of one, and `none` as the empty chain."""
    steps = scale if isinstance(scale, list | tuple) else (scale,)
    return tuple(step for step in steps if step != "none")


def step_tag(step: Any) -> str:
    """Return which kind of step is meant, so that errors are reported for that kind only."""
    return "divide" if isinstance(step, dict | Divide) else "name"


StepName = Literal[
    "minmax", "minmax_symmetric", "maxabs", "zscore", "zscore_numbers", "power", "unit_rows", "global_norm",
    "learnt_metric", "learnt_rotation",
]  # fmt: skip
Step = Annotated[Annotated[Divide, Tag("divide")] | Annotated[StepName, Tag("name")], Discriminator(step_tag)]
FILLS_ZEROS: frozenset[StepName] = frozenset(
    {"minmax", "minmax_symmetric", "zscore", "zscore_numbers", "power", "learnt_rotation"}
)
LEARNT: dict[Any, Literal["diagonal", "full"]] = {"learnt_metric": "diagonal", "learnt_rotation": "full"}
Binarise = Annotated[
    Annotated[Literal["none"], Tag("name")]
    | Annotated[Against, Tag("positive")]
    | Annotated[RandomHalf, Tag("random_half")],
    Discriminator(binarise_tag),
]
Chain = Annotated[tuple[Step, ...], BeforeValidator(as_chain)]


class Protocol(Model):
    """How rows are split, labels made binary, and features dropped, scaled and stored.

    In this order: split; binarise; drop constant features; scale; convert to dtype. Everything learnt
    (constant columns, minima, means, norms) is learnt on the training rows only.

    `scale` is a chain of steps, applied one after another: `minmax` to [0, 1], `minmax_symmetric` to
    [-1, 1], `maxabs` (each column over its largest absolute value; a column of zeros stays), `zscore`
    (constant columns become 0), `zscore_numbers` (the same for columns with other numbers than 0 and 1; those
    of 0 and 1 stay), `power` (these columns by the transform of Yeo and Johnson, Biometrika 2000, which makes
    long tails short, and then z-scores), `unit_rows` (zero rows stay), `global_norm` (the largest Euclidean
    norm of a training row becomes 1), `{divide: c}`; one step needs no list, `none` is the empty chain.
    `learnt_metric` multiplies each column by how much a predictor of the labels varies with it, and
    `learnt_rotation` turns the rows as well (`kfeat.learnt_metric`). Both come last, after z-scores mostly.

    `weight` names a column of a file by whose numbers rows count, in training and in scores: a row of weight
    2 counts as two, and one of weight 0 is left out. The dataset's `drop` keeps it from being a feature.
    """

    algorithm_version: ClassVar[int] = 1

    scale: Chain = ()
    split: AnySplit = Official()
    binarise: Binarise = "none"
    constant_features: Literal["keep", "drop"] = "keep"
    dtype: Literal["float32", "float64"] = "float32"
    weight: int | str | None = None

    @property
    def random(self) -> bool:
        """Whether the rows drawn depend on the random_state of a repeat."""
        return self.split.random

    @property
    def fills_zeros(self) -> bool:
        """Whether a scaling makes zeros other numbers, so that no matrix stays sparse."""
        return any(step in FILLS_ZEROS for step in self.scale)

    def given(self) -> dict[str, Any]:
        """Return what differs from the defaults, as a config has it; a split has its kind in any case."""
        given = self.model_dump(mode="json", exclude_defaults=True)
        if "split" in given:
            given["split"] = self.split.given()
        return given
