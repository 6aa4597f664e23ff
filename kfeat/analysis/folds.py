"""Means over folds: joins the cells of k-fold splits that differ only in the fold."""

from collections.abc import Sequence
from itertools import chain

from kfeat.analysis.cells import Cell


def fold_means(cells: Sequence[Cell]) -> list[Cell]:
    """Return one cell with the runs of all folds for each method that was run on several folds."""
    groups: dict[tuple[str, ...], list[Cell]] = {}
    for cell in cells:
        trial = cell.trial
        if trial.protocol.split.kind == "k_fold":
            protocol = trial.protocol.model_dump_json(exclude={"split": {"fold"}})
            parts = (trial.kernel, *trial.components.values())
            key = (trial.data_key, protocol, *(str(part and part.identity()) for part in parts))
            groups.setdefault(key, []).append(cell)
    return [_together(group) for group in groups.values() if len(group) > 1]


def without_folds(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells with folds replaced by their means."""
    means = fold_means(cells)
    taken = {trial.id for mean in means for trial in mean.trials}
    return [*(cell for cell in cells if cell.trial.id not in taken), *means]


def _together(group: Sequence[Cell]) -> Cell:
    parts = zip(*((cell.trials, cell.rows, cell.failed, cell.stopped) for cell in group), strict=True)
    trials, rows, failed, stopped = (list(chain.from_iterable(part)) for part in parts)
    return Cell(trials, rows, failed, stopped)
