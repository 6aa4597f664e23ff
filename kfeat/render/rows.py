"""Rows one by one: as a table, as CSV and as lines of JSON; and all about one trial."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kfeat.analysis.cells import PHASES, Cell
from kfeat.analysis.judgement import Judgement, judge_experiments, own_or_published
from kfeat.analysis.records import Record, column, columns, frame
from kfeat.experiments.clock import MACHINE
from kfeat.experiments.config import Experiment
from kfeat.experiments.quantities import QUANTITIES, SCORE
from kfeat.experiments.row import Row, counts_as_timed, precedence
from kfeat.experiments.selectors import flat, ids_beginning, learnt_values
from kfeat.experiments.store import ROWS, folders_with_rows, read_rows
from kfeat.render.numbers import MISSING, value_text, with_unit
from kfeat.render.table import Table, paragraph
from kfeat.text import counted, plain

NO_CONFIG = (
    "none of the configs that were looked through plans this trial: name yours (`kfeat explain ID CONFIG`); "
    "or it was made with --set or another option, or by an earlier version of a config"
)
_ALWAYS = ("id", "status")  # columns of the table though all rows agree in them


# Of the seconds, the table has those that every table has: CPU time of mapping, training and testing.
_SECONDS = [column(QUANTITIES[phase]) for phase in PHASES]


@dataclass(frozen=True)
class Explanation:
    """A trial: its rows with their folders, the row that counts first, and the verdicts of the configs."""

    identity: str
    rows: Sequence[tuple[Path, Row]]
    judgements: Sequence[Judgement]


def explain_trial(prefix: str, experiments: Sequence[Experiment], out: Path, results: Path) -> Explanation:
    """Return the explanation of the trial whose id begins with `prefix`.

    Rows below `out` come before equally good ones below `results`. Raises ConfigError if no row and no plan
    has such an id, or several have.
    """
    rows = [entry for root in (out, results) for entry in _rows_beginning(root, prefix)]
    plans = [
        {trial.id for trial in own_or_published(experiment, out, results)[0]} for experiment in experiments
    ]
    ids = {row["id"] for _, row in rows}.union(*plans)
    (identity,) = ids_beginning([prefix], ids, f"{out}, {results} and the configs")
    own = [(folder, row) for folder, row in rows if row["id"] == identity]
    own.sort(key=lambda entry: precedence(entry[1]), reverse=True)
    users = [experiment for experiment, plan in zip(experiments, plans, strict=True) if identity in plan]
    return Explanation(identity, own, judge_experiments(users, out, results))


def _rows_beginning(root: Path, prefix: str) -> list[tuple[Path, Row]]:
    mark = re.compile(rb'"id": ?"' + re.escape(prefix.encode()))
    # To save time, only files with such an id are read row by row.
    files = [folder / ROWS for folder in folders_with_rows(root)]
    paths = [path for path in files if path.is_file() and mark.search(path.read_bytes())]
    return [
        (path.parent, row)
        for path in paths
        for identity, row in read_rows(path.parent).items()
        if identity.startswith(prefix)
    ]


def render_rows(records: Sequence[Record], form: str, width: int | None = None) -> str:
    """Return the records as `table`, `csv` or `jsonl`; a terminal has `width` characters a line.

    CSV and JSON have every column, at full precision.
    """
    if form == "table":
        return _table(records, width) + "\n"
    if form == "jsonl":
        return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    data = frame(records).astype(object)
    return Table([*data], data.where(data.notna(), None).to_numpy().tolist()).csv()


def _table(records: Sequence[Record], width: int | None) -> str:
    """Return the columns in which rows differ as a table, and below it in a sentence what all have."""
    if not records:
        return "no rows"
    keys = _for_reading(columns(records))
    first, *others = records
    shared = [
        key
        for key in keys
        if key not in _ALWAYS and all(key in row and row[key] == first.get(key) for row in records)
    ]
    shown = [key for key in keys if key not in shared]
    lines = [[_text(key, record) for key in shown] for record in records]
    numbers = [i for i, key in enumerate(shown) if _is_number(key, records)]
    words = [i for i in range(len(shown)) if i not in numbers]
    table = Table(shown, lines, words, numbers).terminal(width)
    texts = [f"{key} = {_text(key, first)}" for key in shared]
    if texts and others:
        texts = [f"the same in all {len(records)} rows: {', '.join(texts)}"]
    below = "\n".join(paragraph(text, "", width) for text in texts)
    return f"{table}\n\n{below}" if below else table


def _for_reading(keys: Sequence[str]) -> list[str]:
    """Return the columns without those that others say as well."""
    parents = {key.rpartition(".")[0] for key in keys}
    redundant = {"cell", "error_rate" if "accuracy" in keys else ""}
    redundant |= {key for key in parents if key.startswith("protocol.")}
    redundant |= {key for key in keys if key.startswith("seconds.") and key not in _SECONDS}
    return [key for key in keys if key not in redundant]


def _is_number(key: str, records: Sequence[Record]) -> bool:
    values = [record[key] for record in records if key in record]
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


_DECLARED = {column(quantity): quantity for quantity in QUANTITIES.values()}


def _text(key: str, row: Record) -> str:
    """Return a value as tables write it: quantities with their digits, truth values as yes and no."""
    value: Any = row.get(key)
    if isinstance(value, int | float) and not isinstance(value, bool) and key in _DECLARED:
        return _DECLARED[key].text(value)
    return value_text(value)


def render_explanation(explanation: Explanation, out: Path, width: int | None = None) -> str:
    """Return the explanation; `out` is the folder of your own rows, `width` the columns of a terminal."""
    parts = [_head(explanation)]
    uses = ["\n".join(_use(explanation.identity, judgement, width)) for judgement in explanation.judgements]
    parts += uses or [paragraph(NO_CONFIG, "", width)]
    if explanation.rows:
        row = explanation.rows[0][1]
        parts += [_section(title, lines) for title, lines in row_sections(row).items() if lines]
    if command := run_command(explanation, out):
        parts.append(f"to run exactly this trial:\n  {command}")
    return "\n\n".join(parts)


def run_command(explanation: Explanation, out: Path) -> str | None:
    """Return the command that runs the trial, again where there is a row of yours; None without a config."""
    if not explanation.judgements:
        return None
    holders = {folder for folder, _ in explanation.rows}
    experiments = [judgement.experiment for judgement in explanation.judgements]
    of_rows = [item for item in experiments if any(folder.match(f"*/{item.name}") for folder in holders)]
    words = ["kfeat", "run", (of_rows or experiments)[0].argument, "--only", explanation.identity]
    if any(folder.is_relative_to(out) for folder in holders):
        words.append("--force")
    if out != Path("runs"):
        words += ["--out", str(out)]
    return plain(shlex.join(words))


def _head(explanation: Explanation) -> str:
    if not explanation.rows:
        return f"trial {explanation.identity}: planned, and there is no row of it"
    (folder, row), *others = explanation.rows
    reason = f": {row['reason']}" if "reason" in row else ""
    lines = [f"trial {explanation.identity}: {row['status']}{reason}", f"  row in {folder}"]
    lines += [f"  another in {other} ({row['status']})" for other, row in others]
    return "\n".join(map(plain, lines))


def row_sections(row: Row) -> dict[str, dict[str, str]]:
    """Return what a row says, section by section: first its results, then its parameters and machine."""
    environment, parameters = row["environment"], flat(row)
    parents = {key.rpartition(".")[0] for key in parameters}  # whose keys have lines of their own
    parameters = {k: v for k, v in parameters.items() if not isinstance(v, dict) or k not in parents}
    parameters |= {"repeat": row["repeat"], "seed": row["seed"]}
    seeds = {f"seeds.{name}": seed for name, seed in row["seeds"].items()}
    machine = {key: environment[key] for key in MACHINE if key in environment}
    machine |= {"threads": row.get("threads"), **environment["packages"]}
    sections = {}
    if row["status"] == "done":
        sections["numbers"] = dict(_numbers(row))
        sections["solver's end"] = _texts(row.get("solve") or {})
        counts = "timed" if counts_as_timed(row) else "not counted: the machine was busy"
        sections[f"seconds, CPU and wall ({counts})"] = {
            name: f"{phase['cpu']:.4f}  {phase['wall']:.4f}" for name, phase in row["seconds"].items()
        }
    return sections | {
        "parameters": _texts({**parameters, **seeds, "fingerprint": row["fingerprint"]}),
        "learnt": _texts(dict(learnt_values(row))),
        "machine": _texts(machine),
    }


def _numbers(row: Row) -> Iterator[tuple[str, str]]:
    """Yield each quantity of the row but its seconds, with its unit."""
    for quantity in QUANTITIES.values():
        value = quantity.read(row)
        if value is not None and not quantity.timed:
            yield column(quantity), with_unit(quantity, value)


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {key: value_text(value) for key, value in values.items()}


def _section(title: str, lines: Mapping[str, str]) -> str:
    longest = max(map(len, lines))
    return "\n".join([title, *(plain(f"  {key:<{longest}}  {value}") for key, value in lines.items())])


def _use(identity: str, judgement: Judgement, width: int | None) -> Iterator[str]:
    """Yield the config, the cell of the trial, and the printed numbers and claims that rest on it."""

    def holds(cell: Cell) -> bool:
        return any(trial.id == identity for trial in cell.trials)

    experiment, cell = judgement.experiment, next(filter(holds, judgement.cells))
    quantity = cell.named(SCORE)
    yield plain(f"{experiment.path}: {experiment.title}")
    table = Path(judgement.place) / experiment.name / "table.md"
    texts = [f"cell '{judgement.names.of(cell)}' of {table}"]
    if cell.score:
        score = with_unit(quantity, cell.score.mean, cell.score.sd)
        texts[0] += f": {quantity.title} {score} over {len(cell.rows)} of {counted(len(cell.trials), 'runs')}"
    for printed in judgement.numbers:
        if any(map(holds, printed.cells)):
            number = printed.number
            quantity, ours = cell.named(number.of), cell.of(number.of)
            shown = quantity.text(ours.mean, ours.sd) if ours else MISSING
            sides = f"{quantity.title} {quantity.text(number.mean, number.sd)}, ours {shown}"
            texts.append(f"printed number, {number.where}: {sides}: {printed.verdict}")
    for i, judged in enumerate(judgement.claims, start=1):
        if any(holds(cell) for case in judged.cases for cell in case.cells):
            value = f" ({judged.ours})" if judged.ours else ""
            text = f"claim {i}, {judged.claim.where}: {judged.claim.text}: {judged.verdict}{value}"
            texts.append(f"{text}. {judged.correction}" if judged.correction else text)
    yield from (paragraph(text, "  ", width) for text in texts)
    if len(texts) == 1:
        yield "  no printed number and no claim rests on it"
