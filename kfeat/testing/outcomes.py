"""Every outcome of the random draws of a map, if it draws integers alone: then its mean is exact."""

from collections.abc import Callable, Iterator
from math import prod
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

MOST = 1_000  # outcomes; a fit takes some milliseconds


class NotEnumerableError(Exception):
    """A map draws other things than integers, or has too many outcomes."""


class _Draws:
    """The options that draws take: all zeros at first, then counted through like the digits of a number."""

    def __init__(self) -> None:
        self.digits: list[int] = []
        self.options: list[int] = []
        self.taken = 0

    def __call__(self, n_options: int, size: Any) -> Any:
        """Return an array of this shape (None: a number) of options below `n_options`."""
        n = int(np.prod(size)) if size is not None else 1
        fresh = max(self.taken + n - len(self.digits), 0)
        self.digits += [0] * fresh
        self.options += [int(n_options)] * fresh
        if prod(self.options) > MOST:
            raise NotEnumerableError(f"it has more than {MOST:,} outcomes")
        chosen = self.digits[self.taken : self.taken + n]
        self.taken += n
        return np.array(chosen).reshape(size) if size is not None else np.int64(chosen[0])

    def advance(self) -> bool:
        """Go to the next outcome, and return whether there is one."""
        self.taken = 0
        while self.digits and self.digits[-1] == self.options[-1] - 1:
            self.digits.pop()
            self.options.pop()
        if self.digits:
            self.digits[-1] += 1
        return bool(self.digits)


def _source(base: type, name: str, draws: _Draws, *arguments: Any) -> Any:
    """Return a generator of NumPy whose method `name` and `choice` draw from `draws`; others are refused."""

    class Source(base):
        def __getattribute__(self, method: str) -> Any:
            if method.startswith("_") or method == "bit_generator" or not hasattr(base, method):
                return super().__getattribute__(method)
            known: dict[str, Callable[..., Any]] = {name: integers, "choice": choice}
            return known.get(method) or refused(method)

    def integers(
        low: int, high: int | None = None, size: Any = None, dtype: Any = int, **options: Any
    ) -> Any:
        low, high = (0, low) if high is None else (low, high)
        return np.asarray(low + draws(high - low, size), dtype)[()]

    def choice(a: Any, size: Any = None, replace: bool = True, p: Any = None, **options: Any) -> NDArray[Any]:
        if p is not None or not replace:
            refused("choice")
        items = np.arange(a) if np.ndim(a) == 0 else np.asarray(a)
        return items[draws(len(items), size)]

    def refused(method: str) -> NoReturn:
        raise NotEnumerableError(f"it draws by `{method}`")

    return Source(*arguments)


def outcomes(run: Callable[[Any], Any]) -> Iterator[tuple[float, Any]]:
    """Yield the probability and the value of `run(random_state)` for every outcome of its draws.

    `random_state` is a Generator, or a RandomState for what takes no Generator. Raises NotEnumerableError.
    """
    draws = _Draws()
    kinds: list[Callable[[], Any]] = [
        lambda: _source(np.random.Generator, "integers", draws, np.random.PCG64(0)),
        lambda: _source(np.random.RandomState, "randint", draws, 0),
    ]
    try:
        value = run(kinds[0]())
    except (ValueError, TypeError):
        kinds, draws.digits, draws.options, draws.taken = kinds[1:], [], [], 0
        value = run(kinds[0]())
    yield 1 / prod(draws.options), value
    while draws.advance():
        value = run(kinds[0]())
        yield 1 / prod(draws.options), value
