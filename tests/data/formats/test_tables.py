"""CSV as people have it: what is read as it is, and what is refused with a sentence that says what to set."""

import re
from functools import partial

import numpy as np
import pandas as pd
import pytest

from kfeat.data import FileSource, Protocol, Reading, load, load_raw, read_rows
from kfeat.data.formats.tables import read_frame
from kfeat.data.prepare import prepare
from kfeat.errors import ConfigError, DataError
from kfeat.own.new_config import new_config
from kfeat.text import say_once
from tests.data import files
from tests.data.files import described, write

loaded = partial(files.loaded, target="y")


def rows(raw, part="train"):
    return raw.parts[part].X.tolist()


def test_a_spreadsheet_of_windows(tmp_path):
    text = '\ufeffage;"a, b";colour;y\r\n"1.5";2;"dark ""red""";yes\r\n-2.25;3;"two\r\nlines";no\r\n'
    raw = loaded(tmp_path, text, delimiter=";", categorical="ordinal")
    assert rows(raw) == [[1.5, 2, 0], [-2.25, 3, 1]]
    assert raw.columns == ("age", "a, b", "colour")
    assert raw.coding.words["colour"] == ['dark "red"', "two\r\nlines"]
    assert raw.label_names == ("no", "yes")


@pytest.mark.parametrize("word", ["12-B", "2020", "1.2.3", "room 5:30", "May", "31.01.2020", "12:30"])
def test_words_that_are_no_dates(tmp_path, word):
    raw = loaded(tmp_path, f"a,y\n{word},0\nother,1\n", categorical="ordinal")
    assert sorted(raw.parts["train"].X.ravel()) == [0, 1]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["2020-02-01", "1970-01-02"], [[2020, 2, 5, 18293], [1970, 1, 4, 1]]),
        (["2020-01-31T12:00:00Z", "2020-02-01T01:00:00+01:00"], [[2020, 1, 4, 18292.5], [2020, 2, 5, 18293]]),
        (["2020-03-03 06:00", "2020-03-03 06:00:00.0"], [[2020, 3, 1, 18324.25], [2020, 3, 1, 18324.25]]),
    ],
)
def test_dates_become_year_month_weekday_and_days(tmp_path, words, expected):
    raw = loaded(tmp_path, "a,y\n" + "".join(f"{word},{i}\n" for i, word in enumerate(words)))
    assert rows(raw) == expected
    assert raw.coding.matrix(pd.DataFrame({"a": words[::-1]})).tolist() == expected[::-1]


def test_a_bad_date_is_a_missing_cell(tmp_path):
    text = "a,y\n2020-01-01,0\nsoon,1\n2022-01-01,1\n2024-02-31,1\n2021-01-01,0\n"
    assert [row[0] for row in rows(loaded(tmp_path, text, missing="mean"))] == [2020, 2021, 2022, 2021, 2021]
    with pytest.raises(DataError, match="rows 2, 4, column a: expected a date, got 'soon', '2024-02-31'"):
        loaded(tmp_path, text)
    levels = {"a": ["2020-01-01", "soon"]}  # a declared date is a word
    raw = loaded(tmp_path, "a,y\nsoon,0\n2020-01-01,1\n", categorical="ordinal", levels=levels)
    assert rows(raw) == [[1], [0]]
    raw = loaded(tmp_path, "a,y\n2020-01-01,0\nnever,1\nunknown,1\n", categorical="ordinal")
    assert rows(raw) == [[0], [1], [2]]


def test_rare_words_share_a_feature_with_those_met_later(tmp_path):
    words = ["red"] * 600 + ["blue"] * 390 + ["teal"] * 7 + ["jade"] * 3
    text = "a,y\n" + "".join(f"{word},{i % 2}\n" for i, word in enumerate(words))
    coding = loaded(tmp_path, text, categorical="one_hot").coding
    X = coding.matrix(pd.DataFrame({"a": ["teal", "red", "jade", "new", "blue"]}))
    assert X.tolist() == [[0, 0, 1], [0, 1, 0], [0, 0, 1], [0, 0, 1], [1, 0, 0]]


@pytest.mark.parametrize(
    "names",
    ["0,1,2,y", "2019,2020,2021,y", "x,y,1", "a,b,y,2010,2020", "a,2022,2021,b,y", "a,b,y,0.1,0.2,0.3"],
)
def test_headers_with_some_numbers_are_headers(tmp_path, names):
    row = ",".join("5" for _ in names.split(","))
    assert loaded(tmp_path, f"{names}\n{row}\n{row}\n").n_features == len(names.split(",")) - 1


