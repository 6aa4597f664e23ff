"""Models, maps and solvers where scikit-learn and its users expect estimators."""

import io

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import dump_svmlight_file, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from kfeat.data import FileSource, load_raw
from kfeat.errors import ConfigError, DataError, ModelError
from kfeat.kernels import Gaussian
from kfeat.maps import RandomFourier
from kfeat.own import KernelModel, load_model
from kfeat.own.streams import score_file, write_predictions
from kfeat.solvers import Liblinear, LibsvmCV, Newton, Ridge

X, y = load_iris(return_X_y=True)
FRAME = pd.DataFrame(X, columns=["sepal l", "sepal w", "petal l", "petal w"])
WORDS = np.array(["setosa", "versicolor", "virginica"])[y]


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [KernelModel(solver=Newton(eps=1e-12), dtype="float64"), KernelModel(solver=Ridge(), dtype="float64")]
)
def test_scikit_learn_takes_a_model_for_its_own(estimator, check):
    check(estimator)


def waves(**more):
    return KernelModel(RandomFourier(Gaussian("median"), 60, random_state=0), scale="zscore", **more)


@pytest.fixture
def loaded(tmp_path):
    """A model of a CSV with a column of words, saved and loaded."""
    frame = FRAME.assign(colour=np.where(y == 1, "red", "blue"), kind=WORDS)
    frame.to_csv(tmp_path / "iris.csv", index=False)
    raw = load_raw(FileSource(path=str(tmp_path / "iris.csv"), target="kind", categorical="one_hot"))
    waves(coding=raw.coding).fit(frame, WORDS).save(tmp_path / "model")
    return load_model(tmp_path / "model")


def test_a_file_is_read_by_the_names_that_a_frame_had_in_python(tmp_path):
    model = waves().fit(FRAME, WORDS)
    model.save(tmp_path / "model")
    loaded, path = load_model(tmp_path / "model"), tmp_path / "rows.csv"
    out = io.StringIO()
    FRAME[FRAME.columns[::-1]].to_csv(path, index=False)
    write_predictions(loaded, path, ["predict"], out)
    assert out.getvalue().split() == ["prediction", *model.predict(FRAME)]
    FRAME.rename(columns={"sepal l": "length"}).to_csv(path, index=False)
    with pytest.raises(DataError, match=r"missing: sepal l; not known: length"):
        write_predictions(loaded, path, ["predict"], out)


def test_words_that_python_numbered_are_compared_with_those_of_a_file(tmp_path):
    """Python takes them in their alphabetic order, the file's coding as `levels` has them."""
    path = tmp_path / "iris.csv"
    FRAME.assign(kind=WORDS).to_csv(path, index=False)
    source = FileSource(path=str(path), target="kind", levels={"kind": [*np.unique(WORDS)[::-1]]})
    model = waves(coding=load_raw(source).coding).fit(FRAME, WORDS)
    scores, n = score_file(model, path)
    assert (scores["accuracy"], n) == (pytest.approx(model.score(FRAME, WORDS)), 150)
    few = waves(coding=model.coding).fit(FRAME[y > 0], WORDS[y > 0])
    FRAME.assign(kind=WORDS)[y > 0].to_csv(path, index=False)
    assert score_file(few, path)[0]["accuracy"] == pytest.approx(few.score(FRAME[y > 0], WORDS[y > 0]))
    FRAME.assign(kind=WORDS).to_csv(path, index=False)
    with pytest.raises(DataError, match=r"row 1: expected one of the labels .* got setosa"):
        score_file(few, path)


def test_words_that_spell_long_numbers_are_those_of_a_file(tmp_path):
    labels = np.array([1_234_567, 1_234_568])[(y > 0).astype(int)]
    dump_svmlight_file(X, labels, str(tmp_path / "rows.svm"), zero_based=False)
    assert score_file(waves().fit(X, labels.astype(str)), tmp_path / "rows.svm")[0]["accuracy"] > 0.95


def test_a_fit_that_fails_leaves_the_one_before(loaded):
    model = waves().fit(FRAME, WORDS)
    before = model.predict(FRAME)
    with pytest.raises(DataError, match="at least 2 classes"):
        model.fit(FRAME + 5.0, np.full(150, "setosa"))
    assert (model.predict(FRAME) == before).all()
    fresh = waves()
    with pytest.raises(DataError, match="at least 2 classes"):
        fresh.fit(FRAME, np.full(150, "setosa"))
    with pytest.raises(NotFittedError):
        fresh.predict(FRAME)


