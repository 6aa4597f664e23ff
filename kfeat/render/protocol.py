"""The text of `kfeat protocol`: every switch of an experiment with its value, and the ranking of a search."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isnan
from pathlib import Path
from textwrap import fill
from typing import Any

import pandas as pd

from kfeat.analysis.names import method
from kfeat.errors import StoreError
from kfeat.experiments.config import Experiment
from kfeat.experiments.plan import Trial
from kfeat.experiments.quantities import SCORE
from kfeat.experiments.row import Row
from kfeat.experiments.search import FOLDER, Combination, Search
from kfeat.experiments.store import write_rows
from kfeat.experiments.switches import Place, Switch, Value, choices, general
from kfeat.render.escapes import csv_table, markdown, markdown_table
from kfeat.render.replacing import Replacing
from kfeat.render.terminal import table
from kfeat.render.text import MISSING
from kfeat.saying import plain

WIDTH = 100
NOT_STATED = "not stated"
SWITCH_HEADERS = ("switch", "value", "status", "evidence", "to try")


@dataclass(frozen=True)
class Line:
    """One switch as it is printed; `default` says that nobody stated it and nobody changed it."""

    key: str
    value: str
    status: str = NOT_STATED
    evidence: str = ""
    alternatives: str = ""
    default: bool = False


def flow(value: Any) -> str:
    """Return a plain value for reading: on one line as YAML has it, but unquoted and with six digits."""
    if isinstance(value, bool | None):
        return "null" if value is None else str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {flow(each)}' for key, each in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(flow, value))}]"
    return str(value)


def as_written(key: str, value: Any) -> Any:
    """Return a protocol's value as a file would have it: without what is left out there."""
    if key == "protocol.scale" and isinstance(value, list) and len(value) < 2:
        return value[0] if value else "none"
    if key == "protocol.split" and isinstance(value, dict):
        said = {name: each for name, each in value.items() if each is not None}
        said = dict(sorted(said.items(), key=lambda item: (item[0] != "kind", item[0] == "seed")))
        return said if len(said) > 1 else said["kind"]
    return value


def _values_text(key: str, values: Sequence[Value]) -> str:
    """Return the values in few words, with what tells them apart: the component, the dataset, the kernel."""
    own: dict[Place, dict[str, None]] = {}  # a dict is a set that keeps its order
    for each in values:
        own.setdefault(each.place, {})[flow(as_written(key, each.value))] = None
    for parts in (parts for size in range(4) for parts in combinations(range(3), size)):
        groups: dict[str, dict[str, None]] = {}
        for place, texts in own.items():
            groups.setdefault(", ".join(place[part] for part in parts), {}).update(texts)
        if all(own[place].keys() == groups[", ".join(place[part] for part in parts)].keys() for place in own):
            break
    alike: dict[str, list[str]] = {}
    for label, texts in groups.items():
        alike.setdefault(", ".join(texts), []).append(label)
    if len(alike) == 1:
        return next(iter(alike))
    return "; ".join(f"{', '.join(labels)}: {texts}" for texts, labels in alike.items())


def _present_text(experiment: Experiment, key: str) -> str:
    """Return the value that a switch has in the experiment."""
    whole, name = general(key)
    values = choices(experiment.settings)[whole]
    return _values_text(whole, [value for value in values if name in (None, value.place[0])])


def lines(experiment: Experiment) -> list[Line]:
    """Return the experiment's switches in the order of its parts, then those that no key holds."""
    stated = {switch.key: switch for switch in experiment.switches}
    found: list[Line] = []
    for whole, values in choices(experiment.settings).items():
        named = [key for key in stated if general(key)[0] == whole and general(key)[1]]
        names = {general(key)[1] for key in named}
        rest = [value for value in values if value.place[0] not in names]
        split = {whole: rest} | {key: [v for v in values if v.place[0] == general(key)[1]] for key in named}
        for key, part in split.items():
            if part:
                found.append(_line(key, part, stated.get(key)))
    return found + [_line(key, [], switch) for key, switch in stated.items() if switch.value is not None]


def _line(key: str, values: Sequence[Value], switch: Switch | None) -> Line:
    if switch is None:
        return Line(key, _values_text(key, values), default=all(value.default for value in values))
    alternatives = ", ".join(flow(value) for value in switch.alternatives)
    value = switch.value if switch.value is not None else _values_text(general(key)[0], values)
    return Line(key, value, switch.status, switch.evidence, alternatives)