def test_codes_beside_numbers_are_words_and_a_few_strays_mistakes(tmp_path):
    cells = [*(str(i) for i in range(60)), *(f"V{i}" for i in range(30))]
    text = "a,y\n" + "".join(f"{cell},{i % 2}\n" for i, cell in enumerate(cells))
    assert loaded(tmp_path, text, categorical="one_hot").n_features == 90
    text = "a,y\n" + "".join(f"{cell},{i % 2}\n" for i, cell in enumerate(cells[:62]))
    told = r"row 61, column a: expected numbers, got 'V0' \(60 of 62 rows are numbers\); .* `drop: \[a\]`"
    with pytest.raises(DataError, match=told):
        loaded(tmp_path, text, categorical="one_hot")


def test_what_is_said_at_each_load(tmp_path, caplog):
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
    text = ",a,y\n0,5,0\n1,6,1\n"
    for drop in (["Unnamed: 0"], [0]):
        assert rows(loaded(tmp_path, text, name="other.csv", drop=drop)) == [[5], [6]]


def test_test_rows_are_read_as_any_that_are_met_later(tmp_path):
    text = "id,a,b,w,y\n7,1,2,01,0\n8,3,4,x,1\n"
    options = {"drop": ["id"], "categorical": "ordinal", "missing": "mean"}
    test = write(tmp_path, "w,y,b,a\n01,0,6,5\n,1,8,7\n", "test.csv")  # in another order, `01` stays a word
    raw = loaded(tmp_path, text, test=str(test), **options)
    assert rows(raw, "test") == [[5, 6, 0], [7, 8, 0]]
    assert raw.parts["test"].y.tolist() == [0, 1]
    for content, message in (
        ("y,a,z\n0,6,5\n", "missing: b, w; not known: z"),
        ("w,y,b,a\nx,0,old,5\n", "row 1, column b: expected a number, got 'old'"),
    ):
        other = write(tmp_path, content, "other.csv")
        with pytest.raises(DataError, match=f"other.csv: .*{message}"):
            loaded(tmp_path, text, test=str(other), **options)


@pytest.mark.parametrize(("positive", "of"), [("2", "2"), (2, "2"), (1, "1")])
def test_a_class_is_named_by_its_label_though_that_looks_like_a_code(tmp_path, positive, of):
    raw = loaded(tmp_path, "a,y\n1,1\n2,2\n3,2\n", levels={"y": ["1", "2"]})
    assert raw.label_names == ("1", "2")
    protocol = Protocol.model_validate({"split": "all", "binarise": {"positive": positive}})
    expected = [1 if label == of else -1 for label in ("1", "2", "2")]
    assert prepare(raw, protocol, 0).y_train.tolist() == expected
    wrong = Protocol.model_validate({"split": "all", "binarise": {"positive": 0}})
    with pytest.raises(DataError, match="no class 0; its classes are 1, 2"):
        prepare(raw, wrong, 0)


def test_a_class_called_none_is_one_once_it_is_declared(tmp_path, caplog):
    text = "a,y\n" + "".join(f"{i},{'None' if i % 3 else 'High'}\n" for i in range(30))
    with pytest.raises(DataError, match=r"rows 2, 3, .*column y: .* got a missing value .*None"):
        loaded(tmp_path, text)
    raw = loaded(tmp_path, text, levels={"y": ["None", "High"]})
    assert raw.label_names == ("None", "High")
    assert len(raw.parts["train"].y) == 30
    assert not caplog.records
    gap = text.replace("\n7,", "\n,")
    levels = {"header": False, "target": -1, "levels": {"1": ["None", "High"]}}
    numbered = loaded(tmp_path, gap.removeprefix("a,y\n"), missing="most_frequent", **levels)
    assert numbered.y.tolist() == raw.y.tolist()
    assert numbered.parts["train"].X[7] == 0
    part = loaded(tmp_path, text.replace("High", "Low", 5), missing="mean")
    assert part.label_names == ("High", "Low")
    told = "20 of 30 rows have no label and are left out (None, NA, null and ? count as missing"
    assert told in caplog.text


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (["9007199254740993", "9007199254740992"], ("9007199254740992", "9007199254740993")),
        (["007", "07", "7"], ("007", "07", "7")),
        (['"01"', '"02"'], ("01", "02")),
        (["True", "False"], ("False", "True")),
        (["TRUE", "FALSE"], ("False", "True")),
        (["no ", "yes", " no", '"yes "'], ("no", "yes")),
    ],
)
def test_different_labels_stay_different_and_equal_ones_equal(tmp_path, labels, names):
    text = " a ,y \n" + "".join(f"{i},{label}\n" for i, label in enumerate(labels * 3))
    test = str(write(tmp_path, text, "test.csv"))
    raw = loaded(tmp_path, text, test=test)
    assert raw.label_names == names
    assert raw.columns == ("a",)
    met = [
        names.index(label.strip(' "').replace("TRUE", "True").replace("FALSE", "False")) for label in labels
    ]
    assert raw.parts["train"].y.tolist() == raw.parts["test"].y.tolist() == met * 3


