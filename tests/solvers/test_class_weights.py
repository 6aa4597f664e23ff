"""Weights by label and by code; those of the solvers are held against the packages beside each solver."""

from typing import Any

import pytest

from kfeat.errors import ParameterError
from kfeat.solvers.base import weights_of_codes


@pytest.mark.parametrize(
    ("weights", "words", "expected"),
    [
        ({"no": 1.0, "yes": 5.0}, ("no", "yes"), {0: 1.0, 1: 5.0}),
        ({"yes": 5.0}, ("no", "yes"), {1: 5.0}),
        ({0: 1.0, 1: 5.0}, ("no", "yes"), {0: 1.0, 1: 5.0}),  # the codes themselves
        ({1: 1.0, 2: 5.0}, ("1", "2"), {0: 1.0, 1: 5.0}),  # what the numbers spell, not codes
        ("balanced", ("no", "yes"), "balanced"),
        ({-1: 2.0}, (), {-1: 2.0}),  # labels that are numbers
    ],
)
def test_words_become_codes(weights: Any, words: tuple[str, ...], expected: Any) -> None:
    assert weights_of_codes(weights, words) == expected


@pytest.mark.parametrize(
    ("weights", "words"), [({"rich": 1, "no": 2}, ("no", "yes")), ({0: 1, 1: 5}, ("1", "2"))]
)
def test_a_label_that_is_none_of_the_words_is_refused(weights: Any, words: tuple[str, ...]) -> None:
    with pytest.raises(ParameterError, match="there are no rows of"):
        weights_of_codes(weights, words)
