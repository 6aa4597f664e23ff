"""What the models of an experiment file share: strictness, and the names of quantities."""

from typing import Annotated

from pydantic import AfterValidator, ConfigDict

from kfeat.experiments.quantities import SCORE, quantity_named


def known_quantity(name: str) -> str:
    """Return a quantity's name, or raise ValueError with the nearest one."""
    # The measures declare quantities of their own; they bring scikit-learn in, so only those who ask wait.
    import kfeat.experiments.measures  # noqa: F401

    return name if name == SCORE else quantity_named(name).name


# A declared quantity, a parameter such as kernel.gamma, or `score`: that by which a row is judged.
QuantityName = Annotated[str, AfterValidator(known_quantity)]

# No unknown keys, no conversions.
STRICT = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True, defer_build=True)
