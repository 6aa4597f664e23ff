"""
Kernel error against the number of features
===========================================

A feature map approximates a kernel: ⟨z(x), z(y)⟩ is close to k(x, y). This example shows how the error falls
with the number D of features, for Tensor Sketch and for Random Maclaurin with two distributions of degrees.
"""

import matplotlib.pyplot as plt
import numpy as np

from kfeat.kernels import Polynomial
from kfeat.maps import RandomMaclaurin, TensorSketch

# %%
# The data are 1,000 rows of norm 1, and the kernel is (⟨x, y⟩ + 1)³.

rng = np.random.default_rng(0)
X = rng.standard_normal((1000, 20))
X /= np.linalg.norm(X, axis=1, keepdims=True)
kernel = Polynomial(degree=3, coef0=1)

# %%
# ``diagnose`` compares the map with the exact kernel on some rows. Each map is drawn five times.

sizes = [32, 64, 128, 256, 512, 1024]
maps = {
    "Tensor Sketch": TensorSketch(kernel),
    "Random Maclaurin, degrees as in the paper": RandomMaclaurin(kernel),
    "Random Maclaurin, degrees by their weight": RandomMaclaurin(kernel, degree_law="proportional"),
}
errors = {name: [] for name in maps}
for name, feature_map in maps.items():
    for D in sizes:
        found = []
        for seed in range(5):
            feature_map.set_params(n_components=D, random_state=seed)
            found.append(feature_map.fit(X).diagnose(X, n_rows=300).relative_frobenius.value)
        errors[name].append(np.mean(found))

# %%
# In theory the error falls like 1 / sqrt(D), which is a straight line here.

fig, ax = plt.subplots()
for name, values in errors.items():
    ax.loglog(sizes, values, marker="o", label=name)
ax.set(xlabel="number of features D", ylabel="relative kernel error (Frobenius)")
ax.legend()
plt.show()
