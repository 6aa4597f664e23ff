"""The program of Wu, Yen, Chen & Yan 2016 (github.com/teddylfwu/RandomBinning), where a copy is at hand.

RANDOM_BINNING names the folder of the copy. Its header is compiled by g++ with -O3 for this processor; rows
are given to it in its own form, a vector of pairs, before the clock starts. It maps training and test rows
in one call, so no hash table is kept for later rows.
"""

import ctypes
import os
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

CALLS = """
#include "randFeature.hpp"
typedef vector<vector<pair<int, double> > > Rows;
extern "C" Rows* rows(const float* X, int n, int d) {
    Rows* given = new Rows(n);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < d; j++) (*given)[i].push_back(make_pair(j, (double)X[(size_t)i * d + j]));
    return given;
}
extern "C" void map_rows(Rows* given, int d, int R, double gamma, int threads) {
    Rows mapped;
    omp_set_num_threads(threads);
    random_binning_feature(d, R, *given, mapped, gamma);
}
"""


def at_hand() -> bool:
    """Tell whether a copy of the program is named."""
    return "RANDOM_BINNING" in os.environ


def candidate(X: NDArray[np.float32], n_components: int, gamma: float, threads: int) -> Callable[[], None]:
    """Return what maps the rows of X by so many grids."""
    program, (n, d) = _compiled(), X.shape
    pointer = np.ascontiguousarray(X).ctypes.data_as(ctypes.POINTER(ctypes.c_float))
    given = ctypes.c_void_p(program.rows(pointer, n, d))
    return lambda: program.map_rows(given, d, n_components, ctypes.c_double(gamma), threads)


@cache
def _compiled() -> ctypes.CDLL:
    with TemporaryDirectory() as folder:
        source, library = Path(folder) / "calls.cpp", Path(folder) / "calls.so"
        source.write_text(CALLS)
        header = Path(os.environ["RANDOM_BINNING"]) / "codes_KRR_randbin"
        flags = ["-std=c++11", "-O3", "-march=native", "-fopenmp", "-shared", "-fPIC", "-w", f"-I{header}"]
        subprocess.run(["g++", *flags, str(source), "-o", str(library)], check=True)
        program = ctypes.CDLL(str(library))
    program.rows.restype = ctypes.c_void_p
    return program
