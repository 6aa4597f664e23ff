"""What the papers of the maps say about each other, judged by the survey at equal time."""

from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from math import exp, log
from typing import Any, Literal

import pandas as pd
import yaml

from kfeat.analysis.statistics import Interval
from kfeat.survey.answers import Method, Of, equal_time, interval

Verdict = Literal["holds", "fails", "open"]


@dataclass(frozen=True)
class Charge:
    """A sentence that method `a` is better than method `b` in a quantity, and its source.

    by_dataset: the difference a - b of scores in points, or the ratio a / b of kernel errors, at equal time
    on each data set. judged: their mean (geometric for ratios) with Student's 95 % interval over them.
    """

    text: str
    source: str
    a: Method
    b: Method
    of: Of
    by_dataset: pd.Series

    @cached_property
    def judged(self) -> tuple[float, Interval]:
        """Return the mean over the data sets and its interval."""
        if self.of == "score":
            return interval(self.by_dataset.tolist())
        middle, (low, high) = interval([log(ratio) for ratio in self.by_dataset])
        return exp(middle), (exp(low), exp(high))

    @property
    def favour(self) -> int:
        """Return the number of data sets on which a is better."""
        better = self.by_dataset > 0 if self.of == "score" else self.by_dataset < 1
        return int(better.sum())

    @property
    def verdict(self) -> Verdict:
        """Return whether the interval is on one side of equality, and on which."""
        _, (low, high) = self.judged
        if self.of == "score":
            return "holds" if low > 0 else "fails" if high < 0 else "open"
        return "holds" if high < 1 else "fails" if low > 1 else "open"


def court(cells: pd.DataFrame) -> list[Charge]:
    """Return every sentence of court.yaml, judged."""
    text = (files("kfeat.survey") / "court.yaml").read_text(encoding="utf-8")
    entries: list[dict[str, Any]] = yaml.safe_load(text)
    return [Charge(**one, by_dataset=equal_time(cells, one["a"], one["b"], one["of"])) for one in entries]
