"""The map that the study advises as a candidate of a search."""

from kfeat.own.candidates import advised
from kfeat.own.facts import DataFacts
from tests.survey.planted import plant


def test_the_advised_map_is_a_candidate_where_it_fits(monkeypatch):
    plant(monkeypatch)
    facts = DataFacts("classification", 16_000, 1_000, 10, 400, {"own": {"gaussian": 0.5}})
    (found,) = advised(facts, 5.0)
    assert (found.scale, found.kernel) == ("own", {"name": "gaussian", "gamma": 0.5})
    assert found.map == {"name": "nystrom", "n_components": 256}
    assert advised(facts, 0.05) == []  # a linear model is another candidate
    assert advised(DataFacts(**{**vars(facts), "gammas": {"own": {}}}), 5.0) == []
