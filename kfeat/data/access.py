"""How data are reached: the mirror, the cache, whether the network may be used, and who shows downloads."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kfeat.data.cache import Folder, cache_folder


@dataclass(frozen=True)
class Access:
    """What a command or a caller says of the way to data.

    `mirror` (else KFEAT_MIRROR) is tried before upstream; `cache` (else KFEAT_CACHE) keeps files and arrays;
    `offline` forbids the network; `progress` is a `rich.progress.Progress` for the downloads. The environment
    is read where it is needed, since each machine of a cluster has its own.
    """

    mirror: Folder = None
    cache: Folder = None
    offline: bool = False
    progress: Any = None

    @property
    def folder(self) -> Path:
        """The cache folder; raises DataError where it is none."""
        return cache_folder(self.cache)

    @property
    def chosen_mirror(self) -> str | None:
        """The mirror, a folder or a URL laid out as `<dataset>/<file>`, if there is one."""
        chosen = self.mirror or os.environ.get("KFEAT_MIRROR")
        return os.path.expanduser(chosen) if chosen else None


AS_SET = Access()  # as the environment has it
