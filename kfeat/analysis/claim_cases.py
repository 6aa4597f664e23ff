"""The cases of a claim: which cells it compares, and the number of each case.

A claim has a case for every setting that its `for` selects, or with `across` one case over all of them. If
its selectors match maps of several sizes, each size is a case. If a selector lists values of another key,
each value is a case.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from itertools import product
from math import exp, log, sqrt
from statistics import fmean
from typing import Any

from kfeat.analysis.cells import Cell
from kfeat.analysis.certainty import error_of, paired, resolution
from kfeat.analysis.names import SIZE, cell_name, place, place_and_size
from kfeat.analysis.statistics import (
    KNOWN,
    LEVEL,
    Interval,
    Summary,
    growth_exponent,
    ratio_interval,
    share_interval,
    spread_ratio_interval,
    welch_half_width,
)
from kfeat.errors import ConfigError
from kfeat.experiments.paper import Claim
from kfeat.experiments.quantities import Quantity
from kfeat.experiments.row import Row
from kfeat.experiments.selectors import matches

_SETTING = ("dataset", "protocol", "kernel")


@dataclass(frozen=True)
class Case:
    """One number of a claim, None if a cell that it needs has none.

    `naming` returns its name; `interval_at` its interval at a level of confidence, or None if its error is
    not known.
    """

    naming: Callable[[], str]
    cells: Sequence[Cell]
    number: float | None
    interval_at: Callable[[float], Interval | None] = lambda level: None

    @cached_property
    def name(self) -> str:
        """Return the place and the size of its cells; few cases are named, and names take time."""
        return self.naming()

    @property
    def interval(self) -> Interval | None:
        """Return the 95 % interval."""
        return self.interval_at(LEVEL)

    def lack(self, of: str) -> str:
        """Return why there is no number of this quantity."""
        if without := [cell for cell in self.cells if not cell.rows]:
            return "stopped at the time limit" if all(cell.stopped for cell in without) else "no rows"
        if of == "spread":
            return "no two runs"
        timed = self.cells and self.cells[0].named(of).timed
        if timed and any(cell.stopped for cell in self.cells):
            return "stopped at the time limit"
        return "no times that count" if timed else "rows without this quantity"


def cases(claim: Claim, cells: Sequence[Cell]) -> list[Case]:
    """Return the cases of a claim over the planned cells, in their order.

    Raises ConfigError if no planned cell has a value that the claim names, if the claim is ambiguous, or
    if it has no case.
    """
    sides = claim.difference or claim.ratio or [claim.value or claim.growth or {}]
    for selector in (claim.cell, *sides):
        _check_values(claim, selector, cells)
    groups: dict[Any, list[Cell]] = {}
    for cell in cells:
        if _concerns(claim.cell, cell):
            groups.setdefault(None if claim.across else cell.setting, []).append(cell)
    form: Callable[[Claim, Sequence[Cell], Sequence[Cell]], list[Case]]
    form = _growths if claim.growth is not None else _values if claim.value is not None else _pairs
    each = _each(claim)
    found = [case for group in groups.values() for one in each for case in form(one, group, cells)]
    if len(each) > 1:  # their places and sizes may be the same
        found = [replace(case, naming=partial(_full_name, case.cells, cells)) for case in found]
    if not found:
        raise _wrong(claim, "no planned cells give a case of it")
    return found


def _each(claim: Claim) -> list[Claim]:
    """Return the claim for each combination of the values that its selectors list, with its own `minus`.

    Sizes that are listed are such values only with `minus`; else each size is a case anyway.
    """
    sides = claim.difference or claim.ratio or ([claim.value] if claim.value is not None else [])
    listed = {
        f"{key} {values}": values
        for side in sides
        for key, values in side.items()
        if isinstance(values, list) and (key != SIZE or claim.minus)
    }
    combinations = list(product(*listed.values()))
    if claim.minus and len(claim.minus) != len(combinations):
        raise _wrong(claim, f"minus has {len(claim.minus)} numbers for {len(combinations)} cases")
    found = []
    for i, values in enumerate(combinations):
        chosen = dict(zip(listed, values, strict=True))
        of = [{key: chosen.get(f"{key} {value}", value) for key, value in side.items()} for side in sides]
        changes: dict[str, Any] = {"minus": claim.minus[i : i + 1]} if claim.minus else {}
        if claim.value is not None:
            changes["value"] = of[0]
        elif sides:
            changes["difference" if claim.difference else "ratio"] = of
        found.append(claim.model_copy(update=changes))
    return found


def _full_name(of: Sequence[Cell], cells: Sequence[Cell]) -> str:
    return " against ".join(cell_name(cell, cells) for cell in of)


def _wrong(claim: Claim, problem: str) -> ConfigError:
    return ConfigError(f"claims: '{claim.text}' ({claim.where}): {problem}")


def _check_values(claim: Claim, selector: Mapping[str, Any], cells: Sequence[Cell]) -> None:
    """Raise ConfigError for a key or value that no planned cell has; it is probably a typing error."""
    flats = [cell.trial.describe() for cell in cells]
    for key, value in selector.items():
        known = [flat[key] for flat in flats if key in flat]
        several = isinstance(value, list) and value not in known
        for item in value if several else [value]:
            if item not in known:
                raise _wrong(claim, f"no planned cell has {key}: {item!r}; `kfeat plan` shows the cells")


def _concerns(selector: Mapping[str, Any], cell: Cell) -> bool:
    """Return whether `for` selects a cell; keys of a map do not exclude the exact kernel SVM."""
    flat = cell.trial.describe()
    binding = {k: v for k, v in selector.items() if k in flat or k.partition(".")[0] in _SETTING}
    return matches(binding, cell.trial)


def _select(selector: Mapping[str, Any], group: Sequence[Cell]) -> list[Cell]:
    return [cell for cell in group if matches(selector, cell.trial)]


def _by(key: str, claim: Claim, found: Sequence[Cell], cells: Sequence[Cell]) -> dict[Any, Cell]:
    """Return the cells by their value of `key`; raises ConfigError if two have the same."""
    by_value: dict[Any, Cell] = {}
    for cell in found:
        value = _coordinate(key, cell)
        if value is not None or key == SIZE:
            other = by_value.setdefault(value, cell)
            if other is not cell:
                names = f"{cell_name(other, cells)}' and '{cell_name(cell, cells)}"
                raise _wrong(claim, f"ambiguous: '{names}' match the same selector; name what differs")
    return by_value


def _coordinate(key: str, cell: Cell) -> Any:
    if key == "n_features":
        return cell.rows[0]["n_features"] if cell.rows else None
    return cell.trial.describe().get(key)


def _values(claim: Claim, group: Sequence[Cell], cells: Sequence[Cell]) -> list[Case]:
    assert claim.value is not None
    found = _select(claim.value, group)
    _only_one_across(claim, found, cells)
    less = claim.minus[0] if claim.minus else 0.0
    return [
        Case(
            partial(place_and_size, cell, cells),
            [cell],
            None if (mean := cell.mean(claim.of)) is None else mean - less,
            cache(partial(_interval_less, claim, cell, less)),
        )
        for cell in _by(SIZE, claim, found, cells).values()
    ]


def _interval_less(claim: Claim, cell: Cell, less: float, level: float) -> Interval | None:
    interval = _interval(claim, [cell], level)
    return interval and (interval[0] - less, interval[1] - less)


def _only_one_across(claim: Claim, found: Sequence[Cell], cells: Sequence[Cell]) -> None:
    if claim.across and len(found) > 1:
        names = "', '".join(cell_name(cell, cells) for cell in found)
        raise _wrong(claim, f"ambiguous: with `across` a selector matches one cell, this one '{names}'")


def _pairs(claim: Claim, group: Sequence[Cell], cells: Sequence[Cell]) -> list[Case]:
    """Pair both sides by size; an exact kernel SVM, or a single given size, is paired with every size."""
    selectors = claim.difference or claim.ratio or []
    sides = [_select(selector, group) for selector in selectors]
    for side in sides:
        _only_one_across(claim, side, cells)
    a, b = (_by(SIZE, claim, side, cells) for side in sides)
    single = [
        len(side) == 1 and (None in side or SIZE in selector)
        for side, selector in zip((a, b), selectors, strict=True)
    ]
    if claim.across or any(single):
        pairs = list(product(a.values(), b.values()))
    else:
        pairs = [(a[size], b[size]) for size in a if size in b]
    return [_pair(claim, one, other, cells) for one, other in pairs]


def _pair(claim: Claim, a: Cell, b: Cell, cells: Sequence[Cell]) -> Case:
    if a is b:
        raise _wrong(claim, f"compares '{cell_name(a, cells)}' with itself; name what differs")
    of_a, of_b = a.mean(claim.of), b.mean(claim.of)
    number = None
    if of_a is not None and of_b is not None:
        # A quantity of exactly 0 is a time too short for the clock; there is no ratio to it.
        number = of_a - of_b if claim.difference else of_a / of_b if of_b else None

    def name() -> str:
        # The name of a comparison with the exact kernel SVM of the same setting has only the map's part.
        named = [cell for cell in (a, b) if cell.trial.map or a.setting != b.setting] or [a]
        return " against ".join(dict.fromkeys(place_and_size(cell, cells) for cell in named))

    return Case(name, [a, b], number, cache(partial(_interval, claim, [a, b])))


def _interval(claim: Claim, side: Sequence[Cell], level: float) -> Interval | None:
    """Return the interval of one mean, or of a difference or a ratio of two; for spreads the F interval.

    The interval of a share uses the draws of all repeats.
    """
    if len(side) == 1 and side[0].named(claim.of).draws:
        return _of_share(side[0].named(claim.of), side[0].rows, level)
    found, errors = [cell.of(claim.of) for cell in side], [error_of(cell, claim.of) for cell in side]
    if claim.of == "spread" and claim.ratio:
        a, b = (cell.score for cell in side)
        return spread_ratio_interval(a, b, level) if a and b else None
    if len(side) == 2 and (pairs := paired(side[0], side[1], claim.of)):
        tie = 0.0 if _predict_alike(*side) else resolution(side[0].named(claim.of), side[0].rows)
        return _of_pairs(pairs, bool(claim.ratio), level, tie)
    means = [one.mean for one in found if one is not None]
    known = [error for error in errors if error is not None]
    if len(known) < len(side) or len(means) < len(side):
        return None
    if claim.ratio:
        return ratio_interval(means[0], known[0], means[1], known[1], level)
    other = known[1] if len(known) > 1 else KNOWN
    number, half = means[0] - sum(means[1:]), welch_half_width(known[0], other, level)
    return number - half, number + half


def _of_share(share: Quantity, rows: Sequence[Row], level: float) -> Interval | None:
    """Return the interval of a share in per cent from the draws of all rows; None without any."""
    assert share.draws is not None
    counts = [(share.read(row), share.draws(row)) for row in rows]
    known = [(found * n / 100, n) for found, n in counts if found is not None and n is not None]
    if not known:
        return None
    hits, draws = (sum(each) for each in zip(*known, strict=True))
    low, high = share_interval(round(hits), draws, level)
    return 100 * low, 100 * high


def _predict_alike(a: Cell, b: Cell) -> bool:
    """Return whether the trials of a and b have the same predictions."""
    ours, theirs = (sorted(row.get("predictions") or "" for row in cell.rows) for cell in (a, b))
    return ours == theirs


def _of_pairs(
    pairs: Sequence[tuple[float, float]], ratio: bool, level: float, tie: float = 0.0
) -> Interval | None:
    """Return Student's interval of the mean difference of pairs, or of the ratio of the means.

    `tie` is the standard deviation of their rounding, which is used if all differences are equal.
    """
    a, b = (fmean(side) for side in zip(*pairs, strict=True))
    if ratio and min(min(pair) for pair in pairs) <= 0:
        return None
    found = Summary.of([log(x / y) if ratio else x - y for x, y in pairs])
    deviation = found.sd or (tie / min(a, b) if ratio else tie)
    half = welch_half_width((deviation / sqrt(found.n), found.n - 1), level=level)
    return (a / b * exp(-half), a / b * exp(half)) if ratio else (a - b - half, a - b + half)


def _growths(claim: Claim, group: Sequence[Cell], cells: Sequence[Cell]) -> list[Case]:
    """Return the exponent over the group's cells, if at least two are planned."""
    assert claim.growth is not None
    found = _select(claim.growth, group)
    if claim.against != "n_features":
        found = [cell for cell in found if _coordinate(claim.against, cell) is not None]
    if len(found) < 2:
        return []
    by_value = _by(claim.against, claim, found, cells)
    if wrong := [x for x in by_value if isinstance(x, bool) or not isinstance(x, int | float) or x <= 0]:
        raise _wrong(claim, f"against {claim.against}: expected positive numbers, got {wrong[0]!r}")
    points = [(float(x), cell.mean(claim.of)) for x, cell in by_value.items()]
    errors = [error_of(cell, claim.of) for cell in by_value.values()]

    def name() -> str:
        return "" if claim.across else place(found[0], cells)

    fitted = growth_exponent(points) if len(points) == len(found) else None
    if fitted is None:
        return [Case(name, found, None)]

    @cache
    def interval_at(level: float) -> Interval | None:
        again = growth_exponent(points, level, errors)
        return again[1] if again else None

    return [Case(name, found, fitted[0], interval_at)]
