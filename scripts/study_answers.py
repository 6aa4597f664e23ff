"""The answers of the study: eight sentences with their numbers and intervals, tables, and two figures."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import yaml
from jinja2 import Template
from matplotlib.figure import Figure
from scipy.stats import friedmanchisquare, spearmanr, wilcoxon

from kfeat.analysis.statistics import share_interval
from kfeat.render.figures.style import COLOURS, GREY, RC
from kfeat.render.figures.svg import save
from kfeat.render.table import Table
from kfeat.survey import study
from kfeat.survey.study import BOOSTING, EXACT, FEWER, FEWEST, LINEAR, difference, number, verdict, within
from scripts.readme import judgements

Answer = tuple[str, pd.DataFrame]  # a sentence and its table
GAUSSIAN, MAIN_N, MAIN = "gaussian", 16000, 0.1
AT = (GAUSSIAN, MAIN_N, MAIN)  # of most answers
N_ROWS = (1000, 4000, MAIN_N)
BUDGETS = {0.01: "1/100", MAIN: "1/10", 0.5: "1/2"}
NEAR = 0.5  # points: less is no loss, and boosting and linear models are judged by it
LEVEL = 0.05  # of the tests
MADE = "gisette_mnist"  # of MNIST's digits, which are there too
OF_FOURIER = ("orf", "fastfood", "bayesian_quadrature", "positive_features", "optimised_maclaurin")
FINER = {**dict.fromkeys(OF_FOURIER, "random_fourier"), "nystrom rpcholesky": "nystrom"}
ELSEWHERE = {"laplacian": "random_fourier", "polynomial": "tensor_sketch"}  # beside Nystrom, 4,000 rows
DRAWN = ("nystrom", "orf", "random_fourier", FEWER, "tensor_sketch")


def holm(p: Mapping[str, float]) -> dict[str, float]:
    """Return the p of several tests with Holm's correction."""
    from statsmodels.stats.multitest import multipletests

    return dict(zip(p, map(float, multipletests(list(p.values()), method="holm")[1]), strict=True))


def leaders(scores: pd.DataFrame, shares: pd.DataFrame) -> list[str]:
    """Return the method with the lowest average rank, and those that tests do not separate from it.

    The tests are Wilcoxon's of signed ranks for each pair of methods, with Holm's correction over all pairs.
    """
    import scikit_posthocs  # here, so that the rest does not need it

    lines = shares.dropna().melt(var_name="method", value_name="r")
    how = {"val_col": "r", "group_col": "method", "p_adjust": "holm", "zero_method": "zsplit"}
    p = scikit_posthocs.posthoc_wilcoxon(lines, **how)
    first, *others = study.average_ranks(scores).index
    return [first, *(name for name in others if p.loc[first, name] >= LEVEL)]


def ratio(a: pd.Series, b: pd.Series) -> str:
    """Return the geometric mean of a / b with its interval."""
    middle, ends = study.interval(np.log(a.clip(lower=1e-9) / b.clip(lower=1e-9)).dropna())
    return "{:.3g} [{:.3g}, {:.3g}]".format(*np.exp([middle, *ends]))


def of_all(which: Iterable[bool]) -> str:
    """Return on how many data sets something holds, with the interval of their share."""
    holds = list(which)
    low, high = share_interval(sum(holds), len(holds))
    return f"{sum(holds)} of {len(holds)} data sets ({np.mean(holds):.0%} [{low:.0%}, {high:.0%}])"


def compared(values: pd.Series, **names: str) -> dict[str, Any]:
    """Return the line of a table about differences of r."""
    return {**names, "data sets": len(values), "difference of r": number(values), "verdict": verdict(values)}


def of_shared_sizes(of: pd.DataFrame, a: str, b: str) -> pd.DataFrame:
    """Return the cells without the sizes of one of two maps that the other one was not run with."""
    keys = pd.MultiIndex.from_frame(of[[*study.PART, "D"]])
    shared = keys[of["method"] == a].intersection(keys[of["method"] == b])
    return of[~of["method"].isin([a, b]) | keys.isin(shared)]


def best_map(of: pd.DataFrame, n: int, budget: float) -> pd.DataFrame:
    """Return by data set the map within a budget that has the best score on held-out rows."""
    lines = within(of, GAUSSIAN, n, budget)
    able = lines[(lines["method"] != FEWER) & (lines["D"] > 0)]
    return able.loc[able.groupby("dataset")["held_out"].idxmax()].set_index("dataset")


