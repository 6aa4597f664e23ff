"""The maps beside scikit-learn's, and beside the floors: the bare FFTs and the bare matrix products.

Data have the shapes and the sparsity of the papers' datasets; all is float32. scikit-learn's
PolynomialCountSketch runs on the share of the rows that fits into memory and time, and its seconds are
scaled up in proportion (it is somewhat faster per row on fewer rows).
"""

import tracemalloc
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.stats import gmean
from sklearn.kernel_approximation import Nystroem, PolynomialCountSketch, RBFSampler
from threadpoolctl import threadpool_limits

from kfeat.kernels import Gaussian, Polynomial
from kfeat.maps import FeatureMap, Nystrom, RandomFourier, RandomMaclaurin, TensorSketch
from kfeat.maps.count_sketch import FFTs, Library, ffts, product_is_quicker
from scripts.bench.harness import side_by_side

Row = dict[str, Any]
NAMES: dict[Library, str] = {"scipy": "TensorSketch", "ducc0": "TensorSketch(fft='ducc0')"}
BLOCK = 128  # rows per batch of the floor's FFTs: measured best for D = 200 to 5,000


def run(threads: int) -> list[Row]:
    """Return all rows of the table, measured with this many threads on both sides."""
    sketches = list(tensor_sketch(threads))
    means = [mean_of(name, sketches) for name in NAMES.values()]
    once = [fresh_output(threads), *memory_and_growth(threads)] if threads == 1 else []
    return [*sketches, *means, *once, *fourier_and_nystrom(threads), *maclaurin(threads)]


def mean_of(name: str, sketches: Iterable[Row]) -> Row:
    """Return the row of the geometric mean over the shapes, for Tensor Sketch by one library of FFTs."""
    mean = float(gmean([row["ratio"] for row in sketches if row["what"].startswith(f"{name} : ")]))
    return {"what": f"{name}, geometric mean", "shape": "all", "ratio": mean, **judged(mean, 12)}


def judged(ratio: float, target: float) -> Row:
    """Return the target for a speed-up over the other side, and whether it is met."""
    return {"target": f">= {target:g}x", "met": ratio >= target}


def shaped(n: int, d: int, density: float = 1.0, seed: int = 0) -> NDArray[np.float32]:
    """Return dense uniform data, zero outside a share `density` of the cells."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d), dtype=np.float32)
    return X if density == 1 else X * (rng.random((n, d), dtype=np.float32) < density)


def adult() -> csr_array:
    """Return sparse data of a9a's shape, 14 ones per row."""
    columns = np.random.default_rng(0).random((32_561, 123)).argpartition(14, axis=1)[:, :14]
    indptr = np.arange(0, columns.size + 1, 14)
    return csr_array(
        (np.ones(columns.size, np.float32), np.sort(columns).ravel(), indptr), shape=(32_561, 123)
    )