def with_colour():
    return FRAME.assign(colour=np.where(y == 1, "red", "blue"))


def test_a_loaded_model_takes_frames_whose_columns_have_any_order(loaded):
    frame = with_colour()
    expected = loaded.predict(frame)
    assert loaded.score(frame, WORDS) > 0.95
    assert (loaded.predict(frame[["colour", *reversed(FRAME.columns)]]) == expected).all()
    assert (loaded.predict(frame.assign(kind="?")) == expected).all()  # the target is not looked at
    assert (loaded.predict(frame.to_numpy()) == expected).all()  # the columns in the order of training
    assert loaded.feature_names_in_.tolist() == list(frame.columns)
    assert loaded.n_features_in_ == 5
    with pytest.raises(DataError, match=r"missing: petal l; not known: more;"):
        loaded.predict(frame.drop(columns="petal l").assign(more=1))
    unknown = frame.assign(colour=["red", "red", "green", *["blue"] * 147])  # counts as a rare word
    assert loaded.predict(unknown).shape == (150,)
    with pytest.raises(ModelError, match="expected rows, got none"):
        loaded.predict(frame.iloc[:0])


def test_a_loaded_model_can_be_cloned_and_trained_anew(loaded):
    fresh = clone(loaded)
    with pytest.raises(NotFittedError):
        fresh.predict(with_colour())
    fresh.fit(with_colour(), WORDS)
    np.testing.assert_array_equal(fresh.transform(with_colour()), loaded.transform(with_colour()))
    scores = cross_val_score(loaded, with_colour(), WORDS, cv=3)
    assert scores.min() > 0.9


def test_joblib_keeps_a_model(loaded, tmp_path):
    joblib.dump(loaded, tmp_path / "model.joblib")
    again = joblib.load(tmp_path / "model.joblib")
    np.testing.assert_array_equal(again.predict(with_colour()), loaded.predict(with_colour()))


def test_grids_over_the_parts_of_a_model():
    grid = {"scale": ["none", "zscore"], "map__kernel__gamma": [1e-6, 0.5], "solver__C": [1e-6, 1.0]}
    search = GridSearchCV(waves(solver=Newton()), grid, cv=3).fit(X, WORDS)
    assert search.best_params_["map__kernel__gamma"] == 0.5
    assert search.best_score_ > 0.9
    assert is_classifier(search.best_estimator_)
    assert is_regressor(KernelModel(solver=Ridge()))
    assert not hasattr(KernelModel(solver=Ridge()), "predict_proba")
    assert not hasattr(waves(), "predict_proba")
    assert waves(solver=Liblinear(0)).fit(X, WORDS).predict_proba(X).shape == (150, 3)


def test_bad_parameters_and_rows_are_named():
    with pytest.raises(ConfigError, match="scale"):
        waves().set_params(scale="zcsore").fit(X, y)
    with pytest.raises(DataError, match=r"KernelModel|two classes|2 classes"):
        waves().fit(X, np.zeros(150, int))
    with pytest.raises(ValueError, match="expecting 4 features"):
        waves().fit(X, y).predict(X[:, :2])
    with pytest.raises(ValueError, match="NaN"):
        waves().fit(np.where(X > 6, np.nan, X), y)


def test_an_svm_that_chooses_its_cost_takes_words_in_frames():
    """The other solvers do so in scikit-learn's checks."""
    scores = cross_val_score(LibsvmCV(C_min=1.0, C_max=4.0, folds=2), FRAME, WORDS, cv=3, error_score="raise")
    assert scores.min() > 0.8


def test_class_weights_of_a_model_are_named_by_its_words():
    weights = {"setosa": 1.0, "versicolor": 1.0, "virginica": 9.0}
    words = np.array(list(weights))[y]
    named = KernelModel(solver=Newton(class_weight=weights)).fit(X, words)
    coded = KernelModel(solver=Newton(class_weight=dict(enumerate(weights.values())))).fit(X, y)
    np.testing.assert_array_equal(named.decision_function(X), coded.decision_function(X))
    assert named.solver.class_weight == weights
