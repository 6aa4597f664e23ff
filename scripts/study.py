"""The study of configs/survey/plan.md: `python -m scripts.study choices`, `configs`, `cells` and `answers`.

`choices` writes the configs in which each method chooses gamma and C, `configs` those of the study from the
published rows of the choices, `cells` what comes with kfeat, and `answers` results/survey/study.md and its
figures. `traits` learns the density and the spread of each data set from its files.
"""

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import pandas as pd
import yaml

from kfeat.data import load_raw
from kfeat.own.new_config import traits_of
from kfeat.survey.parts import (
    CHEAP,
    CLASSES,
    FEW_ROWS,
    GAUSSIAN,
    NUMBERS,
    Chosen,
    Entry,
    Part,
    four_digits,
    parts,
    sized,
)
from kfeat.survey.study import BOOSTING, CHOICE, EXACT, LINEAR, TUNED, cells, choices, errors, results
from scripts.study_answers import figures, page

ACCESS = {"mirror": os.environ.get("KFEAT_MIRROR"), "offline": False}
TRAITS, CELLS = Path("kfeat/survey/traits.csv"), Path("kfeat/survey/study.csv")


def choice_settings(of: Iterable[Part]) -> Iterator[Entry]:
    """Yield the settings of the choices; sizes that only more rows have are chosen at `TUNED` rows."""
    for part in of:
        if 0 < part.n <= TUNED:
            mapped, exact, boosting = part.solvers
            maps = part.maps
            if part.kernel == GAUSSIAN and part.n == TUNED and part.dataset not in FEW_ROWS:
                maps = [*maps, *sized((CHEAP, [1024]))]
            yield part.choosing(maps, exact)
            if part.kernel == GAUSSIAN:
                yield part._replace(kernel={"name": LINEAR}).choosing([], mapped, boosting)


def study_settings(of: Iterable[Part], chosen: Chosen) -> Iterator[Entry]:
    """Yield the settings of the study, each method with its own gamma and C or alpha."""
    for part in of:
        for item in part.maps:
            yield part.chosen(item, chosen(part, item))
        yield part.chosen(None, chosen(part, EXACT))
        if part.kernel == GAUSSIAN:
            rate, leaves = (chosen(part, BOOSTING)[key] for key in ("learning_rate", "max_leaf_nodes"))
            kind = "classification" if part.dataset in CLASSES else "regression"
            trees = {"name": BOOSTING, "kind": kind, "learning_rate": rate, "max_leaf_nodes": int(leaves)}
            linear = {"name": part.solvers[0], part.penalty: chosen(part, LINEAR)[part.penalty]}
            common = {"dataset": part.dataset, "protocol": part.protocol, "repeats": part.repeats}
            yield {**common, "kernel": {"name": LINEAR}, "solvers": {"baseline": [linear, trees]}}


def error_settings(of: Iterable[Part], chosen: Chosen) -> Iterator[Entry]:
    """Yield the settings of the errors of kernels on held-out rows, at the gamma of the exact method."""
    for part in of:
        if part.kernel == GAUSSIAN and part.n == TUNED:
            kernel = {**GAUSSIAN, "gamma": chosen(part, EXACT)["gamma"]}
            yield {"dataset": part.dataset, "protocol": part.protocol, "kernel": kernel,
                   "maps": [item for item in part.maps if item["n_components"] == 256]}  # fmt: skip


class Plain(yaml.SafeDumper):
    """A dumper that writes equal objects out, instead of naming them."""

    def ignore_aliases(self, data: Any) -> bool:
        """Return that no object is named."""
        return True


def config(asks: str, title: str, settings: Iterable[Entry], **more: Any) -> str:
    """Return a config, with a comment that says what it asks; empty without settings."""
    value = {"title": f"Study: {title}", "publish": "rows", **more, "settings": list(settings)}
    text = yaml.dump(value, Dumper=Plain, sort_keys=False, default_flow_style=None, width=10**6)
    return f"# {asks} Written by `python -m scripts.study`.\n{text}" if value["settings"] else ""


def choice_configs(of: list[Part]) -> dict[str, str]:
    """Return the configs of the choices by name."""
    asks = "Which gamma and C (or alpha) does each method of the study choose for itself?"
    gaussian = [part for part in of if part.kernel == GAUSSIAN]
    groups = {
        "classification": [part for part in gaussian if part.dataset in CLASSES],
        "regression": [part for part in gaussian if part.dataset in NUMBERS],
        "kernels": [part for part in of if part.kernel != GAUSSIAN],
    }
    return {
        f"choices_{name}": config(asks, f"choices, {name}", choice_settings(group), repeats=1)
        for name, group in groups.items()
    }


def study_configs(of: list[Part], chosen: Chosen) -> dict[str, str]:
    """Return the configs of the study by name: one for each data set, and three across them."""
    asks = "What does each map score, with its own gamma and C, and what does it take, on"
    groups: dict[str, list[Part]] = {}
    for part in of:
        name = "kernels" if part.kernel != GAUSSIAN else part.dataset if part.n else "all_rows"
        groups.setdefault(name, []).append(part)
    found = {
        f"study_{name}": config(f"{asks} {name}?", name, study_settings(group, chosen))
        for name, group in groups.items()
    }
    asks = "How large is the error of each map's kernel on rows that the map was not fitted to?"
    measure = {"name": "kernel_error", "n_rows": 2000, "held_out": True}
    found["study_errors"] = config(
        asks, "kernel errors", error_settings(of, chosen), repeats=1, measure=measure
    )
    return found


def rows_below(folder: Path, pattern: str) -> list[Entry]:
    """Return the rows of the configs whose names match."""
    paths = sorted(folder.glob(f"{pattern}/trials.jsonl"))
    return [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()]


def write_cells(table: pd.DataFrame, path: Path) -> None:
    """Write the cells that come with kfeat, with the choices as the configs have them."""
    table = table.assign(**{name: table[name].map(four_digits) for name in CHOICE[1:]})
    table.to_csv(path, index=False, float_format="%.6g")


@click.command()
@click.argument("step", type=click.Choice(["choices", "configs", "traits", "cells", "answers"]))
@click.option("--configs", "folder", default="configs/survey", type=click.Path(path_type=Path))
@click.option("--rows", default="results/survey", type=click.Path(path_type=Path))
@click.option("--data", default=",".join(CLASSES + NUMBERS), help="The data sets, with commas.")
def study(step: str, folder: Path, rows: Path, data: str) -> None:
    """Write the configs of the study, or its answers."""
    names = data.split(",")
    if step == "traits":
        known = [
            {"dataset": name, **asdict(traits_of(name, load_raw(name, **ACCESS), **ACCESS))} for name in names
        ]
        pd.DataFrame(known).round(5).to_csv(TRAITS, index=False)
        return
    own = rows_below(rows, "choices_*") if step != "choices" else []
    found = results(rows_below(rows, "study_*")) if step in ("cells", "answers") else pd.DataFrame()
    if step == "cells":
        write_cells(cells(found, choices(own)), CELLS)
        return
    if step == "answers":
        traits = pd.read_csv(TRAITS, index_col="dataset")
        wrong = errors(rows_below(rows, "study_errors"))
        (rows / "study.md").write_text(page(found, choices(own), wrong, traits), encoding="utf-8")
        figures(found, choices(own), rows)
        return
    of = parts(names)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (
        choice_configs(of) if step == "choices" else study_configs(of, Chosen(choices(own)))
    ).items():
        if text:
            (folder / f"{name}.yaml").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    study()
