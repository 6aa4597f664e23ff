"""Costs of classes: as an option names them, and by the codes of labels."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_class_weight

from kfeat.errors import ParameterError

ClassWeight = dict[Any, float] | Literal["balanced"] | None


def class_factors(
    class_weight: Any, classes: NDArray[Any], y: NDArray[Any], sample_weight: Any = None
) -> NDArray[np.float64]:
    """Return the factor of C for each of the `classes`, shape (classes,); y (n,) has positions in these.

    The size of a class is the weight of its rows. A class that a mapping does not name has the factor 1.
    Raises ParameterError for a label that is not one of the classes, and for factors that are not finite and
    above 0.
    """
    if isinstance(class_weight, dict):  # scikit-learn would take the texts "0" and "1" as numbers
        labels = classes.tolist()
        refuse_unknown([label for label in class_weight if label not in labels], labels)
        factors = np.array([class_weight.get(label, 1.0) for label in labels], dtype=float)
    elif class_weight == "balanced" and sample_weight is not None:
        sizes = np.bincount(y, sample_weight)
        factors = sizes.mean() / sizes
    else:
        factors = compute_class_weight(class_weight, classes=classes, y=classes[y])
    if not (np.isfinite(factors) & (factors > 0)).all():
        raise ParameterError(
            f"class_weight: every class needs a finite weight above 0 (got {class_weight!r})"
        )
    return factors


def weights_of_codes(class_weight: Any, label_names: Sequence[str]) -> Any:
    """Return class weights by the codes 0, 1, ... of `label_names`, if a mapping uses these names.

    A number also means the name with the same text; if no key matches a name, numbers are codes. Raises
    ParameterError for a label that is not one of the names.
    """
    codes = {name: code for code, name in enumerate(label_names)}
    if not isinstance(class_weight, dict) or not any(str(label) in codes for label in class_weight):
        return class_weight
    refuse_unknown([label for label in class_weight if str(label) not in codes], label_names)
    return {codes[str(label)]: weight for label, weight in class_weight.items()}


def refuse_unknown(unknown: Sequence[Any], labels: Sequence[Any]) -> None:
    """Raise ParameterError if there are labels that no row has."""
    if unknown:
        raise ParameterError(f"class_weight: there are no rows of {unknown}; the classes are {list(labels)}")


def with_codes(solver: Any, label_names: Sequence[str]) -> Any:
    """Return the solver with its class weights by codes, for labels that are codes of `label_names`."""
    weights = getattr(solver, "class_weight", None)
    coded = weights_of_codes(weights, label_names)
    return solver if coded is weights else solver.set_params(class_weight=coded)
