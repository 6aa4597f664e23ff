"""Typed constructor parameters: one annotation serves the estimator, the YAML file and the error message.

A kernel, map or solver annotates its constructor (`degree: Annotated[int, Ge(1)] = 2`). From the annotations,
`parameter_model` makes the strict pydantic model of its YAML form, and `check_parameters` validates an
estimator when it is fitted (scikit-learn's rule: constructors store, `fit` checks).
"""

import inspect
import re
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Annotated, Any, TypeAlias, get_type_hints

import numpy as np
from annotated_types import Ge, Le
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError, create_model

from kfeat.errors import ParameterError

# Objects and resources that the experiment passes; a YAML file never contains them.
HANDED_IN = frozenset({"kernel", "random_state", "n_jobs"})
KeyPath: TypeAlias = Sequence[str | int]
# Names that other libraries and papers use.
ALIASES = {"rbf": "gaussian", "poly": "polynomial", "svm": "libsvm", "rff": "random_fourier"}
OWN_SENTENCE = "told"  # the type of a problem whose message already says what was found


def _not_zero(value: int) -> int:
    if value == 0:
        raise ValueError("expected the number of threads, or -1 for all cores")
    return value


# Types of parameters that several constructors have.
Components = Annotated[int, Ge(1), Le(2**31 - 1)]
Degree = Annotated[int, Ge(1), Le(4096)]  # with a higher degree every kernel is 0 or overflows
Folds = Annotated[int, Ge(2), Le(10**6)]
Iterations = Annotated[int, Ge(1), Le(2**31 - 1)]
Jobs = Annotated[int, AfterValidator(_not_zero)] | None
Seed = Annotated[int, Ge(0), Le(2**32 - 1)]


@cache
def parameter_model(cls: Any, without: frozenset[str] = HANDED_IN) -> type[BaseModel]:
    """Return the strict pydantic model of `cls`'s constructor, `without` the parameters of these names.

    The model refuses unknown keys and all conversions except int to float.
    """
    hints = get_type_hints(cls.__init__, include_extras=True)
    fields: dict[str, Any] = {
        name: (hints.get(name, Any), ... if given.default is inspect.Parameter.empty else given.default)
        for name, given in inspect.signature(cls).parameters.items()
        if name not in without
    }
    config = ConfigDict(
        extra="forbid", strict=True, frozen=True, arbitrary_types_allowed=True, defer_build=True
    )
    return create_model(cls.__name__, __config__=config, **fields)


def check_parameters(estimator: Any) -> None:
    """Raise ParameterError for the first constructor parameters whose value is not allowed."""
    cls: Any = type(estimator)
    model = parameter_model(cls, frozenset({"kernel"}))  # the kernel raises its own error
    values = {name: plain(getattr(estimator, name)) for name in model.model_fields}
    try:
        model.model_validate(values)
    except ValidationError as error:
        problems = "; ".join(f"{place_of(path)}: {text}" for path, text in problems_of(error, values))
        raise ParameterError(f"{type(estimator).__name__}: {problems}") from None


def plain(value: Any) -> Any:
    """Return NumPy's numbers as Python's, also inside lists and mappings."""
    if isinstance(value, list):
        return [plain(element) for element in value]
    if isinstance(value, dict):
        return {plain(key): plain(element) for key, element in value.items()}
    return value.item() if isinstance(value, np.generic | np.ndarray) and value.ndim == 0 else value


def problems_of(error: ValidationError, value: Any, known: Collection[str] = ()) -> list[tuple[KeyPath, str]]:
    """Return the problems of a value, each with its path in the value and its text without the path.

    If a value may have several kinds, their problems are joined to one. `known` has the allowed keys.
    """
    texts_at: dict[tuple[str | int, ...], list[str]] = {}
    for problem in error.errors():
        path = tuple(path_in(value, problem["loc"]))
        text = describe(problem, path=()).removeprefix(": ")
        if problem["type"] == "extra_forbidden" and known:
            text += advice_on(str(path[-1]), known)
        texts_at.setdefault(path, []).append(text)
    return [(path, _alternatives(texts)) for path, texts in texts_at.items()]


def advice_on(word: str, known: Collection[str]) -> str:
    """Return advice on an unknown word: the nearest known word, and all known words."""
    return f"{did_you_mean(word, list(known))}; known: {', '.join(known)}"


def _alternatives(texts: Sequence[str]) -> str:
    """Return several texts about one value as one text, with the value at the end."""
    *others, last = dict.fromkeys(texts)
    first, *more = [*(text.rpartition(" (got ")[0] or text for text in others), last]
    return ", or ".join([first, *(text.removeprefix("expected ") for text in more)])


def path_in(raw: Any, location: KeyPath, missing: bool = False) -> list[str | int]:
    """Return pydantic's location without parts that the file does not have: union branches, lists of one.

    If the value is `missing`, the last key is kept.
    """
    path: list[str | int] = []
    value = raw
    for i, part in enumerate(location):
        if isinstance(value, Mapping) and (part in value or (missing and i == len(location) - 1)):
            value = value.get(part)
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            continue
        path.append(part)
    return path


def place_of(path: KeyPath) -> str:
    """Return a path as text, such as maps[2].degree."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")


def describe(problem: Any, path: KeyPath | None = None) -> str:
    """Return one pydantic problem as `path: what is allowed (got value)`, with a near match if there is one.

    `path` replaces the problem's own location, which also has pydantic's names for the branches of a union.
    """
    place, met = place_of(problem["loc"] if path is None else path), plain(problem["input"])
    if problem["type"] == "extra_forbidden":
        return f"{place}: unknown key"
    if problem["type"] == OWN_SENTENCE:
        return f"{place}: {problem['msg']}"
    if problem["type"] == "missing":
        return f"{place}: missing"
    if problem["type"] == "union_tag_invalid":
        met, allowed = problem["ctx"]["tag"], problem["ctx"]["expected_tags"]
        return f"{place}: expected one of {allowed} (got {met!r}){_near(met, allowed)}"
    if problem["type"] in ("dict_type", "model_type", "model_attributes_type"):
        return f"{place}: expected a mapping (got {met!r})"
    if problem["type"] == "union_tag_not_found":
        key = problem["ctx"]["discriminator"].strip("'")
        return f"{place}: `{key}` is missing; it says which kind is meant (got {met!r})"
    message = _plain(problem["msg"].removeprefix("Value error, "))
    near = _near(met, problem["ctx"]["expected"]) if problem["type"] == "literal_error" else ""
    return f"{place}: {message} (got {met!r}){near}"


# Pydantic's wording, and kfeat's.
_WORDS = {
    "Input should be a valid integer": "expected an integer",
    "Input should be a valid string": "expected text",
    "Input should be a valid boolean": "expected true or false",
    "Input should be a valid ": "expected a ",
    "Input should be greater than or equal to ": "expected at least ",
    "Input should be greater than ": "expected more than ",
    "Input should be less than or equal to ": "expected at most ",
    "Input should be ": "expected ",
}


def _plain(message: str) -> str:
    for theirs, ours in _WORDS.items():
        if message.startswith(theirs):
            return ours + message.removeprefix(theirs)
    return message[0].lower() + message[1:]


def _near(met: Any, allowed: str) -> str:
    return did_you_mean(str(met), re.findall(r"'([^']+)'", allowed))


def did_you_mean(word: str, known: list[str]) -> str:
    """Return ` (did you mean 'x'?)` for the nearest known word, or nothing."""
    near = get_close_matches(ALIASES.get(word, word), known, n=1, cutoff=0.6)
    return f" (did you mean '{near[0]}'?)" if near else ""
