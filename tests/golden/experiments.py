"""Eight small experiments with made-up rows, and all that a reader sees of them, by the name of the file."""

import json
import shutil
from collections.abc import Callable, Sequence
from contextlib import chdir
from pathlib import Path
from typing import Any
from unittest.mock import patch

from click.testing import CliRunner, Result

from kfeat.analysis.cells import Cell
from kfeat.cli import main
from kfeat.experiments.config import Experiment
from kfeat.experiments.plan import Trial
from kfeat.experiments.row import Row
from kfeat.experiments.store import write_rows
from tests.cells import fake_row, planned

HERE = Path(__file__).parent
FILES = ("table.md", "table.csv", "table.tex")
DIGITS = 6  # of the numbers in JSON: the last digits of a quantile are those of a version of SciPy


def made_by(processor: str = "Abacus", commit: str = "a0") -> Row:
    packages = {"kfeat": "1.0.0", "numpy": "2.0.0", "liblinear-official": "2.50.0"}
    machine = {"python": "3.11.7", "system": "Linux", "processor": processor, "cores": 2, "commit": commit}
    return machine | {"packages": packages}


def ended(trial: Trial, accuracy: float, train: float = 2.0, **more: Any) -> Row:
    """A row of a trial that trained for so many seconds; mapping and predicting took parts of one."""
    seconds = {"train": train, "predict": 0.25}
    if trial.map:
        seconds |= {"map_fit": 0.05, "map_train": 0.1, "map_test": 0.2}
    phases = {name: {"cpu": value, "wall": 1.1 * value} for name, value in seconds.items()}
    told = {"seconds": phases, "environment": made_by(), "peak_memory_mb": 123.4}
    return fake_row(trial, accuracy, **{**told, **more})


def scored(trial: Trial, train: float = 2.0, **scores: Any) -> Row:
    """A row of another score than accuracy."""
    row = ended(trial, 0.0, train, **scores)
    del row["accuracy"]
    return row


def name_of(trial: Trial) -> str:
    return trial.map.name if trial.map else "exact"


def classification(trial: Trial) -> Row:
    start, step, train = {
        "exact": (0.96, 0.0, 60.1234),
        "tensor_sketch": (0.85, 0.004, 1.9),
        "random_maclaurin": (0.872, 0.001, 2.23),
    }[name_of(trial)]
    return ended(trial, start + step * trial.repeat, train + 0.1 * trial.repeat)


def regression(trial: Trial) -> Row:
    error = 0.3 + 0.0123 * trial.repeat + 0.05 * (trial.map is None)
    binning = trial.map is not None and trial.map.name == "random_binning"
    more = {"sparse": {"columns": 1234 + trial.repeat, "nonzeros": 16.0, "unseen": 0.0123}} if binning else {}
    learnt = {"kernel": {"gamma": 0.125}} if trial.kernel and trial.kernel.parameters["gamma"] != 0.5 else {}
    errors = {"relative_error": error, "rmse": 10 * error, "mae": 8 * error, "r2": 1 - error}
    return scored(trial, 0.0123 * (1 + trial.repeat), verified=False, learnt=learnt, **errors, **more)


def measure(trial: Trial) -> Row:
    assert trial.map is not None
    size = trial.map.parameters["n_components"]
    factor = {"random_fourier": 1.0, "orf": 0.85, "nystrom": 0.4}[trial.map.name]
    value = factor * size**-0.5 * (1 + 0.02 * (trial.repeat + 0.5 * factor * (trial.repeat % 2)))
    error = {"value": value, "low": 0.97 * value, "high": 1.03 * value}
    kinds = dict.fromkeys(("relative_frobenius", "mean_absolute", "mean_relative"), error)
    seconds = {"fit": {"cpu": 0.01, "wall": 0.01}, "sample": {"cpu": 0.02 * size, "wall": 0.03 * size}}
    return scored(trial, kernel_error={**kinds, "maximum": 3 * value}, seconds=seconds)


def stopped(trial: Trial) -> Row:
    late = trial.map is None or (trial.kernel.parameters["degree"] == 3 and trial.repeat == 2)
    end = {"status": "stopped", "reason": "it had not ended after 1 minute", "limit_s": 60.0}
    return ended(trial, 0.85 + 0.01 * trial.repeat, 0.5, **end if late else {})


def busy(trial: Trial) -> Row:
    if trial.map is None and trial.solver and trial.solver.name == "svc":
        solve = {"converged": True, "cache_mb": 200.0}
        return ended(trial, 0.95, 30.0, environment=made_by("Zuse", "b1"), threads=2, solve=solve)
    if trial.map is None:
        return ended(trial, 0.95, 60.0, timed=False, solve={"converged": True, "cache_mb": 7018.0})
    alone = trial.map.name == "tensor_sketch" and trial.repeat == 0
    return ended(trial, 0.85 + 0.01 * trial.repeat, 2.0 if alone else 9.0, timed=alone)


