"""The answers of the study: eight sentences with their numbers and intervals, tables, and two figures."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from jinja2 import Template
from matplotlib.figure import Figure
from scipy.stats import friedmanchisquare, spearmanr, wilcoxon

from kfeat.analysis.statistics import share_interval
from kfeat.render.figures.marks import COLOURS, GREY, RC, save
from kfeat.render.table import Table
from kfeat.survey.study import (
    BOOSTING,
    EXACT,
    FEWER,
    FEWEST,
    LEVELS,
    LINEAR,
    average_ranks,
    cells,
    critical_difference,
    curves,
    difference,
    interval,
    leave_one_out,
    number,
    profiles,
    table_of,
    verdict,
    within,
)
from scripts.readme import judgements

Answer = tuple[str, pd.DataFrame]  # a sentence and its table
GAUSSIAN, MAIN_N, MAIN = "gaussian", 16000, 0.1
AT = (GAUSSIAN, MAIN_N, MAIN)  # of most answers
N_ROWS = (1000, 4000, MAIN_N)
BUDGETS = {0.01: "1/100", MAIN: "1/10", 0.5: "1/2"}
NEAR = 0.5  # points: less is no loss, and boosting and linear models are judged by it
LEVEL = 0.05  # of the tests
MADE = "gisette_mnist"  # of MNIST's digits, which are there too
FINER = dict.fromkeys(
    ("orf", "fastfood", "bayesian_quadrature", "positive_features", "optimised_maclaurin"), "random_fourier"
) | {"nystrom rpcholesky": "nystrom"}
ELSEWHERE = {"laplacian": "random_fourier", "polynomial": "tensor_sketch"}  # beside Nystrom, 4,000 rows
SENTENCES = (  # of papers, with the config and claim that test each under its conditions, and two maps here
    (
        "Bellet 2020, Nystrom vs. random kernel features",
        "Nystrom tends to perform better",
        "bellet_2020/accuracy",
        "Nystrom scores above random Fourier features on the Gaussian kernel at every c",
        ("nystrom", "random_fourier"),
    ),
    (
        "Chang et al. 2017, section 5",
        "weights that are learnt (SES) lower the error of the kernel",
        "chang_2017/figure1",
        "SES has a smaller kernel error than MC at every D",
        ("bayesian_quadrature", "random_fourier"),
    ),
    (
        "Pham & Pagh 2013, section 4.1",
        "Tensor Sketch has a smaller error than Random Maclaurin",
        "pham_pagh_2013/figure1",
        "Tensor Sketch's error (Frobenius norm, 2,000 rows) is smaller than Random Maclaurin's on all six "
        "kernels at every D",
        None,
    ),
    (
        "Kar & Karnick 2012, section 6.1",
        "H0/1 scores better with few features",
        "kar_karnick_2012/figure2",
        "On Spambase H0/1 scores above RF at D = 10",
        None,
    ),
)
DRAWN = ("nystrom", "orf", "random_fourier", FEWER, "tensor_sketch")


def pairs(shares: pd.DataFrame) -> pd.DataFrame:
    """Return p of Wilcoxon's signed ranks for each pair of methods, with Holm's correction over all pairs."""
    import scikit_posthocs  # here, so that the rest does not need it

    known = shares.dropna()
    return scikit_posthocs.posthoc_wilcoxon(
        known.melt(var_name="method", value_name="r"), val_col="r", group_col="method",
        p_adjust="holm", zero_method="zsplit",
    )  # fmt: skip


def holm(p: Mapping[str, float]) -> dict[str, float]:
    """Return the p of several tests with Holm's correction."""
    from statsmodels.stats.multitest import multipletests

    return dict(
        zip(p, (float(one) for one in multipletests(list(p.values()), method="holm")[1]), strict=True)
    )


def signed_ranks(differences: pd.Series) -> float:
    """Return p of Wilcoxon's signed ranks for differences; 1 where all are zero."""
    known = differences.dropna()
    return float(wilcoxon(known, zero_method="zsplit").pvalue) if known.any() else 1.0