def used(of: pd.DataFrame) -> pd.Series:
    """Return which share of exact's seconds each map takes at its largest size, on the most rows."""
    most = of[(of["kernel"] == GAUSSIAN) & (of["n"] == MAIN_N)].set_index("dataset")
    largest = most.loc[most["D"] == most["D"].max(), "seconds"]
    return largest / most.loc[most["method"] == EXACT, "seconds"].reindex(largest.index)


def judged(of: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame, pd.DataFrame, list[str]]]:
    """Yield each budget at which enough data sets are judged, its lines, their shares, and the leaders."""
    for budget, words in BUDGETS.items():
        found = within(of, GAUSSIAN, MAIN_N, budget)
        if found["dataset"].nunique() >= FEWEST:
            shares = study.table_of(found)
            yield words, found, shares, leaders(study.table_of(found, "score"), shares)


def which_map(of: pd.DataFrame) -> Answer:
    """Answer question 1."""
    told, lines = [], []
    for words, found, shares, first in judged(of):
        scores, own = (study.table_of(found, value) for value in ("score", "predict"))
        others = f"the tests do not separate it from {', '.join(first[1:])}" if first[1:] else "leads"
        share = number(shares[first[0]].dropna(), ".2f")
        told.append(f"within {words} {first[0]} ranks first, with r {share}, and {others}")
        cd, p = study.critical_difference(*scores.shape[::-1]), friedmanchisquare(*scores.to_numpy().T).pvalue
        for name, rank in study.average_ranks(scores).items():
            r = shares[name].dropna()
            low, middle, high = (f"{one:.2f}" for one in r.quantile([0.25, 0.5, 0.75]))
            tests = f" (critical difference {cd:.2f}, Friedman's p {p:.2g})" * (name == first[0])
            lines.append({
                "budget": f"{words}{tests}", "method": name, "average rank": f"{rank:.2f}",
                "mean of r": number(r, ".2f"), "median": middle, "quartiles": f"{low}, {high}",
                "is linear": f"{own[name].isna().sum()} of {len(scores)}",
            })  # fmt: skip
    text = "; ".join(told)
    return text[0].upper() + text[1:], pd.DataFrame(lines)


def predicted(of: pd.DataFrame) -> str:
    """Return at which budgets the prediction is confirmed: Nystrom leads, or at 1/100 ties with ORF."""
    parts = list(judged(of))

    def confirmed(leading: Iterable[list[str]]) -> str:
        words = [
            words for (words, *_), first in zip(parts, leading, strict=True)
            if ("orf" in first if words == BUDGETS[0.01] else first == ["nystrom"])
        ]  # fmt: skip
        return " and ".join(words) or "no budget"

    over_all = confirmed(first for *_, first in parts)
    over_first = confirmed(leading_maps(found) for _, found, *_ in parts)
    return (
        "Whether it is confirmed depends on Holm's correction. Over all pairs of methods, exact on fewer "
        f"rows included, it is confirmed at {over_all}. Over the first map and each other map, it is "
        f"confirmed at {over_first}"
    )


def leading_maps(found: pd.DataFrame) -> list[str]:
    """Return the map with the lowest average rank, and those that its tests with each do not separate."""
    maps = found[found["method"] != FEWER]
    shares = study.table_of(maps)
    first, *others = study.average_ranks(study.table_of(maps, "score")).index
    p = holm({name: signed_ranks((shares[first] - shares[name]).dropna()) for name in others})
    return [first, *(name for name in others if p[name] >= LEVEL)]


def signed_ranks(values: pd.Series) -> float:
    """Return the p of Wilcoxon's test of signed ranks; 1 where all differences are zero."""
    return float(wilcoxon(values, zero_method="zsplit").pvalue) if values.any() else 1.0