def test_leading_zeros_are_kept_in_features_too(tmp_path):
    raw = loaded(tmp_path, "zip,n,y\n01234,5,0\n12345,06.5,1\n,7,1\n", categorical="ordinal", missing="drop")
    assert raw.coding is not None
    assert raw.coding.words == {"zip": ["01234", "12345"]}
    assert rows(raw) == [[0, 5], [1, 6.5]]


def test_the_first_and_the_last_day_of_iso_dates(tmp_path):
    raw = loaded(tmp_path, "a,y\n9999-12-31,0\n0001-01-01,1\n1970-01-02,1\n")
    assert rows(raw) == [[9999, 12, 4, 2932896], [1, 1, 0, -719162], [1970, 1, 4, 1]]


@pytest.mark.parametrize(
    ("text", "options", "target", "expected", "remark"),
    [
        ('p,q,y\n"1,250",1,a\n900,2,b\n', {"thousands": ","}, "y", [[1250, 1], [900, 2]], "Commas .*: p"),
        ("p,q,y\n1,1,a \n2,2,b\n3,4,a\n", {}, "y", [[1, 1], [2, 2], [3, 4]], "Blanks .*: y"),
        ("p,q,y\n007,1,a\n07,2,b\n", {}, "y", [[0, 1], [1, 2]], "Leading zeros .*: p"),
    ],
)
def test_new_says_how_cells_are_read(tmp_path, text, options, target, expected, remark):
    path = write(tmp_path, text, "toy.csv")
    config = new_config(path, tmp_path / "c.yaml", target=target, test=None, task=None, reading=Reading())
    assert re.search(f"# {remark}", config)
    source = {"path": str(path), "target": target, "categorical": "ordinal", **options}
    assert rows(load_raw(source)) == expected


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_another_encoding_is_named_and_read(tmp_path, encoding):
    path = write(tmp_path, "gr\xf6\xdfe,y\n1,0\n2,1\n".encode(encoding), "toy.csv")
    with pytest.raises(DataError, match=f"expected UTF-8 text .* set `encoding: {encoding}`"):
        load_raw({"path": str(path), "target": "y"})
    raw = load_raw({"path": str(path), "target": "y", "encoding": encoding})
    assert (raw.columns, rows(raw)) == (("gr\xf6\xdfe",), [[1], [2]])
    with pytest.raises(ConfigError, match="expected an encoding such as latin-1"):
        load_raw({"path": str(path), "target": "y", "encoding": "utf-99"})


def test_messages_quote_at_most_100_characters(tmp_path):
    with pytest.raises(DataError) as caught:
        loaded(tmp_path, "a,y\n" + "x" * 9999 + ",0\n" + "1,1\n" * 30)
    assert "got '" + "x" * 100 + "'" in str(caught.value)


def test_a_line_without_end_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr("kfeat.data.content.LONGEST_LINE", 1000)
    with pytest.raises(DataError, match="expected lines of text, got one of 1,000 bytes or more"):
        loaded(tmp_path, "\0" * 2000)


def european(number, decimal, thousands):
    return f"{number:,.2f}".replace(",", "T").replace(".", decimal).replace("T", thousands)


@pytest.mark.parametrize(
    ("decimal", "thousands", "mark"),
    [(",", ".", "."), (",", "\N{NO-BREAK SPACE}", " "), (",", "\N{NARROW NO-BREAK SPACE}", " "),
     (",", "\N{THIN SPACE}", " "), (",", " ", " "), (".", "'", "'"), (".", "\u2019", "'"), (".", ",", ","),
     (",", "", None)],
)  # fmt: skip
def test_numbers_of_europe_are_numbers(tmp_path, decimal, thousands, mark):
    prices, x = np.arange(40) * 1234.25 + 100, np.arange(40) / 8 - 2
    lines = [f"{european(p, decimal, thousands)};{european(q, decimal, '')};{i % 2}"
             for i, (p, q) in enumerate(zip(prices, x, strict=True))]  # fmt: skip
    dataset, text, raw = described(write(tmp_path, "\n".join(["price;x;y", *lines]) + "\n", "toy.csv"))
    assert raw.parts["train"].X.tolist() == [[p, round(q, 2)] for p, q in zip(prices, x, strict=True)]
    assert (dataset.get("decimal", "."), dataset.get("thousands")) == (decimal, mark)
    assert "`decimal`" in text or decimal == "."
    assert "between thousands" in text or mark is None
    later = write(tmp_path, f"x;price\n{european(0.5, decimal, '')};{european(1250.5, decimal, thousands)}\n")
    frame = read_frame(later, FileSource(**dataset).reading.model_copy(update={"format": "csv"}), raw.coding)
    assert raw.coding.matrix(frame).tolist() == [[1250.5, 0.5]]


