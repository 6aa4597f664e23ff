"""What every source of data tells and does."""

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import StringConstraints

from kfeat.data.access import AS_SET, Access
from kfeat.data.base import Model, Task
from kfeat.data.dataset import Raw
from kfeat.data.protocol import Protocol
from kfeat.data.reading import Reading
from kfeat.data.registry import class_shares
from kfeat.data.shapes import Shape
from kfeat.errors import DataError

Fingerprint = Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]


class DataSource(Model, ABC):
    """What the `dataset` of a config is: where rows and labels come from, and what is known without them.

    `own` says that it is the user's, so that nothing is published of it, and `runs_code` that it calls a
    function of the user's. Where `kept` is false the cache keeps no arrays: they are made when they are used.
    """

    own: ClassVar[bool] = False
    runs_code: ClassVar[bool] = False
    kept: ClassVar[bool] = True

    # A kind has fields or properties of these names; pydantic refuses a field over a property.
    if TYPE_CHECKING:

        @property
        def name(self) -> str:
            """The dataset's name in rows and tables."""

        @property
        def task(self) -> Task | None:
            """The task, None where only the labels tell it."""

    @property
    @abstractmethod
    def pinned(self) -> str | None:
        """The fingerprint by the config, the registry or the specification of generated data."""

    def known_fingerprint(self, access: Access) -> str | None:
        """Return the fingerprint without loading the data: pinned, or recorded in the cache, or None."""
        return self.pinned

    @abstractmethod
    def load(self, access: Access) -> Raw:
        """Return the data as their files have them; arrays may be mapped into memory read-only."""

    def renew(self, access: Access) -> None:
        """Keep what code returns now, which may read other data than before."""

    @abstractmethod
    def shape(self, access: Access) -> Shape | None:
        """Return the rows and columns of all data, None where they are not known before loading."""

    def shape_under(self, protocol: Protocol, access: Access = AS_SET) -> Shape | None:
        """Return the shape of the data under a protocol, or None if it is not known before loading.

        Columns that the protocol drops as constant count as if they stayed. A split that is not possible has
        no shape.
        """
        whole = self.shape(access)
        if whole is None:
            return None
        try:
            n_train, n_test = protocol.split.sizes(whole.n_train, whole.n_test, self.name)
        except DataError:
            return None  # loading the data, which comes next, reports this
        classes = () if self.own else class_shares(self.name, protocol.binarise != "none")
        stored = 1.0 if protocol.fills_zeros else whole.stored
        return replace(whole, n_train=n_train, n_test=n_test, stored=stored, classes=classes)

    @property
    def options(self) -> dict[str, Any]:
        """The parameters by which the data differ from others of this name."""
        return self.model_dump(mode="json")

    @property
    def description(self) -> dict[str, Any] | None:
        """What a row says of the source beside its name."""
        return self.options

    @property
    def parameters(self) -> dict[str, Any] | None:
        """The parameters of generated data, by which trials can be selected."""
        return None

    def later_reading(self) -> Reading:
        """Return how a file with more rows of this kind is read."""
        return Reading()

    def given(self) -> Any:
        """Return the source as a config has it."""
        return self.model_dump(mode="json", exclude_defaults=True)


def with_pin(raw: Raw, fingerprint: str) -> Raw:
    """Return the data as verified; raises DataError unless they have the fingerprint that a config pins."""
    if raw.fingerprint != fingerprint:
        raise DataError(
            f"{raw.name}: expected the fingerprint {fingerprint}, got {raw.fingerprint}; "
            "the data are not those that were pinned"
        )
    return replace(raw, verified=True)
