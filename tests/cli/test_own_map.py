"""`kfeat check-map` on a map in a file of the user's."""

import pytest
from click.testing import CliRunner

from kfeat.cli import main

FILE = """\
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

class Mine(TransformerMixin, BaseEstimator):
    def __init__(self, gamma=1.0, n_components=100, random_state=None):
        self.gamma, self.n_components, self.random_state = gamma, n_components, random_state

    def fit(self, X, y=None):
        rng = np.random.default_rng(self.random_state)
        self.W_ = rng.normal(0, np.sqrt(2 * self.gamma), (X.shape[1], self.n_components))
        self.b_ = rng.uniform(0, 2 * np.pi, self.n_components)
        return self

    def transform(self, X):
        return np.sqrt(2 / self.n_components) * np.cos(X @ self.W_ + self.b_)

class Needy(Mine):
    def __init__(self, gamma):
        self.gamma = gamma

def function():
    pass

class Failing(Mine):
    def __init__(self):
        raise ZeroDivisionError("not today")
"""
KERNEL = "{name: gaussian, gamma: 0.5}"


@pytest.fixture(autouse=True)
def _file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_map.py").write_text(FILE)


def check_map(*arguments, kernel=KERNEL):
    return CliRunner().invoke(main, ["check-map", *arguments, "--kernel", kernel])


@pytest.mark.parametrize(("gamma", "word", "status"), [(0.5, "pass", 0), (0.55, "FAIL", 1)])
def test_it_ends_with_1_if_a_promise_is_broken(gamma, word, status):
    result = check_map("my_map.py:Mine", "--set", f"gamma={gamma}")
    assert result.exit_code == status, result.output
    first, *others = result.stdout.splitlines()
    assert first.startswith(f"{word}  unbiased: bias at ")
    assert len(others) == 9
    assert not any(line.startswith("FAIL") for line in others)


def test_a_map_of_kfeat_without_the_tests_of_bias():
    result = check_map("nystrom", "--set", "n_components=10", "--biased")
    assert result.exit_code == 0
    assert result.stdout.startswith("open  unbiased: not tested, as asked")


@pytest.mark.parametrize(
    ("arguments", "kernel", "message"),
    [
        (["my_map.py:Mine", "--set", "gama=1"], KERNEL, "map.gama: unknown key (did you mean 'gamma'?)"),
        (["my_map.py:Mine", "--set", "gamma"], KERNEL, "--set gamma: expected KEY=VALUE"),
        (["my_map.py:Mine"], "{name: gausian}", "kernel.name: unknown kernel 'gausian' (did you mean"),
        (["my_map.py:Mine"], "{name: gaussian, gamma: -1}", "kernel.gamma: expected more than 0"),
        (["my_map.py:Mine"], "gaussian", "expected a mapping with a `name`"),
        (["my_map.py:Mine"], "{", "--kernel, line 2"),
        (["my_map.py:Needy"], KERNEL, "map.gamma: missing"),
        (["my_map.py:Failing"], KERNEL, "my_map.py, line 26: ZeroDivisionError: not today"),
        (["my_map.py:function"], KERNEL, "expected an object with fit, transform, get_params"),
        (["my_map.py:Other"], KERNEL, "has no 'Other'"),
        (["orff"], KERNEL, "unknown map 'orff' (did you mean 'orf'?)"),
        (["orf"], "{name: polynomial, degree: 2}", "ORF cannot approximate Polynomial"),
        (["orf", "--set", "n_components=0"], KERNEL, "n_components: expected at least 1"),
    ],
)
def test_bad_input_is_a_sentence(arguments, kernel, message):
    result = check_map(*arguments, kernel=kernel)
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert "Traceback" not in result.stderr
