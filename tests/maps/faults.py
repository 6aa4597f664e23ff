"""The z-test for unbiasedness, and maps with planted faults that it must catch (DESIGN rule 10)."""

import numpy as np

from kfeat.kernels import Polynomial

PAIRS = 10
SEEDS = 400
# Ten two-sided tests at |z| < 4: a correct map fails one with probability 6e-4. A fault whose largest |z| is
# beyond 4 + 2.33 is caught with probability 0.99 (z is close to normal over so many seeds).
PASS, CAUGHT = 4.0, 6.33


def largest_z(make, seeds=SEEDS, d=20, kernel=None):
    """Return the largest |mean error| / standard error over PAIRS fixed pairs of rows and `seeds` draws."""
    kernel = kernel or Polynomial(degree=2)
    x, y = np.abs(np.random.default_rng(1).standard_normal((2, PAIRS, d)))
    X = np.vstack([x, x + 0.5 * y])
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    x, y = X[:PAIRS], X[PAIRS:]
    exact = np.array([kernel(a[None], b[None])[0, 0] for a, b in zip(x, y, strict=True)])
    errors = np.empty((seeds, PAIRS))
    for seed in range(seeds):
        Z = make(kernel, seed).fit(X).transform(X)
        errors[seed] = (Z[:PAIRS] * Z[PAIRS:]).sum(axis=1) - exact
    deviation = errors.std(axis=0, ddof=1) / np.sqrt(seeds)
    bias = np.abs(errors.mean(axis=0))
    with np.errstate(divide="ignore"):
        return float(np.where(bias > 0, bias / deviation, 0).max())
