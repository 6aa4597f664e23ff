"""Libraries that a command imports in passing and seldom uses: they are loaded when something of them is.

scikit-learn imports pandas and scipy.stats wherever one of its classes is used, and every kernel, map and
solver is one. Commands that compute nothing, such as a second `kfeat run`, would wait for that half of their
time. Workers import everything at once as ever, so that no import falls into a time that is measured.
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
        "sklearn.metrics",
        "sklearn.model_selection",
        "sklearn.svm",
    }
)


class _Finder:
    """Finds the modules above as Python does, and has LazyLoader load them on first use."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how the module is loaded; None for all others, which Python then looks for itself."""
        spec = PathFinder.find_spec(name, path, target) if name in POSTPONED else None
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


def postpone() -> None:
    """Postpone what is not imported yet, in this process; a second call changes nothing."""
    # pydantic reads the metadata of every installed package for plugins, of which kfeat needs none.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)
