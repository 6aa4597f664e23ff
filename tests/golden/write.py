"""Write what readers see of the small experiments again, after a wanted change.

`python -m tests.golden.write` does it. `git diff tests/golden` then shows what the change
does to tables, texts and JSON.
"""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.golden.experiments import EXPERIMENTS, HERE, made, made_of_all


def write(name: str) -> None:
    """Write the files of an experiment, or those of all together."""
    with TemporaryDirectory() as folder:
        texts = made_of_all(Path(folder)) if name == "all" else made(name, Path(folder))
    for file, text in texts.items():
        (HERE / name).mkdir(exist_ok=True)
        (HERE / name / file).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    with TemporaryDirectory() as cache:
        os.environ["KFEAT_CACHE"] = cache
        for name in (*EXPERIMENTS, "all"):
            write(name)