def render_switches(experiment: Experiment, width: int | None = None) -> str:
    """Return the switches as text of at most `width` or 100 columns."""
    found = lines(experiment)
    shown = [line for line in found if not line.default]
    silent = [
        f"{line.key} = {f'({line.value})' if ';' in line.value else line.value}"
        for line in found
        if line.default
    ]
    idle = [switch.key for switch in experiment.switches if switch.key not in {one.key for one in found}]
    status = Counter(line.status for line in found)
    counts = ", ".join(f"{status[name]} {name}" for name in ("known", "inferred", "open", NOT_STATED))
    notes = [f"{len(found)} switches: {counts}."]
    if silent:
        notes.append(f"{NOT_STATED}, at their defaults: {'; '.join(silent)}.")
    if idle:
        notes.append(f"stated, but not used in this experiment: {', '.join(idle)}.")
    blocks = [*(_block(line, width) for line in shown), *(_wrapped(note, width=width) for note in notes)]
    return "\n".join([plain(experiment.title), "", *blocks])


def _block(line: Line, width: int | None) -> str:
    margin = " " * 12
    text = [_wrapped(f"{line.key} = {line.value}", f"{line.status:<12}", margin + "    ", width)]
    if line.evidence:
        text.append(_wrapped(line.evidence, margin, margin, width))
    if line.alternatives:
        text.append(_wrapped(f"to try: {line.alternatives}", margin, margin, width))
    return "\n".join(text)


