import pytest

from kfeat.errors import ConfigError
from kfeat.experiments.selectors import ids_beginning

IDS = ["abc1", "abc2", "abd", "e", "ef"]


def test_a_beginning_that_only_one_id_has_stands_for_it() -> None:
    assert ids_beginning(["abd", "abc2", "ab" + "d"], IDS, "x") == ["abd", "abc2"]
    assert ids_beginning(["e"], IDS, "x") == ["e"]  # a whole id, though another begins so


@pytest.mark.parametrize(
    ("prefix", "words"),
    [
        ("abc", "'abc' begins the ids of 2 trials of small.yaml: abc1, abc2"),
        ("x", "no trial of small.yaml has an id that begins with 'x'"),
        ("", "no trial of small.yaml"),
    ],
)
def test_another_is_a_sentence(prefix: str, words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        ids_beginning([prefix], IDS, "small.yaml")
    assert words in str(refused.value)
