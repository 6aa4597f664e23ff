"""The addresses of the pages: flat names in one folder, so that every link is relative and short."""

import re
from hashlib import sha256
from urllib.parse import quote

from kfeat.analysis.cells import Cell
from kfeat.experiments.config import Experiment

OWN = "kfeat"  # the page of configs that belong to no paper's folder


def slug(name: str) -> str:
    """Return a name for a file or an anchor, distinct for distinct names: ASCII letters, digits, `_-.`."""
    flat = name.replace("/", "--")
    safe = re.sub(r"[^A-Za-z0-9_.-]+", "-", flat).strip(".-")[:80]
    return safe if safe == flat and "--" not in name else f"{safe}-{sha256(name.encode()).hexdigest()[:6]}"


def folder(experiment: Experiment) -> str:
    """Return the folder of a paper's configs; OWN for a config that lies in none."""
    return experiment.name.rpartition("/")[0] or OWN


def paper(name: str) -> str:
    """Return the page of a paper's folder."""
    return f"paper-{slug(name)}.html"


def section(experiment: Experiment) -> str:
    """Return the address of a config on its paper's page."""
    return f"{paper(folder(experiment))}#{anchor(experiment.name)}"


def anchor(name: str, claim: str = "") -> str:
    """Return the anchor of a config, or of one of its claims."""
    last = slug(name.rpartition("/")[2])
    return f"{last}.{slug(claim)}" if claim else last


def claim(experiment_name: str, identity: str) -> str:
    """Return the address of a claim that is cited by its id."""
    return f"{paper(experiment_name.rpartition('/')[0] or OWN)}#{anchor(experiment_name, identity)}"


def rows(experiment: Experiment, cell: Cell | None = None) -> str:
    """Return the address of the list of a config's rows, or of those of one cell."""
    address = f"rows.html#{quote(experiment.name)}"
    return address if cell is None else f"{address}:{cell.trial.cell}"


def dataset(name: str) -> str:
    """Return the page of a data set."""
    return f"data-{slug(name)}.html"


def feature_map(name: str) -> str:
    """Return the page of a map."""
    return f"map-{slug(name)}.html"


def script(experiment_name: str) -> str:
    """Return the file that holds the rows of a config."""
    return f"rows-{slug(experiment_name)}.js"
