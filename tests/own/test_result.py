"""Which candidate wins, what is said first, and what was trained."""

from dataclasses import replace

from kfeat.own.candidates import Candidate
from kfeat.own.result import Scored, SearchResult, winner
from kfeat.render import tuning
from kfeat.render.tuning import sentences, warnings_of
from tests.own.asking import FACTS, scored


def test_the_winner_is_the_best_but_on_few_rows_only_by_more_than_its_spread():
    many, third, few = scored(900, 0.8, 1.0), scored(300, 0.805, 2.0), scored(100, 0.809, 3.0)
    assert winner([few, many, replace(many, seconds=9.0)]) == many
    assert winner([few, third, many]) == third
    assert winner([replace(few, score=0.816), third, many]).n == 100
    assert winner([replace(many, reason="no")]) is None
    linear = replace(many, candidate=Candidate("own", {"name": "linear"}, None, "logistic"))
    assert winner([few, linear]) == few  # a linear model on more rows hid what was better


def test_the_quickest_is_near_the_best_on_its_rows_whatever_its_kind():
    best, near, far, few = (
        scored(*one) for one in ((300, 0.900, 1.0), (300, 0.896, 2.0), (300, 0.89, 3.0), (100, 0.9, 4.0))
    )
    seconds = {best: 4.0, near: 3.0, far: 2.0, few: 1.0}
    tests = {one: {"score": 0.9, "train": 1.0, "predict": seconds[one]} for one in seconds}
    found = SearchResult(FACTS, [best, near, far, few], best, tests=tests)
    assert found.quickest == near


def test_a_linear_model_is_ahead_only_of_what_has_a_score():
    linear = Scored(Candidate("own", {"name": "linear"}, None, "logistic"), 9_000, 0.8, 0.0, 1.0, 0.1)
    worse, better, lucky = (scored(n, score, 1.0) for n, score in [(9_000, 0.7), (9_000, 0.9), (900, 0.805)])

    def told(*others):
        return sentences(SearchResult(FACTS, [linear, *others], linear))[0]

    assert told(worse).startswith("A LINEAR MODEL IS AHEAD: no kernel method scored better.")
    assert told().startswith("ONLY A LINEAR MODEL HAS A SCORE")
    assert told(replace(worse, reason="no memory")).startswith("ONLY A LINEAR MODEL HAS A SCORE")
    untrained = told(worse, better)
    assert untrained.startswith("A LINEAR MODEL WAS TAKEN: exact, ")
    assert "scored better, 90.00 % on 9,000 rows, but there is no time to train it" in untrained
    assert "80.50 % on 900 rows, by less than its spread over the folds" in told(worse, lucky)
    constant = SearchResult(FACTS, [linear, better], linear, constant=0.8)
    assert not any("NOTHING IS BETTER" in line for line in sentences(constant))


def test_boosting_that_is_ahead_in_each_fold_comes_first():
    best = replace(scored(300, 0.8, 1.0), folds=(0.79, 0.8, 0.81))
    told = {
        "score": 0.822,
        "folds": [0.81, 0.82, 0.836],
        "test": {"score": 0.8, "train": 3.0, "predict": 0.1},
    }
    result = SearchResult(FACTS, [best], best, boosting=told)
    first = sentences(result)[0]
    assert first == (
        "BOOSTING IS AHEAD: scikit-learn's HistGradientBoosting has 82.20 % in 3.0 s, ahead by 2.20, on the "
        "same folds."
    )
    assert "boosting" in tuning.tests(result).terminal()
    for folds in ([0.79, 0.85, 0.83], [0.791, 0.802, 0.812]):  # not in each fold; less than half a point
        assert replace(result, boosting=told | {"folds": folds}).ahead == 0.0


def test_what_failed_in_training_gives_way_to_what_was_trained():
    best, other = scored(300, 0.9, 1.0), scored(300, 0.8, 2.0)
    tested = {other: {"score": 0.8, "train": 1.0, "predict": 0.1}}
    result = SearchResult(FACTS, [best, other], best, tests={best: {"failed": "no memory"}, **tested})
    assert result.trained == other
    assert "gamma=2" in sentences(result)[-1]
    assert replace(result, tests={}).trained == best
    assert "takes about" in sentences(replace(result, tests={}))[-1]


def test_a_regression_below_the_mean_is_told():
    facts = type(FACTS)(**{**vars(FACTS), "task": "regression", "metric": "r2"})
    for score, loud in ((-0.2, True), (0.002, True), (0.04, False)):
        best = scored(300, score, 1.0)
        told = warnings_of(SearchResult(facts, [best], best, constant=-0.001))
        assert bool(told) == loud
        assert not loud or told[0].startswith("NOTHING IS BETTER THAN A CONSTANT: the mean has R²")
