"""Whatever a caller hands to a kernel, map or solver: a finite result or a sentence, never a crash or a hang.

Each case follows from its number alone. A few hundred run with the slow tests, as many as KFEAT_FUZZ says
where it is set; `python -m tests.fuzz.test_library 17 18` runs case 17 here, with its traceback. Cases run in
a child process, since a fault in C code would end the tests.
"""

import os
import subprocess
import sys
import threading
import traceback
import warnings

import numpy as np
import pytest
from numpy.exceptions import RankWarning
from scipy.sparse import issparse
from sklearn.exceptions import NotFittedError

from kfeat.errors import KfeatError
from kfeat.kernels import KERNELS, Gaussian, Sum
from kfeat.maps import MAPS
from kfeat.solvers import SOLVERS
from tests.fuzz.library_inputs import INPUTS, TARGETS, VALUES, rows

CASES = int(os.environ.get("KFEAT_FUZZ", "200"))
PER_CHILD = 1000
HANG_S = 20


def pick(rng, choices):
    return choices[int(rng.integers(len(choices)))]


def mutated(rng, estimator):
    """Change one or two of the parameters, also of the kernel inside."""
    for _ in range(rng.integers(1, 3)):
        name = pick(rng, sorted(estimator.get_params(deep=False)))
        setattr(estimator, name, pick(rng, VALUES))


def some_kernel(rng):
    kernel = pick(rng, [*KERNELS.values()])()
    if rng.random() < 0.2:
        kernel = Sum([kernel, Gaussian()], [1.0, 2.0])
    return kernel


def results(rng):
    """Yield what this case does, and a function that does it and returns (what came out, rows expected)."""
    X, T = rows(rng), rows(rng, 11)
    y = (X[:, 0] > np.median(X[:, 0])).astype(int)
    inputs = {"X": X, "T": T, "y": y}
    subject = pick(rng, [*KERNELS.values(), *MAPS.values(), *SOLVERS.values()])()
    if hasattr(subject, "kernel") and rng.random() < 0.7:
        kernel = some_kernel(rng)
        if rng.random() < 0.3 and kernel.get_params(deep=False):
            mutated(rng, kernel)
        subject.kernel = kernel
    which = rng.random(4) < (0.5, 0.4, 0.3, 0.15)
    if which[0] and subject.get_params(deep=False):
        mutated(rng, subject)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, chosen, changes in (
            ("X", which[1], INPUTS),
            ("T", which[2], INPUTS),
            ("y", which[3], TARGETS),
        ):
            if chosen:
                inputs[name] = pick(rng, changes)(inputs[name])
    seen = {name: getattr(value, "shape", value) for name, value in inputs.items()}
    yield f"{subject!r} on {seen}", lambda: used(subject, **inputs)


def used(subject, X, T, y):
    """Return pairs of results and what they have one row for."""
    if type(subject) in KERNELS.values():
        resolved = subject.resolve(X, 0)
        return [(resolved(X), X), (resolved(T, X), T), (resolved.diagonal(T), T)]
    if type(subject) in MAPS.values():
        subject.fit(X)
        return [(subject.transform(T), T), (subject.transform(X), X)]
    subject.fit(X, y)
    return [(subject.predict(T), T), (subject.predict(X), X)]


def verdict(number):
    """Carry out a case; return what is wrong with how it ended, or None."""
    for what, act in results(np.random.default_rng([11, number])):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                warnings.simplefilter("error", RuntimeWarning)
                warnings.simplefilter("ignore", RankWarning)
                found = act()
        except Exception as error:
            if not is_sentence(error):
                return f"case {number}: {what}: {error!r}\n{traceback.format_exc()[-900:]}"
        else:
            for values, data in found:
                n = data.shape[0] if hasattr(data, "shape") else len(data)
                entries = values.data if issparse(values) else values
                finite = entries.dtype.kind not in "fc" or np.isfinite(entries).all()
                if values.shape[0] != n or not finite:
                    return f"case {number}: {what}: not finite, or {values.shape[0]} results for {n} rows"
    return None


def is_sentence(error):
    """Tell whether this is how kfeat or scikit-learn refuse: an error of theirs, in words."""
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    theirs = isinstance(error, ValueError | TypeError) and f"{os.sep}sklearn{os.sep}" in files[-1]
    if isinstance(error, RuntimeWarning):  # scikit-learn looks for infinity with a sum
        theirs = any(file.endswith("validation.py") for file in files)
    return (isinstance(error, KfeatError | NotFittedError) or theirs) and len(str(error).split()) >= 3


def in_children(first, stop):
    """Yield what went wrong in these cases, crashes and hangs with the case in hand."""
    while first < stop:
        child = subprocess.Popen(
            [sys.executable, "-m", __name__, str(first), str(min(first + PER_CHILD, stop))],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        with child:
            for case, said in cases_of(child):
                first = case + 1
                yield from (line[6:].replace("\\n", "\n") for line in said if line.startswith("wrong:"))
        if child.returncode != 0:
            end = f"the process ended with {child.returncode} (-9: after {HANG_S} seconds)"
            yield f"case {first - 1}: {end}: {''.join(said)[-900:]}"


def cases_of(child):
    """Yield each case and the lines that came with it; kill a child that is silent for too long."""
    guard = threading.Timer(2 * HANG_S, child.kill)  # the first line may take the imports' time
    guard.start()
    case, said = -1, []
    for line in child.stdout:
        guard.cancel()
        guard = threading.Timer(HANG_S, child.kill)
        guard.start()
        if not line.startswith("case:"):
            said.append(line)
            continue
        if case >= 0:
            yield case, said
        case, said = int(line[5:]), []
    guard.cancel()
    yield case, said


@pytest.mark.slow
def test_whatever_comes_in_gives_a_result_or_a_sentence():
    wrong = list(in_children(0, CASES))
    assert not wrong, f"{len(wrong)} of {CASES} cases:\n" + "\n".join(wrong[:20])


if __name__ == "__main__":
    for case in range(int(sys.argv[1]), int(sys.argv[2])):
        print(f"case:{case}", flush=True)
        if problem := verdict(case):
            print("wrong:" + problem.replace("\n", "\\n"), flush=True)
