"""Slow imports on first use.

scikit-learn imports pandas and scipy.stats with any of its classes, and every kernel, map and solver is one.
Commands that compute nothing, such as a second `kfeat run`, would spend half of their time on these imports.
Workers import everything at the start, so that no import falls into a measured time.

Other slow imports are inside the commands, so that `kfeat --help` is fast.
"""

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType

# Such a module has to be imported as a whole: `from sklearn import svm` does not load it, `svm.SVC` does.
POSTPONED = frozenset(
    {
        "asyncio",
        "numpy.f2py",
        "numpy.polynomial",
        "numpy.testing",
        "pandas",
        "scipy.fft",
        "scipy.optimize",
        "scipy.special",
        "scipy.stats",
        "sklearn.cluster",
        "sklearn.linear_model",
        "sklearn.metrics",
        "sklearn.model_selection",
        "sklearn.preprocessing",
        "sklearn.svm",
    }
)


class _Finder:
    """Finds the modules above as Python does, and has LazyLoader load them on first use."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name in POSTPONED else None
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


def postpone() -> None:
    """Postpone the modules that this process has not imported yet; a second call changes nothing."""
    # Pydantic would read the metadata of every installed package to find plugins, and kfeat needs none.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)