def test_a_column_with_decimal_points_stays_beside_one_with_commas(tmp_path):
    lines = [f"{european(1234.5 * (i + 1), ',', '.')};{i / 10 - 1:.3f};{i % 2}" for i in range(30)]
    dataset, _, raw = described(write(tmp_path, "\n".join(["price;x;y", *lines]) + "\n", "toy.csv"))
    assert (dataset["decimal"], dataset["thousands"]) == ({"price": ","}, {"price": "."})
    assert rows(raw)[:2] == [[1234.5, -1], [2469, -0.9]]


def test_whole_numbers_with_points_are_thousands_in_a_file_with_decimal_commas(tmp_path):
    text = "n;x;y\n1.250;0,5;a\n980;1,5;b\n15.300;2,5;a\n"
    _, _, raw = described(write(tmp_path, text, "toy.csv"))
    assert rows(raw) == [[1250, 0.5], [980, 1.5], [15300, 2.5]]


def test_a_number_in_another_spelling_than_that_of_training_is_named(tmp_path):
    options = {"delimiter": ";", "decimal": ",", "thousands": "."}
    raw = loaded(tmp_path, "a;y\n1.250,5;0\n3,25;1\n", **options)
    later = write(tmp_path, "a\n" + "1,5\n" * 9000 + "2.5\n", "later.csv")
    reading = Reading(**options)
    with pytest.raises(
        DataError, match=r"row 9001, column a: expected a number such as 1\.250,5, got '2\.5'"
    ):
        list(read_rows(later, reading, raw.coding))
    assert len(list(read_rows(write(tmp_path, "a\n1.000,5\n", "l.csv"), reading, raw.coding))) == 1


@pytest.mark.parametrize(
    "options", [{"decimal": ",", "thousands": ","}, {"decimal": "."}, {"thousands": ";"}]
)
def test_marks_that_mean_nothing_are_refused(options):
    with pytest.raises(ValueError, match=r"different marks|Input should be"):
        Reading(**options)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize("separator", [";", ",", "\t"])
def test_the_first_line_of_excel_names_the_delimiter(tmp_path, separator, encoding):
    lines = ["sep=;", "a;b;y", "1.5;2;u", "2.5;3;v"]
    content = "\r\n".join(lines).replace(";", separator) + "\r\n"
    path = write(tmp_path, content.encode(encoding), "toy.csv")
    source = {"path": str(path), "target": "y", "encoding": encoding}
    raw = load_raw(source, cache=tmp_path / "cache")
    assert (raw.columns, rows(raw)) == (("a", "b"), [[1.5, 2], [2.5, 3]])


def test_reading_a_table_of_numbers_sets_no_column_anew(tmp_path, monkeypatch):
    """Setting one takes half a millisecond, so 20,000 of them took ten seconds."""
    text, later = "a,b,y\n1,2.5,0\n3,,1\n", write(tmp_path, "a,b\n1,2\n", "later.csv")
    coding = loaded(tmp_path, text, missing="mean").coding
    monkeypatch.setattr(pd.DataFrame, "__setitem__", lambda *_: pytest.fail("a column was set anew"))
    assert read_frame(tmp_path / "toy.csv", Reading()).shape == (2, 3)
    assert len(list(read_rows(later, Reading(), coding))) == 1


def test_a_file_of_ones_own_needs_no_published_hash_and_nothing_is_said_of_it(tmp_path, caplog):
    caplog.set_level("DEBUG", logger="kfeat")
    path = tmp_path / "own.csv"
    path.write_text("a,y\n" + "1,no\n2,yes\n" * 10)
    protocol = {"split": {"kind": "stratified", "train": 0.5}}
    data = load({"path": str(path), "target": "y"}, protocol, random_state=0, cache=tmp_path / "cache")
    assert not data.verified
    assert caplog.text == ""
