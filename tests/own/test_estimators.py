"""The search as scikit-learn's users expect an estimator."""

import numpy as np
import pandas as pd
import polars
import pytest
import sklearn
from scipy.sparse import csr_array
from sklearn import metrics
from sklearn.datasets import load_iris
from sklearn.model_selection import StratifiedShuffleSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import kfeat
from kfeat.own import budget, search, search_estimator
from kfeat.own import scorer as scorer_module
from kfeat.own.estimators import KernelClassifier, KernelRegressor
from kfeat.own.frames import frame_of
from tests.own.asking import few_trees


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """One candidate and ten trees, whatever the machine's speed."""
    monkeypatch.setattr(search, "MOST", 1)
    monkeypatch.setattr(scorer_module, "boosting_model", few_trees)
    monkeypatch.setattr(search_estimator, "boosting_model", few_trees)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [KernelClassifier(n_jobs=1), KernelRegressor(n_jobs=1)],
    expected_failed_checks=lambda estimator: {
        "check_methods_subset_invariance": "single precision: a row alone differs in the seventh digit",
        **{
            f"check_sample_weight_equivalence_on_{form}_data": "a search draws its folds from the rows"
            for form in ("dense", "sparse")
        },
    },
)
def test_scikit_learn_takes_them_for_its_own(estimator, check):
    check(estimator)


def test_iris_is_cross_validated_as_well_as_by_svc():
    X, y = load_iris(return_X_y=True)
    words = np.array(["setosa", "versicolor", "virginica"])[y]
    third = StratifiedShuffleSplit(1, test_size=1 / 3, random_state=0)
    (ours,) = cross_val_score(KernelClassifier(budget=20, n_jobs=1), X, words, cv=third)
    assert ours > cross_val_score(SVC(), X, words, cv=third)[0] - 0.05  # of 50 rows


