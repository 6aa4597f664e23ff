"""Datasets made from the files of others, by the names the registry calls them."""

from collections.abc import Callable

from kfeat.data.covertype import covertype_binary
from kfeat.data.formats import Contents
from kfeat.data.gisette_mnist import gisette_mnist

RECIPES: dict[str, Callable[[Contents], Contents]] = {
    "covertype_binary": covertype_binary,
    "gisette_mnist": gisette_mnist,
}
