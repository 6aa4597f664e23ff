"""
Random binning: a kernel by counting shared cells
=================================================

Random binning (Rahimi & Recht 2007) cuts the data by random grids. Two rows share a cell of a grid with
probability k(x, y), so the share of R grids in which they meet estimates the Laplacian kernel. The features
are sparse: R non-zeros per row, whatever the number of columns.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import issparse

from kfeat.kernels import Laplacian
from kfeat.maps import RandomBinning, RandomFourier

kernel = Laplacian(gamma=1.0)
rng = np.random.default_rng(0)

# %%
# On the left are the cells of one grid in two dimensions. In the middle and on the right is the share of
# grids in which a point meets the origin, over 8 and over 512 grids. It tends to ``exp(-|x| - |y|)``.

side = np.linspace(-2, 2, 161)
plane = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
origin = np.abs(plane).sum(axis=1).argmin()

fig, axes = plt.subplots(1, 3, figsize=(9, 3), sharey=True)
one = RandomBinning(kernel, n_components=1, random_state=3).fit_transform(plane)
cells = rng.permutation(one.shape[1])[one.indices]
images = [(cells, "the cells of one grid", "tab20")]
for R in (8, 512):
    Z = RandomBinning(kernel, n_components=R, random_state=0).fit_transform(plane)
    images.append(((Z @ Z[[origin]].T).toarray()[:, 0], f"{R} grids", "viridis"))
for ax, (values, title, colours) in zip(axes, images, strict=True):
    ax.imshow(values.reshape(161, 161), extent=(-2, 2, -2, 2), origin="lower", cmap=colours)
    ax.set_title(title)

# %%
# The variance of an estimate is k (1 - k) / R. That of R random Fourier features is (1 - k²) / R, since
# k(2 (x - y)) = k(x - y)² for this kernel: larger by the factor 1 + 1 / k, which is at least 2.

X = rng.random((300, 4))
K = kernel(X)
sizes = [16, 32, 64, 128, 256, 512, 1024]
errors = {"random binning, R non-zeros": [], "random Fourier features, D = R": []}
for R in sizes:
    for name, feature_map in zip(errors, (RandomBinning, RandomFourier), strict=True):
        Z = feature_map(kernel, n_components=R, random_state=0).fit_transform(X)
        G = Z @ Z.T
        G = G.toarray() if issparse(G) else G
        errors[name].append(np.linalg.norm(G - K) / np.linalg.norm(K))

fig, ax = plt.subplots(layout="constrained")
for name, values in errors.items():
    ax.loglog(sizes, values, marker="o", label=name)
ax.set(xlabel="R", ylabel="relative kernel error (Frobenius)")
ax.legend()
plt.show()
