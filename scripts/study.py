"""The study of configs/survey/plan.md: `python -m scripts.study traits`, `cells` and `answers`.

`traits` learns the density and the spread of each data set from its files, `cells` writes what comes with
kfeat from the published rows, and `answers`, a part of `make pages`, results/survey/study.md with its
figures.
"""

import json
import os
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from scipy.sparse import issparse

from kfeat.data import Protocol, load, load_raw
from kfeat.diagnostics import effective_rank, sampled_rows
from kfeat.kernels import Gaussian
from kfeat.own.new_config import TRAIN, scaling_of
from kfeat.survey.study import CHOICE, cells, choices, errors, four_digits, results, shipped
from scripts.study_answers import figures, page

ROWS = Path("results/survey")
SAMPLE = 1000  # rows from which density and spread are learnt


def traits(name: str, **access: Any) -> dict[str, Any]:
    """Return the task, training rows n, features d, density and spread of a data set.

    density: the share of values that are not zero, before scaling. spread: the effective rank of the
    Gaussian Gram matrix of 1,000 scaled rows, where 1 / gamma is the sum of the columns' variances.
    """
    raw = load_raw(name, **access)
    split = "official" if "test" in raw.parts else {"kind": "fraction", "train": TRAIN, "deal": 0}
    protocol = {"scale": scaling_of(raw, {})[0], "split": split}
    data = load(name, Protocol.model_validate(protocol), random_state=0, **access)
    sampled = (sampled_rows(X, min(SAMPLE, X.shape[0]), 0)[0] for X in (data.X_train, raw.parts["train"].X))
    rows, unscaled = (np.asarray(X.todense() if issparse(X) else X, float) for X in sampled)
    spread = effective_rank(Gaussian(1 / max(float(rows.var(axis=0).sum()), 1e-12))(rows))
    n, d = data.X_train.shape
    return {
        "dataset": name,
        "task": raw.task,
        "n": n,
        "d": d,
        "density": (unscaled != 0).mean(),
        "spread": spread,
    }


def rows_below(pattern: str, folder: Path = ROWS) -> list[dict[str, Any]]:
    """Return the rows of the configs whose names match."""
    paths = sorted(folder.glob(f"{pattern}/trials.jsonl"))
    return [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()]


@click.command()
@click.argument("step", type=click.Choice(["traits", "cells", "answers"]))
@click.option("--out", default="kfeat/survey", type=click.Path(path_type=Path))
@click.option("--all", "every", is_flag=True, help="Draw the figures though the page is as it was.")
def study(step: str, out: Path, every: bool) -> None:
    """Write what comes with kfeat from the study, or its answers."""
    if step == "traits":
        access = {"mirror": os.environ.get("KFEAT_MIRROR"), "offline": False}
        known = [traits(name, **access) for name in shipped("traits")["dataset"]]
        pd.DataFrame(known).round(5).to_csv(out / "traits.csv", index=False)
        return
    chosen, found = choices(rows_below("choices_*")), results(rows_below("study_*"))
    if step == "answers":
        of = (found, chosen, errors(rows_below("study_errors")), shipped("traits").set_index("dataset"))
        answers, text = ROWS / "study.md", page(*of)
        if every or answers.read_text(encoding="utf-8") != text:
            answers.write_text(text, encoding="utf-8")
            figures(found, chosen, ROWS)
        return
    for name, lines in {"study": found, "rules": results(rows_below("rules_of_the_study"))}.items():
        table = cells(lines, chosen)
        table = table.assign(**{key: table[key].map(four_digits) for key in CHOICE[1:]})
        table.to_csv(out / f"{name}.csv", index=False, float_format="%.6g")


if __name__ == "__main__":
    study()
