"""
A kernel of strings: exact against Nystrom
==========================================

A kernel need not be one of vectors. ``ObjectKernel`` takes a function of two lists of objects. Here it is the
spectrum kernel of Leslie, Eskin & Noble (2002), which counts the substrings of length 4 that two sequences
share. The exact SVM and Nystrom take it; maps that need vectors refuse it.
"""

from itertools import product
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize

from kfeat.kernels import ObjectKernel
from kfeat.maps import Nystrom
from kfeat.solvers import Libsvm, Newton

# %%
# The data: sequences of 80 letters. The positive ones have the motif ``TGACGTCA``, one letter drawn anew.

rng = np.random.default_rng(0)


def sequences(n):
    """Return n sequences, and whether each has the motif."""
    letters = rng.choice(list("ACGT"), size=(n, 80))
    has_motif = rng.random(n) < 0.5
    for row in np.flatnonzero(has_motif):
        motif = list("TGACGTCA")
        motif[rng.integers(8)] = rng.choice(list("ACGT"))
        start = rng.integers(72)
        letters[row, start : start + 8] = motif
    return ["".join(row) for row in letters], has_motif


# %%
# The kernel: the cosine of the counts of all 256 substrings of four letters.

words = ["".join(letters) for letters in product("ACGT", repeat=4)]
counter = CountVectorizer(analyzer="char", ngram_range=(4, 4), lowercase=False, vocabulary=words)


def spectrum(A, B):
    """Return the spectrum kernel of two lists of sequences."""
    return (normalize(counter.transform(A)) @ normalize(counter.transform(B)).T).toarray()


kernel = ObjectKernel(spectrum)
print(kernel(["TGACGTCA", "AAAAAAAA"], ["TGACGTCC"]))

# %%
# Exact LIBSVM takes the whole Gram matrix. Nystrom with 200 landmarks gives 200 features to a linear SVM.

methods = {
    "exact, LIBSVM": lambda: Libsvm(kernel, C=1),
    "Nystrom, 200 landmarks": lambda: make_pipeline(
        Nystrom(kernel, n_components=200, landmarks="rpcholesky", random_state=0), Newton(C=1)
    ),
}
sizes, lines = [500, 1000, 2000, 4000], []
for n in sizes:
    X, X_test, y, y_test = train_test_split(*sequences(n + 2000), test_size=2000, random_state=0)
    for name, make in methods.items():
        start = process_time()
        model = make().fit(X, y)
        lines.append((n, name, model.score(X_test, y_test), process_time() - start))
        print("n = {:5d}  {:24s}  accuracy {:.3f}  {:6.2f} s".format(*lines[-1]))

# %%
# The time of the exact SVM grows with the square of n, that of Nystrom with n.

figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
for name in methods:
    scores, seconds = zip(*[line[2:] for line in lines if line[1] == name], strict=True)
    axes[0].plot(sizes, scores, "o-", label=name)
    axes[1].loglog(sizes, seconds, "o-", label=name)
axes[0].set(xlabel="training sequences", ylabel="accuracy on 2,000 others")
axes[1].set(xlabel="training sequences", ylabel="CPU seconds of training and predicting")
axes[0].legend()
plt.show()
