"""Write what the survey answers, from its published rows: `python -m scripts.survey`.

It writes kfeat/survey/*.csv, which `kfeat advise` reads, and in results/survey the file survey.parquet with
a line per trial, answers.md and figure.svg. With --traits it also learns the traits about the data sets anew,
for which it needs their files.
"""

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import matplotlib as mpl
import numpy as np
import pandas as pd
from jinja2 import Template
from matplotlib.figure import Figure
from scipy.stats import spearmanr

from kfeat.data import load_raw
from kfeat.own.new_config import RULES, traits_of
from kfeat.render.figures.marks import RC, save
from kfeat.render.table import Table
from kfeat.survey.advice import ADVICE, BUDGETS, EXACT, METHOD, method_name, regrets
from scripts.survey_answers import (
    cells,
    crossover,
    curves,
    equal_time,
    front,
    improvement,
    interval,
    paper_claims,
    profiles,
    trials,
)

CONFIGS, RESULTS, SHIPPED = Path("configs/survey"), Path("results/survey"), Path("kfeat/survey")
KERNELS = ("gaussian", "laplacian", "polynomial 2", "polynomial 4")
REFERENCE = {"gaussian": ("random_fourier", "mc"), "laplacian": ("random_fourier", "mc")} | dict.fromkeys(
    KERNELS[2:], ("tensor_sketch", "")
)
SHOWN = (0.1, 1.0, 10.0)  # seconds
LOSSES = (0.0, 0.5, 1.0, 2.0)  # points
RULE_OF = {
    ("random_fourier", 1000): "random_fourier 1000",
    ("nystrom", 500): "nystrom 500",
    ("random_fourier", 100): "RBFSampler",
    ("nystrom", 100): "Nystroem",
}
SCHEMA = {
    "dataset": "the data set",
    "kernel": "the kernel, with the degree of a polynomial one",
    "map": "the map, or `exact` for LIBSVM and kernel ridge regression",
    "variant": "the sequence of Fourier features, the choice of landmarks, or `h01`",
    "n_components": "D, the number of columns or landmarks; 0 for exact methods",
    "repeat": "the number of the run",
    "task": "classification, regression, or nothing where only the kernel's error was measured",
    "n": "training rows",
    "d": "features",
    "score": "accuracy in per cent on the test rows, or 100 R²",
    "kernel_error": "relative error of the kernel (Frobenius) on 2,000 training rows",
    "map_seconds": "CPU seconds of fitting the map and mapping the training rows; missing if others ran",
    "seconds": "the same with training",
    "memory_mb": "peak memory of the trial",
    "id": "the trial: `kfeat explain ID` shows its row",
}