def data_dependent(of: pd.DataFrame) -> Answer:
    """Answer question 2, the primary comparison, and again for parts of the data."""
    values = difference(of, "nystrom", "orf", *AT)
    task = of.drop_duplicates("dataset").set_index("dataset")["task"].loc[values.index]
    others = {f"without {MADE}": values.drop(MADE, errors="ignore")}
    parts = {"all": values, **dict(list(values.groupby(task))), **others}
    low, high = study.leave_one_out(values.tolist())
    plain = difference(of, "nystrom", "random_fourier", *AT)
    text = (
        f"Nystrom minus ORF is {number(values)} of the exact gain ({verdict(values)}), and with each data "
        f"set left out in turn {low:+.2f} to {high:+.2f}{': fragile' * (low * high <= 0)}. Nystrom minus "
        f"random_fourier is {number(plain)} ({verdict(plain)}). {seconds_used(of, values.index)}"
    )
    lines = [compared(part, data=name, against="orf") for name, part in parts.items()]
    return text, pd.DataFrame([*lines, compared(plain, data="all", against="random_fourier")])


def seconds_used(of: pd.DataFrame, datasets: pd.Index) -> str:
    """Return what share of a budget Nystrom and ORF use, since the largest size that was run ends both."""
    found = within(of, *AT)
    seconds, D = (
        study.table_of(found, value).loc[datasets, ["nystrom", "orf"]] for value in ("seconds", "D")
    )
    limits = MAIN * found.drop_duplicates("dataset").set_index("dataset")["limit"]
    shares = seconds.div(limits.loc[datasets], axis=0).median()
    same = D["nystrom"] == D["orf"]
    times = np.exp(np.log(seconds.loc[same, "nystrom"] / seconds.loc[same, "orf"]).mean())
    return (
        f"These are not equal seconds: the median share of the budget that Nystrom uses is "
        f"{shares['nystrom']:.0%}, and ORF {shares['orf']:.0%}. On the {same.sum()} of {len(same)} data sets "
        f"where both have the same number of columns, Nystrom takes {times:.1f} times the seconds"
    )


def from_how_many_rows(of: pd.DataFrame) -> Answer:
    """Answer question 3."""
    found = pd.concat(
        best_map(of, n, 0.5).query("rows == @n").assign(n=min(n, MAIN_N + 1))
        for n in sorted(of.loc[of["method"] == EXACT, "n"].unique())
    )
    equal = found.assign(equal=found["score"] >= found[EXACT] - NEAR).pivot(columns="n", values="equal")
    onwards = equal.astype(float).fillna(1.0).iloc[:, ::-1].cummin(axis=1).iloc[:, ::-1] == 1
    onwards &= equal.notna()
    holds = {n: onwards.loc[:, :n].any(axis=1) for n in N_ROWS if n in equal}
    most = [n for n, which in holds.items() if share_interval(which.sum(), len(which))[0] > 0.5]
    told = "; ".join(f"from {n:,} rows on, on {of_all(which)}" for n, which in holds.items())
    shown = f"from {most[0]:,} rows on" if most else "at none of these sizes"
    text = f"A map loses at most {NEAR} points in half of exact's time {told}. That this is so on most data "
    able = found[(found["n"] == MAIN_N) & (found[EXACT] - found[LINEAR] >= study.LEAST_GAIN)]
    where = of_all(able["score"] >= able[EXACT] - NEAR)
    words = equal.replace({True: "equal", False: "less", np.nan: ""}).rename(columns={MAIN_N + 1: "all rows"})
    text += f"is shown {shown}. These counts include data sets that have fewer rows, or on which exact gains "
    text += f"less than a point over linear. Without those it is so with {MAIN_N:,} rows on {where}"
    return text, words.reset_index()


def all_rows(of: pd.DataFrame) -> pd.DataFrame:
    """Return score and seconds of each method on all rows of the data sets that have more than the others."""
    most = of[of["n"] > MAIN_N]
    columns = zip(most["method"], most["D"], most["score"], most["seconds"], strict=True)
    told = [(f"{name} {D}" if D else name, f"{score:.2f} in {s:.3g} s") for name, D, score, s in columns]
    lines = most[["dataset", "n"]].assign(**pd.DataFrame(told, most.index, ["name", "told"]))
    return lines.pivot(index=["dataset", "n"], columns="name", values="told").fillna("–").reset_index()


def who_wins(of: pd.DataFrame, traits: pd.DataFrame) -> Answer:
    """Answer question 4."""
    values = difference(of, "nystrom", "orf", *AT)
    known = np.log(traits.loc[values.index, ["n", "d", "density", "spread"]])
    found = {name: spearmanr(known[name], values) for name in known}
    p = holm({name: float(one.pvalue) for name, one in found.items()})
    rho = {name: f"{one.statistic:+.2f}" for name, one in found.items()}
    telling = [f"{name} (rho {rho[name]})" for name in found if p[name] < LEVEL]
    lines = pd.DataFrame({"trait": name, "rho": rho[name], "p": f"{p[name]:.2g}"} for name in found)
    return f"Nystrom's lead over ORF goes with {', '.join(telling) or 'none of these traits'}", lines


