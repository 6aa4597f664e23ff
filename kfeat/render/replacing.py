"""Replacing files of several folders together, once all of the new ones are written."""

import os
import shutil
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp

from kfeat.errors import StoreError


class Replacing:
    """New files, written beside the old ones, which take their places when the `with` block ends.

    They do so folder by folder in the order of their names. An error in the block leaves every old file as it
    was. A process that is killed on the way leaves whole files, some old and some new.
    """

    def __enter__(self) -> "Replacing":
        self._folders: dict[Path, Path] = {}
        self._made: list[Path] = []
        return self

    def beside(self, folder: Path) -> Path:
        """Return the folder for the new files of `folder`, which is made where it is missing.

        Raises StoreError where that cannot be done.
        """
        if folder not in self._folders:
            try:
                self._made += [path for path in (folder, *folder.parents) if not path.exists()]
                folder.mkdir(parents=True, exist_ok=True)
                self._folders[folder] = Path(mkdtemp(prefix=".new-", dir=folder))
            except OSError as error:
                raise StoreError(f"{folder}: cannot be written ({error.strerror})") from None
        return self._folders[folder]

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Put the new files into their places, unless the block failed; remove the folders for them.

        Raises StoreError in the place of an OSError, which names the file, or the folder that was written
        last.
        """
        try:
            if kind is None:
                for folder, new in self._folders.items():
                    for path in sorted(new.iterdir()):
                        os.replace(path, folder / path.name)
            elif isinstance(error, OSError):
                raise StoreError(f"{[*self._folders][-1]}: cannot be written ({error.strerror})") from None
        except OSError as problem:
            raise StoreError(f"{problem.filename2}: cannot be written ({problem.strerror})") from None
        finally:
            for new in self._folders.values():
                shutil.rmtree(new, ignore_errors=True)
            for folder in self._made:
                with suppress(OSError):  # unless it holds files
                    folder.rmdir()
