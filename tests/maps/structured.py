"""What the tests of Fourier features with dependent frequencies share: their matrix, and means over draws."""

import numpy as np

from kfeat.kernels import Gaussian

GAMMA = 0.5  # so that a single frequency is N(0, I)


def frequencies(fitted):
    """Return the matrix by which the map multiplies, one frequency in each row."""
    return fitted._phases(np.dtype(float))(np.eye(fitted.n_features_in_)).T


def differences(d, lengths):
    """Return differences x - y of these lengths: dense ones, and as many with a single feature."""
    rng = np.random.default_rng(5)
    dense = rng.choice([-1.0, 1.0], d) * rng.uniform(0.5, 1, d)
    one = np.zeros(d)
    one[2] = 1
    return np.vstack([np.outer(lengths, dense / np.linalg.norm(dense)), np.outer(lengths, one)])


def block_means(make, d, V, draws):
    """Return the mean cosine over the d frequencies of one block: for every draw, at every row of V."""
    means = np.empty((draws, len(V)))
    for seed in range(draws):
        fitted = make(Gaussian(GAMMA), 2 * d, random_state=seed).fit(V[:2])
        means[seed] = np.cos(V @ frequencies(fitted).T).mean(axis=1)
    return means


def fourier_variance(V):
    """Return the variance of the mean of d independent cosines: (1 - exp(-||v||^2))^2 / (2 d)."""
    return (1 - np.exp(-(V**2).sum(axis=1))) ** 2 / (2 * V.shape[1])


def correction(V):
    """Return (d - 1) (a / sinh a)^2 / d, a = gamma ||v||^2."""
    d, a = V.shape[1], GAMMA * (V**2).sum(axis=1)
    return (d - 1) / d * (a / np.sinh(a)) ** 2
