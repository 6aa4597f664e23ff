"""Typed constructor parameters: one annotation serves the estimator, the YAML file and the error message.

A kernel, map or solver annotates its constructor (`degree: Annotated[int, Ge(1)] = 2`). From that, once:
`parameter_model` is the strict pydantic model of its YAML form, and `check_parameters` validates an
estimator when it is fitted (scikit-learn's rule: constructors store, fit checks).
"""

import inspect
import re
from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from kfeat.errors import ParameterError

# Objects and resources, not settings: the experiment hands these in, a YAML file never spells them out.
HANDED_IN = frozenset({"kernel", "random_state", "n_jobs"})


@cache
def parameter_model(cls: Any, strict: bool = True) -> type[BaseModel]:
    """Return the pydantic model of `cls`'s constructor, without the parameters in HANDED_IN.

    Strict: no unknown keys and no conversions but int to float. With `strict=False`, values that convert
    without loss (NumPy scalars) pass too, as an estimator's own parameters may.
    """
    hints = get_type_hints(cls.__init__, include_extras=True)
    fields: dict[str, Any] = {
        name: (hints[name], ... if parameter.default is inspect.Parameter.empty else parameter.default)
        for name, parameter in inspect.signature(cls).parameters.items()
        if name not in HANDED_IN
    }
    config = ConfigDict(extra="forbid", strict=strict, frozen=True, arbitrary_types_allowed=True)
    return create_model(cls.__name__, __config__=config, **fields)


def check_parameters(estimator: Any) -> None:
    """Raise ParameterError for the first constructor parameters whose value is not allowed."""
    cls: Any = type(estimator)
    model = parameter_model(cls, strict=False)
    values = {
        name: value.item() if hasattr(value, "item") and getattr(value, "ndim", 0) == 0 else value
        for name, value in estimator.get_params(deep=False).items()
        if name in model.model_fields
    }
    try:
        model.model_validate(values)
    except ValidationError as error:
        problems = "; ".join(describe(problem) for problem in error.errors())
        raise ParameterError(f"{type(estimator).__name__}: {problems}") from None


def describe(problem: Any, prefix: str = "", path: Sequence[str | int] | None = None) -> str:
    """Return one pydantic problem as `path: what is allowed (got value)`, with a near match if there is one.

    `path` replaces the problem's own location, which also has pydantic's names for the branches of a union.
    """
    parts = problem["loc"] if path is None else path
    place = prefix + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    place, met = place.lstrip("."), problem["input"]
    if problem["type"] == "extra_forbidden":
        return f"{place}: unknown key"
    if problem["type"] == "missing":
        return f"{place}: missing"
    if problem["type"] == "union_tag_invalid":
        met, allowed = problem["ctx"]["tag"], problem["ctx"]["expected_tags"]
        return f"{place}: expected one of {allowed} (got {met!r}){_near(met, allowed)}"
    message = problem["msg"].removeprefix("Value error, ")
    message = message[0].lower() + message[1:]
    near = _near(met, problem["ctx"]["expected"]) if problem["type"] == "literal_error" else ""
    return f"{place}: {message} (got {met!r}){near}"


def _near(met: Any, allowed: str) -> str:
    return did_you_mean(str(met), re.findall(r"'([^']+)'", allowed))


def did_you_mean(word: str, known: list[str]) -> str:
    """Return ` (did you mean 'x'?)` for the nearest known word, or nothing."""
    near = get_close_matches(word, known, n=1, cutoff=0.6)
    return f" (did you mean '{near[0]}'?)" if near else ""
