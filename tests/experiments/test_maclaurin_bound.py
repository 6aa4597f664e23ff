"""The measure of Kar & Karnick's bounds: what it finds of maps for which the answer is known."""

from contextlib import nullcontext
from math import sqrt
from typing import Any

import numpy as np
import pytest

from kfeat.errors import ParameterError
from kfeat.experiments.measures.maclaurin_bounds import MaclaurinBound, points, uniform_bound
from kfeat.kernels import Compositional, Exponential, Gaussian, Polynomial, VovkInfinite
from kfeat.maps import CompositionalMaclaurin, RandomMaclaurin, TruncatedMaclaurin

X = np.random.default_rng(0).standard_normal((40, 2))
SQUARE = Polynomial(degree=2)


class Biased(RandomMaclaurin):
    """Twenty times the estimate, with the degrees of the law."""

    def _draw(self, X: Any, rng: np.random.Generator) -> int:
        width = super()._draw(X, rng)
        self.scales_ = self.scales_ * sqrt(20)
        return width


def of(feature_map: Any, statement: Any, **parameters: Any) -> dict[str, float]:
    measure = MaclaurinBound(statement, **{"n_draws": 10, **parameters})
    found: dict[str, float] = measure.of(feature_map, X, lambda phase: nullcontext(), 0)["bound"]
    return found


def maclaurin(kernel: Any, D: int = 500, **parameters: Any) -> RandomMaclaurin:
    return RandomMaclaurin(kernel, D, random_state=0, **parameters)


@pytest.mark.parametrize(("base", "printed"), [(1.25, 4.0), (2.0, 1.0), (3.0, 0.5)])
def test_a_kernel_of_one_term_attains_lemma_4_and_misses_what_is_printed_by_base_minus_1(
    base: float, printed: float
) -> None:
    reached = {form: of(maclaurin(SQUARE, base=base), "lemma_4", printed=form)["reached"] for form in (0, 1)}
    assert reached == {0: pytest.approx(1), 1: pytest.approx(printed)}


def test_what_theorem_8_promises_is_kept_but_not_with_a_bias() -> None:
    found = of(maclaurin(Exponential()), "theorem_8")
    eps = found["promised_error"]
    assert uniform_bound(Exponential(), 1.0, 2, eps, printed=True).failure(500) == pytest.approx(
        0.05, rel=1e-3
    )
    assert found["informative_from"] == 6795
    assert 0.005 < found["reached"] < 0.1
    one_pair = of(maclaurin(Exponential()), "pair")
    assert one_pair["promised_error"] < eps / 2
    assert one_pair["reached"] < 1
    measure, x = MaclaurinBound("theorem_8", n_draws=5), points(X, 1.0)
    biased = measure._tail(measure._draws(Biased(Exponential(), 500, random_state=0), x), x)
    assert biased["promised_error"] == eps
    assert biased["reached"] > 1


def test_where_the_series_diverges_nothing_is_promised() -> None:
    found = of(maclaurin(VovkInfinite()), "theorem_8", radius=0.8)
    assert found == {"reached": 0.0}


def test_theorem_9_asks_for_more_features_than_printed() -> None:
    kernel = Compositional(Exponential(2.0), Gaussian(1.0))
    black_box = CompositionalMaclaurin(kernel, n_components=2000, random_state=0)
    printed, holds = (of(black_box, "theorem_9", printed=form) for form in (True, False))
    assert (printed["informative_from"], holds["informative_from"]) == (2440, 4906)
    assert holds["reached"] < printed["reached"] < 0.1
    outer = CompositionalMaclaurin(
        Compositional(Exponential(2.0), Polynomial(1)),
        inner=RandomMaclaurin(degree_law="truncated"),
        n_components=100,
        random_state=0,
    )
    with pytest.raises(ParameterError, match="needs an inner map"):
        of(outer, "theorem_9")


def test_statements_about_other_maps_are_refused() -> None:
    for feature_map, statement in (
        (maclaurin(SQUARE, degree_law="truncated"), "theorem_8"),
        (maclaurin(Exponential(), h01=True), "lemma_4"),
        (TruncatedMaclaurin(random_state=0), "theorem_8"),
    ):
        with pytest.raises(ParameterError, match=f"maclaurin_bound: {statement} is about"):
            of(feature_map, statement)
