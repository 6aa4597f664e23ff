"""What defaults mean is pinned to a version: one that changes needs a new version, or old rows would lie."""

from typing import Any

import pytest

from kfeat.data import Protocol
from kfeat.experiments.component import Component
from kfeat.experiments.measures import MEASURES
from kfeat.experiments.row import PARTS, defaults
from kfeat.kernels import KERNELS
from kfeat.maps import MAPS
from kfeat.parameters import parameter_model
from kfeat.solvers import SOLVERS

REGISTRIES: dict[str, dict[str, Any]] = {
    "kernel": KERNELS, "map": MAPS, "solver": SOLVERS, "measure": MEASURES,
}  # fmt: skip
CLASSES = [(part, name, cls) for part, registry in REGISTRIES.items() for name, cls in registry.items()]


@pytest.mark.parametrize(("part", "name", "cls"), CLASSES, ids=lambda value: str(value))
def test_every_default_is_pinned_to_its_version(part: str, name: str, cls: Any) -> None:
    fields = parameter_model(cls).model_fields
    numeric = Component(name, cls, {}, dict.fromkeys(fields)).numeric()
    own = {key: fields[key].default for key in numeric if not fields[key].is_required()}
    assert defaults()[part][name].get(cls.algorithm_version) == own, (
        f"the defaults of {name} are not those of its version {cls.algorithm_version} in defaults.yaml: "
        "raise algorithm_version, and enter the new version there"
    )


def test_all_parts_of_a_row_are_pinned() -> None:
    assert set(defaults()) == set(PARTS) == set(REGISTRIES)


def test_the_defaults_of_the_protocol_are_pinned_to_its_version() -> None:
    assert Protocol.algorithm_version == 1
    assert Protocol().model_dump(mode="json") == {
        "scale": [],
        "split": {"kind": "official", "max_train": None, "max_test": None, "seed": None},
        "binarise": "none",
        "constant_features": "keep",
        "dtype": "float32",
    }
