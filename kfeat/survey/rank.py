"""The league: a newcomer among the published maps of the study, within equal limits of time.

The newcomer chooses gamma and C (or alpha) for itself. Its seconds are divided by the clock of this machine,
exp(mean log(t / T)) over data sets, with t the seconds of two maps of the study that run beside it and T the
published ones.
"""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kfeat.errors import CodeError, ConfigError, StoreError
from kfeat.experiments.component import Component, Origin
from kfeat.experiments.config import Experiment, ExperimentFile
from kfeat.experiments.overrides import read_file
from kfeat.experiments.row import Row
from kfeat.experiments.run import rows_of, run_experiments
from kfeat.files import known_configs
from kfeat.survey import study
from kfeat.text import counted

Setting = dict[str, Any]
PLAIN = {"gaussian": "random_fourier", "laplacian": "random_fourier", "polynomial": "tensor_sketch"}
QUICK = ("adult", "magic", "cpu_act", "kin40k")
SPLITS = 3
BUDGETS = {0.1: "1/10", 0.5: "1/2"}
NOISE = 0.1  # points by which the scores of equal trials may differ between machines


def league(kernel: str, quick: bool) -> list[Setting]:
    """Return the settings of the two references in the study's configs, with this kernel and 4,000 rows."""
    if kernel not in PLAIN:
        raise ConfigError(f"--kernel: the study has no kernel '{kernel}'; it has {', '.join(PLAIN)}")
    datasets = QUICK if quick else study.shipped("study")["dataset"].unique()
    names = datasets if kernel == "gaussian" else ["kernels"]
    files = [known_configs() / f"survey/study_{name}.yaml" for name in names]
    references = ("nystrom", PLAIN[kernel])
    return [
        {**one, "repeats": SPLITS}
        for file in files
        for one in read_file(file).value["settings"]
        if (one["kernel"]["name"], one["protocol"]["split"]["max_train"]) == (kernel, study.TUNED)
        and "maps" in one
        and study.method_of(one["maps"][0], one["kernel"], {}) in references
        and one["dataset"] in datasets
    ]


def choosing(setting: Setting, item: Setting) -> Setting:
    """Return the setting in which a map chooses gamma and C or alpha: no row tests, a quarter is held out."""
    protocol, solver = setting["protocol"], setting["solvers"]["mapped"]["name"]
    split = {"kind": "validation", "share": 0.25, "of": protocol["split"]}
    search = {"name": "search", "solver": solver, "map": item}
    scale = 1.0 if setting["kernel"]["name"] == "polynomial" else "mean_distance"  # of the grid of gammas
    return {"dataset": setting["dataset"], "protocol": {**protocol, "split": split}, "repeats": 1,
            "kernel": {**setting["kernel"], "gamma": scale}, "solvers": {"exact": [search]}}  # fmt: skip


def run(
    item: Component, of: Sequence[Setting], name: str, *how: Any
) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, str]]:
    """Run what is not done; return the newcomer's cells, the references' and, by data set, why it failed.

    A newcomer that takes no kernel gets the parameters of the kernel that it takes, such as gamma.
    """
    known = item.cls.__signature__.parameters if item.place else {"kernel": None}
    takes = {} if "kernel" in known else {**of[0]["kernel"], "name": item.name, "gamma": 1.0}
    mine = {"name": item.name, **{key: value for key, value in takes.items() if key in known}}
    sizes = ((one, one["maps"][0]["n_components"]) for one in of if one["maps"][0]["name"] == "nystrom")
    sized = [(one, {**mine, "n_components": D}) for one, D in sizes]
    searching = rows(f"{name}/choices", [choosing(*pair) for pair in sized], "nothing", *how)
    choices = study.choices(searching).assign(method=item.name)
    chosen = {(line["dataset"], line["D"]): line for line in choices.to_dict("records")}
    trained = []
    for one, own in sized:
        if choice := chosen.get((one["dataset"], own["n_components"])):
            gamma = study.four_digits(choice["gamma"])
            solver = {key: study.four_digits(choice[key]) if key in choice else value
                      for key, value in one["solvers"]["mapped"].items()}  # fmt: skip
            trained.append({**one, "kernel": {**one["kernel"], "gamma": gamma}, "solvers": {"mapped": solver},
                            "maps": [{**own, "gamma": gamma} if "gamma" in own else own]})  # fmt: skip
    timed = rows(f"{name}/newcomer", trained, "untimed", *how) if trained else []
    failed = {row["dataset"]: row["reason"] for row in (*searching, *timed) if row["status"] != "done"}
    if all(row["status"] != "done" for row in timed):
        raise CodeError(f"{item.name} failed on every data set: {next(iter(failed.values()))}")
    again = study.results(rows(f"{name}/references", of, "untimed", *how))
    lines = study.results(timed).assign(method=item.name)
    found = study.cells(lines, choices), study.cells(again, study.shipped("study"))
    if pd.concat(found)["seconds"].isna().any():
        raise StoreError("the machine was busy, so that times are missing; the same command runs these again")
    return *found, failed