def rows_of(name: str) -> list[dict[str, Any]]:
    """Return the published rows of a config of the survey; none if it has none."""
    path = RESULTS / name / "trials.jsonl"
    return (
        [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    )


def parts() -> list[str]:
    """Return the names of the parts: a data set and a kernel each."""
    ends = tuple("_" + kernel.replace(" ", "") for kernel in KERNELS)
    found = sorted(path.stem for path in CONFIGS.glob("[!_]*.yaml"))
    return [one for one in found if one.endswith(ends) and not one.startswith("tuning_")]


def table(lines: Iterable[Sequence[Any]], headers: Sequence[str]) -> str:
    """Return a table of texts as Markdown."""
    return Table(headers, list(lines)).markdown(str)


def part_link(dataset: str, kernel: str) -> str:
    """Return a link to a part's table."""
    return f"[{dataset}]({dataset}_{kernel.replace(' ', '')}/table.md)"


def rules() -> pd.DataFrame:
    """Return the scores and seconds of the rules of thumb, by data set."""
    found = cells(trials(rows_of("rules_of_thumb")))
    names = [RULE_OF[key] for key in zip(found["map"], found["n_components"], strict=True)]
    return found.assign(rule=names)


def best_table(of: pd.DataFrame) -> str:
    """Return the best method of each kernel within each budget, with its mean loss."""
    found = curves(of, SHOWN)
    exact = of[of["map"] == EXACT].groupby("kernel")["seconds"].mean()
    lines = []
    for kernel in KERNELS:
        line = [kernel]
        for budget in SHOWN:
            here = found[(found["kernel"] == kernel) & (found["budget"] == budget) & (found["map"] != EXACT)]
            top = here.sort_values("mean").head(2)
            line.append(
                "; ".join(f"{method_name(one)} {one['mean']:.1f}" for _, one in top.iterrows()) or "–"
            )
        lines.append([*line, f"{exact[kernel]:.1f} s"])
    return table(lines, ["kernel", *(f"within {budget:g} s" for budget in SHOWN), "exact takes"])


def claims_table(of: pd.DataFrame) -> str:
    """Return every sentence of the papers with its number, interval and verdict."""
    lines = []
    for one in paper_claims(of):
        middle, (low, high) = one.judged
        form = "{:+.2f} [{:+.2f}, {:+.2f}] points" if one.of == "score" else "{:.2f} [{:.2f}, {:.2f}]×"
        number = form.format(middle, low, high)
        lines.append(
            [one.text, one.source, number, f"{one.favour} of {len(one.by_dataset)}", f"**{one.verdict}**"]
        )
    return table(lines, ["sentence", "source", "at equal time", "better on", "verdict"])


def profile_table(of: pd.DataFrame, budget: float) -> str:
    """Return the performance profiles at a budget, the best methods of each kernel first."""
    found = profiles(of, budget, LOSSES).fillna(0.0)
    lines = []
    for kernel in KERNELS:
        here = found.loc[kernel].sort_values(list(LOSSES[1:]), ascending=False)
        for (name, variant), shares in here.iterrows():
            lines.append([kernel, f"{name} {variant}".strip(), *(f"{share:.0%}" for share in shares)])
    return table(lines, ["kernel", "method", *(f"at most {loss:g}" for loss in LOSSES)])


def improvement_table(lines: pd.DataFrame) -> str:
    """Return the probability that each map scores above the reference of its kernel at equal D."""
    found = []
    for kernel in KERNELS:
        here = lines[(lines["kernel"] == kernel) & lines["score"].notna() & (lines["map"] != EXACT)]
        reference = dict(zip(METHOD, (kernel, *REFERENCE[kernel]), strict=True))
        for (name, variant), _ in here.groupby(METHOD[1:]):
            method = dict(zip(METHOD, (kernel, name, variant), strict=True))
            if method != reference:
                middle, (low, high) = improvement(here, method, reference)
                verdict = "better" if low > 0.5 else "worse" if high < 0.5 else "open"
                found.append(
                    [kernel, f"{name} {variant}".strip(), f"{middle:.2f} [{low:.2f}, {high:.2f}]", verdict]
                )
    return table(found, ["kernel", "method", "probability of a better score", "verdict"])


def gain_table(of: pd.DataFrame) -> str:
    """Return what a map loses against the exact method in a tenth of its time, by data set and kernel."""
    lines = []
    for (name, kernel), here in of.groupby(["dataset", "kernel"]):
        exact = here[here["map"] == EXACT]
        if exact.empty or not exact["seconds"].notna().all():
            continue
        seconds, score = float(exact["seconds"].iloc[0]), float(exact["score"].iloc[0])
        fast = here[(here["map"] != EXACT) & (here["seconds"] <= seconds / 10)]
        line = [part_link(name, kernel), kernel, f"{score:.2f}", f"{seconds:.2f}"]
        if fast.empty:
            lines.append([*line, "none", "–", "–", "–"])
            continue
        one = fast.loc[fast["score"].idxmax()]
        loss, gained = score - one["score"], seconds - one["seconds"]
        line += [f"{method_name(one)}, {one['n_components']}", f"{one['seconds']:.2f}", f"{loss:+.2f}"]
        lines.append([*line, f"{loss / gained:+.3f}"])
    headers = ["data", "kernel", "exact score", "exact seconds", "best map in a tenth of it", "seconds"]
    return table(lines, [*headers, "points lost", "points lost per second gained"])


def growth_table() -> str:
    """Return scores and seconds against n on Covertype."""
    of = pd.concat([cells(here) for _, here in trials(rows_of("growth_covertype")).groupby("n")])
    lines = []
    columns = sorted({(one["map"], one["n_components"]) for _, one in of.iterrows()})
    for n in sorted(of["n"].unique()):
        line = [f"{n:,}"]
        for name, size in columns:
            here = of[(of["n"] == n) & (of["map"] == name) & (of["n_components"] == size)]
            line.append(
                "–" if here.empty else f"{here['score'].iloc[0]:.2f} in {here['seconds'].iloc[0]:.1f} s"
            )
        lines.append(line)
    text = table(lines, ["n", *(f"{name} {size}" if size else name for name, size in columns)])
    known = of[of["seconds"].notna()]
    for name, size in columns:
        if size and (n := crossover(known[known["n_components"].isin([size, 0])], {"map": name})):
            words = f"{name} with {size:,} columns"
            text += f"\n\n- {words} maps and trains faster than LIBSVM from {n:,.0f} rows on."
    return text


def structured_table(of: pd.DataFrame) -> str:
    """Return the seconds of structured maps beside dense ones at D = 4,096, by the number of features."""
    here = of[(of["kernel"] == "gaussian") & (of["n_components"] == 4096)]
    wide = here.pivot_table(index=["d", "dataset"], columns=["map", "variant"], values="map_seconds")
    dense = wide["random_fourier", "mc"]
    lines = [
        [f"{d:,}", name, f"{dense[d, name]:.3f}",
         *(f"{dense[d, name] / wide[one, ''][d, name]:.2f}×" for one in ("orf", "sorf", "fastfood"))]
        for d, name in wide.index
    ]  # fmt: skip
    return table(lines, ["d", "data", "dense RFF, seconds", "ORF", "SORF", "Fastfood"])


def spectrum_table(of: pd.DataFrame) -> tuple[str, float, float]:
    """Return Nystrom beside random features by the decay of the spectrum, and their rank correlation."""
    best = {
        row["dataset"]: row["best_rank_error"]
        for row in rows_of("spectra")
        if row["map"]["n_components"] == 256
    }
    a = {"kernel": "gaussian", "map": "nystrom", "variant": "uniform"}
    b = {"kernel": "gaussian", "map": "random_fourier", "variant": "mc"}
    errors, scores = equal_time(of, a, b, "kernel_error"), equal_time(of, a, b, "score")
    names = sorted(best.keys() & set(errors.index), key=lambda one: best[one])
    lines = [
        [one, f"{best[one]:.2g}", f"{errors[one]:.3f}×", f"{scores.get(one, np.nan):+.2f}"] for one in names
    ]
    found = spearmanr([best[one] for one in names], [errors[one] for one in names])
    text = table(
        lines, ["data", "least error of rank 256", "Nystrom's kernel error over RFF's", "points gained"]
    )
    return text, float(found.statistic), float(found.pvalue)


def regret_table(found: pd.DataFrame) -> str:
    """Return the mean regret of each rule by budget, and over all budgets.

    Then follow by how much it is above that of the advice, with an interval over the data sets, the largest
    one, and how often a choice took longer than the budget.
    """
    lines = []
    by_dataset = found.pivot_table(index="dataset", columns="rule", values="regret")
    for rule, words in {ADVICE: "**this advice**", **RULES}.items():
        here = found[found["rule"] == rule]
        means = [here.loc[here["budget"] == budget, "regret"].mean() for budget in BUDGETS]
        over = f"{int(here['over'].sum())} of {len(here)}"
        middle, (low, high) = interval((by_dataset[rule] - by_dataset[ADVICE]).tolist())
        above = "–" if rule == ADVICE else f"{middle:+.2f} [{low:+.2f}, {high:+.2f}]"
        lines.append([words, *(f"{one:.2f}" for one in means), f"**{here['regret'].mean():.2f}**", above,
                      f"{here['regret'].max():.1f}", over])  # fmt: skip
    return table(
        lines,
        [
            "rule",
            *(f"{one:g} s" for one in BUDGETS),
            "mean",
            "above the advice",
            "largest",
            "over the budget",
        ],
    )


def on_unseen(found: pd.DataFrame) -> dict[str, str]:
    """Return the mean regrets on the two data sets on which no constant of the advice was chosen."""
    mean = found[found["dataset"].isin(["mnist", "gisette_mnist"])].groupby("rule")["regret"].mean()
    return {"advise": f"{mean[ADVICE]:.2f}", "nystrom": f"{mean['nystrom 500']:.2f}"}


def front_table(of: pd.DataFrame) -> str:
    """Return the Pareto front of each data set over all kernels."""
    lines = [
        [name, "; ".join(_on_front(one) for _, one in here.iterrows())]
        for name, here in front(of[of["seconds"] >= 0.01]).groupby("dataset")
    ]
    return table(lines, ["data", "seconds and score of the methods that no other beats in less time"])


def _on_front(one: Any) -> str:
    size = f" {one['n_components']}" if one["n_components"] else ""
    return f"{one['seconds']:.2f} s {one['score']:.1f}: {one['kernel']}, {method_name(one)}{size}"


def figure(of: pd.DataFrame, path: Path) -> None:
    """Draw the mean points lost against the exact method of the kernel, by the seconds of the budget."""
    budgets = np.geomspace(0.02, 30, 60)
    found = curves(of, budgets)
    found = found[found["map"] != EXACT]
    fig = Figure(figsize=(9, 6), layout="constrained")
    axes = fig.subplots(2, 2, sharex=True)
    colours = mpl.colormaps["tab20"].colors
    names = sorted({method_name(one) for _, one in found[METHOD].drop_duplicates().iterrows()})
    drawn: dict[str, Any] = {}
    for ax, kernel in zip(axes.flat, KERNELS, strict=True):
        here = found[found["kernel"] == kernel]
        for (name, variant), line in here.groupby(METHOD[1:]):
            words = f"{name} {variant}".strip()
            at = names.index(words)
            style = {"color": colours[at % 20], "ls": "-" if at < 20 else "--", "label": words}
            (drawn[words],) = ax.plot(line["budget"], line["mean"], **style)
        exact = of[(of["map"] == EXACT) & (of["kernel"] == kernel)]["seconds"].mean()
        ax.axvline(exact, color="black", lw=0.8, ls=":")
        ax.axhline(0, color="black", lw=0.8)
        ax.set(xscale="log", title=kernel, ylim=(-1.5, 12))
        ax.xaxis.set_major_formatter("{x:g}")
        ax.annotate("exact", (exact, 11.3), fontsize=7)
    fig.legend(handles=[drawn[name] for name in names], loc="outside right upper", fontsize=8)
    fig.supxlabel("CPU seconds of mapping and training", fontsize=9)
    fig.supylabel("points lost against the exact method, mean over the data sets", fontsize=9)
    save(fig, [path])


def texts(lines: pd.DataFrame, described: pd.DataFrame) -> dict[Path, str]:
    """Return the files with text that the survey writes, from its trials and the traits of its data sets."""
    of = cells(lines)
    regret = regrets(of, described, rules())
    spectrum, rank, p = spectrum_table(of)
    scored = lines["score"].notna()
    page = Template(Path(__file__).with_name("survey_answers.md").read_text(encoding="utf-8"))
    answers = page.render(
        models=f"{scored.sum():,}", errors=f"{(~scored).sum():,}", n_datasets=of["dataset"].nunique(),
        n_methods=of[of["map"] != EXACT].groupby(METHOD).ngroups, best=best_table(of),
        claims=claims_table(of),
        n_sentences=len(paper_claims(of)), gain=gain_table(of), growth=growth_table(),
        structured=structured_table(of), spectrum=spectrum, rank=f"{rank:.2f}", p=f"{p:.2g}",
        profiles=profile_table(of, 1.0), improvements=improvement_table(lines), regret=regret_table(regret),
        unseen=on_unseen(regret), fronts=front_table(of),
        schema=table(([f"`{name}`", words] for name, words in SCHEMA.items()), ["column", "meaning"]),
    )  # fmt: skip
    return {
        SHIPPED / "cells.csv": of.round(5).to_csv(index=False),
        SHIPPED / "regret.csv": regret.round(4).to_csv(index=False),
        RESULTS / "answers.md": f"{answers}\n",
    }


@click.command()
@click.option("--traits", is_flag=True, help="Learn the traits of the data sets anew.")
def survey(traits: bool) -> None:
    """Write what the survey answers."""
    lines = trials(row for part in parts() for row in rows_of(part))
    if traits:
        access = {"mirror": os.environ.get("KFEAT_MIRROR"), "offline": False}
        known = [
            {"dataset": name, **asdict(traits_of(name, load_raw(name, **access), int(n), **access))}
            for name, n in lines.groupby("dataset", sort=False)["n"].first().items()
        ]
        pd.DataFrame(known).round(5).to_csv(SHIPPED / "datasets.csv", index=False)
    for path, text in texts(lines, pd.read_csv(SHIPPED / "datasets.csv", index_col="dataset")).items():
        path.write_text(text, encoding="utf-8")
    lines.to_parquet(RESULTS / "survey.parquet", index=False)
    with mpl.rc_context(RC):
        figure(cells(lines), RESULTS / "figure.svg")


if __name__ == "__main__":
    survey()