def people(n=300):
    """Words, dates, truth values and gaps; the label depends on each."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n).astype(float),
            "city": rng.choice(["Bonn", "Oslo", "Rome"], n),
            "since": pd.Timestamp("2020-01-06") + pd.to_timedelta(rng.integers(0, 1500, n), "D"),
            "member": rng.random(n) < 0.5,
        }
    )
    weekend = frame["since"].dt.day_of_week >= 5
    y = np.where((frame["age"] > 50) ^ (frame["city"] == "Rome") ^ (weekend & frame["member"]), "yes", "no")
    frame.loc[::17, "age"] = np.nan
    frame.loc[::19, "city"] = None
    return frame, y


def test_a_frame_with_words_dates_and_gaps_is_learnt_and_its_columns_have_names():
    X, y = people()
    model = kfeat.KernelClassifier(budget=20, n_jobs=1).fit(X, y)
    assert model.score(X, y) > 0.8  # of 300 rows; half of them by chance
    new = X[:5].assign(city="Paris")  # a word that training did not have
    assert set(model.predict(new)) <= {"yes", "no"}
    assert model.decision_function(new).shape == (5,)
    with pytest.raises(ValueError, match="city"):
        model.predict(X.drop(columns="city"))
    with pytest.raises(ValueError, match="order"):
        model.predict(X[X.columns[::-1]])


def test_the_scaling_of_a_column_does_not_matter_and_sparse_rows_are_taken():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X[:, 0] * X[:, 1] + 0.01 * X[:, 2]
    assert KernelRegressor(budget=20, n_jobs=1).fit(X * [1, 1e4, 1e-3], y).score(X * [1, 1e4, 1e-3], y) > 0.9
    labels = (X[:, 0] > 0).astype(int)
    sparse = csr_array(np.where(abs(X) < 0.5, 0.0, X))
    quick = KernelClassifier(budget=20, prefer="speed", n_jobs=1).fit(sparse, labels)
    assert quick.score(sparse, labels) > 0.75  # of a third of the rows the sign is gone


CORNERS = np.random.default_rng(0).random((300, 16))


@pytest.mark.parametrize("boosted", [True, False])
def test_boosting_is_preferred_only_where_it_is_ahead(boosted, tmp_path):
    """Trees find corners among many columns, and are behind a linear model about a sum."""
    X = np.random.default_rng(0).random((600, 30))
    corners = (X[:, 0] > 0.5) ^ ((X[:, 1] > 0.4) & (X[:, 2] > 0.3))
    y = np.where(corners if boosted else X.sum(axis=1) > 15, "a", "b")
    model = KernelClassifier(budget=20, prefer="boosting", n_jobs=1).fit(X, y)
    assert (model.search_.ahead > 0) == boosted
    assert ("HistGradientBoosting" in repr(model.model_.solver)) == boosted
    assert ("HistGradientBoosting" in model.best_params_["solver"]) == boosted
    assert model.predict_proba(X).shape == (600, 2)
    model.save(tmp_path / "m")
    assert (kfeat.load_model(tmp_path / "m").predict(X) == model.predict(X)).all()


@pytest.mark.filterwarnings("ignore:nothing is better")
def test_weights_of_classes_are_those_of_the_user_and_candidates_are_told(capsys):
    X, weights = CORNERS[:120, :4], {"few": 20.0, "many": 1.0}
    y = np.where(X[:, 0] + 0.3 * np.random.default_rng(1).normal(size=120) > 0.8, "few", "many")
    plain, weighted = (
        KernelClassifier(budget=20, class_weight=weight, scoring="accuracy", n_jobs=1, verbose=weight is None)
        for weight in (None, weights)
    )
    assert (plain.fit(X, y).predict(X) == "few").sum() < (weighted.fit(X, y).predict(X) == "few").sum()
    assert weighted.model_.solver_.class_weight == weights
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(plain.search_.scored)
    assert "linear model" in lines[0]
    with pytest.raises(ValueError, match="there are no rows of"):
        weighted.set_params(class_weight={"few": 2.0, "fewer": 1.0}).fit(X, y)


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame])
def test_without_time_for_all_rows_the_best_is_trained_on_those_it_was_scored_on(kind, monkeypatch):
    monkeypatch.setattr(search, "rungs", lambda n_train, rarest: [966])
    monkeypatch.setattr(budget, "LONGER", 1e9)  # so that there is no time for more
    X = np.random.default_rng(0).normal(size=(2_900, 3))
    y, weights = X[:, 0] * X[:, 1] > 0, np.ones(2_900)
    model = KernelClassifier(budget=20, n_jobs=1).fit(kind(X), y, sample_weight=weights)
    assert model.search_.rows[model.search_.best] == 966
    assert model.n_train_ == model.model_.about_["n_train"] == 966
    assert model.predict_proba(kind(X)).shape == (2_900, 2)


def test_groups_are_routed_to_the_search():
    groups = {"groups": np.arange(4)}
    assert KernelClassifier().get_metadata_routing().consumes("fit", groups) == {"groups"}
    with sklearn.config_context(enable_metadata_routing=True):
        make_pipeline(StandardScaler(), KernelRegressor()).fit(
            [[0.0], [1.0], [4.0], [5.0]], range(4), **groups
        )


def test_too_few_rows_to_compare_anything_are_trained_all_the_same(tmp_path):
    X, y = [[0.0], [1.0], [4.0], [5.0]], [0, 0, 1, 1]
    model = KernelClassifier().fit(X, y)
    assert model.search_ is None
    assert model.predict(X).tolist() == y


def test_a_label_that_is_missing_or_too_many_is_refused_with_a_frame_too():
    X, y = people(60)
    for wrong, words in (
        (np.where(np.arange(60) == 3, None, y), "1 row without one"),
        (y[:50], "inconsistent"),
    ):
        with pytest.raises(ValueError, match=words):
            KernelClassifier(budget=5, n_jobs=1).fit(X, wrong)


ROWS = np.random.default_rng(5).normal(size=(120, 3))
SIGNS = (ROWS[:, 0] > 0).astype(int)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"budget": "1m"}, "budget: expected seconds, a number above 0 such as 60"),
        ({"budget": None}, "budget: expected seconds"),
        ({"budget": -5}, "budget: expected seconds"),
        ({"budget": np.nan}, "budget: expected seconds"),
        ({"scoring": metrics.make_scorer(metrics.f1_score)}, "scoring: expected the name of a scorer"),
        ({"prefer": "fast"}, "prefer: expected 'accuracy'"),
        ({"n_jobs": 0}, "n_jobs: expected the number of threads"),
        ({"n_jobs": 2.5}, "n_jobs: expected an integer"),
        ({"n_jobs": "2"}, "n_jobs: expected an integer"),
        ({"random_state": -1}, "random_state: expected None, a whole number"),
        ({"class_weight": "balance"}, "class_weight: expected None, 'balanced' or a mapping"),
    ],
    ids=str,
)
def test_a_bad_parameter_is_one_sentence(given, told):
    with pytest.raises(ValueError, match=told):
        KernelClassifier(**given).fit(ROWS, SIGNS)


def test_a_seed_is_drawn_as_in_scikit_learn_and_one_thread_is_the_default(monkeypatch):
    seeds, threads = [], []
    scorer = search_estimator.Scorer

    def spied(data, seed, n_threads, *more):
        seeds.append(seed)
        threads.append(n_threads)
        return scorer(data, seed, n_threads, *more)

    monkeypatch.setattr(search_estimator, "Scorer", spied)
    monkeypatch.setattr(search_estimator, "physical_cores", lambda: 4)
    given = [(None, None), (None, None), (-1, 7), *((jobs, np.random.RandomState(1)) for jobs in (-3, -9))]
    for jobs, state in given:
        KernelClassifier(budget=5, n_jobs=jobs, random_state=state).fit(ROWS, SIGNS)
    assert threads == [1, 1, 4, 2, 1]
    assert seeds[0] != seeds[1]
    assert (seeds[2], seeds[3]) == (7, seeds[4])


@pytest.mark.parametrize("kind", [np.asarray, lambda X: pd.DataFrame(X, columns=["a", "b", "c"])])
def test_targets_that_are_words_are_refused_by_name(kind):
    words = np.where(SIGNS, "yes", "no")
    for y in (words, words.astype(object), pd.Series(words)):
        with pytest.raises(
            ValueError, match=r"expected numbers as targets, got (yes|no); labels that are words"
        ):
            KernelRegressor(budget=5).fit(kind(ROWS), y)


def test_without_folds_of_two_classes_there_is_no_search_and_no_probability():
    model = KernelClassifier(budget=5).fit(ROWS[:6], [0, 0, 0, 0, 0, 1])
    assert model.search_ is None
    assert not hasattr(model, "predict_proba")
    assert hasattr(KernelClassifier(), "predict_proba")
    assert not hasattr(KernelRegressor(), "predict_proba")


def test_frames_of_polars_and_arrays_with_gaps_are_frames_of_pandas():
    word = np.where(ROWS[:, 1] > 0, "u", "v")
    gaps = np.where(ROWS > 1.5, np.nan, ROWS)
    days = np.datetime64("2020-01-01") + np.arange(120).astype("timedelta64[D]")
    frame = pd.DataFrame({"a": gaps[:, 0], "word": word, "day": days, "flag": ROWS[:, 2] > 0})
    frame.loc[::7, "word"] = None
    other = polars.DataFrame(
        {
            "a": [None if np.isnan(cell) else cell for cell in gaps[:, 0]],
            "word": [None if i % 7 == 0 else cell for i, cell in enumerate(word)],
            "day": polars.Series(days),
            "flag": ROWS[:, 2] > 0,
        }
    )
    labels = np.where(SIGNS, "yes", "no")
    ours, theirs = (
        KernelClassifier(budget=5).fit(X, y)
        for X, y in ((frame, labels), (other, polars.Series(labels.tolist())))
    )
    mine, coded = (model.model_.coding.matrix(frame_of(X)) for model, X in ((ours, frame), (theirs, other)))
    assert np.array_equal(mine, coded)
    assert ours.search_.facts == theirs.search_.facts
    assert set(theirs.predict(other)) == {"yes", "no"}
    assert [*theirs.feature_names_in_] == [*frame]
    with pytest.raises(ValueError, match="got a LazyFrame; call collect"):
        theirs.predict(other.lazy())
    for rows in (gaps, gaps.tolist(), np.column_stack([gaps.astype(object), word])):
        model = KernelClassifier(budget=5).fit(rows, SIGNS)
        assert model.score(rows, SIGNS) > 0.7
        assert not hasattr(model, "feature_names_in_")
    with pytest.raises(ValueError, match="finite"):
        KernelClassifier(budget=5).fit(np.where(ROWS > 2, np.inf, gaps), SIGNS)


def test_messages_have_no_words_of_the_command_line():
    lists = pd.DataFrame(ROWS, columns=["a", "b", "c"]).assign(z=[[1]] * 120)
    with pytest.raises(ValueError, match=r"got \[1\]; leave the column out$"):
        KernelClassifier(budget=5).fit(lists, SIGNS)


def test_a_search_is_one_line_and_a_table(capsys):
    found = KernelClassifier(budget=5, verbose=True, scoring="roc_auc").fit(ROWS, SIGNS).search_
    assert len(repr(found)) < 200
    assert "roc_auc" in repr(found)
    table = found.table()
    assert len(table) == len(found.scored)
    assert table["roc_auc"][0] == max(one.score for one in found.scored)
    lines = capsys.readouterr().out
    assert "C=" in lines
    assert "gamma=" in lines or not any(one.candidate.exact for one in found.scored)
