"""CSV as people have it: what is read as it is, and what is refused with a sentence that says what to set."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.io import savemat

from kfeat.data import FileSource, Protocol, Raw, load_raw
from kfeat.data.formats import mat
from kfeat.data.inspection import inspect
from kfeat.data.prepare import prepare
from kfeat.errors import ConfigError, DataError
from kfeat.saying import say_once
from tests.data.files import write
from tests.fuzz.test_data_files import in_this_process


def loaded(folder: Path, content: str | bytes, name: str = "toy.csv", **options: Any) -> Raw:
    source = {"path": str(write(folder, content, name)), "target": "y", **options}
    return load_raw(source, cache=folder / "cache")


def test_a_spreadsheet_of_windows(tmp_path: Path) -> None:
    text = '\ufeffage;"a, b";colour;y\r\n"1,5";2;"dark ""red""";yes\r\n-2,25;3;blue;no\r\n'
    raw = loaded(tmp_path, text, delimiter=";", decimal=",", categorical="ordinal")
    assert raw.parts["train"].X.tolist() == [[1.5, 2, 1], [-2.25, 3, 0]]
    assert raw.coding is not None
    assert raw.coding.names == ["age", "a, b", "colour"]
    assert raw.coding.columns[2].words == ("blue", 'dark "red"')
    assert raw.label_names == ("no", "yes")


def test_a_decimal_comma_in_quotes_beside_commas(tmp_path: Path) -> None:
    raw = loaded(tmp_path, 'a,y\n"1,5",0\n"2,5",1\n', decimal=",")
    assert raw.parts["train"].X.tolist() == [[1.5], [2.5]]


