"""Measures of kernel_pca, kernel_clusters and kernel_cca: methods on mapped rows, beside the exact ones."""

from time import process_time

import numpy as np
from scipy.linalg import subspace_angles
from sklearn import cross_decomposition, decomposition
from sklearn.base import clone
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.metrics import adjusted_rand_score


class PCA:
    """The leading ten components: largest angle to the exact subspace, and the share of its variance."""

    def of(self, feature_map, X):
        """Return both by name, and the CPU seconds with the map and of the exact method."""
        start = process_time()
        Z = feature_map.fit_transform(X)
        scores = decomposition.PCA(10, svd_solver="covariance_eigh").fit_transform(Z)
        mapped = process_time()
        exact = decomposition.KernelPCA(10, kernel="precomputed").fit(feature_map.kernel_(X))
        seconds = process_time() - mapped
        Q = np.linalg.qr(scores)[0]
        K = feature_map.kernel_(X)
        K = K - K.mean(axis=0)
        K -= K.mean(axis=1, keepdims=True)
        return {
            "angle": np.degrees(subspace_angles(Q, exact.eigenvectors_).max()),
            "explained": np.sum(Q * (K @ Q)) / exact.eigenvalues_.sum(),
            "seconds": mapped - start,
            "exact_seconds": seconds,
        }


class Clusters:
    """Ten clusters by k-means: how they agree with those of exact kernel k-means, and how those do anew."""

    def of(self, feature_map, X):
        """Return the adjusted Rand indices by name, and the CPU seconds of both."""
        start = process_time()
        labels = MiniBatchKMeans(10, n_init=3, random_state=0).fit_predict(feature_map.fit_transform(X))
        mapped = process_time()
        rows = decomposition.KernelPCA(kernel="precomputed").fit_transform(feature_map.kernel_(X))
        exact = KMeans(10, n_init=3, random_state=0).fit_predict(rows)
        seconds = process_time() - mapped
        again = KMeans(10, n_init=3, random_state=1).fit_predict(rows)
        agreement, itself = adjusted_rand_score(exact, labels), adjusted_rand_score(exact, again)
        return {
            "agreement": agreement,
            "exact_agreement": itself,
            "shortfall": itself - agreement,
            "seconds": mapped - start,
            "exact_seconds": seconds,
        }


class CCA:
    """Canonical correlation of the two halves of the columns: the mean of the first three, on held-out rows.

    Both methods reduce each view to 50 principal components first, which regularises them alike.
    """

    def of(self, feature_map, X):
        """Return the correlation with the map and of the exact method by name, and their CPU seconds."""
        n, d = X.shape
        views = X[:, : d // 2], X[:, d // 2 :]
        train, test = slice(0, 2 * n // 3), slice(2 * n // 3, n)

        def mapped(view):
            own = clone(feature_map).fit(view[train])
            reduced = decomposition.PCA(50, svd_solver="covariance_eigh").fit(own.transform(view[train]))
            return [reduced.transform(own.transform(view[rows])) for rows in (train, test)]

        def exact(view):
            kernel = feature_map.kernel
            reduced = decomposition.KernelPCA(50, kernel="precomputed").fit(kernel(view[train]))
            return [reduced.transform(kernel(view[rows], view[train])) for rows in (train, test)]

        numbers = {}
        for name, of_view in (("", mapped), ("exact_", exact)):
            start = process_time()
            (A, A_test), (B, B_test) = (of_view(view) for view in views)
            fitted = cross_decomposition.CCA(3, max_iter=2000).fit(A, B)
            a, b = fitted.transform(A_test, B_test)
            numbers[f"{name}correlation"] = np.mean([np.corrcoef(a[:, j], b[:, j])[0, 1] for j in range(3)])
            numbers[f"{name}seconds"] = process_time() - start
        numbers["shortfall"] = numbers["exact_correlation"] - numbers["correlation"]
        return numbers
