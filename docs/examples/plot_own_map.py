"""
A map of your own, checked and beside others
============================================

A transformer of scikit-learn is a map. ``kfeat.testing.check_map`` tests what every map of kfeat promises. A
config names the class by its place, ``my_map.py:Mine``, and runs it beside others.
"""

from itertools import product

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import RBFSampler
from sklearn.svm import LinearSVC
from sklearn.utils import check_random_state

from kfeat.kernels import Gaussian
from kfeat.maps import ORF
from kfeat.testing import check_map

# %%
# The map: random Fourier features of the Gaussian kernel whose frequencies come in pairs w and -w. It has a
# fault. Since cos(-w x) = cos(w x), half of its columns say nothing new.


class Mirrored(TransformerMixin, BaseEstimator):
    """Random Fourier features of exp(-gamma ||x - y||^2) with mirrored frequencies."""

    def __init__(self, n_components=100, gamma=1.0, random_state=None):
        self.n_components, self.gamma, self.random_state = n_components, gamma, random_state

    def fit(self, X, y=None):
        """Draw the frequencies."""
        W = check_random_state(self.random_state).normal(size=(X.shape[1], self.n_components // 4))
        self.W_ = np.sqrt(2 * self.gamma) * np.hstack([W, -W])
        return self

    def transform(self, X):
        """Return sqrt(2 / D) [cos(W x), sin(W x)]."""
        return np.hstack([np.cos(X @ self.W_), np.sin(X @ self.W_)]) * np.sqrt(2 / self.n_components)


# %%
# The check finds no bias, since there is none: the fault costs variance alone.

print(check_map(Mirrored(gamma=0.5), Gaussian(0.5)))

# %%
# A factor of 1.05, as a wrong constant leaves it, is found.


class Scaled(Mirrored):
    """The same, with a kernel that is 1.05 times too large."""

    def transform(self, X):
        """Return the features times sqrt(1.05)."""
        return np.sqrt(1.05) * super().transform(X)


print(check_map(Scaled(gamma=0.5), Gaussian(0.5)))

# %%
# Beside orthogonal and plain random features on the digits the fault shows. Each point is the mean over five
# draws.

X, y = load_digits(return_X_y=True)
X, gamma = X / 16, 0.03
sizes = [40, 80, 160, 320]
maps = {
    "mirrored": Mirrored(gamma=gamma),
    "RBFSampler": RBFSampler(gamma=gamma),
    "ORF": ORF(Gaussian(gamma)),
}
scores = {name: np.zeros(len(sizes)) for name in maps}
for (name, feature_map), (i, D), seed in product(maps.items(), enumerate(sizes), range(5)):
    Z = feature_map.set_params(n_components=D, random_state=seed).fit(X[:900]).transform(X)
    scores[name][i] += LinearSVC(C=10, max_iter=5000).fit(Z[:900], y[:900]).score(Z[900:], y[900:]) / 5

fig, ax = plt.subplots()
for name, values in scores.items():
    ax.plot(sizes, 100 * values, marker="o", label=name)
ax.set(xlabel="number of features D", ylabel="accuracy on the test rows (%)")
ax.legend()
plt.show()