def unconverged(trial: Trial) -> Row:
    assert trial.solver is not None
    limit = trial.solver.name == "liblinear" and trial.repeat > 0
    solve = {"converged": not limit, "stop_reason": "iteration limit" if limit else "tolerance"}
    accuracy = 0.9 + 0.03 * trial.repeat if trial.exact else 0.84 + 0.02 * trial.repeat - 0.01 * limit
    return ended(trial, accuracy, 1.0 + trial.repeat, solve=solve)


def paper_table(trial: Trial) -> Row | None:
    """Of H0/1 the second run on <x, y>^10 is missing, and the first on (1 + <x, y>)^10 is not timed."""
    if trial.map is None:
        return ended(trial, 0.99, 20.0)
    h01, coef0 = trial.map.parameters["h01"], trial.kernel.parameters["coef0"]
    if (h01, coef0, trial.repeat) == (True, 0, 1):
        return None
    return ended(
        trial,
        0.98 + 0.003 * trial.repeat,
        0.4 if h01 else 400.0,
        timed=(h01, coef0, trial.repeat) != (True, 1, 0),
        columns={"live": 93, "zero": 7, "constant": 0},
    )


def stand_in(trial: Trial) -> Row:
    scale = str(next(iter(trial.protocol.scale), "none"))
    means = {"none": (0.91, 0.70), "unit_rows": (0.88, 0.81), "zscore": (0.95, 0.80)}[scale]
    return ended(trial, means[name_of(trial) == "random_maclaurin"] + (-0.01, 0.01)[trial.repeat])


EXPERIMENTS: dict[str, Callable[[Trial], Row | None]] = {
    row.__name__: row
    for row in (classification, regression, measure, stopped, busy, unconverged, paper_table, stand_in)
}

OWN = "a,b,y\n" + "".join(f"{i % 7},{i % 5},{(i % 7) * (i % 5) + 0.5}\n" for i in range(100))
SAME, WORSE = "classification", "unconverged"  # rows were published: the same, and others


def made(name: str, folder: Path) -> dict[str, str]:
    """Return what a reader sees of an experiment, by file name; `folder` is empty."""
    with chdir(folder):
        _write_rows(name)
        config = f"configs/{name}.yaml"
        texts = {f"{command}.txt": _shown(command, config) for command in ("report", "check")}
        with patch("kfeat.render.table.terminal_width", lambda: 80):
            texts["terminal.txt"] = _shown("report", config) + _shown("check", config)
        texts["check.json"] = _json("check", config)
        return texts | {file: Path("runs", name, file).read_text(encoding="utf-8") for file in FILES}


def made_of_all(folder: Path) -> dict[str, str]:
    """Return what is shown of all experiments together, and of finished trials; `folder` is empty."""
    with chdir(folder):
        trials = {name: _write_rows(name) for name in EXPERIMENTS}
        first, *_ = trials[SAME]
        shutil.copy(HERE / SAME / "config.yaml", "configs/without_rows.yaml")
        return {
            "check.txt": _shown("check", "--all"),
            "check_details.txt": _shown("check", "--all", "--details"),
            "run.txt": _shown("run", f"configs/{SAME}.yaml"),
            "run_stopped.txt": _shown("run", "configs/stopped.yaml", "--time-limit", "1m"),
            "rows.txt": _shown("rows", f"configs/{SAME}.yaml"),
            "explain.txt": _shown("explain", first.id, f"configs/{SAME}.yaml"),
        }


def _write_rows(name: str) -> list[Trial]:
    """Write the config and the rows of an experiment below the current folder, and return its trials."""
    configs = Path("configs")
    configs.mkdir(exist_ok=True)
    Path("own.csv").write_text(OWN, encoding="utf-8")
    shutil.copy(HERE / name / "config.yaml", configs / f"{name}.yaml")
    trials = planned(configs / f"{name}.yaml")
    rows = [row for row in map(EXPERIMENTS[name], trials) if row]
    write_rows(Path("runs", name), rows)
    Path("results").mkdir(exist_ok=True)
    if name == WORSE:
        rows = [row | {"accuracy": row["accuracy"] - 0.1, "predictions": "others"} for row in rows]
    if name in (SAME, WORSE):
        write_rows(Path("results", name), rows)
    return trials


def _shown(*arguments: str) -> str:
    """Return what a command shows, and its exit status."""
    result = _called(*arguments)
    return f"{result.output}exit status {result.exit_code}\n"


def _json(*arguments: str) -> str:
    found = json.loads(
        _called(*arguments, "--format", "json").stdout,
        parse_float=lambda text: float(f"{float(text):.{DIGITS}g}"),
    )
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def _called(*arguments: str) -> Result:
    with patch("kfeat.render.figures.figure.draw", _no_figures):
        result = CliRunner().invoke(main, arguments)
    assert result.exit_code in (0, 1), result.output  # 2 is an error of ours
    return result


def _no_figures(experiment: Experiment, cells: Sequence[Cell], paths: Sequence[Path]) -> None:
    """Leave empty files: figures take seconds, and tests/render looks at them."""
    for path in paths:
        path.touch()
