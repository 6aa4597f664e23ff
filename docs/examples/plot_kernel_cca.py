"""
Kernel CCA through a map
========================

Canonical correlation analysis looks for directions in two views of the same rows that are correlated. On the
features of a map it finds relations that are not linear. The views here share a phase t: one has its sine and
cosine, the other those of 2 t.
"""

import numpy as np
from sklearn.cross_decomposition import CCA
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from kfeat.kernels import Gaussian
from kfeat.maps import Nystrom, RandomFourier

rng = np.random.default_rng(0)
t = rng.uniform(0, 2 * np.pi, 2000)
first, second = (
    np.column_stack([np.sin(k * t), np.cos(k * t), rng.normal(size=(len(t), 3))])
    + rng.normal(scale=0.1, size=(len(t), 5))
    for k in (1, 2)
)
train, test = train_test_split(np.arange(len(t)), random_state=0)

# %%
# Each view is mapped and reduced to 20 principal components, which keeps CCA from fitting noise.

kernel = Gaussian(gamma=0.1)
methods = {
    "CCA": [None, None],
    "CCA on random features": [
        make_pipeline(RandomFourier(kernel, 500, random_state=k), PCA(20, random_state=0)) for k in (0, 1)
    ],
    "CCA on Nystrom": [
        make_pipeline(Nystrom(kernel, 200, random_state=k), PCA(20, random_state=0)) for k in (0, 1)
    ],
}
for name, steps in methods.items():
    views = [
        (view[train], view[test])
        if step is None
        else (step.fit_transform(view[train]), step.transform(view[test]))
        for step, view in zip(steps, (first, second), strict=True)
    ]
    cca = CCA(1, max_iter=1000).fit(views[0][0], views[1][0])
    a, b = cca.transform(views[0][1], views[1][1])
    print(f"{name:24s} correlation on held-out rows: {np.corrcoef(a[:, 0], b[:, 0])[0, 1]:.2f}")
