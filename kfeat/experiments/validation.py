"""Problems of an experiment file as sentences: the path, what was met, what would be right."""

from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from kfeat.data import Protocol
from kfeat.experiments.schema import (
    Claim,
    FigureLayout,
    FileKeys,
    Reported,
    ReportedNumber,
    SettingKeys,
    Solvers,
    Switch,
    TableLayout,
)
from kfeat.parameters import describe, did_you_mean

M = TypeVar("M", bound=BaseModel)

_MODELS: dict[tuple[str, ...], type[BaseModel]] = {
    (): FileKeys,
    ("protocol",): Protocol,
    ("solvers",): Solvers,
    ("reported",): Reported,
    ("reported", "numbers"): ReportedNumber,
    ("claims",): Claim,
    ("switches",): Switch,
    ("table",): TableLayout,
    ("figure",): FigureLayout,
}


def validated(
    model: type[M],
    values: dict[str, Any],
    raw: dict[str, Any],
    prefix: str,
    problems: list[str],
    own: dict[str, Any] | None = None,
) -> M | None:
    """Return the model, or None with its problems told; the prefix stands before what is in `own`."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        for problem in error.errors():
            inside = own is not None and problem["loc"] and problem["loc"][0] in own
            problems.append((prefix if inside else "") + _problem(problem, raw))
        return None


def _problem(problem: Any, raw: Any) -> str:
    """Return a problem with its path as the file has it; for an unknown key, with the known ones."""
    path = path_in(raw, problem["loc"])
    text = describe(problem, path=path)
    where = tuple(part for part in path[:-1] if isinstance(part, str))
    model = _MODELS.get(where)
    if problem["type"] == "extra_forbidden" and model is not None:
        models: list[type[BaseModel]] = [SettingKeys, model] if where == () else [model]
        known = [field.alias or name for one in models for name, field in one.model_fields.items()]
        text += f"{did_you_mean(str(path[-1]), known)}; known: {', '.join(known)}"
    return text


def path_in(raw: Any, location: Sequence[str | int]) -> list[str | int]:
    """Return pydantic's location without what the file does not have: union branches, lists of one."""
    path: list[str | int] = []
    value = raw
    for i, part in enumerate(location):
        if isinstance(value, dict) and (part in value or i == len(location) - 1):
            value = value.get(part)
        elif isinstance(value, list) and isinstance(part, int):
            value = value[part]
        else:
            continue
        path.append(part)
    return path
