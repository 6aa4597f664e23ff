"""The page of a search: what its figures show, and that it is whole by itself."""

from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from kfeat.own.candidates import linear_model
from kfeat.own.report import HeldOutAnswers
from kfeat.own.result import SearchResult, preferred
from kfeat.render.tuning import largest_weights, sentences
from kfeat.render.tuning_page import write_page
from tests.own.asking import FACTS, scored

rng = np.random.default_rng(0)
BEST = replace(scored(300, 0.9, 1.0), seconds=0.5)
FEW = replace(scored(300, 0.8, 2.0, exact=False), seconds=0.1)
TESTED = {"score": 0.875, "train": 1.0, "predict": 0.1}
RESULT = SearchResult(
    FACTS, [BEST, FEW], BEST, tests={BEST: TESTED}, boosting={"score": 0.85, "folds": [0.85], "test": TESTED}
)
KNOWN = rng.integers(2, size=250)
PROBABILITY = np.where(rng.random(250) < 0.9, KNOWN, 1 - KNOWN) * 0.8 + 0.1
CLASSES = HeldOutAnswers(
    ["no", "<script>alert(1)</script>"],
    KNOWN,
    (PROBABILITY > 0.5).astype(int),
    np.column_stack([1 - PROBABILITY, PROBABILITY]),
    {"age & <b>": (0.02, 0.01), "$x_1$": (0.2, 0.01)},
    200,
    {},
)
VALUES = rng.normal(size=120)
TARGETS = HeldOutAnswers([], VALUES, VALUES + 0.1, None, {}, 0, {})


class Page(HTMLParser):
    """The texts of a page, and the places that it refers to."""

    def __init__(self, text):
        super().__init__()
        self.texts, self.places, self.open = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.places += [value for name, value in attributes if name in ("src", "href", "xlink:href")]

    def handle_data(self, data):
        self.texts.append(data.strip())


def page_of(result, answers, path):
    write_page(path, "# Found by `kfeat tune ", "A <title>", sentences(result), result, answers)
    return Page(path.read_text())


def test_a_page_shows_the_search_and_the_test_rows(tmp_path):
    page = page_of(RESULT, CLASSES, tmp_path / "a.html")
    counts = np.zeros((2, 2), int)
    np.add.at(counts, (CLASSES.known, CLASSES.predicted), 1)
    for text in (
        "Candidates on 300 training rows", "the best so far", "boosting", "Predictions of 250 rows",
        "Calibration", "Importance of columns, 200 rows", "age & <b>", "$x_1$", "A <title>",
        *map(str, counts.ravel()),
    ):  # fmt: skip
        assert text in page.texts, text
    assert "the most accurate, the quickest within half a point" in page.texts
    assert not {"script", "b", "link", "img"} & set(page.open)
    assert all(place.startswith(("#", "data:image/png;")) for place in page.places)  # nothing is fetched
    assert page.open.count("svg") == 1


FEW_ROWS = "There were too few test rows, or no time, for the importance of columns."


@pytest.mark.parametrize(
    ("answers", "texts"),
    [
        (TARGETS, ["Residuals of 120 rows", FEW_ROWS]),
        (None, ["The budget had no time for figures of the test rows."]),
        (replace(CLASSES, classes=[*"abc"], probabilities=np.full((250, 3), 1 / 3)), ["Calibration"]),
    ],
)  # fmt: skip
def test_what_there_are_no_answers_for_is_not_drawn(answers, texts, tmp_path):
    regression = replace(FACTS, task="regression", metric="neg_mean_absolute_error")
    result = replace(RESULT, facts=regression) if answers is TARGETS else RESULT
    page = page_of(result, answers, tmp_path / "a.html")
    for text in texts:
        assert text in page.texts, text
    assert ("Calibration" in page.texts) == (answers not in (TARGETS, None))


def test_a_page_draws_the_largest_weights_of_a_metric_and_names_the_others(tmp_path):
    weights = {f"column {i}": (i + 1) / 400 for i in range(25)} | {"day & <b>": 0.0, "country": 0.0}
    weights["column 24"] += 1 - sum(weights.values())
    page = page_of(RESULT, replace(CLASSES, weights=weights), tmp_path / "a.html")
    for text in (
        "Learnt weights of 20 columns, the largest of 25", "column 24", "column 5",
        "Not drawn: 5 columns with 3.8 % together.", "Left out, with a weight of 0: day & <b>, country.",
    ):  # fmt: skip
        assert text in page.texts, text
    assert "column 4" not in page.texts
    assert any("not an importance: correlated columns" in text for text in page.texts)
    without = page_of(RESULT, CLASSES, tmp_path / "a.html").texts
    assert not any("weights" in text for text in without)


def test_the_terminal_has_the_three_largest_weights_of_a_metric():
    weights = {"age": 0.2, "day": 0.0, "bill": 0.5, "plan": 0.04, "calls": 0.26}
    told = "Largest weights of the learnt metric: bill (50 %), calls (26 %), age (20 %)."
    assert largest_weights(weights) == [told]
    assert largest_weights({"a": 1.0, "b": 0.0}) == ["Largest weights of the learnt metric: a (100 %)."]
    assert largest_weights({}) == []


def test_what_was_preferred_is_taken_by_its_rule_and_said():
    linear = replace(scored(300, 0.897, 1.0), candidate=linear_model(FACTS), folds=(0.89, 0.9, 0.9))
    best = replace(BEST, folds=(0.9, 0.9, 0.9))
    tests = {best: TESTED, linear: TESTED, FEW: TESTED | {"predict": 0.01}}
    near = replace(RESULT, scored=[best, linear, FEW], best=best, tests=tests)
    far = replace(near, scored=[best, replace(linear, score=0.8), FEW])
    ahead = replace(near, boosting={"score": 0.91, "folds": [0.91, 0.91, 0.91], "test": TESTED})
    assert preferred(near, "accuracy") == best
    assert preferred(near, "speed") in (best, linear)  # FEW is fastest, and ten points behind
    assert preferred(near, "linear") == linear
    assert preferred(far, "linear") == best
    assert preferred(near, "boosting") == best
    assert preferred(ahead, "boosting") is None
    for result, prefer, told in (
        (near, "linear", "The config has what was preferred, within half a point: a linear model"),
        (far, "linear", "No linear model is within half a point of the best, so none was taken."),
        (near, "boosting", "Boosting is not ahead in each fold and by more than half a point, so it was not"),
        (ahead, "boosting", "The config has boosting, as was preferred."),
        (ahead, "accuracy", "`--prefer boosting` writes a config with boosting."),
    ):
        assert sentences(result, prefer)[-1].startswith(told)
    worse = [replace(one, score=linear.score - 0.1) for one in near.scored if one != linear]
    first = sentences(replace(near, best=linear, scored=[linear, *worse]))[0]
    assert first == "A LINEAR MODEL IS AHEAD: no kernel method scored better."
