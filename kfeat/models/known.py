"""The classes whose objects a model file may hold, by their names in it; it can make no others."""

from functools import cache
from typing import Any

from kfeat.data.preparation import Preparation
from kfeat.data.scaling import DivideBy, GlobalNorm, UnitRows
from kfeat.kernels import KERNELS
from kfeat.maps import MAPS
from kfeat.maps.truncated_maclaurin import TruncatedSeries
from kfeat.models.calibration import Calibration
from kfeat.solvers import SOLVERS
from kfeat.solvers.base import Subproblem
from kfeat.solvers.libsvm_model import GivenKernel, NativeKernel, SupportVectors

OTHERS: dict[str, type] = {
    "calibration": Calibration,
    "divide_by": DivideBy,
    "given_kernel": GivenKernel,
    "global_norm": GlobalNorm,
    "native_kernel": NativeKernel,
    "preparation": Preparation,
    "subproblem": Subproblem,
    "support_vectors": SupportVectors,
    "truncated_series": TruncatedSeries,
    "unit_rows": UnitRows,
}


@cache
def known_classes() -> dict[str, Any]:
    """Return the classes by name: `kernel gaussian`, `map nystrom`, `solver newton`, and those above."""
    from sklearn import preprocessing

    from kfeat.models.estimator import KernelModel

    scalers = {"minmax_scaler": preprocessing.MinMaxScaler, "standard_scaler": preprocessing.StandardScaler}
    parts: dict[str, dict[str, Any]] = {"kernel": KERNELS, "map": MAPS, "solver": SOLVERS}
    registered = {f"{part} {name}": cls for part, classes in parts.items() for name, cls in classes.items()}
    return {**registered, **OTHERS, **scalers, "model": KernelModel}


@cache
def known_names() -> dict[Any, str]:
    """Return the names by class."""
    return {cls: name for name, cls in known_classes().items()}
