"""Damaged files given to a model that exists are coded as training says, or refused with a sentence."""

import logging
import random

import numpy as np
from scipy.sparse import issparse

from kfeat.data import Coding, Reading, load_raw, read_rows
from kfeat.errors import DataError
from tests.fuzz.data_samples import FILES, damaged
from tests.fuzz.test_data_files import N_CASES, NAME

# The others are read as a whole, as training reads them.
SAMPLES = {kind: FILES[kind] for kind in FILES if "mat" not in kind and "idx" not in kind}


def codings(folder):
    """Return the coding of each sample, and the number of its features."""
    found = {}
    for kind, (content, options) in SAMPLES.items():
        (folder / NAME).write_bytes(content)
        raw = load_raw({"path": str(folder / NAME), **options}, cache=folder / "cache" / kind)
        found[kind] = raw.coding, raw.n_features
    return found


def fault_of(path, options, coding, n_features):
    """Read a file for a model; return what is wrong about how it went, or nothing."""
    try:
        for rows in read_rows(path, Reading(**options), coding, 4):
            values = rows.X.data if issparse(rows.X) else rows.X
            assert np.isfinite(values).all()
            assert 0 < rows.X.shape[0] <= 4
            assert rows.X.shape[1] == n_features
            assert rows.y is None or (len(rows.y) == rows.X.shape[0] and np.isfinite(rows.y).all())
    except DataError as error:
        text = str(error)
        return "" if NAME in text and text.isprintable() else f"not a sentence about the file: {text!a}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def test_damaged_files_are_coded_or_refused(tmp_path):
    logging.disable()
    try:
        known = codings(tmp_path)
        path, wrong = tmp_path / NAME, []
        for number in range(N_CASES):
            kind = list(SAMPLES)[number % len(SAMPLES)]
            path.write_bytes(damaged(SAMPLES[kind][0], random.Random(f"{kind} {number}")))
            fault = fault_of(path, SAMPLES[kind][1], *known[kind])
            wrong += [f"{kind} {number}: {fault}"] if fault else []
    finally:
        logging.disable(logging.NOTSET)
    assert not wrong, "\n".join([f"{len(wrong)} of {N_CASES}", *wrong[:10]])


def test_the_search_notices_what_it_looks_for(tmp_path, monkeypatch):
    path = tmp_path / NAME
    path.write_bytes(b"a,y\n1,0\n2,1\n")
    coding = load_raw({"path": str(path), "format": "csv", "target": "y"}, cache=tmp_path / "cache").coding
    monkeypatch.setattr(Coding, "matrix", lambda *_: np.full((1, 1), np.nan))
    assert "AssertionError" in fault_of(path, {"format": "csv"}, coding, 1)