def _wrapped(text: str, first: str = "", others: str = "  ", width: int | None = None) -> str:
    """Return the text in lines of at most 100 columns; `first` and `others` stand before the lines."""
    return fill(
        plain(text), min(WIDTH, width or WIDTH), initial_indent=first, subsequent_indent=others,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def render_plan(search: Search, rows: Mapping[str, Row], width: int | None = None) -> str:
    """Return what a search would try, and how many of its trials are done."""

    def done(trials: Sequence[Trial]) -> str:
        return f"{sum(rows.get(trial.id, {}).get('status') == 'done' for trial in trials)}/{len(trials)}"

    body = [
        [_marked(item.number, item), *_values(search, item), done([t for cell in item.cells for t in cell])]
        for item in search.combinations
    ]
    headers = ["", *search.switches, "trials done"]
    notes = [_tried(search), f"trials, each counted once: {done(search.trials)} done."]
    said = [_wrapped(note, width=width) for note in notes]
    shown = table(headers, body, width, range(len(headers) - 1))
    return "\n".join([plain(search.experiment.title), "", shown, "", *said, ""])


def render_ranking(search: Search, found: pd.DataFrame, style: str, width: int | None = None) -> str:
    """Return the ranking for the `terminal`, or in `markdown` with every difference."""
    sheets, title, said = _sheets(search, found), search.experiment.title, _notes(search, found)
    if style == "markdown":
        parts = [markdown_table(heads, body) for heads, *body in sheets]
        listed = "".join(f"- {markdown(note)}\n" for note in said)
        return "\n\n".join([f"# {markdown(title)}: the settings tried", *parts, listed])
    heads, *body = sheets[0]
    notes = "\n".join(_wrapped(note, width=width) for note in said)
    return "\n\n".join([plain(title), table(heads, body, width, range(len(heads))), notes])


def _sheets(search: Search, found: pd.DataFrame) -> list[list[list[str]]]:
    """Return the ranking, each combination's differences, and the numbers that these speak of."""
    called = _names(found)
    ranking = [["rank", *search.switches, "score", "furthest off"]]
    differences = [["ours - paper", *(f"({i + 1})" for i in range(len(called)))]]
    for _, lines in found.groupby("number", sort=False):
        combination, rank, score = lines.iloc[0][["combination", "rank", "score"]]
        changes = [
            MISSING if isnan(change) else cell.named(SCORE).change(change)
            for cell, change in zip(lines["cell"], lines["difference"], strict=True)
        ]
        furthest = MISSING
        if lines["distance"].notna().any():
            worst = int(lines["distance"].argmax())
            furthest = f"{called[worst]}: {changes[worst]}"
        marked = _marked(MISSING if isnan(rank) else int(rank), combination)
        shown = MISSING if isnan(score) else f"{score:.2f}"
        ranking.append([marked, *_values(search, combination), shown, furthest])
        differences.append([marked, *changes])
    cells = zip(called, _present(found)["cell"], search.numbers, strict=True)
    numbers = [
        [f"({i})", name, cell.named(SCORE).text(number.mean, number.sd), number.where]
        for i, (name, cell, number) in enumerate(cells, start=1)
    ]
    return [ranking, differences, [["", "printed number", "paper", "where"], *numbers]]


def _marked(number: object, combination: Combination) -> str:
    return f"{number}" if combination.turned else f"{number} (present)"


def _values(search: Search, combination: Combination) -> list[str]:
    """Return the value of each searched switch in a combination."""
    return [
        flow(combination.turned[key]) if key in combination.turned else _present_text(search.experiment, key)
        for key in search.switches
    ]


def _present(found: pd.DataFrame) -> pd.DataFrame:
    """Return the lines of the setting that the config has."""
    return found[[not combination.turned for combination in found["combination"]]]


def _names(found: pd.DataFrame) -> list[str]:
    """Return what the cells of the printed numbers are called, by the present setting."""
    cells = list(_present(found)["cell"])
    data = [cell.trial.describe()["dataset"] for cell in cells]
    kernels = [cell.trial.kernel.formula for cell in cells]
    varying = [names for names in (data, kernels) if len({*names}) > 1]
    parts = zip(*varying, [method(cell, cells) for cell in cells], strict=True)
    return list(map(", ".join, parts))


def _notes(search: Search, found: pd.DataFrame) -> Iterator[str]:
    best, here, reported = found.iloc[0], _present(found).iloc[0], search.experiment.reported
    assert reported is not None
    repeats = " or ".join(sorted({str(len(cell.trials)) for cell in found["cell"]}))
    yield f"{_tried(search)} Repeats of each map: {repeats}."
    own = ", or the slack of its own," if any(number.slack for number in reported.numbers) else ","
    yield (
        f"score: the mean over the printed numbers of |ours - paper| / max({reported.slack:g}{own} 2 sd), "
        "with sd as the paper prints it. furthest off: the number with the largest such ratio."
    )
    if not isnan(here["score"]):
        yield (
            f"present: the setting that the config has. Its rank is {here['rank']:.0f} of "
            f"{len(search.combinations)}, its score {here['score']:.2f}; the best is {best['score']:.2f}."
        )
    yield (
        "The lowest of many scores is partly luck: a choice made here is to be held against configs that had "
        "no part in it."
    )
    if found["rank"].isna().any():
        yield f"{MISSING}: a trial failed or is missing; without all of its trials nothing is ranked."


def _tried(search: Search) -> str:
    sizes = " x ".join(str(1 + len(tried)) for tried in search.switches.values()) or "1"
    combinations = _counted(len(search.combinations), "combination")
    text = f"{combinations} of {_counted(len(search.switches), 'switch', 'es')} ({sizes}), held against "
    text += f"{_counted(len(search.numbers), 'printed number')}."
    return text + f" {search.left_out} others change nothing and are left out." * bool(search.left_out)


def _counted(number: int, noun: str, plural: str = "s") -> str:
    return f"{number} {noun}{'' if number == 1 else plural}"


def render_csv(search: Search, found: pd.DataFrame) -> str:
    """Return every number of the ranking at full precision, one line per combination and printed number."""
    printed = list(zip(_names(found), search.numbers, strict=True)) * len(search.combinations)
    return csv_table(
        [
            {
                "rank": None if isnan(line["rank"]) else int(line["rank"]),
                "present": not line["combination"].turned,
                **dict(zip(search.switches, _values(search, line["combination"]), strict=True)),
                "score": _rounded(line["score"]),
                "number": name,
                "where": number.where,
                "paper_mean": number.mean,
                "paper_sd": number.sd,
                "mean": line["cell"].score and _rounded(line["cell"].score.mean),
                "sd": line["cell"].score and _rounded(line["cell"].score.sd),
                "runs": len(line["cell"].rows),
                "difference": _rounded(line["difference"]),
                "distance": _rounded(line["distance"]),
                "cell": line["cell"].trial.cell,
            }
            for line, (name, number) in zip(found.to_dict("records"), printed, strict=True)
        ]
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None or isnan(value) else round(value, 6)


def write_ranking(search: Search, found: pd.DataFrame, folder: Path, rows: Iterable[Row] = ()) -> None:
    """Write ranking.md and ranking.csv below `folder`, and the rows if there are any; all or nothing."""
    with Replacing() as replacing:
        new = replacing.beside(folder)
        if rows:
            write_rows(new, rows)
        (new / "ranking.md").write_text(render_ranking(search, found, "markdown"), encoding="utf-8")
        (new / "ranking.csv").write_text(render_csv(search, found), encoding="utf-8")


def publish_search(search: Search, found: pd.DataFrame, rows: Mapping[str, Row], results: Path) -> int:
    """Copy the search's rows and its ranking to results/, and return the number of rows.

    Raises StoreError if a trial has no row of status `done`.
    """
    trials = search.trials
    missing = [trial for trial in trials if rows.get(trial.id, {}).get("status") != "done"]
    if missing:
        raise StoreError(
            f"{search.experiment.name}: {len(missing)} of {len(trials)} trials of the search are not done; "
            "search again, without the alternatives that fail"
        )
    folder = results / search.experiment.name / FOLDER
    write_ranking(search, found, folder, [rows[trial.id] for trial in trials])
    return len(trials)
