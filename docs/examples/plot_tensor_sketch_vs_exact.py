"""
Tensor Sketch beside an exact kernel SVM
========================================

An exact kernel SVM compares every row with every other row. Tensor Sketch maps each row once, and a linear
SVM does the rest. This example compares accuracy and time of both.
"""

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from kfeat.kernels import Polynomial
from kfeat.maps import TensorSketch

# %%
# The label of a row is the sign of a random quadratic form.

rng = np.random.default_rng(0)
n_train, d = 5000, 20
X = rng.standard_normal((n_train + 2000, d))
A = rng.standard_normal((d, d))
y = np.einsum("ni,ij,nj->n", X, A, X) > 0


def accuracy_and_seconds(model):
    """Train on the first rows; return the accuracy on the others and the seconds of training."""
    start = perf_counter()
    model.fit(X[:n_train], y[:n_train])
    seconds = perf_counter() - start
    return model.score(X[n_train:], y[n_train:]), seconds


# %%
# Both use the kernel (⟨x, y⟩ / d + 1)².

kernel = Polynomial(degree=2, gamma=1 / d, coef0=1)
exact = accuracy_and_seconds(SVC(kernel="poly", degree=2, gamma=1 / d, coef0=1))
sizes = [50, 100, 200, 500, 1000]
sketches = [TensorSketch(kernel, n_components=D, random_state=0) for D in sizes]
mapped = [accuracy_and_seconds(make_pipeline(one, LinearSVC(dual=False))) for one in sketches]

# %%
# More features cost more time and bring the accuracy closer to that of the exact SVM.

fig, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for i, (ax, label) in enumerate(zip(axes, ["accuracy", "seconds of training"], strict=True)):
    ax.plot(sizes, [one[i] for one in mapped], marker="o", label="Tensor Sketch + LinearSVC")
    ax.axhline(exact[i], color="black", linestyle="--", label="exact SVC")
    ax.set(xlabel="number of features D", ylabel=label)
axes[0].legend()
plt.show()
