"""The cases of a claim: which cells it compares, and the number of each case; and the reference of each cell.

A claim has a case for every setting that its `for` selects, or with `across` one case over all of them. If
its selectors match maps of several sizes, each size is a case. If a selector lists values of another key,
each value is a case.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import exp, inf, log, sqrt
from statistics import fmean
from typing import Any

from kfeat.analysis.cells import Cell, by_setting, error_of, paired
from kfeat.analysis.names import SIZE, Names
from kfeat.analysis.statistics import (
    KNOWN,
    LEVEL,
    Interval,
    Summary,
    growth_exponent,
    ratio_interval,
    resolution,
    share_interval,
    spread_ratio_interval,
    welch_half_width,
)
from kfeat.errors import ConfigError
from kfeat.experiments.config import Experiment
from kfeat.experiments.paper import Claim
from kfeat.experiments.quantities import Quantity
from kfeat.experiments.row import Row
from kfeat.experiments.selectors import matches
from kfeat.parameters import did_you_mean
from kfeat.text import counted

_SETTING = ("dataset", "protocol", "kernel")


@dataclass(frozen=True, eq=False)
class Case:
    """One number of a claim: of one cell, of two that are compared, or of those along which it grows.

    `names` are those of all cells of the experiment. `one_of_several` says that the claim lists methods,
    which its name then has.
    """

    claim: Claim
    cells: Sequence[Cell]
    names: Names
    one_of_several: bool = False

    @cached_property
    def name(self) -> str:
        """Return the place and the size of its cells; few cases are named, and names take time."""
        if self.one_of_several:
            return " against ".join(map(self.names.of, self.cells))
        if self.claim.growth is not None:
            return "" if self.claim.across else self.names.place(self.cells[0])
        # The name of a comparison with the exact kernel SVM of the same setting has only the map's part.
        alone = len({cell.setting for cell in self.cells}) == 1
        named = [cell for cell in self.cells if cell.trial.map or not alone] or self.cells[:1]
        return " against ".join(dict.fromkeys(map(self.names.place_and_size, named)))

    @cached_property
    def number(self) -> float | None:
        """Return the mean, the difference or ratio of two, or the exponent; None if a cell lacks its own."""
        if self.claim.growth is not None:
            growth = self._growth(LEVEL)
            return growth and growth[0]
        summaries = [cell.at_least(self.claim.of) for cell in self.cells]
        known = [summary.mean for summary in summaries if summary is not None]
        if len(known) < len(summaries) or len(self._stopped) > 1:
            return None
        if self.claim.ratio:
            # A quantity of exactly 0 is a time too short for the clock; there is no ratio to it.
            return known[0] / known[1] if known[1] else None
        return self._against_printed(known[0] - sum(known[1:]))

    @cached_property
    def _stopped(self) -> list[int]:
        """Return the sides whose seconds are a lower bound, because trials were stopped."""
        name = self.claim.of
        return [i for i, cell in enumerate(self.cells) if cell.of(name) is None and cell.at_least(name)]

    @property
    def sign(self) -> str:
        """Return "> " or "< " where the number is a bound: the first or the second side was stopped."""
        return "" if self.number is None or not self._stopped else ("> ", "< ")[self._stopped[0]]

    def bounded(self, low: float, high: float) -> Interval:
        """Return an interval, without the end that a bound does not have."""
        if self.sign == "< ":
            low = 0.0 if self.claim.ratio else -inf
        return low, inf if self.sign == "> " else high

    def _against_printed(self, number: float) -> float:
        """Return the number minus that of `minus`, or over that of `over`."""
        claim = self.claim
        return number - claim.minus[0] if claim.minus else number / claim.over[0] if claim.over else number

    def _growth(self, level: float) -> tuple[float, Interval | None] | None:
        places = [_coordinate(self.claim.against, cell) for cell in self.cells]
        if None in places:
            return None
        points = [(float(x), cell.mean(self.claim.of)) for x, cell in zip(places, self.cells, strict=True)]
        return growth_exponent(points, level, [error_of(cell, self.claim.of) for cell in self.cells])

    @property
    def interval(self) -> Interval | None:
        """Return the 95 % interval."""
        return self.interval_at(LEVEL)

    def interval_at(self, level: float) -> Interval | None:
        """Return the interval at a level of confidence; None if the error is not known."""
        if level not in self._intervals:
            ends = self._interval(level)
            self._intervals[level] = ends and self.bounded(*map(self._against_printed, ends))
        return self._intervals[level]

    @cached_property
    def _intervals(self) -> dict[float, Interval | None]:
        return {}

    def _interval(self, level: float) -> Interval | None:
        """Return the interval before `minus` or `over`: of one mean, or of a difference or a ratio of two.

        That of spreads is the F interval. That of a share uses the draws of all repeats.
        """
        claim, quantity = self.claim, self.cells[0].named(self.claim.of)
        if claim.growth is not None:
            growth = self._growth(level)
            return growth and growth[1]
        if len(self.cells) == 1 and quantity.draws:
            return _of_share(quantity, self.cells[0].rows, level)
        if claim.of == "spread" and claim.ratio:
            ours, theirs = (cell.score for cell in self.cells)
            return spread_ratio_interval(ours, theirs, level) if ours and theirs else None
        return interval_of(self.cells, claim.of, bool(claim.ratio), level)

    def lack(self) -> str:
        """Return why there is no number."""
        if without := [cell for cell in self.cells if not cell.rows]:
            return "stopped at the time limit" if all(cell.stopped for cell in without) else "no rows"
        if self.claim.of == "spread":
            return "no two runs"
        timed = self.cells and self.cells[0].named(self.claim.of).timed
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
    concerned = [cell for cell in cells if _concerns(claim.cell, cell)]
    groups = [concerned] if claim.across and concerned else by_setting(concerned)
    form: Callable[[Claim, Sequence[Cell], Names], list[Case]]
    form = _growths if claim.growth is not None else _values if claim.value is not None else _pairs
    single_claims, names = _single_claims(claim), Names(cells)
    all_cases = [case for group in groups for single in single_claims for case in form(single, group, names)]
    printed = "minus" if claim.minus else "over" if claim.over else ""
    if printed and len({id(case.claim) for case in all_cases}) < len(single_claims):
        raise _wrong(claim, f"no planned cell for one of the numbers of {printed}")
    if len(single_claims) > 1:
        all_cases = [replace(case, one_of_several=True) for case in all_cases]
    if not all_cases:
        raise _wrong(claim, "no planned cells give a case of it")
    return all_cases


def _single_claims(claim: Claim) -> list[Claim]:
    """Return the claim for each combination of the values that its selectors list, with its printed number.

    Sizes that are listed are such values only with `minus` or `over`; else each size is a case anyway.
    """
    printed = {"minus": claim.minus} if claim.minus else {"over": claim.over} if claim.over else {}
    # Two selectors that list the same values of a key take the same one in each claim: the key of `listed`
    # has both. `difference: [{map: [a, b], solver: x}, {map: [a, b], solver: y}]` has two claims, not four.
    sides = claim.difference or claim.ratio or ([claim.value] if claim.value is not None else [])
    listed = {
        f"{key} {values}": values
        for side in sides
        for key, values in side.items()
        if isinstance(values, list) and (key != SIZE or printed)
    }
    combinations = list(product(*listed.values()))
    for key, numbers in printed.items():
        if len(numbers) != len(combinations):
            raise _wrong(
                claim,
                f"{key} has {counted(len(numbers), 'numbers')} for {counted(len(combinations), 'cases')}",
            )
    claims = []
    for i, values in enumerate(combinations):
        chosen = dict(zip(listed, values, strict=True))
        single = [{key: chosen.get(f"{key} {value}", value) for key, value in side.items()} for side in sides]
        changes: dict[str, Any] = {key: numbers[i : i + 1] for key, numbers in printed.items()}
        if claim.value is not None:
            changes["value"] = single[0]
        elif sides:
            changes["difference" if claim.difference else "ratio"] = single
        claims.append(claim.model_copy(update=changes))
    return claims


def _wrong(claim: Claim, problem: str) -> ConfigError:
    return ConfigError(f"claims: '{claim.text}' ({claim.where}): {problem}")


def _check_values(claim: Claim, selector: Mapping[str, Any], cells: Sequence[Cell]) -> None:
    for key, wanted, _ in _unknown_values(selector, cells):
        raise _wrong(claim, f"no planned cell has {key}: {wanted!r}; `kfeat plan` shows the cells")


def _unknown_values(selector: Mapping[str, Any], cells: Sequence[Cell]) -> list[tuple[str, Any, list[Any]]]:
    """Return the keys and values that no planned cell has, probably typing errors, and the known values."""
    flats, unknown = [cell.trial.describe() for cell in cells], []
    for key, value in selector.items():
        known = [flat[key] for flat in flats if key in flat]
        several = isinstance(value, list) and value not in known
        unknown += [(key, wanted, known) for wanted in (value if several else [value]) if wanted not in known]
    return unknown


def references(experiment: Experiment, cells: Sequence[Cell]) -> dict[Cell, Cell]:
    """Return the reference of each cell that has one in its setting: of its size and solver, or the only one.

    A reference is its own. Raises ConfigError if no planned cell is one, unless the command line changed the
    plan.
    """
    selector = experiment.reference
    chosen = [cell for cell in cells if selector and matches(selector, cell.trial)]
    if selector and not chosen and not experiment.changed:
        problem = "all of these values"
        for key, value, known in _unknown_values(selector, cells):
            problem = f"{key}: {value}{did_you_mean(str(value), [*map(str, known)])}"
        problem = f"reference: no method of the plan has {problem}; `kfeat plan` shows the methods"
        raise ConfigError(f"{experiment.path}: {problem}")
    return {cell: reference for cell in cells if (reference := _reference(cell, chosen))}


def _reference(cell: Cell, chosen: Sequence[Cell]) -> Cell | None:
    if cell in chosen:
        return cell
    place = cell.setting[:2], cell.trial.measure
    near = [other for other in chosen if (other.setting[:2], other.trial.measure) == place]
    # A baseline runs once for all kernels.
    alike = [other for other in near if other.trial.baseline or other.setting == cell.setting]
    alike = [other for other in alike if other.D == cell.D] or alike
    alike = [other for other in alike if other.trial.solver == cell.trial.solver] or alike
    return alike[0] if len(alike) == 1 else None


def _concerns(selector: Mapping[str, Any], cell: Cell) -> bool:
    """Return whether `for` selects a cell; keys of a map do not exclude the exact kernel SVM."""
    flat = cell.trial.describe()
    binding = {k: v for k, v in selector.items() if k in flat or k.partition(".")[0] in _SETTING}
    return matches(binding, cell.trial)


def _select(selector: Mapping[str, Any], claim: Claim, group: Sequence[Cell], names: Names) -> list[Cell]:
    """Return the cells of a group that a selector matches; raises ConfigError for several with `across`."""
    selected = [cell for cell in group if matches(selector, cell.trial)]
    if claim.across and len(selected) > 1:
        matched = "', '".join(map(names.of, selected))
        raise _wrong(claim, f"ambiguous: with `across` a selector matches one cell, this one '{matched}'")
    return selected


def _by(key: str, claim: Claim, cells: Sequence[Cell], names: Names) -> dict[Any, Cell]:
    """Return the cells by their value of `key`; raises ConfigError if two have the same."""
    by_value: dict[Any, Cell] = {}
    for cell in cells:
        value = _coordinate(key, cell)
        if value is not None or key == SIZE:
            other = by_value.setdefault(value, cell)
            if other is not cell:
                both = f"'{names.of(other)}' and '{names.of(cell)}'"
                raise _wrong(claim, f"ambiguous: {both} match the same selector; name what differs")
    return by_value


def _coordinate(key: str, cell: Cell) -> Any:
    if key == "n_features":
        return cell.rows[0]["n_features"] if cell.rows else None
    return cell.trial.describe().get(key)


def _values(claim: Claim, group: Sequence[Cell], names: Names) -> list[Case]:
    assert claim.value is not None
    selected = _select(claim.value, claim, group, names)
    return [Case(claim, [cell], names) for cell in _by(SIZE, claim, selected, names).values()]


def _pairs(claim: Claim, group: Sequence[Cell], names: Names) -> list[Case]:
    """Pair both sides by size; an exact kernel SVM, or a single given size, is paired with every size."""
    selectors = claim.difference or claim.ratio or []
    sides = [_select(selector, claim, group, names) for selector in selectors]
    a, b = (_by(SIZE, claim, side, names) for side in sides)
    single = [
        len(side) == 1 and (None in side or SIZE in selector)
        for side, selector in zip((a, b), selectors, strict=True)
    ]
    if claim.across or any(single):
        pairs = list(product(a.values(), b.values()))
    else:
        pairs = [(a[size], b[size]) for size in a if size in b]
    for cell, other in pairs:
        if cell is other:
            raise _wrong(claim, f"compares '{names.of(cell)}' with itself; name what differs")
    return [Case(claim, pair, names) for pair in pairs]


def _growths(claim: Claim, group: Sequence[Cell], names: Names) -> list[Case]:
    """Return the exponent over the group's cells, if at least two are planned."""
    selected = [cell for cell in group if matches(claim.growth or {}, cell.trial)]
    if claim.against != "n_features":
        selected = [cell for cell in selected if _coordinate(claim.against, cell) is not None]
    if len(selected) < 2:
        return []
    by_value = _by(claim.against, claim, selected, names)
    if wrong := [x for x in by_value if isinstance(x, bool) or not isinstance(x, int | float) or x <= 0]:
        raise _wrong(claim, f"against {claim.against}: expected positive numbers, got {wrong[0]!r}")
    return [Case(claim, selected, names)]