def prediction(of: pd.DataFrame) -> Answer:
    """Answer question 5."""
    best = best_map(of, MAIN_N, MAIN)
    times = ratio(best["exact_predict"], best["predict"])
    lines = best[["method", "D", "predict", "exact_predict"]].round(4).astype({"D": int}).reset_index()
    lines = lines.rename(columns={"predict": "s for 1,000 rows", "exact_predict": "exact"})
    return f"A map within 1/10 predicts {times} times as many rows in a second as exact", lines


def finer(of: pd.DataFrame) -> dict[str, tuple[pd.Series, float, str]]:
    """Return of each finer map its differences from the plainer one, its p and its verdict.

    p is that of Wilcoxon's signed ranks with Holm's correction over all of these pairs, 1 where all
    differences are zero. A difference that its interval shows and this test does not is open.
    """
    values = {a: difference(of_shared_sizes(of, a, b), a, b, *AT) for a, b in FINER.items()}
    p = holm({a: signed_ranks(one) for a, one in values.items()})
    found = {}
    for a, one in values.items():
        side = verdict(one)
        found[a] = one, p[a], "open" if side in ("better", "worse") and p[a] >= LEVEL else side
    return found


def finer_maps(of: pd.DataFrame, errors: pd.DataFrame) -> Answer:
    """Answer question 6."""
    found = finer(of)
    most = {a: of_shared_sizes(of, a, b).query("method == @a")["D"].max() for a, b in FINER.items()}
    pay, cost = (
        ", ".join(f"{a} ({number(values)})" for a, (values, _, stands) in found.items() if stands == side)
        for side in ("better", "worse")
    )
    text = (
        "Each pair of maps is compared within 1/10 of exact's time, with the sizes that both were run with. "
        f"These maps are shown to pay: {pay or 'none'}; to cost: {cost or 'none'}. A difference counts "
        "only if its interval excludes 0 and Wilcoxon's test, with Holm's correction over the "
        f"{len(found)} pairs, has a p below {LEVEL:g}"
    )
    return text, pd.DataFrame(
        {**compared(values, map=a, against=FINER[a]), "verdict": stands, "columns at most": f"{most[a]}",
         "p": f"{p:.2g}", "held-out error": f"{ratio(errors[a], errors[FINER[a]])}×"}
        for a, (values, p, stands) in found.items()
    )  # fmt: skip


def other_kernels(of: pd.DataFrame) -> Answer:
    """Answer question 7."""
    able = {kernel: plain for kernel, plain in ELSEWHERE.items() if (of["kernel"] == kernel).any()}
    values = {kernel: difference(of, "nystrom", able[kernel], kernel, 4000, 0.5) for kernel in able}
    told = (f"{kernel} {number(one)} over {able[kernel]} ({verdict(one)})" for kernel, one in values.items())
    return f"Nystrom's lead in half of exact's time is: {', '.join(told)}", pd.DataFrame(
        compared(values[kernel], kernel=kernel, map="nystrom", against=able[kernel]) for kernel in able
    )


def others(of: pd.DataFrame) -> Answer:
    """Answer question 8."""
    half, tenth = (study.table_of(within(of, GAUSSIAN, MAIN_N, budget), "score") for budget in (0.5, MAIN))
    maps, some = (scores.drop(columns=FEWER, errors="ignore").max(axis=1) for scores in (half, tenth))
    largest = of[(of["n"] <= MAIN_N) & of["kernel"].isin([GAUSSIAN, LINEAR])].sort_values("n")
    scores = study.table_of(largest.drop_duplicates(["dataset", "method"], keep="last"), "score")
    scores = scores.loc[maps.index, [LINEAR, BOOSTING, EXACT]]
    top = np.maximum(maps, scores[EXACT])
    ahead, close = of_all(scores[BOOSTING] >= top + NEAR), of_all(scores[LINEAR] >= top - NEAR)
    return (
        f"Boosting, whatever its time, is ahead of every map within 1/2 and of exact by {NEAR} points on "
        f"{ahead}; a linear model is within {NEAR} points of them on {close}; exact on fewer rows equals "
        f"every map within 1/10 on {of_all(tenth.get(FEWER, some * np.nan) >= some)}"
    ), scores.assign(**{"best map": maps}).round(2).reset_index()


