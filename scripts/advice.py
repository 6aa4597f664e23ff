"""How good `kfeat advise` is: `python -m scripts.advice rules` writes the config of the rules of thumb.

They are scikit-learn's maps, with the gamma and the C or alpha that the study chose for the same maps.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from kfeat.survey.parts import CLASSES, FEW_ROWS, GAUSSIAN, NUMBERS, Chosen, Entry, Part, parts
from kfeat.survey.study import TUNED, choices
from scripts.study import config, rows_below

MOST = 16000  # training rows at most on which advice is judged
NAME, ROWS = "rules_of_the_study", Path("results/survey")
PLACE = "sklearn.kernel_approximation:"
THEIRS = {"Nystroem": ("nystrom", 256, 500), "RBFSampler": ("random_fourier", 1024, 1000)}


def rule_settings(of: Iterable[Part], chosen: Chosen) -> Iterator[Entry]:
    """Yield the settings of scikit-learn's maps, each with the choice of the study's nearest size."""
    for part in of:
        few = part.dataset in FEW_ROWS
        if part.kernel == GAUSSIAN and part.n == (TUNED if few else MOST):
            for theirs, (ours, nearest, size) in THEIRS.items():
                choice = chosen(part, {"name": ours, "n_components": min(nearest, 256) if few else nearest})
                gamma = {"gamma": choice["gamma"]} if theirs == "RBFSampler" else {}  # kfeat gives the other
                item = {"name": PLACE + theirs, "n_components": size, **gamma}
                yield part._replace(repeats=3).chosen(item, choice)


@click.command()
@click.argument("step", type=click.Choice(["rules"]))
def advice(step: str) -> None:
    """Write the config of the rules of thumb."""
    chosen = Chosen(choices(rows_below(ROWS, "choices_*")))
    settings = rule_settings(parts([*CLASSES, *NUMBERS]), chosen)
    asks = "What do maps of scikit-learn score as rules of thumb, with the gamma and C of the study?"
    text = config(asks, "rules of thumb", settings).replace("scripts.study", "scripts.advice")
    Path(f"configs/survey/{NAME}.yaml").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    advice()
