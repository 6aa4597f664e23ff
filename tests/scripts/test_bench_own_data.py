"""The benchmark on own data: its order, how it resumes, and what its page says of targets."""

import json

import numpy as np
import pandas as pd
import pytest

from scripts.bench import own_contenders, own_data, own_data_page
from scripts.bench.own_pairs import judged, over_splits, pairs
from scripts.bench.own_tables import AT_SIZE, FIRST, GENERATED, LATER, REGRESSIONS, UNUSUAL

LIMITS = (60, 10)
COMMON = {"rows": 750, "columns": 2, "threads": 2, "commit": "a0", "idle": True, "reason": None}


class Constant:
    """A model that answers one class; on the table whose targets say so, it fails."""

    def fit(self, X, y):
        if "fail" in y:
            raise ValueError("no")
        self.classes_, self.answer = np.unique(y), y[0]
        return self

    def __sklearn_tags__(self):
        return own_contenders.SVC().__sklearn_tags__()

    def predict(self, X):
        return np.full(len(X), self.answer)


@pytest.fixture
def models(monkeypatch):
    """The names of the contenders in the order in which they were made; none takes any time."""
    made = []

    def model_of(name, *_):
        made.append(name)
        return Constant()

    def parts_of(name, split):
        X, y = pd.DataFrame({"a": np.arange(8.0)}), np.array([*"aaaabbbb"])
        return X, np.array(["fail"] * 8) if name == "letter" else y, X, y

    monkeypatch.setattr(own_contenders, "model_of", model_of)
    monkeypatch.setattr(own_data, "parts_of", parts_of)
    monkeypatch.setattr(own_data.Watch, "was_idle", lambda _: True)
    return made


def test_all_tables_have_their_first_split_before_any_has_its_second(models, tmp_path):
    path = tmp_path / "runs" / "rows.jsonl"
    own_data.measure(path, ("magic", "churn"), 2, LIMITS, 1)
    order = list(dict.fromkeys((row["split"], row["table"]) for row in own_data.kept(path).values()))
    assert order == [(0, "magic"), (0, "churn"), (1, "magic"), (1, "churn")]
    contenders = own_contenders.names(LIMITS, by_hand=False)
    assert models[: len(contenders)] == contenders
    assert len(models) == (1 + 2) * 2 * len(contenders)  # churn has two metrics
    assert contenders[:2] == ["search of 60 s", "search of 10 s"]
    assert {"HistGradientBoosting, searched for 10 s", "linear", "grid"} < set(contenders)


def test_a_second_start_measures_only_what_is_not_there(models, tmp_path):
    path = tmp_path / "rows.jsonl"
    own_data.measure(path, ("magic",), 1, LIMITS, 1)
    whole, asked = path.read_text(), [*models]
    lines = whole.splitlines(keepends=True)
    path.write_text("".join(lines[:3]) + lines[3][:20])  # ended while it wrote
    models.clear()
    own_data.measure(path, ("magic",), 1, LIMITS, 1)
    assert models == asked[3:]
    own_data.measure(path, ("magic",), 1, LIMITS, 1)
    assert models == asked[3:]
    assert [row["contender"] for row in own_data.kept(path).values()] == asked


def test_a_contender_that_fails_has_a_row_with_its_reason_and_the_others_follow(models, tmp_path):
    path = tmp_path / "rows.jsonl"
    own_data.measure(path, ("letter", "magic"), 1, LIMITS, 1)
    letter, *_, magic = own_data.kept(path).values()
    assert (letter["score"], letter["reason"]) == (None, "failed: ValueError: no")
    assert (magic["score"], magic["reason"]) == (50.0, None)
    page = over_splits(pairs([*own_data.kept(path).values()]))
    (grid,) = (row for row in page if row["what"] == "search of 60 s : grid" and "letter" in row["shape"])
    assert (grid["note"], grid["target"]) == ("nan, kfeat failed: ValueError: no", None)