def test_lines_may_be_parted_by_carriage_returns_within_quotes(tmp_path: Path) -> None:
    raw = loaded(tmp_path, 'a,w,y\n1,"two\r\nlines",0\n2,one,1\n', categorical="ordinal")
    assert raw.coding is not None
    assert raw.coding.columns[1].words == ("one", "two\r\nlines")


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("a;b;y\n1;2;0\n3;4;1\n", {}, r"got one in every line; set `delimiter: ';'`, .* into 3"),
        ("a\tb\ty\n1\t2\t0\n", {}, r'set `delimiter: "\\t"`, .* into 3'),
        ("a b y\n1 2 0\n3  4 1\n", {}, "set `delimiter: whitespace`, .* into 3"),
        ("a;b;y\n1,5;2;0\n3,25;4;1\n", {}, "line 2: expected 1 columns, got 2; set `delimiter: ';'`"),
        (
            "a;b;y\n1,5;2;0\n3,25;4;1\n",
            {"delimiter": ";"},
            "row 1, column a: .* got '1,5'; .* `decimal: ','`",
        ),
        ("a,y\n2020-01-31,0\n2020-02-01,1\n", {"categorical": "one_hot"}, r"dates .* such as '2020-01-31'"),
        ("a,y\n2020-01-31T12:00:05Z,0\n2020-02-01T00:00:00Z,1\n", {}, r"dates or times .* `drop: \[a\]`"),
        ("a,y\n31.01.2020,0\n1.2.2020,1\n", {}, "dates or times"),
        ("a,y\n1/31/2020 5:00 PM,0\n2/1/2020 6:00 AM,1\n", {}, "dates or times"),
        ("a,y\n3 Mar 2020,0\n4 Apr 2020,1\n", {}, "dates or times"),
        ("a,y\n12:30,0\n13:45:10,1\n", {}, "dates or times"),
        ("a,y\n1,2020-01-31\n2,2020-02-01\n", {}, "column y: .* dates or times"),
        ("5.1,3.5,setosa\n4.9,3.0,setosa\n", {"target": -1}, "first line looks like data.* set `header`"),
        ("a,y\nGr\xf6\xdfe,1\n".encode("latin-1"), {}, "expected UTF-8 text .* save it again as UTF-8"),
        ("a,y\n1,0\n", {"drop": ["b"]}, "no column 'b'; it has the columns a, y"),
        ("a,y\n1,0\n", {"drop": ["y"]}, "the target to be kept, got it in `drop`"),
        ("a,y\n1,0\n", {"drop": [7]}, "`drop` below 2"),
        ("a,y\n1,0\n", {"drop": [0]}, "0 columns"),
    ],
)
def test_sentences_that_say_what_to_set(tmp_path: Path, content: Any, options: Any, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        loaded(tmp_path, content, **options)
    assert str(tmp_path / "toy.csv") in str(caught.value)


@pytest.mark.parametrize("word", ["12-B", "2020", "1.2.3", "room 5:30", "May", "10/3"])
def test_words_that_are_no_dates(tmp_path: Path, word: str) -> None:
    raw = loaded(tmp_path, f"a,y\n{word},0\nother,1\n", categorical="ordinal")
    assert sorted(raw.parts["train"].X.ravel()) == [0, 1]


def test_a_date_among_words_is_a_word(tmp_path: Path) -> None:
    raw = loaded(tmp_path, "a,y\n2020-01-01,0\nnever,1\nunknown,1\n", categorical="ordinal")
    assert raw.parts["train"].X.tolist() == [[0], [1], [2]]


def test_dates_that_are_declared_are_words(tmp_path: Path) -> None:
    levels = {"a": ["2020-01-01", "2020-02-01"]}
    raw = loaded(tmp_path, "a,y\n2020-02-01,0\n2020-01-01,1\n", categorical="ordinal", levels=levels)
    assert raw.parts["train"].X.tolist() == [[1], [0]]


@pytest.mark.parametrize(
    "names",
    ["0,1,2,y", "2019,2020,2021,y", "x,y,1", "a,b,y,2010,2020", "a,2022,2021,b,y", "a,b,y,0.1,0.2,0.3"],
)
def test_headers_with_some_numbers_are_headers(tmp_path: Path, names: str) -> None:
    row = ",".join("5" for _ in names.split(","))
    assert loaded(tmp_path, f"{names}\n{row}\n{row}\n").n_features == len(names.split(",")) - 1


def test_a_first_line_with_a_word_that_comes_again_below_is_data(tmp_path: Path) -> None:
    text = "39,13,a,b,c,d,y\n50,13,a,c,b,e,n\n"
    with pytest.raises(DataError, match="looks like data"):
        loaded(tmp_path, text, target=-1, categorical="one_hot")
    raw = loaded(tmp_path, text.replace("a", "A", 1), target=-1, categorical="one_hot")
    assert len(raw.parts["train"].y) == 1


def test_a_word_above_numbers_is_a_name_whatever_comes_again_below(tmp_path: Path) -> None:
    text = "area,2010,2020,region,y\n1,2,3,b,y\n4,5,6,y,x\n"  # y names a column, and is a word of two
    raw = loaded(tmp_path, text, categorical="one_hot")
    assert raw.coding is not None
    assert raw.coding.names == ["area", "2010", "2020", "region"]


def test_codes_beside_numbers_are_words_and_a_few_strays_mistakes(tmp_path: Path) -> None:
    cells = [*(str(i) for i in range(60)), *(f"V{i}" for i in range(30))]
    text = "a,y\n" + "".join(f"{cell},{i % 2}\n" for i, cell in enumerate(cells))
    assert loaded(tmp_path, text, categorical="one_hot").n_features == 90
    text = "a,y\n" + "".join(f"{cell},{i % 2}\n" for i, cell in enumerate(cells[:62]))
    with pytest.raises(DataError, match=r"all but 2 of 62 cells are numbers, .*'V0'; .* `drop: \[a\]`"):
        loaded(tmp_path, text, categorical="one_hot")


def test_infinity_is_told_of_the_column_that_has_it(tmp_path: Path) -> None:
    for text, options, told in (
        ("a,b,y\n1e400,1,0\n2,,1\n", {"drop": ["a"]}, "line 3, column b: .* got ''"),
        ("a,b,y\n7e3941,1,0\nff,,1\n", {"categorical": "one_hot"}, "line 3, column b: .* got ''"),
        ("a,b,y\n1,,0\n2,1e400,1\n", {}, "line 3, column b: .* got '1e400'"),
    ):
        with pytest.raises(DataError, match=told):
            loaded(tmp_path, text, **options)


def test_labels_of_test_rows_alone_are_told_at_each_load(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    test = str(write(tmp_path, "a,y\n1,2\n2,0\n", "test.csv"))
    for _ in range(2):
        say_once.cache_clear()
        caplog.clear()
        loaded(tmp_path, "a,y\n1,0\n2,1\n", test=test)
        assert "toy.csv: no training row has the test rows' labels 2" in caplog.text
    caplog.clear()
    test = str(write(tmp_path, "a,y\n1,z\n2,x\n", "test.csv"))
    loaded(tmp_path, "a,y\n1,x\n2,x\n", test=test, levels={"y": ["x", "z"]})
    assert "no training row" not in caplog.text


def test_lines_are_parted_as_pandas_parts_them(tmp_path: Path) -> None:
    raw = loaded(tmp_path, 'a b y\n1 2 "x"z\n2 NA w\n', delimiter="whitespace", missing="mean")
    assert raw.label_names == ("w", "xz")
    assert in_blanks('"x"y "a ""b" c\n') == ["xy", 'a "b', "c"]
    labels = str(write(tmp_path, 'x\n""\n\ny\n', "labels.csv"))
    with pytest.raises(DataError, match=r"labels.csv, line 2, column 0: .* got ''"):
        loaded(tmp_path, "a,b\n1,2\n3,4\n5,6\n", target=None, labels=labels)


def test_row_numbers_without_a_name_are_told_of_and_dropped(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = ",a,y\n0,5,0\n1,6,1\n"
    with caplog.at_level(logging.WARNING, "kfeat"):
        assert loaded(tmp_path, text).n_features == 2
        loaded(tmp_path, text)  # from the cache
    assert "toy.csv, Unnamed: 0: this column has no name in the header" in caplog.text
    assert "`drop: ['Unnamed: 0']`" in caplog.text
    caplog.clear()
    for drop in (["Unnamed: 0"], [0]):
        raw = loaded(tmp_path, text, name="other.csv", drop=drop)
        assert raw.parts["train"].X.tolist() == [[5], [6]]
    assert not caplog.text
    assert raw.coding is not None
    assert raw.coding.dropped == ("Unnamed: 0",)


def test_columns_that_are_dropped_may_hold_anything(tmp_path: Path) -> None:
    text = ",a,when,y\nAnn,1,2020-01-01,0\n,2,,1\n"
    assert loaded(tmp_path, text, drop=[0, "when"]).parts["train"].X.tolist() == [[1], [2]]
    with pytest.raises(DataError, match=r"line 4, column a: .*; no other line has missing cells"):
        loaded(tmp_path, text + ",,,0\n", drop=["Unnamed: 0", "when"])


def test_a_decimal_sign_is_a_point_or_a_comma(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"decimal: expected '.' or ','"):
        loaded(tmp_path, "a,y\n1,0\n", decimal=";")


@pytest.mark.parametrize("kind", ["npz", "mat"])
def test_arrays_that_are_there_are_named(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mat, "arrays_in", in_this_process)
    arrays = {"features": np.eye(2), "label": np.array([0, 1])}
    path = tmp_path / f"toy.{kind}"
    np.savez(path, **arrays) if kind == "npz" else savemat(path, arrays)
    with pytest.raises(DataError, match=r"an array X, got features, label; .* `variables: \{X: features"):
        load_raw({"path": str(path)}, cache=tmp_path / "cache")
    names = {"X": "features", "y": "labels"}
    with pytest.raises(DataError, match=r"an array labels, got .*\(did you mean 'label'\?\)"):
        load_raw({"path": str(path), "variables": names}, cache=tmp_path / "cache")


def test_a_first_line_of_equal_numbers_is_data(tmp_path: Path) -> None:
    """As pixels and one-hot columns are; pandas makes 0.0, 0.0.1, 0.0.2 of them."""
    text = "0.0,0.0,0.0,1.5,a\n0.0,0.0,1.0,2.5,b\n"
    with pytest.raises(DataError, match="looks like data"):
        loaded(tmp_path, text, target=-1)
    assert loaded(tmp_path, text, target=-1, header=False).parts["train"].X.shape == (2, 4)


def test_commas_that_may_separate_thousands_are_no_decimal_signs(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"got '1,234'; .*decimal sign; where it separates thousands"):
        loaded(tmp_path, 'a,y\n"1,234",0\n"12,500",1\n999,1\n')
    with pytest.raises(DataError, match=r"where the decimal sign is a comma, set"):
        loaded(tmp_path, 'a,y\n"1,234",0\n"12,5",1\n999,1\n')


def test_a_word_in_one_file_makes_no_categories_of_the_numbers_in_the_other(tmp_path: Path) -> None:
    test = write(tmp_path, "age,city,y\nunknown,a,0\n", "test.csv")
    text = "age,city,y\n39,a,0\n40,b,1\n"
    with pytest.raises(DataError, match=r"age: the train rows hold numbers, and test row 1 'unknown'"):
        loaded(tmp_path, text, test=str(test), categorical="one_hot")


def test_a_column_of_words_may_be_empty_in_one_file(tmp_path: Path) -> None:
    test = write(tmp_path, "city,y\n,0\n,1\n", "test.csv")
    text = "city,y\nRome,0\nOslo,1\nOslo,1\n"
    raw = loaded(tmp_path, text, test=str(test), categorical="ordinal", missing="most_frequent")
    assert raw.parts["test"].X.tolist() == [[0.0], [0.0]]


@pytest.mark.parametrize(("positive", "of"), [("2", "2"), (2, "2"), (1, "1")])
def test_a_class_is_named_by_its_label_though_that_looks_like_a_code(
    tmp_path: Path, positive: int | str, of: str
) -> None:
    raw = loaded(tmp_path, "a,y\n1,1\n2,2\n3,2\n", levels={"y": ["1", "2"]})
    assert raw.label_names == ("1", "2")
    protocol = Protocol.model_validate({"split": "all", "binarise": {"positive": positive}})
    expected = [1 if label == of else -1 for label in ("1", "2", "2")]
    assert prepare(raw, protocol, 0).y_train.tolist() == expected
    wrong = Protocol.model_validate({"split": "all", "binarise": {"positive": 0}})
    with pytest.raises(DataError, match="no class 0; its classes are 1, 2"):
        prepare(raw, wrong, 0)


def test_a_word_is_named_though_a_cell_before_it_is_missing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"row 3, column a: expected numbers, got 'old'"):
        loaded(tmp_path, "a,y\n1,0\n,1\nold,1\n", missing="mean")


def test_levels_of_a_column_that_is_not_there_are_refused(tmp_path: Path) -> None:
    text = "parents,y\nusual,a\nodd,b\n"
    levels = {"Parents": ["usual", "odd"]}
    with pytest.raises(DataError, match=r"levels: no column 'Parents' \(did you mean 'parents'\?\)"):
        loaded(tmp_path, text, categorical="ordinal", levels=levels)
    loaded(tmp_path, text, categorical="ordinal", levels={"parents": ["odd", "usual"], "y": ["b", "a"]})


def test_a_test_files_columns_are_found_by_their_names(tmp_path: Path) -> None:
    text = "id,a,b,y\n7,1,2,0\n8,3,4,1\n"
    test = write(tmp_path, "y,b,a\n0,6,5\n1,8,7\n", "test.csv")  # in another order, without what is dropped
    raw = loaded(tmp_path, text, test=str(test), target="y", drop=["id"])
    assert raw.parts["test"].X.tolist() == [[5, 6], [7, 8]]
    assert raw.parts["test"].y.tolist() == [0, 1]
    other = write(tmp_path, "y,a,z\n0,6,5\n", "other.csv")
    with pytest.raises(DataError, match="same columns as the training file; missing: b; not known: z"):
        loaded(tmp_path, text, test=str(other), target="y", drop=["id"])


GROUPED = "a;b;y\n" + "".join(f"{i};0,{i};{'ja' if i % 2 else 'nein'}\n" for i in range(1000, 1040))
GERMAN = {"delimiter": ";", "decimal": ",", "target": "y"}


def test_a_point_is_no_decimal_sign_where_that_is_a_comma(tmp_path: Path) -> None:
    """3.992 may be 3992: in training, and where a model meets new rows."""
    path = tmp_path / "own.csv"
    path.write_text(GROUPED)
    coding = load_raw({"path": str(path), **GERMAN}).coding
    assert coding is not None
    assert coding.decimal == ","
    text = pd.DataFrame({"a": ["1.005", "1006"], "b": ["0,5", "0.5"]}, dtype=object)
    with pytest.raises(DataError, match=r"row 1, column a: .* got '1\.005'; the decimal sign is a comma"):
        coding.matrix(text)
    with pytest.raises(DataError, match=r"row 2, column b: expected a number, got '0\.5'"):
        coding.matrix(text.assign(a=[1005, 1006]))
    fine = coding.matrix(pd.DataFrame({"a": [1005, 1006], "b": ["0,5", "1,5"]}))
    assert fine.tolist() == [[1005, 0.5], [1006, 1.5]]
    path.write_text(GROUPED.replace("\n1000;", "\n1.000;"))
    with pytest.raises(DataError, match=r"row 1, column a: .* got '1\.000'; the decimal sign is a comma"):
        load_raw({"path": str(path), **GERMAN})


def test_who_set_the_decimal_sign_is_not_told_to_set_it(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("a;y\n1.234,5;0\n2.345,5;1\n3.456,5;0\n")
    report = inspect(FileSource(path=str(path), **GERMAN), tmp_path)
    assert report.problem is not None
    assert "take points between thousands out of the file" in report.problem
    assert not [line for line in (report.problem, *report.advice) if "set `decimal" in line]
    one = "a;y\n1,5;0\n2,5;1\nn.v.;0\n3,5;1\n"
    path.write_text(one)
    (column, _) = inspect(FileSource(path=str(path), **GERMAN), tmp_path).columns
    assert (column.n_strays, column.strays) == (1, {"n.v.": 1})


def test_targets_of_new_rows_have_the_decimal_sign_of_training(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("a;y\n" + "".join(f"{i};{i},25\n" for i in range(40)))
    coding = load_raw({"path": str(path), **GERMAN, "task": "regression"}).coding
    assert coding is not None
    assert coding.labels(pd.DataFrame({"y": ["1,5", "2,25"]}, dtype=object)).tolist() == [1.5, 2.25]
    with pytest.raises(DataError, match=r"row 1, column y: expected a number, got '1\.005'"):
        coding.labels(pd.DataFrame({"y": ["1.005", "1,5"]}, dtype=object))


def test_one_word_among_numbers_with_a_decimal_comma_is_the_one_that_is_named(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text(GROUPED.replace("0,1003", "n.v."))
    with pytest.raises(DataError, match=r"row 4, column b: expected numbers, got 'n.v.' \(39 of 40 rows are"):
        load_raw({"path": str(path), **GERMAN})


def test_a_class_called_none_is_one_once_it_is_declared(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = "a,y\n" + "".join(f"{i},{'None' if i % 3 else 'High'}\n" for i in range(30))
    with pytest.raises(DataError, match="got 'None'"):
        loaded(tmp_path, rows)
    raw = loaded(tmp_path, rows, levels={"y": ["None", "High"]})
    assert raw.label_names == ("None", "High")
    assert len(raw.parts["train"].y) == 30
    assert not caplog.records
    gap = rows.replace("\n7,", "\n,")
    levels = {"header": False, "target": -1, "levels": {"1": ["None", "High"]}}
    numbered = loaded(tmp_path, gap.removeprefix("a,y\n"), missing="most_frequent", **levels)
    assert numbered.y.tolist() == raw.y.tolist()
    assert numbered.parts["train"].X[7] == 0
    with pytest.raises(DataError, match=r"line 9, column a: .*got ''; no other line has missing cells"):
        loaded(tmp_path, gap, levels={"y": ["None", "High"]})
    part = loaded(tmp_path, rows.replace("High", "Low", 5), missing="mean")
    assert part.label_names == ("High", "Low")
    assert (
        "20 of 30 rows have no label and are left out (None, NA, null and ? count as missing" in caplog.text
    )


def test_a_header_with_a_name_twice_is_refused(tmp_path: Path) -> None:
    """pandas would call the second one a.1, and take a file in which they are swapped."""
    with pytest.raises(DataError, match=r"each name once in its first line, got more of a; name all columns"):
        loaded(tmp_path, "a,b,a,y\n1,2,3,0\n4,5,6,1\n")
    named = loaded(tmp_path, "a,b,a,y\n1,2,3,0\n4,5,6,1\n", columns=["a", "b", "c", "y"], header=True)
    assert named.n_features == 3