def leaders(scores: pd.DataFrame, shares: pd.DataFrame, level: float = LEVEL) -> list[str]:
    """Return the method with the lowest average rank, and those that the tests do not separate from it."""
    ranks, p = average_ranks(scores), pairs(shares)
    first = str(ranks.index[0])
    return [first, *(str(name) for name in ranks.index[1:] if p.loc[first, name] >= level)]


def ratio(a: pd.Series, b: pd.Series) -> str:
    """Return the geometric mean of a / b with its interval."""
    middle, (low, high) = interval(np.log(a.clip(lower=1e-9) / b.clip(lower=1e-9)).dropna())
    return f"{np.exp(middle):.3g} [{np.exp(low):.3g}, {np.exp(high):.3g}]"


def of_all(which: Iterable[bool]) -> str:
    """Return on how many data sets something holds, with the interval of their share."""
    holds = list(which)
    low, high = share_interval(sum(holds), len(holds))
    return f"{sum(holds)} of {len(holds)} data sets ({np.mean(holds):.0%} [{low:.0%}, {high:.0%}])"


def compared(values: pd.Series, *names: str) -> dict[str, Any]:
    """Return the line of a table about differences of r."""
    return {
        **dict(zip(("map", "against"), names, strict=False)),
        "data sets": len(values),
        "difference of r": number(values),
        "verdict": verdict(values),
    }


def best_map(of: pd.DataFrame, n: int, budget: float) -> pd.DataFrame:
    """Return by data set the map within a budget that has the best score on held-out rows."""
    lines = within(of, GAUSSIAN, n, budget)
    able = lines[(lines["method"] != FEWER) & (lines["D"] > 0)]
    return able.loc[able.groupby("dataset")["held_out"].idxmax()].set_index("dataset")


def used(of: pd.DataFrame) -> pd.Series:
    """Return which share of exact's seconds each map takes at its largest size, on the most rows."""
    most = of[(of["kernel"] == GAUSSIAN) & (of["n"] == MAIN_N)]
    exact = most[most["method"] == EXACT].set_index("dataset")["seconds"]
    largest = most[most["D"] == most["D"].max()].set_index("dataset")["seconds"]
    return largest / exact.reindex(largest.index)


def which_map(of: pd.DataFrame) -> Answer:
    """Answer question 1."""
    told, lines = [], []
    for budget, words in BUDGETS.items():
        found = within(of, GAUSSIAN, MAIN_N, budget)
        if found["dataset"].nunique() < FEWEST:
            continue
        scores, shares, own = (table_of(found, value) for value in ("score", "r", "predict"))
        ranks, first = average_ranks(scores), leaders(scores, shares)
        others = f"the tests do not separate it from {', '.join(first[1:])}" if first[1:] else "leads"
        share = number(shares[first[0]].dropna(), ".2f")
        told.append(f"within {words} {first[0]} ranks first, with r {share}, and {others}")
        cd, p = critical_difference(*scores.shape[::-1]), friedmanchisquare(*scores.to_numpy().T).pvalue
        tests = f"{words} (critical difference {cd:.2f}, Friedman's p {p:.2g})"
        for name, rank in ranks.items():
            r = shares[name].dropna()
            low, middle, high = r.quantile([0.25, 0.5, 0.75])
            lines.append({
                "budget": tests, "method": name, "average rank": f"{rank:.2f}",
                "mean of r": number(r, ".2f"), "median": f"{middle:.2f}",
                "quartiles": f"{low:.2f}, {high:.2f}",
                "is linear": f"{own[name].isna().sum()} of {len(scores)}",
            })  # fmt: skip
            tests = words
    text = "; ".join(told)
    return text[0].upper() + text[1:], pd.DataFrame(lines)


def predicted(of: pd.DataFrame) -> str:
    """Return at which budgets the plan's prediction failed: Nystrom leads, or at 1/100 ties with ORF."""
    failed = []
    for budget, words in BUDGETS.items():
        found = within(of, GAUSSIAN, MAIN_N, budget)
        if found["dataset"].nunique() >= FEWEST:
            first = leaders(table_of(found, "score"), table_of(found, "r"))
            if ("orf" not in first) if budget == min(BUDGETS) else first != ["nystrom"]:
                failed.append(words)
    return f"It failed at {' and '.join(failed)}" if failed else "It held"


