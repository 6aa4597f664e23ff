"""Sequences of the letters A, C, G, T, and the spectrum kernel on them, for strings.yaml."""

import numpy as np

LENGTH, MOTIF, WORD = 80, (3, 2, 0, 1, 2, 3, 1, 0), 4  # the motif is TGACGTCA; A, C, G, T are 0, 1, 2, 3


def sequences():
    """Return 12,000 sequences as rows of 80 codes, and whether each has the motif, one letter drawn anew."""
    rng = np.random.default_rng(0)
    letters = rng.integers(4, size=(12_000, LENGTH))
    has_motif = rng.random(len(letters)) < 0.5
    for row in np.flatnonzero(has_motif):
        motif = np.array(MOTIF)
        motif[rng.integers(len(motif))] = rng.integers(4)
        start = rng.integers(LENGTH - len(motif))
        letters[row, start : start + len(motif)] = motif
    return letters.astype(float), has_motif.astype(int)


class Spectrum:
    """The cosine of the counts of all words of four letters (Leslie, Eskin & Noble 2002)."""

    def __call__(self, X, Y):
        """Return the kernel of two arrays of codes, (n, 80) and (m, 80)."""
        return counts(X) @ counts(Y).T


def counts(X):
    """Return how often each of the 256 words occurs in each row, divided by the norm of these counts."""
    width = X.shape[1] - WORD + 1
    words = sum(4**i * X[:, i : i + width].astype(int) for i in range(WORD))
    places = words + 4**WORD * np.arange(len(X))[:, None]
    table = np.bincount(places.ravel(), minlength=4**WORD * len(X)).reshape(len(X), -1)
    return table / np.linalg.norm(table, axis=1, keepdims=True)
