"""Verdicts on claims: sentences of the paper, as assertions over cells.

*reproduced*: the direction holds, and the size where one is given. *holds in direction, not in size*: the
number is on the right side of the bound, outside the interval that counts as what the paper says. *not
reproduced*: the direction does not hold, which the config has to explain. *missing*: what is there does not
decide it, since a cell has no rows, no two of which to tell a spread, or no times that count; or since the
direction fails by no more than chance: the bound is inside the 95 % interval, or single draws have none. A
case decides as soon as it can: one that fails refutes "in all cases" though others are missing, as one that
holds settles "in any".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf

from kfeat.analysis.cells import Cell
from kfeat.analysis.claim_cases import Case, cases
from kfeat.errors import ConfigError
from kfeat.experiments.load import Experiment
from kfeat.experiments.schema import Claim

REPRODUCED = "reproduced"
DIRECTION_ONLY = "holds in direction, not in size"
EXPLAINED = "not reproduced, explained"
UNEXPLAINED = "not reproduced, unexplained"
MISSING = "missing"


@dataclass(frozen=True)
class Judged:
    """A claim, its cases, and what follows."""

    claim: Claim
    cases: Sequence[Case]

    @property
    def known(self) -> list[Case]:
        """Return the cases that have a number, the least favourable first."""
        return sorted((case for case in self.cases if case.number is not None), key=self._margin)

    @property
    def holding(self) -> list[Case]:
        """Return the cases in which the direction holds."""
        return [case for case in self.known if self._margin(case) > 0]

    @property
    def decisive(self) -> Case | None:
        """Return the least favourable case, or the most favourable where any suffices."""
        known = self.known
        return known[0 if self.claim.cases == "all" else -1] if known else None

    @cached_property
    def verdict(self) -> str:
        """Return one of the five verdicts."""
        complete = len(self.known) == len(self.cases) > 0
        if self.claim.cases == "all":
            failing = [case for case in self.known if case not in self.holding]
            refuted, beyond, settled = bool(failing), any(map(self._beyond_chance, failing)), complete
        else:
            # The size is that of the most favourable case, which only all of them can tell.
            refuted, beyond = complete and not self.holding, all(map(self._beyond_chance, self.known))
            settled = bool(self.holding) and (complete or self.claim.size is None)
        if refuted and self.claim.explanation:
            return EXPLAINED
        if refuted and beyond:
            return UNEXPLAINED
        if refuted or not settled:
            return MISSING
        return REPRODUCED if self._size_holds() else DIRECTION_ONLY

    def _noise(self, case: Case) -> bool:
        """Tell whether the case's 95 % interval has the bound inside."""
        bounds = [bound for bound in (self.claim.above, self.claim.below) if bound is not None]
        low, high = case.interval or (inf, -inf)
        return any(low <= bound <= high for bound in bounds)

    def _single(self, case: Case) -> bool:
        """Tell whether the case is of scores that could have an interval, but for single draws."""
        return (
            case.interval is None
            and case.cells[0].named(self.claim.of).score
            and not (self.claim.ratio or self.claim.growth)
        )

    def _beyond_chance(self, case: Case) -> bool:
        return not (self._noise(case) or self._single(case))

    def _margin(self, case: Case) -> float:
        """Return how far the number is on the right side of the nearer bound."""
        above, below, number = self.claim.above, self.claim.below, case.number
        assert number is not None
        margins = [] if above is None else [number - above]
        return min([*margins, below - number] if below is not None else margins)

    def _size_holds(self) -> bool:
        judged = self.known if self.claim.cases == "all" else self.known[-1:]
        low, high = self.claim.size or (None, None)
        numbers = [case.number for case in judged if case.number is not None]
        return all((low is None or x >= low) and (high is None or x <= high) for x in numbers)

    @property
    def ours(self) -> str:
        """Return our number: that of the decisive case, with the range and the count where there are more."""
        lacking = [case for case in self.cases if case.number is None]
        why = lacking[0].lack(self.claim.of) if lacking else ""
        lack = f"{len(lacking)} of {len(self.cases)} missing: {why}" if lacking else ""
        case = self.decisive
        if case is None or case.number is None:
            return lack
        text = self._text(case.number, case)
        if case.interval is not None:
            text += f" [{self._text(case.interval[0], case)}, {self._text(case.interval[1], case)}]"
        text += " within noise" if self._noise(case) else " of single draws" if self._single(case) else ""
        if len(self.cases) > 1:
            which = "least" if self.claim.cases == "all" else "most"
            text = f"{len(self.holding)} of {len(self.known)} hold; {which} favourable: {case.name}: {text}"
            text += f"; all: {self._range(case)}" if len(self.known) > 1 else ""
        return f"{text}; {lack}" if lack else text

    @property
    def paper(self) -> str:
        """Return the paper's words, or else the size or the bound of the claim."""
        claim = self.claim
        low, high = claim.size or (claim.above, claim.below)
        if claim.printed or low is None or high is None:
            return claim.printed or (f"> {low:g}" if high is None else f"< {high:g}")
        return f"{low:g} to {high:g}"

    def _range(self, like: Case) -> str:
        numbers = [case.number for case in self.known if case.number is not None]
        return f"{self._text(min(numbers), like)} to {self._text(max(numbers), like)}"

    def _text(self, number: float, case: Case) -> str:
        """Return the number with its unit: a factor, an exponent, a score, seconds or features."""
        claim = self.claim
        if claim.growth is not None:
            return _short(number)
        if claim.ratio is not None:
            return f"{_short(number)}×"
        quantity = next((cell for cell in case.cells if cell.rows), case.cells[0]).named(claim.of)
        if quantity.score:
            return quantity.change(number) if claim.difference else quantity.text(number)
        sign = "+" if claim.difference and number > 0 else ""
        return f"{sign}{_short(number)} {quantity.unit}".rstrip()


def _short(number: float) -> str:
    return f"{number:.0f}" if abs(number) >= 100 else f"{number:.3g}"


def judge(experiment: Experiment, cells: Sequence[Cell]) -> list[Judged]:
    """Return the experiment's claims with their verdicts.

    Raises ConfigError for a claim that is ambiguous or speaks of nothing in the plan; where the command
    line changed the plan, that claim is left out.
    """
    found = []
    for claim in experiment.claims:
        try:
            found.append(Judged(claim, cases(claim, cells)))
        except ConfigError:
            if not experiment.changed:
                raise
    return found