def data_dependent(of: pd.DataFrame) -> Answer:
    """Answer question 2, the primary comparison, and again for parts of the data."""
    values = difference(of, "nystrom", "orf", *AT)
    task = of.drop_duplicates("dataset").set_index("dataset")["task"].loc[values.index]
    parts = {
        "all": values,
        **dict(list(values.groupby(task))),
        f"without {MADE}": values.drop(MADE, errors="ignore"),
    }
    low, high = leave_one_out(values.tolist())
    text = (
        f"Nystrom less ORF is {number(values)} of the exact gain ({verdict(values)}), and with each data set "
    )
    text += f"left out in turn {low:+.2f} to {high:+.2f}" + (": fragile" if low * high <= 0 else "")
    return text, pd.DataFrame({"data": name, **compared(part)} for name, part in parts.items())


def from_how_many_rows(of: pd.DataFrame) -> Answer:
    """Answer question 3."""
    found = pd.concat(
        best_map(of, n, 0.5).query("rows == @n").assign(n=min(n, MAIN_N + 1))
        for n in sorted(of.loc[of["method"] == EXACT, "n"].unique())
    )
    equal = found.assign(equal=found["score"] >= found[EXACT] - NEAR).pivot(columns="n", values="equal")
    onwards = (
        equal.astype(float).fillna(1.0).iloc[:, ::-1].cummin(axis=1).iloc[:, ::-1].where(equal.notna()) == 1
    )
    holds = {n: onwards.loc[:, :n].any(axis=1) for n in N_ROWS if n in equal}
    most = [n for n, which in holds.items() if share_interval(which.sum(), len(which))[0] > 0.5]
    told = "; ".join(f"from {n:,} rows on, on {of_all(which)}" for n, which in holds.items())
    shown = f"from {most[0]:,} rows on" if most else "at none of these sizes"
    text = f"A map loses at most {NEAR} points in half of exact's time {told}. That this is so on most data "
    text += f"is shown {shown}"
    words = equal.replace({True: "equal", False: "less", np.nan: ""}).rename(columns={MAIN_N + 1: "all rows"})
    return text, words.reset_index()


def all_rows(of: pd.DataFrame) -> pd.DataFrame:
    """Return score and seconds of each method on all rows of the data sets that have more than the others."""
    most = of[of["n"] > MAIN_N]
    told = [
        f"{score:.2f} in {time:.3g} s" for score, time in zip(most["score"], most["seconds"], strict=True)
    ]
    names = [f"{name} {D}" if D else name for name, D in zip(most["method"], most["D"], strict=True)]
    lines = most.assign(told=told, name=names)
    return lines.pivot(index=["dataset", "n"], columns="name", values="told").fillna("–").reset_index()


def who_wins(of: pd.DataFrame, traits: pd.DataFrame) -> Answer:
    """Answer question 4."""
    values = difference(of, "nystrom", "orf", *AT)
    known = np.log(traits.loc[values.index, ["n", "d", "density", "spread"]])
    found = {name: spearmanr(known[name], values) for name in known}
    p = holm({name: float(one.pvalue) for name, one in found.items()})
    lines = [
        {"trait": name, "rho": f"{one.statistic:+.2f}", "p": f"{p[name]:.2g}"} for name, one in found.items()
    ]
    telling = [f"{name} (rho {found[name].statistic:+.2f})" for name in found if p[name] < LEVEL]
    return f"Nystrom's lead over ORF goes with {', '.join(telling) or 'none of these traits'}", pd.DataFrame(
        lines
    )


def prediction(of: pd.DataFrame) -> Answer:
    """Answer question 5."""
    best = best_map(of, MAIN_N, MAIN)
    times = ratio(best["exact_predict"], best["predict"])
    lines = best[["method", "D", "predict", "exact_predict"]].round(4).astype({"D": int}).reset_index()
    lines = lines.rename(columns={"predict": "s for 1,000 rows", "exact_predict": "exact"})
    return f"A map within 1/10 predicts {times} times as many rows in a second as exact", lines


