"""`kfeat fit`, `predict`, `score` and `info`, as a user of own data meets them."""

import csv
import hashlib
import io
import json
import os
import re
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import balanced_accuracy_score, f1_score, log_loss, roc_auc_score

from kfeat.cli import main
from kfeat.data import Access, load
from kfeat.errors import DataError
from kfeat.experiments.config import load_experiment
from kfeat.experiments.run import planned
from kfeat.experiments.trial import run_trial
from kfeat.own import KernelModel, load_model
from kfeat.solvers import Newton
from tests.cells import run
from tests.cli.commands import kfeat, refusal, succeed

rng = np.random.default_rng(0)
N = 400
FRAME = pd.DataFrame(
    {
        "age": rng.integers(18, 80, N),
        "city": rng.choice(["Bonn, West", "Oslo", "Rome"], N),
        "income": rng.normal(3000, 900, N).round(2),
    }
)
BUYS = np.where((FRAME.age - 50) ** 2 / 300 + (FRAME.city == "Rome") < 1.4, "yes", "no")
COST = FRAME.income / 100 + FRAME.age**2 / 100
CONFIG = """\
title: Own data
dataset: {path: own.csv, target: TARGET, categorical: one_hot}
protocol: {scale: zscore, split: {kind: fraction, train: 0.7, seed: 0}}
kernel: {name: gaussian, gamma: median}
maps: [{name: random_fourier, n_components: 100}]
solvers: {mapped: {name: SOLVER}}
"""


def own(target="buys", solver="liblinear, C: 1", **changes):
    """Write the data and a config for them, with replacements."""
    FRAME.assign(buys=BUYS, cost=COST.round(3)).drop(columns={"buys": "cost", "cost": "buys"}[target]).to_csv(
        "own.csv", index=False, lineterminator="\r\n", encoding="utf-8-sig"
    )
    path = Path("own.yaml")
    text = CONFIG
    for old, new in {"TARGET": target, "SOLVER": solver, **changes}.items():
        text = text.replace(old, new)
    path.write_text(text)
    return path


def said(*arguments):
    """Return what a command that succeeds prints."""
    return succeed(*arguments).stdout


def refused(*arguments):
    """Return the one sentence of a command that refuses."""
    (sentence,) = refusal(*arguments).splitlines()
    return sentence


def test_a_config_with_several_methods_says_what_to_choose_from(write):
    told = refused("fit", write(), "--model", "m")
    assert "3 combinations: map: tensor_sketch, random_maclaurin, exact; solver: liblinear, libsvm;" in told
    assert "solver.C" not in told  # of solvers that are not even the same
    assert not Path("m").exists()
    several = write(**{"n_components: 64": "n_components: [32, 64]"})
    told = refused("fit", several, "--model", "m", "--maps", "tensor_sketch")
    assert "2 combinations: map.n_components: 32, 64; choose" in told
    told = refused("fit", write(**{"  mapped": "  # mapped", "  exact": "  # exact"}), "--model", "m")
    assert "small.yaml" in told


@pytest.mark.parametrize("method", ["tensor_sketch", "exact"])
def test_a_model_scores_as_the_row_of_a_run(method, write):
    path = write()
    first = planned(load_experiment(path, maps=[method]))[0]
    row = run_trial(first, threads=1, alone=True, access=Access())
    out = said("fit", path, "--model", "m", "--maps", method)
    accuracy = f"{100 * row['accuracy']:.2f} %"
    assert f"accuracy {accuracy} (always the most frequent class: 13.00 %) on 200 test rows" in out
    assert f"accuracy: {row['accuracy']}" in said("info", "m")
    model = load_model("m")
    assert model.about_["trial"] == row["id"]
    assert model.about_["fingerprint"] == row["fingerprint"]
    data = load("digits", model.about_["config"]["protocol"])
    predicted = model.predict(data.X_test * 16)  # raw rows, which the model scales itself
    assert hashlib.sha256(predicted.tobytes()).hexdigest()[:16] == row["predictions"]


