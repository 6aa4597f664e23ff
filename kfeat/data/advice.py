"""What to set so that a file can be read, and read well: sentences on what its columns hold."""

from collections.abc import Sequence

from kfeat.data.column_reports import ColumnReport
from kfeat.data.columns import advice_unnamed, drop, listed, unnamed
from kfeat.data.reading import Reading

COUNTS_ROWS = "numbers that count the rows"  # why a column tells nothing
OWN_WORDS = 20  # a column of more words than this, and of more than half of the rows, names single rows


def advice(columns: Sequence[ColumnReport], reading: Reading, n_rows: int) -> list[str]:
    """Return sentences on what to set so that the file can be read, and read well."""
    from kfeat.data.formats.learning import comma_numbers

    used = [column for column in columns if column.role == "feature"]
    read = [column for column in columns if column.role != "dropped"]
    with_commas = read if reading.decimal is None else []
    commas = [one.name for one in with_commas if one.holds == "words" and comma_numbers(one.words)]
    strays = [column for column in read if column.n_strays and column.name not in commas]
    numbers = {*commas, *(column.name for column in strays)}
    words = [column.name for column in used if column.holds == "words" and column.name not in numbers]
    dates = [column.name for column in used if column.holds == "dates"]
    missing = [column.name for column in read if column.n_missing]
    said = []
    if reading.target is None:
        said.append("name the target, the column of labels, by its name or number (-1: the last)")
    if words and reading.categorical is None:
        said.append(f"{listed(words)}: words; set `categorical` to one_hot or ordinal")
    if commas:
        said.append(f"{listed(commas)}: numbers with a decimal comma; set `decimal: ','`")
    said += [
        f"{column.name}: {nearly_numbers(column)}; correct them, or leave them empty" for column in strays
    ]
    if dates:
        said.append(f"{listed(dates)}: dates or times, which are no features; set {drop(dates)}")
    if missing and reading.missing is None:
        said.append(f"{listed(missing)}: missing cells; set `missing` to drop, mean or most_frequent")
    said += [
        f"{column.name}: a word of its own in most rows; set {drop([column.name])}"
        for column in used
        if names_rows(column, n_rows) and column.name not in numbers
    ]
    said += [
        f"{column.name}: {why}; set {drop([column.name])}"
        for column in used
        if (why := tells_nothing(column)) is not None
    ]
    said += [f"{column.name}: {alike}" for column in read if (alike := spelt_alike(column)) is not None]
    target = next((column.name for column in columns if column.role == "target"), None)
    said += [
        f"{column.name}: a word of its own in most rows, which are no classes"
        for column in read
        if column.name == target and names_rows(column, n_rows) and column.name not in numbers
    ]
    said += [
        f"{copy}: the same in every row as {'the target ' * (first == target)}{first}; set {drop([copy])}"
        for copy, first in copies_of(read, target)
    ]
    said += map(advice_unnamed, unnamed([column.name for column in used]))
    return said


def nearly_numbers(column: ColumnReport) -> str:
    """Say of a column of words with strays what it is."""
    shown = ", ".join(f"'{word}'" for word in column.strays)
    more = ", ..." * (sum(column.strays.values()) < column.n_strays)
    told = "1 cell is" if column.n_strays == 1 else f"{column.n_strays:,} cells are"
    return f"numbers, but {told} not written as such ({shown}{more})"


def names_rows(column: ColumnReport, n_rows: int) -> bool:
    """Tell whether most rows have a word of their own in a column, as the names of persons are."""
    return column.holds == "words" and column.n_distinct > max(OWN_WORDS, n_rows // 2)


def spelt_alike(column: ColumnReport) -> str | None:
    """Say which words of a column, of those a report lists, differ in case or in blanks around them only."""
    groups: dict[str, list[str]] = {}
    for word in column.words:
        groups.setdefault(word.strip().casefold(), []).append(f"'{word}'")
    alike = [listed(group) for group in groups.values() if len(group) > 1]
    told = f"{'; '.join(alike)} differ in case or blanks only, and count as different words"
    return told if alike else None


def tells_nothing(column: ColumnReport) -> str | None:
    """Return why nothing can be learnt from a column of one value, or of numbers that count the rows."""
    if column.holds in ("numbers", "words") and column.n_distinct == 1 and not column.n_missing:
        return "one value in all rows"
    return COUNTS_ROWS if column.counts_rows else None


def copies_of(columns: Sequence[ColumnReport], target: str | None) -> list[tuple[str, str]]:
    """Return each of these columns that is a copy, and of which: the target, else the first of its kind."""
    names = [column.name for column in columns]
    found = []
    for column in columns:
        alike = [name for name in names if name == column.name or name in column.copies]
        first = target if target in alike else alike[0]
        if first is not None and column.name != first:
            found.append((column.name, first))
    return found
