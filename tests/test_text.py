"""Counts in messages."""

import pytest

from kfeat.text import counted


@pytest.mark.parametrize(
    ("number", "nouns", "words"),
    [
        (1, "verdicts", "1 verdict"), (0, "trials", "0 trials"), (1, "classes", "1 class"),
        (1, "switches", "1 switch"), (2400, "training rows", "2,400 training rows"), (1, "bytes", "1 byte"),
    ],
)  # fmt: skip
def test_a_count_has_its_noun_in_the_singular_or_the_plural(number, nouns, words):
    assert counted(number, nouns) == words