def test_from_a_csv_to_predictions_of_another(tmp_path):
    config = own(solver="newton, loss: logistic, C: 10")
    out = said("fit", config, "--model", "m", "--threads", "2")
    assert "trained on 280 rows in" in out
    assert "accuracy 9" in out
    assert "120 test rows" in out
    FRAME[["income", "age", "city"]].to_csv("new.csv", index=False)
    assert said("predict", "--model", "m", "new.csv", "--out", "p.csv") == "400 predictions -> p.csv\n"
    assert sorted(os.listdir()) == ["m", "new.csv", "own.csv", "own.yaml", "p.csv"]
    shown = said("predict", "--model", "m", "new.csv", "--scores", "--probabilities")
    header, *lines = csv.reader(shown.splitlines())
    assert header == ["prediction", "score yes", "probability no", "probability yes"]
    assert [line[0] for line in lines] == Path("p.csv").read_text().splitlines()[1:]
    model = load_model("m")
    np.testing.assert_array_equal(model.predict(FRAME), [line[0] for line in lines])
    np.testing.assert_array_equal(model.decision_function(FRAME), [float(line[1]) for line in lines])
    np.testing.assert_array_equal(model.predict_proba(FRAME), [list(map(float, line[2:])) for line in lines])
    scored = json.loads(said("score", "--model", "m", "own.csv", "--format", "json"))
    most = max(np.mean(label == BUYS) for label in set(BUYS))
    assert scored["accuracy"] == model.score(FRAME, BUYS)
    assert scored["most_frequent_class"] == most
    assert scored["rows"] == 400
    codes, values = BUYS == "yes", model.decision_function(FRAME)
    assert scored["roc_auc"] == pytest.approx(roc_auc_score(codes, values))
    assert scored["log_loss"] == pytest.approx(log_loss(codes, model.predict_proba(FRAME)))
    assert scored["f1"] == pytest.approx(f1_score(codes, model.predict(FRAME) == "yes"))
    assert scored["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(codes, values > 0))


def test_predictions_of_many_rows_are_made_a_block_at_a_time(monkeypatch):
    said("fit", own(), "--model", "m")
    many = pd.concat([FRAME] * 50)
    many.to_csv("many.csv", index=False)
    met = []
    real = KernelModel.outputs

    def watched(self, X, methods, coded=False):
        met.append(X.shape[0])
        return real(self, X, methods, coded)

    monkeypatch.setattr(KernelModel, "outputs", watched)
    said("predict", "--model", "m", "many.csv", "--out", "p.csv")
    assert sum(met) == 20_001  # one of them on loading
    assert max(met) < 10_000
    assert (pd.read_csv("p.csv")["prediction"] == load_model("m").predict(many)).all()


def test_an_escape_sequence_in_a_label_does_not_reach_the_terminal():
    KernelModel(solver=Newton()).fit(FRAME[["age"]], np.where(FRAME["age"] > 40, "\x1b[2J", "b")).save("m")
    FRAME[["age"]].to_csv("new.csv", index=False)
    shown = said("predict", "--model", "m", "new.csv", "--scores")
    assert "\x1b" not in shown
    assert "\\x1b[2J" in shown
    said("predict", "--model", "m", "new.csv", "--out", "p.csv")
    assert set(pd.read_csv("p.csv")["prediction"]) <= {"\x1b[2J", "b"}  # a file has the labels themselves


def test_a_file_with_another_delimiter_and_a_full_disk_are_one_sentence(capsys):
    said("fit", own(), "--model", "m")
    FRAME.to_csv("new.csv", index=False, sep=";")
    assert "expected ',' between the columns, as in training" in refused("predict", "--model", "m", "new.csv")
    FRAME.to_csv("new.csv", index=False)
    for more in ([], ["--scores"]):
        with open("/dev/full", "w") as full, redirect_stdout(full):
            assert main(["predict", "--model", "m", "new.csv", *more], standalone_mode=False) == 2
        assert capsys.readouterr().err == "kfeat: the output: No space left on device\n"


def test_a_terminal_that_lacks_a_letter_shows_its_escape():
    KernelModel(solver=Newton()).fit(FRAME[["age"]], np.where(FRAME["age"] > 40, "\xf61", "\xf62")).save("m")
    FRAME[["age"]].to_csv("new.csv", index=False)
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    with redirect_stdout(out):
        main(["predict", "--model", "m", "new.csv"], standalone_mode=False)
    assert out.detach().getvalue().splitlines()[1][:4] == rb"\xf6"


@pytest.mark.filterwarnings("default::sklearn.exceptions.ConvergenceWarning")
def test_a_solver_that_has_not_converged_says_so():
    result = kfeat("fit", own(solver="newton, max_iter: 1, eps: 1e-9"), "--model", "m")
    assert result.exit_code == 0
    assert result.stderr.startswith("kfeat: Newton has not converged (")
    assert "raise `max_iter`" in result.stderr
    with pytest.warns(ConvergenceWarning, match="Newton has not converged"):
        Newton(max_iter=1, eps=1e-9).fit(FRAME[["age", "income"]], BUYS)


def test_a_regression(tmp_path):
    config = own("cost", "ridge_cv")
    out = said("fit", config, "--model", "m")
    errors = r"relative error 0\.0\d+, root mean squared error [\d.]+, mean absolute error [\d.]+, R² [01]"
    assert re.search(errors, out)
    scored = json.loads(said("score", "--model", "m", "own.csv", "--format", "json"))
    assert scored["relative_error"] < 0.05
    assert "RidgeCV has no score" in refused("predict", "--model", "m", "own.csv", "--scores")
    batches = own("cost", "ridge_cv", **{"title: Own data": "title: Own data\nmemory: out_of_core"})
    assert "relative error" in said("fit", batches, "--model", "n")
    ours, theirs = (load_model(name).predict(FRAME) for name in "mn")
    np.testing.assert_allclose(ours, theirs, rtol=1e-4)


@pytest.mark.parametrize(
    ("target", "solver"),
    [
        ("buys", "'sklearn.ensemble:HistGradientBoostingClassifier', max_iter: 20, class_weight: balanced"),
        ("cost", "'sklearn.ensemble:HistGradientBoostingRegressor', max_iter: 20"),
    ],
)
def test_boosting_is_run_fitted_kept_and_predicts(target, solver):
    """Of other code by its place a model file holds nothing."""
    without_map = {"maps: [{name: random_fourier, n_components: 100}]\n": "", "mapped": "baseline"}
    path = own(target, solver, **without_map)
    row = run(planned(load_experiment(path))[0])
    said("fit", path, "--model", "m")
    model, score = load_model("m"), "accuracy" if target == "buys" else "relative_error"
    assert model.about_["trial"] == row["id"]
    assert model.about_["scores"][score] == row[score]
    assert "HistGradientBoosting" in said("info", "m")
    FRAME.to_csv("new.csv", index=False)
    said("predict", "--model", "m", "new.csv", "--out", "p.csv", *["--probabilities"] * (target == "buys"))
    np.testing.assert_array_equal(pd.read_csv("p.csv")["prediction"], model.predict(FRAME))
    other = own(solver="'sklearn.svm:SVC'", **without_map)
    assert "holds classes of kfeat and boosting alone" in refused("fit", other, "--model", "n")


def test_what_a_map_warns_of_is_a_sentence():
    path = own(**{"random_fourier, n_components: 100": "nystrom, rank: 90"})
    result = succeed("fit", path, "--model", "m", "--set", "kernel={name: polynomial, degree: 1}")
    assert result.stderr.startswith("kfeat: Nystrom: the kernel has the numerical rank")
    assert result.stderr.strip().count("\n") == 0


@pytest.mark.parametrize("options", [["--all-rows"], ["--set", "protocol.split=all"]])
def test_rows_that_trained_the_model_do_not_score_it(options):
    assert "no test rows are left" in said("fit", own(), "--model", "m", *options)
    model = load_model("m")
    assert model.about_["n_train"] == N
    assert model.about_["scores"] is None
    assert "scores" not in said("info", "m").split()


def test_labels_made_binary_are_so_in_the_file_to_score(write):
    digits, names = load("digits", {"split": "all"}), [f"c{i}" for i in range(64)]
    X, y = pd.DataFrame(digits.X_train[:400], columns=names), digits.y_train[:400]
    X.assign(digit=y).to_csv("digits.csv", index=False)
    path = write(
        **{
            "dataset: digits": "dataset: {path: digits.csv, target: digit}",
            "n_test: 200, seed: 0}": "seed: 0}, binarise: {positive: 3}, constant_features: drop",
        }
    )
    said("fit", path, "--model", "m", "--maps", "tensor_sketch")
    accuracy = json.loads(said("score", "--model", "m", "digits.csv", "--format", "json"))["accuracy"]
    assert load_model("m").score(X, y) == accuracy > 0.95
    header, *lines = Path("digits.csv").read_text().splitlines()
    Path("long.csv").write_text("\n".join([header, *lines * 25, lines[0].rsplit(",", 1)[0] + ",11"]) + "\n")
    wrong = refused("score", "--model", "m", "long.csv")  # rows count from the start of the file
    assert f"long.csv: row {25 * 400 + 1}: expected one of the labels 0, 1" in wrong


def test_words_made_binary_are_scored_as_words():
    path = own(solver="newton, C: 0.5", **{"protocol: {": "protocol: {binarise: {positive: 'yes'}, "})
    said("fit", path, "--model", "m")
    labelled = json.loads(said("score", "--model", "m", "own.csv", "--format", "json"))["accuracy"]
    assert load_model("m").score(FRAME, BUYS) == labelled > 0.8
    with pytest.raises(DataError, match="expected one of the labels"):
        load_model("m").score(FRAME, ["perhaps"] * N)


@pytest.mark.parametrize(
    "split",
    [
        "{kind: official, max_train: 100, seed: 3}",
        "{kind: validation, share: 0.2, seed: 0, of: {kind: official, max_train: 100, seed: 1}}",
        "{kind: fraction, train: 0.7, seed: 0}",
    ],
)
def test_the_config_within_a_model_trains_it_again(split):
    """Also with a split that is the default but for a cap."""
    changes = {
        "{kind: fraction, train: 0.7, seed: 0}": split,
        "path: own.csv": "path: own.csv, test: test.csv",
    }
    path = own(solver="newton, C: 0.5", **changes)
    header, *lines = Path("own.csv").read_text().splitlines()
    Path("test.csv").write_text("\n".join([header, *lines[-50:]]) + "\n")
    said("fit", path, "--model", "m")
    Path("again.yaml").write_text(said("info", "m", "--config"))
    said("fit", "again.yaml", "--model", "n")
    one, other = load_model("m"), load_model("n")
    assert one.about_["trial"] == other.about_["trial"]
    np.testing.assert_array_equal(one.decision_function(FRAME), other.decision_function(FRAME))


def test_info_tells_all():
    said("fit", own(), "--model", "m")
    told = json.loads(said("info", "m", "--format", "json"))
    assert told["data"]["columns"] == ["age", "city", "income"]
    assert told["data"]["features"] == 5
    assert told["labels"] == ["no", "yes"]
    assert told["map"].startswith("RandomFourier(")
    assert told["solver"]["features"] == 100
    assert told["config"]["solvers"]["mapped"]["name"] == "liblinear"
    assert told["probabilities"] is False
    assert told["scores"]["accuracy"] > 0.9
    shown = said("info", "m")
    for word in ("columns: [age, city, income]", "Gaussian(gamma=", told["fingerprint"], "scikit-learn"):
        assert word in shown


def test_a_file_that_a_model_cannot_take_leaves_no_predictions():
    said("fit", own(), "--model", "m")
    Path("new.csv").write_text("income,city,colour\n1,Rome,2\n")
    told = refused("predict", "--model", "m", "new.csv", "--out", "p.csv")
    assert "missing: age; not known: colour" in told
    assert not Path("p.csv").exists()


def test_a_file_of_another_format_is_read_with_the_options_of_training():
    """European numbers and codes of missing cells mean the same in Parquet and in a table with tabs."""
    path = own()
    gaps = np.arange(N) % 10 == 0
    words = {"income": FRAME.income.map("{:.2f}".format).str.replace(".", ",").mask(gaps, "n.k.")}
    coded = FRAME.assign(**words)
    coded.assign(buys=BUYS).to_csv("own.csv", index=False, sep=";")
    options = "delimiter: ';', decimal: ',', missing: mean, missing_values: ['n.k.']"
    path.write_text(path.read_text().replace("categorical: one_hot", f"categorical: one_hot, {options}"))
    said("fit", path, "--model", "m")
    coded.to_csv("new.csv", index=False, sep=";")
    coded.to_csv("new.tsv", index=False, sep="\t")
    coded.to_parquet("new.parquet")
    FRAME.assign(income=FRAME.income.mask(gaps)).to_parquet("numbers.parquet")
    expected = said("predict", "--model", "m", "new.csv")
    assert len(set(expected.split())) == 3  # the header and both labels
    for other in ("new.tsv", "new.parquet", "numbers.parquet"):
        assert said("predict", "--model", "m", other) == expected


def test_files_with_and_without_labels():
    said("fit", own(), "--model", "m")
    FRAME.to_csv("new.csv", index=False)
    assert "expected the column buys to compare" in refused("score", "--model", "m", "new.csv")
    FRAME.assign(buys="maybe").to_csv("maybe.csv", index=False)
    told = refused("score", "--model", "m", "maybe.csv")
    assert "rows 1, 2, 3, " in told
    assert ", column buys: expected one of no, yes, got 'maybe'" in told
    assert said("predict", "--model", "m", "maybe.csv") == said("predict", "--model", "m", "new.csv")
    told = refused("predict", "--model", "m", "new.csv", "--probabilities")
    assert "Liblinear has no probability; leave the option out, or train `{name: newton, loss: log" in told
    assert "no such file" in refused("predict", "--model", "m", "nothing.csv")
    assert "no such file" in refused("info", "nothing")
    assert "got another file" in refused("info", "new.csv")


def test_svmlight_files_have_the_features_of_training(write):
    Path("a.svm").write_text("".join(f"{i % 2 * 2 - 1} 1:{i % 2} 3:{i / 9}\n" for i in range(60)))
    path = write(**{"dataset: digits": "dataset: {path: a.svm}", "n_train: 300, n_test: 200": "n_train: 40"})
    said("fit", path, "--model", "m", "--maps", "tensor_sketch")
    scored = said("score", "--model", "m", "a.svm")
    assert "accuracy 100.00 % (always the most frequent class: 50.00 %) on 60 rows" in scored
    Path("c.svm").write_text("7 1:1\n")
    assert said("predict", "--model", "m", "c.svm") == "prediction\n1\n"
    assert "labels that the model knows, -1, 1, got 7" in refused("score", "--model", "m", "c.svm")


def test_a_place_that_takes_no_file_is_refused_before_the_training(write):
    told = refused("fit", write(), "--model", "no/such/folder/m", "--maps", "tensor_sketch")
    assert "no/such/folder/m: the model cannot be written" in told
