"""Verdicts on claims: sentences of the paper as assertions about cells.

A case *holds* or *fails* if its bound is outside its 95 % interval; if the bound is inside, the case is open.
A case without an error is decided by its number, but a single random run of a quantity with a better
direction, such as a score, is open. "In all cases" fails if one case fails; "in any" holds if one case holds.
With m cases, the interval of that one case has the level 1 - 0.05 / m (Bonferroni). If a time was stopped at
its limit, the number is a bound, and the interval has no end beyond it: a size of two ends stays open.

*reproduced*: the direction holds, and so does the size if one is given. *holds in direction, not in size*:
the number is outside the interval of the paper's size. *open*: the rows do not decide it. *not reproduced*:
the direction fails; *explained* if the config explains it and every claim that it cites is reproduced on its
rows, else *not explained*. A claim of kfeat's own is *refuted* instead. *missing*: a cell that it needs has
no rows, or no times that count.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, isfinite
from operator import itemgetter

from kfeat.analysis.cells import Cell
from kfeat.analysis.claim_cases import Case, cases
from kfeat.analysis.names import Names
from kfeat.analysis.statistics import LEVEL
from kfeat.errors import ConfigError
from kfeat.experiments.config import Experiment
from kfeat.experiments.paper import Citation, Claim, Explainable
from kfeat.text import counted

REPRODUCED = "reproduced"
DIRECTION_ONLY = "holds in direction, not in size"
OPEN = "open"
EXPLAINED = "not reproduced, explained"
UNEXPLAINED = "not reproduced, not explained"
REFUTED = "refuted"
MISSING = "missing"
# From the best to the worst, in the order of tallies.
VERDICTS = (REPRODUCED, DIRECTION_ONLY, OPEN, REFUTED, EXPLAINED, UNEXPLAINED, MISSING)


@dataclass(frozen=True)
class Cited:
    """A claim that an explanation cites, and its verdict there."""

    citation: Citation
    verdict: str


LookUp = Callable[[Citation], Cited]


def explains(entry: Explainable, cited: Sequence[Cited]) -> bool:
    """Return whether an explanation counts: it cites claims, and all of them are reproduced on their rows."""
    return bool(entry.explanation and cited) and all(claim.verdict == REPRODUCED for claim in cited)


@dataclass(frozen=True)
class ClaimVerdict:
    """A claim with its cases and verdict."""

    claim: Claim
    cases: Sequence[Case]
    cited: Sequence[Cited] = field(default=())

    @cached_property
    def known(self) -> list[Case]:
        """Return the cases that have a number, least favourable first: failing, then open, then holding."""

        def favour(case: Case) -> tuple[int, float]:
            return (False, None, True).index(self._stands(case)), self._margin(case)

        return sorted((case for case in self.cases if case.number is not None), key=favour)

    @property
    def undecided(self) -> list[tuple[Case, float]]:
        """Return the cases that would decide an open claim, each with the ratio h / d of its interval.

        d is the distance of its number from the nearer bound, and h the half-width of its interval on that
        side; more runs make h smaller, but not that of a fit to more than two sizes. It is the case of the
        smallest ratio among those that decide the claim alone, or else all that are open.
        """
        holding = self.claim.cases == "any"  # one case that holds decides "any", one that fails "all"
        deciding = [case for case in self.known if (self._margin(case) > 0) is holding]
        ratios = [(case, self._ratio(case, self._level)) for case in deciding]
        if any(ratio < inf for _, ratio in ratios):
            return [min(ratios, key=itemgetter(1))]
        return [(case, self._ratio(case, LEVEL)) for case in self.known if self._stands(case) is None]

    def _ratio(self, case: Case, level: float) -> float:
        interval, number = case.interval_at(level), case.number
        of_fit = self.claim.growth is not None and len(case.cells) > 4  # more than two in its upper half
        if interval is None or number is None or of_fit:
            return inf
        bounds = [bound for bound in (self.claim.above, self.claim.below) if bound is not None]
        bound = min(bounds, key=lambda bound: abs(number - bound))
        half = number - interval[0] if number > bound else interval[1] - number
        return half / abs(number - bound) if number != bound else inf

    @property
    def decisive(self) -> Case | None:
        """Return the least favourable case, or the most favourable one if any case suffices."""
        known = self.known
        return known[0 if self.claim.cases == "all" else -1] if known else None

    @cached_property
    def verdict(self) -> str:
        """Return one of the VERDICTS."""
        direction = self._direction
        if direction == "fails" and self.claim.kind == "own":
            return REFUTED
        if direction == "fails":
            return EXPLAINED if explains(self.claim, self.cited) else UNEXPLAINED
        if direction != "holds":
            return direction
        return {True: REPRODUCED, False: DIRECTION_ONLY, None: OPEN}[self._size_holds()]

    @property
    def correction(self) -> str:
        """Return what leaves a claim open that only the correction for several cases leaves open; else ""."""
        decides = self.claim.cases == "any"  # one case that holds decides "any", one that fails "all"
        n = sum(self._stands(case) is decides for case in self.known)
        if self.verdict != OPEN or self._direction != OPEN or not n:
            return ""
        if decides and self._size_holds() is None:  # without the correction the size would leave it open
            return ""
        verb = ("holds" if n == 1 else "hold") if decides else ("fails" if n == 1 else "fail")
        return (
            f"Open because of the correction for {counted(len(self.cases), 'cases')}: {n} {verb} by the "
            f"{100 * LEVEL:g} % interval, but none by the {100 * self._level:.4g} % interval that decides"
        )

    @property
    def _level(self) -> float:
        """Return the level of the interval of a case that decides the claim alone (Bonferroni)."""
        return 1 - (1 - LEVEL) / max(1, len(self.cases))

    @property
    def _direction(self) -> str:
        """Return holds, fails, open or missing."""
        complete = len(self.known) == len(self.cases) > 0
        if self.claim.cases == "all":
            if any(self._stands(case, self._level) is False for case in self.known):
                return "fails"
            settled = complete and all(self._stands(case) for case in self.known)
        else:
            if complete and all(self._stands(case) is False for case in self.known):
                return "fails"
            # The size is that of the most favourable case, which is known only if no case is missing.
            sized = complete or self.claim.size is None
            settled = sized and any(self._stands(case, self._level) is True for case in self.known)
        return "holds" if settled else OPEN if complete else MISSING

    def _stands(self, case: Case, level: float = LEVEL) -> bool | None:
        """Return whether the direction holds in a case; None if its bound is inside the interval."""
        interval = case.interval_at(level)
        if interval is None:
            return None if self._single(case) else self._margin(case) > 0
        low, high = interval
        above, below = self.claim.above, self.claim.below
        if (above is None or low > above) and (below is None or high < below):
            return True
        fails = (above is not None and high < above) or (below is not None and low > below)
        # An exact number that equals its bound is not beyond it.
        known = low == high and not any(cell.drawn for cell in case.cells)
        return False if fails or known else None

    def _single(self, case: Case) -> bool:
        """Return whether the case has a quantity with a better direction and only a single random run."""
        quantity = case.cells[0].named(self.claim.of)
        if quantity.better is None or quantity.timed or quantity.measured:
            return False
        summaries = [cell.of(self.claim.of) for cell in case.cells if cell.drawn]
        return any(summary is not None and summary.n == 1 for summary in summaries)

    def _margin(self, case: Case) -> float:
        """Return the distance to the nearer bound, positive on the right side."""
        above, below, number = self.claim.above, self.claim.below, case.number
        assert number is not None
        margins = [] if above is None else [number - above]
        return min([*margins, below - number] if below is not None else margins)

    def _size_holds(self) -> bool | None:
        """Return whether the numbers lie in the paper's size; None if one is a bound that does not tell."""
        judged = self.known if self.claim.cases == "all" else self.known[-1:]
        low, high = self.claim.size or (None, None)
        low, high = -inf if low is None else low, inf if high is None else high
        ranges = [case.bounded(case.number, case.number) for case in judged if case.number is not None]
        if any(most < low or least > high for least, most in ranges):
            return False
        return all(low <= least and most <= high for least, most in ranges) or None

    @property
    def ours(self) -> str:
        """Return our number: that of the decisive case, with the range and the counts if there are more."""
        lacking = [case for case in self.cases if case.number is None]
        why = lacking[0].lack() if lacking else ""
        lack = f"{len(lacking)} of {len(self.cases)} missing: {why}" if lacking else ""
        case = self.decisive
        if case is None or case.number is None:
            return lack
        text = self._with_interval(case)
        if self.claim.over and len(self.cases) > 1:  # a printed curve
            names = Names([point.cells[0] for point in self.cases])
            points = [f"{names.of(point.cells[0])}: {self._with_interval(point)}" for point in self.cases]
            text = f"{self._counts}; {'; '.join(points)}"
        elif len(self.cases) > 1:
            which = "least" if self.claim.cases == "all" else "most"
            text = f"{self._counts}; {which} favourable: {case.name}: {text}"
            if len(self.known) > 1:
                ends = [pick(self.known, key=lambda known: known.number or 0.0) for pick in (min, max)]
                least, most = (f"{end.sign}{self._text(end.number or 0.0, case)}" for end in ends)
                text += f"; all: {least} to {most}"
        return f"{text}; {lack}" if lack else text

    def _with_interval(self, case: Case) -> str:
        text = MISSING if case.number is None else f"{case.sign}{self._text(case.number, case)}"
        if case.interval is not None:
            low, high = (self._text(end, case) for end in case.interval)
            return f"{text} [{low}, {high}]"
        return f"{text} of single draws" if self._single(case) else text

    @property
    def _counts(self) -> str:
        """Return how many cases hold, fail and are open, such as `3 of 4 hold, 1 open`."""
        stands = [self._stands(case) for case in self.known]
        others = [(stands.count(False), "fails", "fail"), (stands.count(None), "open", "open")]
        counts = [f"{stands.count(True)} of {len(stands)} hold"]
        counts += [f"{n} {singular if n == 1 else plural}" for n, singular, plural in others if n]
        return ", ".join(counts)

    @property
    def paper(self) -> str:
        """Return the paper's text, or else the size or the bound of the claim."""
        claim = self.claim
        low, high = claim.size or (claim.above, claim.below)
        if claim.printed:
            return claim.printed
        bounds = f"> {low:g}" if high is None else f"< {high:g}" if low is None else f"{low:g} to {high:g}"
        return f"{', '.join(f'{x:g}' for x in claim.minus)}; {bounds}" if claim.minus else bounds

    def _text(self, number: float, case: Case) -> str:
        """Return the number with its unit: a factor, an exponent, a score, seconds or features."""
        claim = self.claim
        if claim.growth is not None:
            return _short(number)
        if claim.ratio is not None or claim.over:
            return _short(number) + "×" * isfinite(number)
        quantity = next((cell for cell in case.cells if cell.rows), case.cells[0]).named(claim.of)
        between = claim.difference or claim.minus
        if quantity.score:
            return quantity.change(number) if between else quantity.text(number)
        sign = "+" if between and number > 0 else ""
        unit = "points" if between and quantity.unit == "%" else quantity.unit
        return f"{sign}{_short(number)} {unit}".rstrip()


def _short(number: float) -> str:
    return (f"{number:.0f}" if abs(number) >= 100 else f"{number:.3g}").replace("inf", "∞")


def claim_verdicts(
    experiment: Experiment, cells: Sequence[Cell], look_up: LookUp | None = None
) -> list[ClaimVerdict]:
    """Return the experiment's claims with their verdicts; `look_up` finds the claims that are cited.

    Raises ConfigError for a claim that is ambiguous or matches nothing in the plan; if the command line
    changed the plan, that claim is left out.
    """
    verdicts = []
    for claim in experiment.claims:
        try:
            cited = [look_up(citation) for citation in claim.evidence] if look_up else []
            verdicts.append(ClaimVerdict(claim, cases(claim, cells), cited))
        except ConfigError:
            if not experiment.changed:
                raise
    return verdicts