def test_at_size_svc_has_twice_the_rows_while_it_takes_less_than_three_times_as_long():
    seconds, found = {"search of 120 s": 100.0, "SVC on 10,000 rows": 66.0, "SVC on 20,000 rows": 67.0}, {}
    for contender in own_data.contenders("waves", 0, "accuracy", LIMITS, found):
        found["waves", 0, "accuracy", contender] = {"rows": 10**6, "seconds": seconds.get(contender, 1.0)}
    assert [key[-1] for key in found] == [
        "search of 120 s", "HistGradientBoosting",
        *(f"SVC on {n} rows" for n in ("5,000", "10,000", "20,000")),
    ]  # fmt: skip
    for key in found:  # stopped before it: the same is left to do
        before = dict(list(found.items())[: [*found].index(key)])
        assert next(own_data.contenders("waves", 0, "accuracy", LIMITS, before)) == key[-1]
    assert not list(own_data.contenders("waves", 1, "accuracy", LIMITS, found))


def rows_of(*scores, other="grid", **more):
    """Rows of the search and of another contender, a pair of scores for each split."""
    made = []
    for split, pair in enumerate(scores):
        for contender, score in zip(("search of 60 s", other), pair, strict=True):
            first = {"table": "magic", "split": split, "metric": "accuracy", "contender": contender}
            made.append({**COMMON, **first, "score": score, "seconds": 50.0, **more})
    return made


def page_of(rows):
    """What is published of the contender, and of the budget."""
    return {row["what"].partition(" : ")[2]: row for row in over_splits(pairs(rows))}


@pytest.mark.parametrize(
    ("scores", "met"),
    [
        ([(90.0, 89.0), (90.1, 89.0), (90.0, 89.1)], True),
        ([(90.0, 91.0), (90.1, 91.0), (90.0, 91.1)], False),
        ([(90.0, 89.0), (90.0, 93.0), (90.0, 88.0)], "open"),
        ([(90.0, 80.0)] * 2, "open"),
        ([(90.0, 80.0)] * 3, True),
    ],
)
def test_a_target_is_met_or_missed_only_where_the_interval_shows_it(scores, met):
    row = page_of(rows_of(*scores))["grid"]
    assert (row["met"], row["splits"], row["target"]) == (met, len(scores), "behind <= 0.3")


def test_a_verdict_is_on_the_edge_of_its_interval():
    assert judged(0.25, 0.5, 0.25) is True
    assert judged(0.25, 0.51, 0.25) == "open"
    assert judged(-0.75, 0.5, 0.25) == "open"
    assert judged(-0.76, 0.5, 0.25) is False


def test_searched_boosting_is_beside_the_search_of_the_same_seconds_alone():
    searched = "HistGradientBoosting, searched for {} s"
    same, other = (page_of(rows_of((90.0, 80.0), other=searched.format(limit))) for limit in LIMITS)
    assert {*same} == {"its budget", "HistGradientBoosting, searched"}
    assert {*other} == {"its budget"}
    assert page_of(rows_of((90.0, 80.0), idle=False))["grid"]["note"].endswith("the machine was busy")


def test_the_page_is_made_of_what_is_there_and_judges_what_stays(tmp_path):
    earlier = {
        "minutes": 1.0,
        "rows": [
            {"what": "search of 60 s : grid", "shape": shape, "kfeat_s": 50.0, "other_s": 9.0, "threads": 2,
             "note": "90.00, the other 90.10; -0.10 ± 0.50", "target": "behind <= 0.3", "met": True}
            for shape in ("magic, 750 x 2", "letter, 900 x 16")
        ],
    }  # fmt: skip
    (tmp_path / "own_data.json").write_text(json.dumps(earlier))
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows_of((90.0, 89.0))))
    own_data_page.page.callback(tmp_path, (tmp_path / "rows.jsonl",))
    found = json.loads((tmp_path / "own_data.json").read_text())
    grids = [row for row in found["rows"] if row["what"].endswith("grid")]
    verdicts = {(row["shape"], row.get("splits")): row["met"] for row in grids}
    assert verdicts == {("letter, 900 x 16", None): "open", ("magic, 750 x 2", 1): "open"}
    assert found["minutes"] == pytest.approx(1 + 100 / 60)
    assert "| open" in (tmp_path / "own_data.md").read_text()


def test_the_tables_are_listed_once_and_their_metric_suits_their_targets():
    names = [*FIRST, *LATER, *AT_SIZE]
    assert len(set(names)) == len(names)
    assert {*REGRESSIONS, *UNUSUAL, *GENERATED} <= set(names)
    for name in GENERATED.keys() - {*AT_SIZE}:
        _, y = GENERATED[name]()
        assert (name in REGRESSIONS) == (y.dtype.kind == "f")
