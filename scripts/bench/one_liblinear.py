"""Train with the LIBLINEAR package of one folder: `python one_liblinear.py FOLDER DATA OPTIONS`.

A process of its own, since liblinear-official and liblinear-multicore install a module of the same name. DATA
is an .npz file with X (n, d) and y. Prints as JSON the wall seconds of training alone, and the sum of the
objectives of -s 2 over the one-against-rest problems.
"""

import json
import sys
from pathlib import Path
from time import perf_counter


def main(folder: str, data: str, options: str) -> None:
    """Train once and print what it took."""
    sys.path.insert(0, folder)
    import numpy as np
    from liblinear import liblinear, liblinearutil
    from scipy.sparse import csr_matrix

    # Both packages' modules have the same names: make sure that it is the one that was asked for.
    assert Path(liblinear.__file__).is_relative_to(Path(folder).resolve()), liblinear.__file__
    with np.load(data) as found:
        X, y = found["X"].astype(np.float64), found["y"]
    problem = liblinear.problem(y, csr_matrix(X))
    parameter = liblinear.parameter(options)
    start = perf_counter()
    model = liblinearutil.train(problem, parameter)
    seconds = perf_counter() - start
    labels = model.get_labels()
    total = 0.0
    for i in range(1 if len(labels) == 2 else len(labels)):
        w = np.array(model.get_decfun(i)[0])
        signs = np.where(y == labels[i], 1.0, -1.0)
        total += w @ w / 2 + parameter.C * (np.maximum(0, 1 - signs * (X @ w)) ** 2).sum()
    print(json.dumps({"seconds": seconds, "objective": total}))


if __name__ == "__main__":
    main(*sys.argv[1:])
