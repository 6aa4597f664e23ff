"""From the rows of the part own_data to its page: kfeat minus each other contender, over the splits."""

import re
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from scripts.bench.own_tables import UNUSUAL

Row = dict[str, Any]
AIMS = {"grid": 0.3, "SVC()": 0.5, "SVR()": 0.5}  # points that the search may be behind
LATE = 1.1  # share of its budget that a search may take
OPEN = "open"
FEWEST = 3  # splits of a verdict: two differences may be equal by chance


def pairs(rows: list[Row]) -> list[Row]:
    """Return a row for each search beside each other contender on the same split, and beside its budget.

    Boosting that was searched is beside the search of the same seconds alone.
    """
    paired = []
    searches = [(row, *seconds_of(row["contender"], "search of")) for row in rows]
    for ours, limit in ((row, *limit) for row, *limit in searches if limit):
        paired.append(as_row(ours, limit, "its budget", {**ours, "seconds": limit}))
        for row in rows:
            (theirs,) = seconds_of(row["contender"], "HistGradientBoosting, searched for") or [limit]
            other = row["contender"].partition(" for ")[0]
            same = all(row[key] == ours[key] for key in ("table", "split", "metric"))
            if same and not other.startswith("search of") and theirs == limit:
                paired.append(as_row(ours, limit, other.replace("SVC()", svm(row)), row))
    return paired


def seconds_of(contender: str, begins: str) -> list[int]:
    """Return the seconds in the name of a contender that begins so; nothing for another."""
    found = re.fullmatch(rf"{begins} (\d+) s", contender)
    return [int(found[1])] if found else []


def svm(row: Row) -> str:
    """Return what the SVM with defaults is called."""
    return "SVR()" if row["metric"] == "r2" else "SVC()"


def as_row(ours: Row, limit: int, other: str, theirs: Row) -> Row:
    """Return one contender beside the search, on one split."""
    unusual = f", {ours['metric']}" if ours["table"] in UNUSUAL else ""
    both = {"kfeat": ours, "the other": theirs}
    failed = [f"{who} {row['reason']}" for who, row in both.items() if row["reason"]]
    return {
        "what": f"search of {limit} s : {other}",
        "shape": f"{ours['table']}, {ours['rows']:,} x {ours['columns']}{unusual}",
        "score": ours["score"], "kfeat_s": ours["seconds"], "other_score": theirs["score"],
        "other_s": theirs["seconds"], "reason": failed[0] if failed else None,
        "idle": ours["idle"] and theirs["idle"], "threads": ours["threads"],
    }  # fmt: skip


def over_splits(found: list[Row]) -> list[Row]:
    """Return a row per table and contender: means over the splits, and the interval of the difference."""
    published = []
    for (what, shape), group in pd.DataFrame(found).groupby(["what", "shape"], sort=False):
        ours, theirs = group["score"].astype(float), group["other_score"].astype(float)
        gap, n = ours - theirs, len(group)
        half = stats.t.ppf(0.975, n - 1) * gap.std() / np.sqrt(n) if n > 1 else np.nan
        interval = f" ± {half:.2f}" if n > 1 else ", one split"
        aim = next((aim for other, aim in AIMS.items() if str(what).endswith(other)), None)
        note = f"{ours.mean():.2f}, the other {theirs.mean():.2f}; {gap.mean():+.2f}{interval}"
        met = None if aim is None else judged(gap.mean(), half if n >= FEWEST else np.nan, aim)
        target = None if aim is None else f"behind <= {aim}"
        reasons = group["reason"].dropna()
        if str(what).endswith("its budget"):
            note, target = f"the longest took {group['kfeat_s'].max():.1f} s", f"<= {LATE} x"
            met = bool((group["kfeat_s"] <= LATE * group["other_s"]).all())
        elif len(reasons):
            note, target, met = f"{ours.mean():.2f}, {reasons.iloc[0]}", None, None
        note += "" if group["idle"].all() else "; the machine was busy"
        means = {key: float(group[key].mean()) for key in ("kfeat_s", "other_s")}
        first = {"threads": int(group["threads"].iloc[0]), "what": what, "shape": shape, "splits": n}
        published.append({**first, **means, "note": note, "target": target, "met": met})
    return published


def judged(gap: float, half: float, aim: float) -> bool | str:
    """Return whether `gap ± half` shows that kfeat is at most `aim` behind; `open` if it shows neither."""
    if gap - half >= -aim:
        return True
    return False if gap + half < -aim else OPEN
