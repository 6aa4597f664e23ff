"""Print what is measured and the seconds, a line of JSON for each line that comes in, each case ROUNDS times.

`earlier` runs it as a file with the kfeat of PYTHONPATH, once for each of two versions, and lets them take
turns. So it uses only names that both have.
"""

import json
import warnings
from collections.abc import Callable, Iterator
from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_limits

from kfeat.kernels import Gaussian, Laplacian, Polynomial
from kfeat.maps import MAPS, maps_for
from kfeat.solvers import KernelRidge, Liblinear, Libsvm, Newton, Ridge, RidgeCV

Case = tuple[str, str, Callable[[], object]]
D = 512
ROUNDS = 3
COSTS = (0.01, 0.1, 1.0, 10.0)


def cases() -> Iterator[Case]:
    """Yield what is measured, on which data, and the call."""
    rng = np.random.default_rng(0)
    small, wide = (rng.random((2000, d), dtype=np.float32) for d in (123, 784))
    for X in (small, wide):
        X /= np.linalg.norm(X, axis=1, keepdims=True)
    for name in sorted(MAPS):
        for kernel in (Polynomial(degree=3, coef0=1.0), Gaussian(gamma=1.0)):
            if name not in maps_for(kernel) or name == "stacked":
                continue
            size = {"n_components": D} if "n_components" in MAPS[name]().get_params() else {}
            make = MAPS[name](kernel, random_state=0, **size)
            where = f"{type(kernel).__name__}, D = {D}"
            for X in (small, wide):
                fitted = MAPS[name](kernel, random_state=0, **size).fit(X)
                shape = f"{len(X):,} x {X.shape[1]}"
                yield (
                    f"{name}, transform",
                    f"{where}, {shape}",
                    lambda X=X, fitted=fitted: fitted.transform(X),
                )
            yield f"{name}, fit", f"{where}, 2,000 x 123", lambda make=make: make.fit(small)
    for kernel in (Polynomial(degree=3, coef0=1.0), Gaussian(gamma=1.0), Laplacian(gamma=1.0)):
        pair = small[:1000]
        yield f"{type(kernel).__name__}, matrix", "1,000 x 123", lambda k=kernel, X=pair: k(X, X)
    yield from solvers(rng)


def solvers(rng: np.random.Generator) -> Iterator[Case]:
    """Yield the fits of every solver on noisy linear data."""
    n, d = 20_000, 300
    W, Z = rng.standard_normal((d, 4)), rng.standard_normal((n, d)).astype(np.float32)
    y = (Z @ W + 2 * rng.standard_normal((n, 4))).argmax(axis=1)
    target = Z @ W[:, 0] + rng.standard_normal(n)
    few, kernel = 2000, Gaussian(gamma=1 / d)
    whole, part = f"{n:,} x {d}", f"{few:,} x {d}"
    yield "Newton", whole, lambda: Newton(C=1.0).fit(Z, y)
    yield "Newton, logistic", whole, lambda: Newton(C=1.0, loss="logistic").fit(Z, y)
    yield "Newton, a path of 4 costs", whole, lambda: [None for _ in Newton().path(Z, y, COSTS)]
    yield "Liblinear -s 1", f"4,000 x {d}", lambda: Liblinear(1, C=0.01).fit(Z[:4000], y[:4000])
    yield "Ridge", whole, lambda: Ridge(alpha=1.0).fit(Z, target)
    yield "RidgeCV", whole, lambda: RidgeCV().fit(Z, target)
    yield "Libsvm", part, lambda: Libsvm(kernel, C=1.0).fit(Z[:few], y[:few])
    yield "KernelRidge", part, lambda: KernelRidge(kernel).fit(Z[:few], target[:few])


def best(call: Callable[[], object]) -> float:
    """Return the least seconds of at least 5 calls in 0.3 s, or of at least 3 in 2 s."""
    seconds: list[float] = []
    while (len(seconds) < 5 or sum(seconds) < 0.3) and (len(seconds) < 3 or sum(seconds) < 2):
        start = perf_counter()
        call()
        seconds.append(perf_counter() - start)
    return min(seconds)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        for what, shape, call in cases():
            for _ in range(ROUNDS):
                input()
                print(json.dumps((what, shape, best(call))), flush=True)
        input()