def _of_share(share: Quantity, rows: Sequence[Row], level: float) -> Interval | None:
    """Return the interval of a share in per cent from the draws of all rows; None without any."""
    assert share.draws is not None
    counts = [(share.read(row), share.draws(row)) for row in rows]
    known = [(percent * n / 100, n) for percent, n in counts if percent is not None and n is not None]
    if not known:
        return None
    hits, draws = map(sum, zip(*known, strict=True))
    low, high = share_interval(round(hits), draws, level)
    return 100 * low, 100 * high


def interval_of(cells: Sequence[Cell], name: str, ratio: bool, level: float) -> Interval | None:
    """Return the interval of a mean, or of a difference or ratio of two: of pairs, else Welch's."""
    if len(cells) == 2 and (pairs := paired(cells[0], cells[1], name)):
        a, b = (sorted(row.get("predictions") or "" for row in cell.rows) for cell in cells)
        tie = 0.0 if a == b else resolution(cells[0].named(name), cells[0].rows)
        return _of_pairs(pairs, ratio, level, tie)
    means = [summary.mean for cell in cells if (summary := cell.at_least(name)) is not None]
    errors = [error for cell in cells if (error := error_of(cell, name)) is not None]
    if len(errors) < len(cells) or len(means) < len(cells):
        return None
    if ratio:
        return ratio_interval(means[0], errors[0], means[1], errors[1], level)
    other = errors[1] if len(errors) > 1 else KNOWN
    number, half = means[0] - sum(means[1:]), welch_half_width(errors[0], other, level)
    return number - half, number + half


def _of_pairs(
    pairs: Sequence[tuple[float, float]], ratio: bool, level: float, tie: float = 0.0
) -> Interval | None:
    """Return Student's interval of the mean difference of pairs, or of the ratio of the means.

    `tie` is the standard deviation of their rounding, which is used if all differences are equal.
    """
    a, b = (fmean(side) for side in zip(*pairs, strict=True))
    if ratio and min(min(pair) for pair in pairs) <= 0:
        return None
    change = Summary.of([log(x / y) if ratio else x - y for x, y in pairs])
    deviation = change.sd or (tie / min(a, b) if ratio else tie)
    half = welch_half_width((deviation / sqrt(change.n), change.n - 1), level=level)
    return (a / b * exp(-half), a / b * exp(half)) if ratio else (a - b - half, a - b + half)
