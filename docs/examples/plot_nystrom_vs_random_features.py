"""
Nystrom beside random Fourier features
======================================

Random Fourier features do not look at the data. The Nystrom map takes some rows as landmarks, so it adapts
to the data. Its kernel error is smaller where the kernel has few large eigenvalues, and it takes more time
per row.
"""

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from kfeat.kernels import Gaussian
from kfeat.maps import Nystrom, RandomFourier

# %%
# The rows lie in twenty clusters. The bandwidth is the median of the distances.

X, _ = make_blobs(n_samples=3000, n_features=20, centers=20, cluster_std=3.0, random_state=0)
kernel = Gaussian(gamma="median")

# %%
# Each map is drawn three times for each number of features.

sizes = [25, 50, 100, 200, 400]
maps = {"random Fourier features": RandomFourier(kernel), "Nystrom": Nystrom(kernel)}
errors = {name: [] for name in maps}
seconds = {name: [] for name in maps}
for name, feature_map in maps.items():
    for D in sizes:
        found, took = [], []
        for seed in range(3):
            feature_map.set_params(n_components=D, random_state=seed)
            start = perf_counter()
            feature_map.fit(X).transform(X)
            took.append(perf_counter() - start)
            found.append(feature_map.diagnose(X, n_rows=300).relative_frobenius.value)
        errors[name].append(np.mean(found))
        seconds[name].append(np.mean(took))

# %%
# The left panel has the error for each number of features, the right one for each time.

fig, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", sharey=True)
for name in maps:
    axes[0].loglog(sizes, errors[name], marker="o", label=name)
    axes[1].loglog(seconds[name], errors[name], marker="o", label=name)
axes[0].set(xlabel="number of features D", ylabel="relative kernel error (Frobenius)")
axes[1].set(xlabel="seconds of fitting and mapping")
axes[0].legend()
plt.show()
