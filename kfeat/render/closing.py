"""The last line of a run: what the best map costs and saves beside the exact kernel SVM."""

from collections.abc import Sequence

from kfeat.analysis.cells import Cell, best_of, by_setting, exact_of
from kfeat.analysis.names import method
from kfeat.experiments.quantities import SCORE
from kfeat.render import text


def closing_line(cells: Sequence[Cell]) -> str | None:
    """Return in a sentence how the map with the best score compares with the best exact kernel SVM.

    None where a run has several settings, or where one of the two has no score or no time.
    """
    settings = by_setting(cells)
    if len(settings) != 1:
        return None
    peers = settings[0]
    best = best_of(cell for cell in peers if cell.trial.map)
    exact = exact_of(best, peers) if best else None
    if best is None or exact is None or best.score is None or exact.score is None:
        return None
    speed_up = exact.shown("fit").over(best.shown("fit"))
    if speed_up.value is None:
        return None
    quantity = best.named(SCORE)
    ours, theirs = (text.with_unit(quantity, score.mean) for score in (best.score, exact.score))
    times = text.shown(speed_up, lambda value: text.factor(value).removesuffix("×"))
    return (
        f"{method(best, peers)}: {quantity.title} {ours} where {method(exact, peers)} has {theirs}, and "
        f"{times} times as quick to map and train."
    )