def finer_maps(of: pd.DataFrame, errors: pd.DataFrame) -> Answer:
    """Answer question 6."""
    values = {a: difference(of, a, b, *AT) for a, b in FINER.items()}
    p = holm({a: signed_ranks(one) for a, one in values.items()})
    wide = errors.pivot(index="dataset", columns="method", values="error")
    lines = [
        {**compared(values[a], a, b), "p": f"{p[a]:.2g}", "held-out error": f"{ratio(wide[a], wide[b])}×"}
        for a, b in FINER.items()
    ]
    pay, cost = (
        [f"{a} ({number(values[a])})" for a in FINER if verdict(values[a]) == side and p[a] < LEVEL]
        for side in ("better", "worse")
    )
    text = f"At equal time these are shown to pay: {', '.join(pay) or 'none'}; "
    text += f"to cost: {', '.join(cost) or 'none'}"
    return text, pd.DataFrame(lines)


def other_kernels(of: pd.DataFrame) -> Answer:
    """Answer question 7."""
    values = {
        kernel: difference(of, "nystrom", other, kernel, 4000, 0.5)
        for kernel, other in ELSEWHERE.items()
        if (of["kernel"] == kernel).any()
    }
    told = [
        f"{kernel} {number(one)} over {ELSEWHERE[kernel]} ({verdict(one)})" for kernel, one in values.items()
    ]
    lines = [
        {"kernel": kernel, **compared(one, "nystrom", ELSEWHERE[kernel])} for kernel, one in values.items()
    ]
    return f"Nystrom's lead in half of exact's time is: {', '.join(told)}", pd.DataFrame(lines)


def others(of: pd.DataFrame) -> Answer:
    """Answer question 8."""
    half, tenth = (table_of(within(of, GAUSSIAN, MAIN_N, budget), "score") for budget in (0.5, MAIN))
    maps, some = (scores.drop(columns=FEWER, errors="ignore").max(axis=1) for scores in (half, tenth))
    largest = of[(of["n"] <= MAIN_N) & of["kernel"].isin([GAUSSIAN, LINEAR])].sort_values("n")
    scores = table_of(largest.drop_duplicates(["dataset", "method"], keep="last"), "score").loc[maps.index]
    top = np.maximum(maps, scores[EXACT])
    fewer = tenth.get(FEWER, some * np.nan) >= some
    ahead, close = of_all(scores[BOOSTING] >= top + NEAR), of_all(scores[LINEAR] >= top - NEAR)
    text = (
        f"Boosting is ahead of every map within 1/2 and of exact by {NEAR} points on {ahead}; a linear model "
    )
    text += f"is within {NEAR} points of them on {close}; exact on fewer rows equals every map within 1/10 "
    text += f"on {of_all(fewer)}"
    return text, scores[[LINEAR, BOOSTING, EXACT]].assign(**{"best map": maps}).round(2).reset_index()


def sentences(of: pd.DataFrame, errors: pd.DataFrame) -> pd.DataFrame:
    """Return what papers say, how it stands under their own conditions, and here at equal time."""
    wide = errors.pivot(index="dataset", columns="method", values="error")
    verdicts = {
        (judged.experiment.name, item.claim.text): item.verdict
        for judged in judgements()
        for item in judged.claims
    }
    lines = []
    for paper, sentence, config, claim, maps in SENTENCES:
        line = {"paper": paper, "says": sentence}
        line["under its own conditions"] = f"[{verdicts[config, claim]}](../{config}/table.md)"
        if maps:
            values = difference(of, *maps, *AT)
            line["r at equal time"] = f"{number(values)}, {verdict(values)}"
            line["kernel error at equal D"] = f"{ratio(*(wide[name] for name in maps))}×"
        lines.append(line)
    return pd.DataFrame(lines).fillna("not in this study")


QUESTIONS = (
    "Which map is best within a share of the exact method's time?",
    "Is it better to take features from the data?",
    "From how many rows on does a map equal the exact method?",
    "Who wins by n, d, density and spectrum?",
    "What does a map cost at prediction?",
    "Do the finer maps pay?",
    "Do the answers change with the kernel?",
    "When is something else the answer?",
)


