"""The pages of maps and of data sets: what is known of each, and where rows of it are."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from inspect import getdoc

from kfeat.analysis.cells import Cell, best_of, by_setting
from kfeat.analysis.names import method
from kfeat.analysis.standing import Standing
from kfeat.data.registry import Entry, registry
from kfeat.experiments.load import EXACT
from kfeat.experiments.plan import dataset_name
from kfeat.experiments.quantities import SCORE
from kfeat.maps import MAPS, kernels_of
from kfeat.render import text
from kfeat.site import links
from kfeat.site.tables import Table, Text, table

SURVEY = "survey/"


@dataclass(frozen=True)
class MapPage:
    """A map: what its class says, its facts, its places in the survey, the configs that have it."""

    name: str
    said: Sequence[str]
    facts: Sequence[tuple[str, str]]
    survey: Table | None
    configs: Sequence[Text]

    @property
    def page(self) -> str:
        """Return the address of its page."""
        return links.feature_map(self.name)

    @property
    def use(self) -> str:
        """Return when to use it."""
        return dict(self.facts)["use"]


@dataclass(frozen=True)
class DataPage:
    """A data set: what the registry says, the best of each method on it, the configs that have it."""

    name: str
    entry: Entry | None
    best: Table | None
    configs: Sequence[Text]

    @property
    def page(self) -> str:
        """Return the address of its page."""
        return links.dataset(self.name)


def maps(standings: Sequence[Standing]) -> list[MapPage]:
    """Return the pages of all maps by name."""
    survey = [one for one in standings if one.experiment.name.startswith(SURVEY)]
    ranks = [line for one in survey for line in _ranks(one)]
    return [
        MapPage(
            name=name,
            said=_said(cls),
            facts=[("kernels", ", ".join(kernels_of(cls))), *cls.facts._asdict().items()],
            survey=_survey([line for map_name, line in ranks if map_name == name]),
            configs=_configs(one for one in standings if _has_map(one, name)),
        )
        for name, cls in sorted(MAPS.items())
    ]


def _said(cls: type) -> list[str]:
    """Return the paragraphs of a class before its parameters: what it is, its formula, its cost."""
    body = (getdoc(cls) or "").split("\nParameters\n---")[0]
    return [" ".join(part.split()) for part in body.strip().split("\n\n")]


def _has_map(standing: Standing, name: str) -> bool:
    return any(cell.trial.map is not None and cell.trial.map.name == name for cell in standing.cells)


def _configs(standings: Iterable[Standing]) -> list[Text]:
    return [Text(one.experiment.name, links.section(one.experiment)) for one in standings]


def _ranks(standing: Standing) -> list[tuple[str, list[Text]]]:
    """Return the place of each map of a survey's config among those of the same size, by its score."""
    found = []
    for peers in by_setting(standing.cells):
        by_size: dict[object, list[Cell]] = {}
        for cell in peers:
            if cell.trial.map and cell.score and cell.named(SCORE).better:
                by_size.setdefault(cell.trial.map.parameters.get("n_components"), []).append(cell)
        for size, cells in by_size.items():
            best = best_of(cells)
            if best is None or best.score is None or len(cells) < 2:
                continue
            upward = best.named(SCORE).better == "higher"
            order = sorted(cells, key=lambda one: one.score.mean * (-1 if upward else 1) if one.score else 0)
            for place, cell in enumerate(order, start=1):
                assert cell.trial.map
                found.append((cell.trial.map.name, _rank(standing, cell, best, size, place, order)))
    return found


def _rank(
    standing: Standing, cell: Cell, best: Cell, size: object, place: int, order: Sequence[Cell]
) -> list[Text]:
    return [
        Text(dataset_name(cell.trial.source), links.dataset(dataset_name(cell.trial.source))),
        Text(cell.trial.kernel.formula),
        Text(str(size)),
        Text(method(cell, order, "n_components")),
        Text(f"{place} of {len(order)}", tone="good" if place == 1 else ""),
        Text(text.alone(cell, SCORE), links.rows(standing.experiment, cell)),
        Text("itself" if cell is best else method(best, order, "n_components")),
        Text(text.alone(best, SCORE)),
    ]


def _survey(lines: Sequence[Sequence[Text]]) -> Table | None:
    headers = ("data set", "kernel", "D", "as", "place", "score", "best", "its score")
    return table("In the survey, among maps of the same D", headers, lines) if lines else None


def datasets(standings: Sequence[Standing]) -> list[DataPage]:
    """Return the pages of the registered data sets and of those that configs make, by name."""
    users: dict[str, list[Standing]] = {name: [] for name in registry()}
    for one in standings:
        for name in dict.fromkeys(dataset_name(source) for source in one.experiment.datasets):
            users.setdefault(name, []).append(one)
    return [
        DataPage(name, registry().get(name), _best(name, members), _configs(members))
        for name, members in sorted(users.items())
    ]


def _best(name: str, standings: Sequence[Standing]) -> Table | None:
    """Return the best of each method over the sizes, for every config and kernel on a data set."""
    lines = []
    for one in standings:
        for peers in by_setting(one.cells):
            if dataset_name(peers[0].trial.source) == name:
                lines += _best_lines(one, peers)
    headers = ("kernel", "method", "D", "score", "map and train", "runs", "config")
    return table("The best of each map over the sizes tried", headers, lines) if lines else None


def _best_lines(standing: Standing, peers: Sequence[Cell]) -> list[list[Text]]:
    by_map: dict[str, list[Cell]] = {}
    for cell in peers:
        by_map.setdefault(cell.trial.map.name if cell.trial.map else EXACT, []).append(cell)
    found = []
    for members in by_map.values():
        best = best_of(members)
        if best is None:
            continue
        size = best.trial.map.parameters.get("n_components") if best.trial.map else None
        found.append(
            [
                Text(best.trial.kernel.formula),
                Text(method(best, peers, "n_components")),
                Text(text.MISSING if size is None else str(size)),
                Text(
                    f"{best.named(SCORE).title} {text.alone(best, SCORE)}",
                    links.rows(standing.experiment, best),
                ),
                Text(text.alone(best, "fit")),
                Text(f"{len(best.rows)}/{len(best.trials)}"),
                Text(standing.experiment.name, links.section(standing.experiment)),
            ]
        )
    return found