def rows(name: str, settings: Sequence[Setting], again: Any, root: Path, *engine: Any) -> list[Row]:
    """Return the rows of settings, after their trials have run that are not done."""
    path = Path("rank").resolve()  # of the folder in which a newcomer's file is looked for
    content = ExperimentFile.model_validate({"title": name, "settings": settings}, context=Origin(path))
    experiment = Experiment.model_construct(name=name, path=path, **dict(content))
    with closing(run_experiments([experiment], root, *engine, again=again)) as running:
        _, part = next(running)
    if part.error:
        raise part.error
    known = rows_of(experiment, root)
    return [known[trial.id] for trial in part.trials if trial.id in known]


def entered(
    own: pd.DataFrame, references: pd.DataFrame, published: pd.DataFrame, name: str
) -> tuple[pd.DataFrame, str]:
    """Return the published cells and the newcomer's by the published clock, and what the references say."""
    both = references.merge(published, on=[*study.PART, "method", "D"], suffixes=("", "_before"))
    middle, ends = study.interval(
        (both["seconds"] / both["seconds_before"]).map(np.log).groupby(both["dataset"]).mean()
    )
    factor, low, high = np.exp([middle, *ends])
    fewer = (1 / both["splits"] - 1 / both["splits_before"]).clip(lower=0)  # the same splits, but fewer
    bound = NOISE + 3 * both["sd_before"].fillna(0) * fewer**0.5
    far = both[(both["score"] - both["score_before"]).abs() > bound]
    names = ", ".join(f"{line.method} {line.D} on {line.dataset}" for line in far.itertuples())
    told = f"This machine takes {factor:.2f} [{low:.2f}, {high:.2f}] times the published seconds"
    agree = f"differ from the published ones: {names}" if names else "agree with the published ones"
    own = own.assign(method=name, seconds=own["seconds"] / factor, predict=own["predict"] / factor)
    kernels = [*own["kernel"].unique(), study.LINEAR]
    known = published[published["kernel"].isin(kernels) & published["dataset"].isin(own["dataset"])]
    told += f", by {counted(len(both), 'cells')} of two maps; their scores {agree}."
    return pd.concat([known, own], ignore_index=True), told


def standing(of: pd.DataFrame, name: str, kernel: str, budget: float) -> tuple[str, pd.DataFrame]:
    """Return a sentence on the newcomer's rank within a budget, and a line per map with differences."""
    told = f"Within {BUDGETS[budget]} of exact's time "
    found = study.within(of, kernel, study.TUNED, budget)
    if found.empty:
        return f"{told}no data set can be judged: the exact method is too fast.", pd.DataFrame()
    maps = found[found["method"] != study.FEWER]
    scores, D = (study.table_of(maps, value) for value in ("score", "D"))
    ranks, first = study.average_ranks(scores), (scores[name] >= scores.max(axis=1)) & (D[name] > 0)
    lines = []
    for other, rank in ranks.items():
        values = study.difference(of, name, str(other), kernel, study.TUNED, budget)
        able = other != name and len(values) > 0
        compared = (study.number(values), str(len(values)), study.verdict(values)) if able else ("", "", "")
        lines.append((BUDGETS[budget], str(other), f"{rank:.2f}", *compared))
    cd = study.critical_difference(*scores.shape[::-1])
    among = f"{counted(len(ranks), 'maps')} on {counted(len(scores), 'data sets')}"
    told += f"{name} has the average rank {ranks[name]:.2f} of {among} (critical difference {cd:.2f}); "
    told += f"it is first on {', '.join(first[first].index) or 'none'}."
    columns = ["within", "map", "average rank", f"r of {name} less its r", "data sets", "the newcomer is"]
    return told, pd.DataFrame(lines, columns=columns)
