"""All about one trial as text for the terminal."""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from kfeat.analysis.explanation import Explanation, Use
from kfeat.analysis.names import cell_name
from kfeat.analysis.records import column
from kfeat.experiments.machine import MACHINE
from kfeat.experiments.quantities import QUANTITIES, SCORE
from kfeat.experiments.row import Row, counts_as_timed
from kfeat.experiments.selectors import flat, learnt
from kfeat.render.terminal import paragraph
from kfeat.render.text import MISSING, value_text, with_unit
from kfeat.saying import plain

NO_CONFIG = (
    "none of the configs that were looked through plans this trial: name yours (`kfeat explain ID CONFIG`); "
    "or it was made with --set or another option, or by an earlier version of a config"
)


def render_explanation(found: Explanation, out: Path, width: int | None = None) -> str:
    """Return the explanation; `out` is the folder of your own rows, `width` the columns of a terminal."""
    parts = [_head(found)]
    parts += ["\n".join(_of_use(use, width)) for use in found.uses] or [paragraph(NO_CONFIG, "", width)]
    if found.rows:
        row = found.rows[0][1]
        parts += [_section(title, lines) for title, lines in row_sections(row).items() if lines]
    if command := run_command(found, out):
        parts.append(f"to run exactly this trial:\n  {command}")
    return "\n\n".join(parts)


def run_command(found: Explanation, out: Path) -> str | None:
    """Return the command that runs the trial, again where there is a row of yours; None without a config."""
    if not found.uses:
        return None
    holders = {folder for folder, _ in found.rows}
    experiments = [use.standing.experiment for use in found.uses]
    home = [one for one in experiments if any(folder.match(f"*/{one.name}") for folder in holders)]
    words = ["kfeat", "run", str((home or experiments)[0].path), "--only", found.identity]
    if any(folder.is_relative_to(out) for folder in holders):
        words.append("--force")
    if out != Path("runs"):
        words += ["--out", str(out)]
    return plain(shlex.join(words))


def _head(found: Explanation) -> str:
    if not found.rows:
        return f"trial {found.identity}: planned, and there is no row of it"
    (folder, row), *others = found.rows
    reason = f": {row['reason']}" if "reason" in row else ""
    lines = [f"trial {found.identity}: {row['status']}{reason}", f"  row in {folder}"]
    lines += [f"  another in {other} ({row['status']})" for other, row in others]
    return "\n".join(map(plain, lines))


def row_sections(row: Row) -> dict[str, dict[str, str]]:
    """Return what a row says, section by section: first what came out, then what it came from."""
    environment = row["environment"]
    parameters = {**_spread(flat(row)), "repeat": row["repeat"], "seed": row["seed"]}
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
        "learnt": _texts(dict(learnt(row))),
        "machine": _texts(machine),
    }


def _spread(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters without the mappings whose keys have lines of their own."""
    parents = {key.rpartition(".")[0] for key in found}
    return {key: value for key, value in found.items() if not isinstance(value, dict) or key not in parents}


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


def _of_use(use: Use, width: int | None) -> Iterator[str]:
    """Yield the config, the cell, and the printed numbers and claims that rest on it."""
    standing, cell = use.standing, use.cell
    experiment = standing.experiment
    yield plain(f"{experiment.path}: {experiment.title}")
    score = f": {_score(use)}" if cell.score else ""
    table = Path(standing.place) / experiment.name / "table.md"
    yield from _paragraphs([f"cell '{cell_name(cell, standing.cells)}' of {table}{score}"], width)
    numbers = (f"printed number, {item.number.where}: {_number(use, item)}" for item in use.numbers)
    yield from _paragraphs(numbers, width)
    claims = (
        f"claim {i}, {item.claim.where}: {item.claim.text}: {item.verdict}"
        + (f" ({item.ours})" if item.ours else "")
        for i, item in use.claims
    )
    yield from _paragraphs(claims, width)
    if not use.numbers and not use.claims:
        yield "  no printed number and no claim rests on it"


def _paragraphs(texts: Iterable[str], width: int | None) -> Iterator[str]:
    return (paragraph(text, "  ", width) for text in texts)


def _score(use: Use) -> str:
    cell, quantity = use.cell, use.cell.named(SCORE)
    assert cell.score is not None
    text = f"{quantity.title} {with_unit(quantity, cell.score.mean, cell.score.sd)}"
    return f"{text} over {len(cell.rows)} of {len(cell.trials)} runs"


def _number(use: Use, item: Any) -> str:
    quantity = use.cell.named(item.number.of)
    theirs = quantity.text(item.number.mean, item.number.sd)
    ours = use.cell.of(item.number.of)
    shown = quantity.text(ours.mean, ours.sd) if ours else MISSING
    return f"{quantity.title} {theirs}, ours {shown}: {item.verdict}"
