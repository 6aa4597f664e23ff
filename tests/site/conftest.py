"""A small site, built once: a paper whose texts are hostile, and the published quickstart."""

import shutil
from pathlib import Path

import pytest

from kfeat.data import fingerprint
from kfeat.experiments.config import Experiment, load_experiment
from kfeat.experiments.plan import plan
from kfeat.experiments.store import write_rows
from kfeat.site.build import build
from tests.cells import fake_row
from tests.small import SMALL

ROOT = Path(__file__).parents[2]
TITLE = '<script>alert("title")</script> & </script>'
HOSTILE = f"{TITLE}\u2028"  # no title may have that sign, and a row may
CONFIG = f"""{SMALL.replace("Digits, small", "PLACE")}
reported:
  source: A Paper
  runs: 5
  numbers:
    - {{for: {{map: exact}}, mean: 90.0, time: 1 hour, where: Table 1}}
    - {{for: {{map: tensor_sketch}}, mean: 85.0, sd: 0.5, where: Table 1, explanation: since so,
       evidence: [evil_2026/small#quick]}}
claims:
  - text: <img src=x onerror=alert("claim")> is quicker
    id: quick
    where: Section 1
    of: score
    difference: [{{map: tensor_sketch}}, {{map: random_maclaurin}}]
    above: 0
"""


def experiments_in(folder: Path) -> list[Experiment]:
    """Write the configs and their rows below a folder, and return them."""
    paper = folder / "configs" / "evil_2026"
    paper.mkdir(parents=True)
    path = paper / "small.yaml"
    path.write_text(CONFIG.replace("PLACE", f"'{TITLE}'"))
    experiment = load_experiment(path)
    trials = plan(experiment, {source: fingerprint(source) or "" for source in experiment.datasets})
    rows = [fake_row(trial, 0.7 + i / 50) for i, trial in enumerate(trials)]
    for row in rows:
        row["environment"] = {**row["environment"], "processor": HOSTILE}
    write_rows(folder / "results" / "evil_2026" / "small", rows)
    finding = f"**{TITLE} found**\n\nSee [small](small/table.md), {TITLE} and <b>bold</b>."
    block = f"<!-- finding evil_2026 -->\n{finding}\n<!-- end -->"
    (folder / "results" / "evil_2026" / "README.md").write_text(f"# Evil 2026: {TITLE}\n\n{block}\n")
    shutil.copytree(ROOT / "results" / "quickstart", folder / "results" / "quickstart")
    return [experiment, load_experiment(ROOT / "configs" / "quickstart.yaml")]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the pages."""
    folder = tmp_path_factory.mktemp("site")
    build(experiments_in(folder), folder / "results", folder / "pages")
    return folder / "pages"
