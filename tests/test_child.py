"""What a process that starts in a context is given by it."""

import platform
import subprocess
import sys

import pytest

from kfeat.child import avx2_alone

USED = """
import numpy
from threadpoolctl import threadpool_info
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__ as used
print([name for name in __cpu_dispatch__ if used[name] and ("AVX512" in name or name == "X86_V4")])
print([pool["architecture"] for pool in threadpool_info() if pool["internal_api"] == "openblas"])
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the instructions of x86")
def test_a_process_uses_no_instructions_beyond_avx2():
    with avx2_alone():
        told = subprocess.run([sys.executable, "-c", USED], capture_output=True, text=True, check=True)
    assert told.stdout in ("[]\n['Haswell']\n", "[]\n['Zen']\n")  # OpenBLAS calls AMD's by another name
