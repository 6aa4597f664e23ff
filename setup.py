"""Puts the published rows of the papers into the wheel, as one file; the rest is in pyproject.toml."""

from pathlib import Path
from zipfile import ZIP_LZMA, ZipFile, ZipInfo

from setuptools import setup
from setuptools.command.build_py import build_py

RESULTS = Path(__file__).parent / "results"


class WithRows(build_py):
    """Adds kfeat/results.zip, which is the same whenever and wherever it is built."""

    def run(self) -> None:
        """Copy the modules, and write the archive beside them."""
        super().run()
        if self.editable_mode:  # there the rows are beside kfeat/
            return
        files = [path.relative_to(RESULTS) for path in sorted(RESULTS.rglob("trials.jsonl"))]
        with ZipFile(Path(self.build_lib, "kfeat/results.zip"), "w") as archive:
            for file in files:
                if file.parts[0] != "survey":  # `kfeat advise` has what it needs of those
                    archive.writestr(ZipInfo(file.as_posix()), (RESULTS / file).read_bytes(), ZIP_LZMA)


setup(cmdclass={"build_py": WithRows})
