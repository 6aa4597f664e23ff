"""What candidates depend on."""

import pytest

from kfeat.experiments.config import load_experiment
from kfeat.own.tune import setup_of
from tests.own.asking import Direct, config, product


def test_gamma_is_one_over_the_number_of_columns_after_z_scores_and_no_offset_changes_it(tmp_path):
    X, y = product(1200)
    found = []
    for offset in (0.0, 100.0):
        setup = setup_of(load_experiment(config(tmp_path, "{name: linear}", X + offset, y)), 0)
        found.append(Direct(**setup.scorer(0)).scorer.facts().gammas)
    for gammas in found:
        assert gammas["zscore"]["gaussian"] == pytest.approx(1 / 6, rel=0.05)
        assert gammas["own"]["gaussian"] == pytest.approx(1 / (6 / 3), rel=0.05)  # of U(-1, 1)
