"""The frozen record that everything in a config is, and the bounds of its numbers."""

from functools import cache
from typing import Any, Literal, TypeAlias

from pydantic import (
    BaseModel,
    ConfigDict,
    TypeAdapter,
    ValidationError,
)

from kfeat.errors import ConfigError
from kfeat.parameters import describe

MOST_SIDE = 100_000_000  # rows or columns of a matrix; the widest data published as svmlight have 55 million
MOST_SEED = 2**64  # a seed is a number of 64 bits at most
Task: TypeAlias = Literal["classification", "regression"]


class Model(BaseModel):
    """A frozen record with no unknown keys and no silent conversions, hashable whatever its fields are."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False, defer_build=True)

    def __hash__(self) -> int:
        """Return a hash over the content, as equal records have equal content."""
        return hash((type(self), self.model_dump_json()))


def validated(kind: Any, value: Any, name: str) -> Any:
    """Return the value as a model of its kind; raises ConfigError naming every problem with its path."""
    try:
        return _adapter(kind).validate_python(value)
    except ValidationError as error:
        raise ConfigError(
            "; ".join(describe(problem, [name, *problem["loc"]]) for problem in error.errors())
        ) from None


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    """Return the validator of this kind, kept since making one takes longer than a small trial."""
    return TypeAdapter(kind)