def answers(of: pd.DataFrame, errors: pd.DataFrame, traits: pd.DataFrame) -> list[Answer]:
    """Return the eight answers."""
    first = [which_map(of), data_dependent(of), from_how_many_rows(of), who_wins(of, traits)]
    return [*first, prediction(of), finer_maps(of, errors), other_kernels(of), others(of)]


def markdown(lines: pd.DataFrame) -> str:
    """Return a table as Markdown."""
    return Table(list(lines.columns.astype(str)), lines.to_numpy().tolist()).markdown(str)


def page(lines: pd.DataFrame, chosen: pd.DataFrame, errors: pd.DataFrame, traits: pd.DataFrame) -> str:
    """Return the page of answers."""
    of = cells(lines, chosen)
    shares = table_of(within(of, GAUSSIAN, MAIN_N, MAIN))
    template = Template(Path(__file__).with_suffix(".md").read_text(encoding="utf-8"))
    text = template.render(
        n_rows=f"{len(lines):,}",
        n_datasets=lines["dataset"].nunique(),
        n_choices=len(chosen),
        at_end=int(chosen["at_end"].sum()),
        no_gain=", ".join(shares.index[shares.isna().all(axis=1)]) or "no data set",
        largest=f"{used(of).median():.1%}",
        questions=list(zip(QUESTIONS, answers(of, errors, traits), strict=True)),
        sentences=markdown(sentences(of, errors)),
        predicted=predicted(of),
        all_rows=markdown(all_rows(of)),
        profiles=markdown(
            profiles(shares).sort_values(LEVELS[2], ascending=False).map("{:.2f}".format).reset_index()
        ),
        markdown=markdown,
    )
    return f"{text}\n"


def figures(lines: pd.DataFrame, chosen: pd.DataFrame, folder: Path) -> None:
    """Draw the share recovered by that of exact's time, a panel per kernel, and Nystrom less ORF by n."""
    of = cells(lines, chosen)
    parts = [(GAUSSIAN, MAIN_N), *((kernel, 4000) for kernel in ELSEWHERE if (of["kernel"] == kernel).any())]
    with mpl.rc_context(RC):
        fig = Figure(figsize=(4.2 * len(parts), 3.6), layout="constrained")
        for ax, part in zip(np.ravel(fig.subplots(1, len(parts), sharey=True)), parts, strict=True):
            curves(ax, of, *part, dict(zip(DRAWN, COLOURS, strict=False)))
        fig.supxlabel("share of the exact method's time", fontsize=9)
        fig.supylabel("share of the exact gain recovered", fontsize=9)
        save(fig, [folder / "study.svg"])
        fig = Figure(figsize=(4.2, 3.2), layout="constrained")
        by_rows(fig.subplots(), of)
        save(fig, [folder / "study_by_n.svg"])


def by_rows(ax: Any, of: pd.DataFrame) -> None:
    """Draw how far Nystrom is ahead of ORF against the number of rows, with intervals, for two budgets."""
    for budget, colour in zip((MAIN, 0.5), COLOURS, strict=False):
        able = [n for n in N_ROWS if within(of, GAUSSIAN, n, budget)["dataset"].nunique() >= FEWEST]
        known = {n: difference(of, "nystrom", "orf", GAUSSIAN, n, budget) for n in able}
        means = {n: interval(values) for n, values in known.items() if len(values) >= FEWEST}
        for n, (middle, (low, high)) in means.items():
            ax.errorbar(n, middle, [[middle - low], [high - middle]], color=colour, marker="o")
        label = f"within {BUDGETS[budget]}"
        ax.plot(list(means), [middle for middle, _ in means.values()], color=colour, label=label)
    ax.axhline(0, color=GREY, lw=0.8)
    ax.legend()
    ax.set(xscale="log", xlabel="training rows", ylabel="r of Nystrom less r of ORF")
    ax.set_xticks(N_ROWS, [f"{n:,}" for n in N_ROWS])
    ax.minorticks_off()
