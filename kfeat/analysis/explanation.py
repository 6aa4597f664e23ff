"""One trial explained: its rows, the configs that plan it, and the verdicts that use its numbers."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kfeat.analysis.judgement import Judgement, judge_experiments, rows_at_hand
from kfeat.experiments.load import Experiment
from kfeat.experiments.row import Row
from kfeat.experiments.selectors import ids_beginning
from kfeat.experiments.store import ROWS, folders_with_rows, read_rows, worth


@dataclass(frozen=True)
class Explanation:
    """A trial: its rows with their folders, the row that counts first, and the verdicts of the configs."""

    identity: str
    rows: Sequence[tuple[Path, Row]]
    judgements: Sequence[Judgement]


def explain(prefix: str, experiments: Sequence[Experiment], out: Path, results: Path) -> Explanation:
    """Return the explanation of the trial whose id begins with `prefix`.

    Rows below `out` come before equally good ones below `results`. Raises ConfigError if no row and no plan
    has such an id, or several have.
    """
    rows = [found for root in (out, results) for found in _rows(root, prefix)]
    plans = [(one, {trial.id for trial in rows_at_hand(one, out, results)[0]}) for one in experiments]
    ids = {row["id"] for _, row in rows}.union(*(plan for _, plan in plans))
    where = f"{out}, {results} and the configs"
    (identity,) = ids_beginning([prefix], ids, where)
    own = sorted(
        (one for one in rows if one[1]["id"] == identity), key=lambda one: worth(one[1]), reverse=True
    )
    judgements = judge_experiments([one for one, plan in plans if identity in plan], out, results)
    return Explanation(identity, own, judgements)


def _rows(root: Path, prefix: str) -> list[tuple[Path, Row]]:
    """Return the rows below a folder whose ids begin with `prefix`, each with its folder."""
    mark = re.compile(rb'"id": ?"' + re.escape(prefix.encode()))
    # To save time, only files with such an id are read row by row.
    files = [folder / ROWS for folder in folders_with_rows(root)]
    paths = [path for path in files if path.is_file() and mark.search(path.read_bytes())]
    return [
        (path.parent, row)
        for path in paths
        for identity, row in read_rows(path.parent).items()
        if identity.startswith(prefix)
    ]