def tensor_sketch(threads: int) -> Iterable[Row]:
    """Yield Tensor Sketch beside PolynomialCountSketch and the floor, shape by shape."""
    cases: list[tuple[str, Any, int, int, int]] = [
        ("60,000 x 784 (mnist)", shaped(60_000, 784, 0.19), 1000, 4, 10),
        ("32,561 x 123 sparse (a9a)", adult(), 200, 4, 1),
        ("32,561 x 123 sparse (a9a)", adult(), 1000, 4, 4),
        ("100,000 x 54 (covertype)", shaped(100_000, 54), 500, 2, 4),
        ("100,000 x 54 (covertype)", shaped(100_000, 54), 500, 4, 4),
        ("6,000 x 5,000 (gisette)", shaped(6_000, 5_000), 5000, 2, 2),
    ]
    for shape, X, D, p, share in cases:
        (n, d), few, kernel = X.shape, X[: X.shape[0] // share], Polynomial(p, coef0=1.0)
        theirs = PolynomialCountSketch(degree=p, coef0=1, n_components=D, random_state=0).fit(few)
        candidates = {"other": lambda few=few, theirs=theirs: theirs.transform(few)}
        libraries = {fft: ffts(fft) for fft in NAMES}
        for fft, library in libraries.items():
            ours = TensorSketch(kernel, D, fft=fft, random_state=0, n_jobs=threads).fit(X)
            candidates |= {
                fft: lambda X=X, ours=ours: ours.transform(X),
                f"{fft}, floor": floor(n, d, D, p, threads, library),
            }
        there, spectra = (
            TensorSketch(kernel, D, domain, random_state=0, n_jobs=threads).fit(X)
            for domain in ("real", "frequency")
        )
        candidates |= {
            "filling": filling(there, X, np.empty((n, D), dtype=np.float32)),
            "frequency": lambda X=X, spectra=spectra: spectra.transform(X),
        }
        seconds = side_by_side(candidates)
        other = share * seconds["other"]
        for fft, name in NAMES.items():
            kfeat, least = seconds[fft], seconds[f"{fft}, floor"]
            more = f"; {seconds['filling'] / least:.2f} of it where the output is there; domain = frequency "
            more += f"{other / seconds['frequency']:.3g}x the speed"
            yield {
                "what": f"{name} : PolynomialCountSketch",
                "shape": f"{shape}, D = {D}, p = {p}",
                "kfeat_s": kfeat,
                "other_s": other,
                "ratio": other / kfeat,
                "spread": seconds.spread("other", fft, share),
                "floor_s": least,
                **judged(other / kfeat, 6),
                "note": f"floor: {work(n, d, D, p)}{more * (fft == 'scipy')}; other on 1/{share}",
            }


def work(n: int, d: int, D: int, p: int) -> str:
    """Return the operations that the floor does, and the bytes of the output."""
    fft = 2.5 * D * np.log2(D)
    products = product_is_quicker(p, d, D)
    operations = n * (fft + p * (2 * (d + 1) * (D + 2) if products else fft))
    how = f"{p} products of matrices and an inverse FFT" if products else f"{p + 1} FFTs"
    return f"{how} a row, {operations / 1e9:.3g} GFLOP in all; {4 * n * D / 1e6:.0f} MB written"


def filling(fitted: FeatureMap, X: Any, out: NDArray[Any]) -> Callable[[], object]:
    """Return a candidate that transforms X into an array that is there already."""
    return lambda: fitted.transform(X, out=out)


def floor(n: int, d: int, D: int, p: int, threads: int, transforms: FFTs) -> Callable[[], object]:
    """Return the floor: the spectra of p sketches, each by FFT or by a bare product, and one inverse FFT.

    It computes on one small batch of rows again and again, which stays in the cache.
    """
    rng = np.random.default_rng(0)
    batch, roots = rng.random((BLOCK, D), dtype=np.float32), rng.random((d + 1, D + 2), dtype=np.float32)
    rows, spectrum = rng.random((BLOCK, d + 1), dtype=np.float32), transforms.rfft(batch)
    products = product_is_quicker(p, d, D)

    def one(_: int) -> None:
        for _ in range(p):
            rows @ roots if products else transforms.rfft(batch)
        transforms.irfft(spectrum.copy(), np.empty_like(batch))

    def all_rows() -> None:
        with threadpool_limits(1, "blas"), ThreadPoolExecutor(threads) as pool:  # as kfeat's own blocks
            list(pool.map(one, range(-(-n // BLOCK))))

    return all_rows


def fresh_output(threads: int) -> Row:
    """Return what an output that the system has still to provide costs, beside one that is there."""
    X = shaped(581_012, 54)
    fitted = TensorSketch(Polynomial(2, coef0=1.0), 500, random_state=0, n_jobs=threads).fit(X)
    out = np.empty((len(X), 500), dtype=np.float32)
    seconds = side_by_side({"kfeat": lambda: fitted.transform(X), "floor": filling(fitted, X, out)})
    return {
        "what": "TensorSketch, a new output over one that is there",
        "shape": "581,012 x 54 (covertype), D = 500, p = 2",
        "kfeat_s": seconds["kfeat"],
        "floor_s": seconds["floor"],
        "note": f"{out.nbytes / 2**20:.0f} MB of new pages: {seconds['kfeat'] / seconds['floor']:.2f} times",
    }


def memory_and_growth(threads: int) -> Iterable[Row]:
    """Yield the memory beyond the output, and the cost per row at a million rows over ten thousand."""
    many = shaped(1_000_000, 54)
    fitted = TensorSketch(Polynomial(2, coef0=1.0), 100, random_state=0, n_jobs=threads).fit(many)
    out = np.empty((len(many), 100), dtype=np.float32)
    seconds = side_by_side(
        {
            "few": lambda: [
                fitted.transform(many[i : i + 10_000], out=out[i : i + 10_000])
                for i in range(0, 10**5, 10**4)
            ],
            "many": filling(fitted, many, out),
        }
    )
    growth = seconds["many"] / 10**6 / (seconds["few"] / 10**5)
    yield {
        "what": "TensorSketch, cost per row at 1,000,000 rows over 10,000",
        "shape": "n x 54, D = 100, p = 2",
        "kfeat_s": seconds["many"],
        "target": "flat",
        "met": growth < 1.15,
        "note": f"{growth:.2f} times",
    }
    for n, d, D in ((200_000, 784, 200), (2_000, 5_000, 5_000)):
        X, out = shaped(n, d), np.empty((n, D), dtype=np.float32)
        sketch = TensorSketch(Polynomial(4, coef0=1.0), D, random_state=0, n_jobs=threads).fit(X[:10])
        tracemalloc.start()
        sketch.transform(X, out=out)
        peak = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        yield {
            "what": "TensorSketch, memory beyond the output",
            "shape": f"{n:,} x {d:,}, D = {D}, p = 4",
            "target": "< 64 MB",
            "met": peak < 64,
            "note": f"{peak:.1f} MB",
        }


def fourier_and_nystrom(threads: int) -> Iterable[Row]:
    """Yield random Fourier features and Nystrom beside scikit-learn's."""
    cases = [
        ("20,000 x 784 (mnist)", shaped(20_000, 784, 0.19), 1000),
        ("32,561 x 123 sparse (a9a)", adult(), 200),
        ("100,000 x 54 (covertype)", shaped(100_000, 54), 500),
    ]
    for shape, X, D in cases:
        waves = RBFSampler(gamma=0.1, n_components=D, random_state=0).fit(X)
        yield beside(
            "RandomFourier : RBFSampler",
            f"{shape}, D = {D}",
            RandomFourier(Gaussian(0.1), D),
            waves,
            X,
            2.5,
            threads,
        )
        for kernel, parameters in (
            (Gaussian(0.1), {"kernel": "rbf", "gamma": 0.1}),
            (Polynomial(4, coef0=1.0), {"kernel": "polynomial", "degree": 4, "gamma": 1, "coef0": 1}),
        ):
            theirs = Nystroem(n_components=D, random_state=0, **parameters).fit(X)
            what = f"Nystrom : Nystroem, {parameters['kernel']}"
            yield beside(what, f"{shape}, c = {D}", Nystrom(kernel, D), theirs, X, 1.5, threads)


def beside(
    what: str, shape: str, unfitted: FeatureMap, theirs: Any, X: Any, target: float, threads: int
) -> Row:
    """Return the row for one map beside scikit-learn's, each making its own output."""
    ours = unfitted.set_params(random_state=0, n_jobs=threads).fit(X)
    seconds = side_by_side({"kfeat": lambda: ours.transform(X), "other": lambda: theirs.transform(X)})
    ratio = seconds["other"] / seconds["kfeat"]
    return {
        "what": what,
        "shape": shape,
        "kfeat_s": seconds["kfeat"],
        "other_s": seconds["other"],
        "ratio": ratio,
        "spread": seconds.spread("other", "kfeat"),
        **judged(ratio, target),
    }


def maclaurin(threads: int) -> Iterable[Row]:
    """Yield Random Maclaurin beside the bare product of X with all of its sign vectors."""
    for shape, X, D in (
        ("20,000 x 784 (mnist)", shaped(20_000, 784, 0.19), 1000),
        ("32,561 x 123 sparse (a9a)", adult(), 200),
        ("100,000 x 54 (covertype)", shaped(100_000, 54), 500),
    ):
        for law in ("geometric", "truncated"):
            fitted = RandomMaclaurin(Polynomial(4, coef0=1.0), D, law, random_state=0, n_jobs=threads).fit(X)
            signs = np.ascontiguousarray(fitted.signs_.T, dtype=np.float32)
            out = np.empty((X.shape[0], D), dtype=np.float32)
            seconds = side_by_side(
                {"kfeat": filling(fitted, X, out), "floor": lambda X=X, signs=signs: X @ signs}
            )
            over = seconds["kfeat"] / seconds["floor"]
            yield {
                "what": f"RandomMaclaurin, {law}",
                "shape": f"{shape}, D = {D}, p = 4",
                "kfeat_s": seconds["kfeat"],
                "floor_s": seconds["floor"],
                "target": "<= 1.3x the floor",
                "met": over <= 1.3,
                "note": f"{over:.2f}x the bare product with {signs.shape[1]} sign vectors",
            }
