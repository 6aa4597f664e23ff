from collections.abc import Callable
from pathlib import Path

import pytest

from kfeat.errors import ConfigError
from kfeat.experiments.config import load_experiment
from kfeat.experiments.plan import plan
from kfeat.experiments.search import Search, search_space
from kfeat.render.protocol import render_plan
from tests.switches import SWITCHED


@pytest.fixture
def space(tmp_path: Path) -> Callable[..., Search]:
    def searcher(*overrides: str, maps: list[str] | None = None, repeats: int = 2) -> Search:
        path = tmp_path / "switched.yaml"
        path.write_text(SWITCHED)
        experiment = load_experiment(path, overrides, repeats=repeats, maps=maps, exact=False)
        return search_space(experiment, dict.fromkeys(experiment.datasets, "f"))

    return searcher


def test_combinations_are_the_product_over_the_switches(space: Callable[..., Search]) -> None:
    search = space()
    assert len(search.combinations) == (1 + 2) * (1 + 1) * (1 + 1)
    assert search.combinations[0].turned == {}
    assert len({str(c.turned) for c in search.combinations}) == 12
    assert search.combinations[-1].turned == {
        "protocol.scale": "zscore", "map.degree_law": "truncated", "solver.C": 0.5,
    }  # fmt: skip


def test_only_cells_of_maps_with_a_printed_number_are_run(space: Callable[..., Search]) -> None:
    search = space(repeats=3)
    assert [number.mean for number in search.numbers] == [90, 80]
    for combination in search.combinations:
        sketch, maclaurin = combination.cells
        assert [t.repeat for t in sketch] == [t.repeat for t in maclaurin] == [0, 1, 2]
        assert {t.map.name for t in sketch if t.map} == {"tensor_sketch"}
        assert {t.map.name for t in maclaurin if t.map} == {"random_maclaurin"}
        assert {t.solver.name for t in (*sketch, *maclaurin) if t.solver} == {"liblinear"}
        assert {t.kernel.parameters["coef0"] for t in (*sketch, *maclaurin)} == {1}


def test_a_number_stays_with_its_cell_when_the_keys_it_names_are_turned(space: Callable[..., Search]) -> None:
    search = space()
    turned = next(
        c for c in search.combinations if c.turned == {"map.degree_law": "truncated", "solver.C": 0.5}
    )
    sketch, maclaurin = (cell[0].describe() for cell in turned.cells)
    assert search.numbers[0].cell["solver.C"] == 1
    assert sketch["solver.C"] == maclaurin["solver.C"] == 0.5
    assert search.numbers[1].cell["map.degree_law"] == "geometric"
    assert maclaurin["map.degree_law"] == "truncated"
    # The second setting has a truncated law of its own, without a scale: the number does not move there.
    assert maclaurin["protocol.scale"] == [{"divide": 16.0}]


def test_trials_are_those_of_an_experiment_written_so(space: Callable[..., Search], tmp_path: Path) -> None:
    search = space()
    turned = next(c for c in search.combinations if c.turned == {"protocol.scale": "zscore", "solver.C": 0.5})
    overrides = [f"settings.{i}.protocol.scale=zscore" for i in (0, 1)]
    overrides += [f"solvers.mapped.{i}.C=0.5" for i in (0, 1)]
    written = load_experiment(tmp_path / "switched.yaml", overrides)
    ids = {trial.id for trial in plan(written, dict.fromkeys(written.datasets, "f"))}
    assert {t.id for cell in turned.cells for t in cell} <= ids
    present = {t.id for cell in search.combinations[0].cells for t in cell}
    assert not present & ids


def test_alternatives_without_effect_are_no_combinations(space: Callable[..., Search]) -> None:
    search = space("switches.0.alternatives=[unit_rows, {divide: 16}, [unit_rows]]", maps=["tensor_sketch"])
    assert [combination.number for combination in search.combinations] == [1, 2, 3, 4]
    assert search.switches == {"protocol.scale": ["unit_rows"], "solver.C": [0.5]}
    assert search.left_out == 4 * 2 * 2 - 4
    text = " ".join(render_plan(search, {}).split())
    assert (
        "4 combinations of 2 switches (2 x 2), held against 1 printed number. 12 others change nothing"
        in text
    )


def test_a_search_needs_alternatives_and_numbers(space: Callable[..., Search]) -> None:
    none = [f"switches.{i}.alternatives=[]" for i in range(3)]
    with pytest.raises(ConfigError, match="no switch has `alternatives`"):
        space(*none)
    with pytest.raises(ConfigError, match="has none for a cell with a map"):
        space("reported.numbers=[]")
    with pytest.raises(ConfigError, match="are for the same cell"):
        space("reported.numbers.0.for={map: tensor_sketch}")
