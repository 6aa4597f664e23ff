"""What defaults mean is pinned to a version: one that changes needs a new version, or old rows would lie."""

from pathlib import Path

import pytest
import yaml

from kfeat.data import Protocol
from kfeat.experiments.component import Component, registries
from kfeat.experiments.quantities import PARTS
from kfeat.parameters import parameter_model
from kfeat.solvers import SOLVERS

REGISTRIES = registries()
DEFAULTS = yaml.safe_load(Path(__file__).with_name("defaults.yaml").read_text())
CLASSES = [(part, name, cls) for part, registry in REGISTRIES.items() for name, cls in registry.items()]


@pytest.mark.parametrize(("part", "name", "cls"), CLASSES, ids=lambda value: str(value))
def test_every_default_is_pinned_to_its_version(part, name, cls):
    fields = parameter_model(cls).model_fields
    numeric = Component(name, cls, {}, dict.fromkeys(fields)).numeric()
    moved = getattr(cls, "identity_defaults", {})
    own = {key: moved.get(key, fields[key].default) for key in numeric if not fields[key].is_required()}
    assert DEFAULTS[part][name].get(cls.algorithm_version) == own, (
        f"the defaults of {name} are not those of its version {cls.algorithm_version} in defaults.yaml: "
        "if the old numbers stay valid, add the key to the line of that version; "
        "else raise algorithm_version, and enter the new version there"
    )


def test_a_default_that_moved_leaves_the_ids_of_old_rows_as_they_were():
    """What a config names is the trial it always was; what leaves it to the class is another one."""
    named, left = (
        Component.of("newton", SOLVERS["newton"], {"eps": 1e-3}),
        Component.of("newton", SOLVERS["newton"], {}),
    )
    assert named.identity() == {"name": "newton", "version": 1}
    assert left.identity() == {"name": "newton", "version": 1, "eps": 1e-2}
    assert named.build().eps == 1e-3
    assert (named.description()["eps"], left.description()["eps"]) == (1e-3, 1e-2)


def test_all_parts_of_a_row_are_pinned():
    assert set(DEFAULTS) == set(PARTS) == set(REGISTRIES)


def test_the_defaults_of_the_protocol_are_pinned_to_its_version():
    assert Protocol.algorithm_version == 1
    assert Protocol().model_dump(mode="json") == {
        "scale": [],
        "split": {"kind": "official", "max_train": None, "max_test": None, "seed": None},
        "binarise": "none",
        "constant_features": "keep",
        "dtype": "float32",
        "weight": None,
    }