def sentences(of: pd.DataFrame, errors: pd.DataFrame) -> pd.DataFrame:
    """Return what papers say, how it stands under their own conditions, and here at equal time."""
    said = yaml.safe_load(Path(__file__).with_name("study_sentences.yaml").read_text(encoding="utf-8"))
    verdicts = {(one.experiment.name, item.claim.text): item.verdict
                for one in judgements() for item in one.claims}  # fmt: skip
    pairs, lines = finer(of), []
    for one in said:
        config, maps = one["config"], one.get("maps")
        own = f"[{verdicts[config, one['claim']]}](../{config}/table.md)"
        line = {"paper": one["paper"], "says": one["says"], "under its own conditions": own}
        if maps:
            values = difference(of_shared_sizes(of, *maps), *maps, *AT)
            stands = pairs[maps[0]][2] if FINER.get(maps[0]) == maps[1] else verdict(values)
            line["r within 1/10"] = f"{number(values)}, {stands}"
            line["kernel error at equal D"] = f"{ratio(*(errors[name] for name in maps))}×"
        lines.append(line)
    return pd.DataFrame(lines).fillna("not in this study")


def markdown(lines: pd.DataFrame) -> str:
    """Return a table as Markdown."""
    return Table(list(lines.columns.astype(str)), lines.to_numpy().tolist()).markdown(str)


def page(lines: pd.DataFrame, chosen: pd.DataFrame, errors: pd.DataFrame, traits: pd.DataFrame) -> str:
    """Return the page of answers."""
    of, wide = study.cells(lines, chosen), errors.pivot(index="dataset", columns="method", values="error")
    shares = study.table_of(within(of, *AT))
    profiles = study.profiles(shares).sort_values(study.LEVELS[2], ascending=False).map("{:.2f}".format)
    text = Template(Path(__file__).with_suffix(".md").read_text(encoding="utf-8")).render(
        n_rows=f"{len(lines):,}", n_datasets=lines["dataset"].nunique(),
        n_choices=len(chosen), at_end=int(chosen["at_end"].sum()),
        no_gain=", ".join(shares.index[shares.isna().all(axis=1)]) or "no data set",
        largest=f"{used(of).median():.1%}", predicted=predicted(of),
        answers=[which_map(of), data_dependent(of), from_how_many_rows(of), who_wins(of, traits),
                 prediction(of), finer_maps(of, wide), other_kernels(of), others(of)],
        sentences=sentences(of, wide), all_rows=all_rows(of), profiles=profiles.reset_index(),
        markdown=markdown,
    )  # fmt: skip
    return f"{text}\n"


def figures(lines: pd.DataFrame, chosen: pd.DataFrame, folder: Path) -> None:
    """Draw the share recovered by that of exact's time, a panel per kernel, and Nystrom less ORF by n."""
    of = study.cells(lines, chosen)
    parts = [(GAUSSIAN, MAIN_N), *((kernel, 4000) for kernel in ELSEWHERE if (of["kernel"] == kernel).any())]
    with mpl.rc_context(RC):
        fig = Figure(figsize=(4.2 * len(parts), 3.6), layout="constrained")
        for ax, part in zip(np.ravel(fig.subplots(1, len(parts), sharey=True)), parts, strict=True):
            study.curves(ax, of, *part, dict(zip(DRAWN, COLOURS, strict=False)))
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
        means = {n: study.interval(values) for n, values in known.items() if len(values) >= FEWEST}
        for n, (middle, (low, high)) in means.items():
            ax.errorbar(n, middle, [[middle - low], [high - middle]], color=colour, marker="o")
        label = f"within {BUDGETS[budget]}"
        ax.plot(list(means), [middle for middle, _ in means.values()], color=colour, label=label)
    ax.axhline(0, color=GREY, lw=0.8)
    ax.legend()
    ax.set(xscale="log", xlabel="training rows", ylabel="r of Nystrom less r of ORF")
    ax.set_xticks(N_ROWS, [f"{n:,}" for n in N_ROWS])
    ax.minorticks_off()
