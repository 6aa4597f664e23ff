"""The log of a search: all that was scored and tested, kept with Optuna's study, so that a search goes on."""

from dataclasses import asdict
from math import inf
from pathlib import Path

from kfeat.experiments.plan import digest
from kfeat.own.candidates import Candidate
from kfeat.own.cost import path_time
from kfeat.own.result import Row, Scored


class ScoreLog:
    """The rows of a search by their keys, in the study in a file, or in memory without a path.

    A candidate that took longer than its limit counts only if the `limit` is not longer now. `earlier` are
    the candidates that earlier calls scored, and `n_kept` is the number of all rows of these. Raises
    StoreError for a file that is no record of a search.
    """

    def __init__(self, path: Path | None, seed: int, limit: float) -> None:
        from kfeat.own.record import study_of  # here, since the import of Optuna takes half a second

        self.study = study_of(path, seed)
        self._rows: dict[str, Row] = self.study.user_attrs
        self._limit = limit
        self._scored = {key: scored_of(row) for key, row in self._rows.items() if "candidate" in row}
        self._tested = {key for key, row in self._rows.items() if "score" in row} - self._scored.keys()
        self.earlier, self.n_kept = frozenset(self.scored()), len(self._rows)

    def row(self, key: str) -> Row | None:
        """Return the row of this key; None without one, or if it took too long and may take longer now."""
        row = self._rows.get(key)
        return dict(row) if row is not None and self._counts(row) else None

    def keep(self, key: str, row: Row) -> Row:
        """Keep and return a row."""
        self._rows[key] = row
        if "candidate" in row:
            self._scored[key] = scored_of(row)
        elif "score" in row:
            self._tested.add(key)
        self.study.set_user_attr(key, row)
        return row

    def scored(self) -> list[Scored]:
        """Return the candidates that were scored, in the order in which they first were."""
        return [method for key, method in self._scored.items() if self._counts(self._rows[key])]

    def tested(self, method: Scored, rows: int | None) -> bool:
        """Return whether a candidate has a result on the test rows after training on so many rows, or all."""
        return bool(self._tested) and tested_key(method, rows) in self._tested

    def _counts(self, row: Row) -> bool:
        return bool(row.get("limit", inf) >= self._limit)


def score_key(candidate: Candidate, n: int) -> str:
    """Return the key of the score of a candidate on n rows."""
    return digest([candidate.key, n])[:16]


def tested_key(method: Scored, rows: int | None) -> str:
    """Return the key of the result on the test rows after training on so many rows, or all."""
    return digest(["test", method.candidate.key, method.value, rows])[:16]


def row_of(candidate: Candidate, n: int, n_values: int, answer: Row) -> Row:
    """Return the row of a candidate with what a scorer answered for so many values of C or alpha."""
    return {"candidate": asdict(candidate), "n": n, "values": n_values, **answer}


def scored_of(row: Row) -> Scored:
    """Return the candidate of a row with its score, or with the reason why it has none."""
    candidate = Candidate(**row["candidate"])
    if "failed" in row:
        return Scored(candidate, row["n"], -inf, 0.0, 0.0, row["seconds"], str(row["failed"]))
    seconds = row["seconds"] / path_time(candidate, row["values"])
    folds = tuple(row.get("folds", ()))
    numbers = row["score"], row["sd"], row["value"], seconds
    more = {"budget": row["budget"], "learning": row.get("learning", 0.0)}
    return Scored(candidate, row["n"], *numbers, folds=folds, **more)
