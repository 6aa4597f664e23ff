"""
Kernel k-means through a map
============================

k-means finds clusters that straight lines separate. On the features of a map it is an approximate kernel
k-means. Here each row is a signal with an unknown sign, so that x and -x belong together.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import MiniBatchKMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline

from kfeat.kernels import Polynomial
from kfeat.maps import Nystrom, TensorSketch

rng = np.random.default_rng(0)
kinds = rng.integers(2, size=2000)
signals = np.array([[2.0, 1.0], [-1.0, 2.0]])[kinds]
X = rng.choice([-1, 1], size=(2000, 1)) * signals + rng.normal(scale=0.4, size=(2000, 2))

# %%
# The kernel <x, y>^2 does not see the sign of x.

kernel = Polynomial(degree=2)


def clusters():
    """Return k-means with two clusters."""
    return MiniBatchKMeans(2, n_init=3, random_state=0)


methods = {
    "k-means": clusters(),
    "k-means on Tensor Sketch": make_pipeline(TensorSketch(kernel, 64, random_state=0), clusters()),
    "k-means on Nystrom": make_pipeline(Nystrom(kernel, 3, random_state=0), clusters()),
}
figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
for axis, (name, method) in zip(axes, methods.items(), strict=True):
    labels = method.fit(X).predict(X)
    print(f"{name:26s} adjusted Rand index with the signals: {adjusted_rand_score(kinds, labels):.2f}")
    axis.scatter(*X.T, c=labels, cmap="tab10", s=4)
    axis.set_title(name, fontsize=10)
    axis.set_aspect("equal")
plt.show()
