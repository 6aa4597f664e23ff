"""The pages of maps and of data sets: what is known of each, and where rows of it are."""

from collections.abc import Iterable, Iterator, Sequence
from inspect import getdoc
from typing import Any

from kfeat.analysis.cells import Cell, best_of, by_setting
from kfeat.analysis.judgement import Judgement
from kfeat.analysis.names import Names
from kfeat.data.sources import dataset_name, registry
from kfeat.experiments.config import EXACT
from kfeat.experiments.quantities import SCORE
from kfeat.maps import MAPS, kernels_of
from kfeat.render import text
from kfeat.site import links
from kfeat.site.tables import Text, table

SURVEY, CHOICES = "survey/", "survey/tuning_"  # the choices of gamma and C compare no maps
SURVEY_HEADERS = ("data set", "kernel", "D", "as", "place", "score", "best", "its score")
BEST_HEADERS = ("kernel", "method", "D", "score", "map and train", "runs", "config")


def maps(judgements: Sequence[Judgement]) -> list[dict[str, Any]]:
    """Return of each map what its class says, its facts, its places in the survey and its configs."""
    survey = [
        one
        for one in judgements
        if one.experiment.name.startswith(SURVEY) and not one.experiment.name.startswith(CHOICES)
    ]
    ranks = [line for one in survey for line in _ranks(one)]
    return [
        {
            "name": name,
            "page": links.feature_map(name),
            "said": _said(cls),
            "facts": [("kernels", ", ".join(kernels_of(cls))), *cls.facts._asdict().items()],
            "survey": table(
                "In the survey, among maps of the same D",
                SURVEY_HEADERS,
                [line for map_name, line in ranks if map_name == name],
            ),
            "configs": _configs(one for one in judgements if name in {_map(cell) for cell in one.cells}),
        }
        for name, cls in sorted(MAPS.items())
    ]


def datasets(judgements: Sequence[Judgement]) -> list[dict[str, Any]]:
    """Return by name the data sets that are registered and those that configs make.

    Each has its entry of the registry, the best of each method on it, and the configs that use it.
    """
    users: dict[str, list[Judgement]] = {name: [] for name in registry()}
    for one in judgements:
        for name in dict.fromkeys(dataset_name(source) for source in one.experiment.datasets):
            users.setdefault(name, []).append(one)
    return [
        {
            "name": name,
            "page": links.dataset(name),
            "entry": registry().get(name),
            "best": table(
                "The best of each map over the sizes tried",
                BEST_HEADERS,
                [line for one in members for line in _best(one, name)],
            ),
            "configs": _configs(members),
        }
        for name, members in sorted(users.items())
    ]


def _said(cls: type) -> list[str]:
    """Return the paragraphs of a class before its parameters: what it is, its formula, its cost."""
    body = (getdoc(cls) or "").split("\nParameters\n---")[0]
    return [" ".join(part.split()) for part in body.strip().split("\n\n")]


def _configs(judgements: Iterable[Judgement]) -> list[Text]:
    return [Text(one.experiment.name, links.section(one.experiment)) for one in judgements]


def _map(cell: Cell) -> str:
    return cell.trial.map.name if cell.trial.map else EXACT


def _ranks(judgement: Judgement) -> Iterator[tuple[str, list[Text]]]:
    """Yield the place of each map of a survey's config among those of the same size, by its score."""
    for peers in by_setting(judgement.cells):
        by_size: dict[object, list[Cell]] = {}
        for cell in peers:
            if cell.trial.map and cell.score and cell.named(SCORE).better:
                by_size.setdefault((cell.size, cell.named(SCORE).name), []).append(cell)
        for cells in by_size.values():
            best = best_of(cells)
            if best is None or len(cells) < 2:
                continue
            sign = -1 if best.named(SCORE).better == "higher" else 1
            order = sorted(cells, key=lambda one: sign * one.score.mean if one.score else 0)
            names = Names(order, ["n_components"])
            for place, cell in enumerate(order, start=1):
                data = dataset_name(cell.trial.source)
                yield (
                    _map(cell),
                    [
                        Text(data, links.dataset(data)),
                        Text(cell.trial.kernel.formula),
                        Text(str(cell.size)),
                        Text(names.method(cell)),
                        Text(f"{place} of {len(order)}", tone="good" if place == 1 else ""),
                        Text(text.alone(cell, SCORE), links.rows(judgement.experiment, cell)),
                        Text("itself" if cell is best else names.method(best)),
                        Text(text.alone(best, SCORE)),
                    ],
                )


def _best(judgement: Judgement, name: str) -> Iterator[list[Text]]:
    """Yield the best of each method over the sizes, for every kernel of a config on a data set."""
    for peers in by_setting(judgement.cells):
        if dataset_name(peers[0].trial.source) != name:
            continue
        for kind in dict.fromkeys(map(_map, peers)):
            if (best := best_of([cell for cell in peers if _map(cell) == kind])) is None:
                continue
            number = best.size
            score = f"{best.named(SCORE).title} {text.alone(best, SCORE)}"
            yield [
                Text(best.trial.kernel.formula),
                Text(Names(peers, ["n_components"]).method(best)),
                Text(text.MISSING if number is None else str(number)),
                Text(score, links.rows(judgement.experiment, best)),
                Text(text.alone(best, "fit")),
                Text(f"{len(best.rows)}/{len(best.trials)}"),
                *_configs([judgement]),
            ]
