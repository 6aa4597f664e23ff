"""How good `kfeat advise` is: `python -m scripts.advice rules`, and once its rows are published, `regret`.

`rules` writes the config of the rules of thumb: scikit-learn's maps, with the gamma and the C or alpha that
the study chose for the same maps. `regret` writes what advice and the rules lose on each data set of the
study, from its cells and the rows of that config, to kfeat/survey/regret.csv.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import click
import pandas as pd

from kfeat.own.new_config import RULES
from kfeat.survey.advice import METHOD, Traits, advise, shipped, with_share
from kfeat.survey.parts import CLASSES, FEW_ROWS, GAUSSIAN, NUMBERS, Chosen, Entry, Part, parts
from kfeat.survey.study import LINEAR, TUNED, cells, choices, published, results
from scripts.study import config, rows_below

MOST = 16000  # training rows at most on which advice is judged
BUDGETS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)  # seconds of mapping and training
NAME, ROWS = "rules_of_the_study", Path("results/survey")
PLACE = "sklearn.kernel_approximation:"
THEIRS = {  # the class and its size, the map of the study with the nearest size
    "scikit-learn's Nystroem with 500 landmarks": ("Nystroem", 500, "nystrom", 256),
    "scikit-learn's RBFSampler with 1,000 columns": ("RBFSampler", 1000, "random_fourier", 1024),
}


def rule_settings(of: Iterable[Part], chosen: Chosen) -> Iterator[Entry]:
    """Yield the settings of scikit-learn's maps, each with the choice of the study's nearest size."""
    for part in of:
        few = part.dataset in FEW_ROWS
        if part.kernel == GAUSSIAN and part.n == (TUNED if few else MOST):
            for name, size, ours, nearest in THEIRS.values():
                choice = chosen(part, {"name": ours, "n_components": min(nearest, 256) if few else nearest})
                gamma = {"gamma": choice["gamma"]} if name == "RBFSampler" else {}  # kfeat gives the other
                item = {"name": PLACE + name, "n_components": size, **gamma}
                yield part._replace(repeats=3).chosen(item, choice)


def regrets(of: pd.DataFrame, described: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    """Return the regret of advice and of each rule of thumb: a line per data set, budget and rule.

    It is the share of the best method within the budget less that of the chosen one, on at most 16,000 rows.
    What takes longer than the budget is the linear model instead. The advice for a data set uses the other
    data sets alone.
    """
    everything = with_share(pd.concat([of, theirs], ignore_index=True), MOST).set_index("dataset")
    rules = {rule: (methods[-1], size) for rule, (methods, size) in RULES.items() if rule not in THEIRS}
    ran = {rule: (PLACE + name, size) for rule, (name, size, _, _) in THEIRS.items()}
    rules |= {rule: place for rule, place in ran.items() if place[0] in set(theirs["method"])}
    lines = []
    for name in described.index[described.index.isin(of["dataset"])]:
        known = everything.loc[[name]].dropna(subset="seconds")
        ours = known[~known["method"].str.startswith(PLACE)]
        (linear,) = ours.loc[ours["method"] == LINEAR, "share"]
        # Of the methods that were not run on this data set the regret is not known.
        others = of[of["dataset"] != name].merge(ours[METHOD], on=METHOD)
        traits = Traits(**{**described.loc[name], "n": min(described.loc[name, "n"], MOST)})
        for budget in BUDGETS:
            best = max([linear, *ours.loc[ours["seconds"] <= budget, "share"]])
            found = advise(traits, budget, others, described.drop(index=name))
            advised = (found.method, found.D) if found else (LINEAR, 0)
            for rule, (method, size) in {"advise": advised, **rules}.items():
                line = known[(known["method"] == method) & (known["D"] <= size)].nlargest(1, "D")
                share = [*line.loc[line["seconds"] <= budget, "share"], linear][0]
                lines.append((name, budget, rule, max(best - share, 0.0)))
    return pd.DataFrame(lines, columns=["dataset", "budget", "rule", "regret"])


@click.command()
@click.argument("step", type=click.Choice(["rules", "regret"]))
def advice(step: str) -> None:
    """Write the config of the rules of thumb, or the regrets."""
    chosen = choices(rows_below(ROWS, "choices_*"))
    own = chosen[(chosen["kernel"] == GAUSSIAN["name"]) & (chosen["n"] == TUNED)]
    if step == "rules":
        names = [name for name in CLASSES + NUMBERS if name in set(own["dataset"])]
        settings = rule_settings(parts(names), Chosen(own))
        asks = "What do maps of scikit-learn score as rules of thumb, with the gamma and C of the study?"
        text = config(asks, "rules of thumb", settings).replace("scripts.study", "scripts.advice")
        Path(f"configs/survey/{NAME}.yaml").write_text(text, encoding="utf-8")
        return
    rows = rows_below(ROWS, NAME)
    theirs = cells(results(rows), chosen) if rows else published()[:0]
    found = regrets(published(), shipped("traits"), theirs)
    found.to_csv("kfeat/survey/regret.csv", index=False, float_format="%.4f")


if __name__ == "__main__":
    advice()
