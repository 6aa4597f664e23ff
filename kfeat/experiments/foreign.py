"""Classes by their place as kernels, maps, solvers and measures: of a user's own file, or of any package.

A class needs nothing of kfeat: a map is a transformer of scikit-learn, a solver a classifier or regressor, a
kernel a callable k(X, Y), and a measure has `of(feature_map, X)`. An adapter makes such an object one of
kfeat's. Objects of kfeat's FeatureMap, Kernel or Solver are used as they are.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from inspect import Parameter, Signature, signature
from math import isfinite
from typing import Any

from kfeat.experiments.adapters import FORMS, OtherMap, named_kernel
from kfeat.kernels import Kernel
from kfeat.maps import FeatureMap
from kfeat.parameters import HANDED_IN, did_you_mean
from kfeat.place import Place, code_errors, set_back
from kfeat.solvers import Solver

METHODS = {
    "kernel": ("__call__",),
    "map": ("fit", "transform"),
    "solver": ("fit", "predict"),
    "measure": ("of",),
}
PLAIN = (bool, int, float, str, type(None))


@dataclass(frozen=True)
class Foreign:
    """A class by its place, as the class of a component; it is imported when it is first needed.

    Its version is that of the place. Its parameters are those of its constructor. A function that returns an
    object of the kind serves as well.
    """

    part: str
    place: Place

    @property
    def algorithm_version(self) -> str:
        """Return the version of the code."""
        return self.place.version

    @property
    def __signature__(self) -> Signature:
        return signature(self.place.load())

    @property
    def needs_kernel(self) -> bool:
        """Return whether a solver trains on a kernel; only those of kfeat do."""
        return bool(getattr(self.place.load(), "needs_kernel", False))

    @property
    def out_of_core(self) -> str:
        """Return how a solver trains on features that do not fit in memory."""
        return str(getattr(self.place.load(), "out_of_core", "no"))

    def serves(self, kind: type) -> bool:
        """Return whether its objects can stand where kfeat's own class `kind` is needed."""
        cls = self.place.load()
        return (isinstance(cls, type) and issubclass(cls, kind)) or issubclass(FORMS[self.part], kind)

    def supports(self, kernel: Kernel) -> bool:
        """Return whether a map can approximate this kernel; one that is not of kfeat knows by itself."""
        return bool(self.place.load().supports(kernel)) if self.serves(FeatureMap) else True

    def problems(self, parameters: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield what is wrong with the class or with parameters of these names, each with its key."""
        cls = self.place.load()
        wanted = METHODS[self.part]
        missing = [name for name in wanted if not hasattr(cls, name)] if isinstance(cls, type) else []
        if missing or not callable(cls):
            lacks = f"has no {' and no '.join(missing)}" if missing else "is not a class"
            where = self.place.line_of()
            yield "name", f"{self.place.text} {lacks}, so it is not a {self.part} ({where})"
            return
        known = self.__signature__.parameters
        if any(parameter.kind is Parameter.VAR_KEYWORD for parameter in known.values()):
            return
        for name in parameters:
            if name not in known:
                listed = ", ".join(known) or "none"
                yield name, f"unknown key{did_you_mean(name, list(known))}; known: {listed}"
        for name, parameter in known.items():
            needed = parameter.default is Parameter.empty and parameter.kind is not Parameter.VAR_POSITIONAL
            if needed and name not in parameters and name not in HANDED_IN:
                yield name, "missing"

    def defaults(self) -> dict[str, Any]:
        """Return the defaults of the constructor that JSON can hold, for a row to be complete."""
        known = {name: item.default for name, item in self.__signature__.parameters.items()}
        return {
            name: default
            for name, default in known.items()
            if isinstance(default, PLAIN) and name not in HANDED_IN
            if not isinstance(default, float) or isfinite(default)
        }

    def build(self, parameters: Mapping[str, Any], handed_in: Mapping[str, Any]) -> Any:
        """Return an object with these parameters, in the form that a trial uses.

        It gets those of `handed_in` (kernel, random_state, n_jobs) that its constructor takes, but a solver
        no kernel unless it is one of kfeat.
        """
        known, kernel = self.__signature__.parameters, handed_in.get("kernel")
        taken = {name: value for name, value in handed_in.items() if name in known}
        if "kernel" in taken.keys() - parameters.keys() and isinstance(known["kernel"].default, str):
            taken |= {key: value for key, value in named_kernel(kernel).items() if key in known}
        if self.part == "solver" and not self.needs_kernel:
            taken = {name: value for name, value in taken.items() if name == "random_state"}
        with code_errors(self.place), set_back():
            made = self.place.load()(**{**taken, **parameters})
        if isinstance(made, FeatureMap | Kernel | Solver):
            return made
        return (
            OtherMap(made, self.place, kernel) if self.part == "map" else FORMS[self.part](made, self.place)
        )
