"""Mutated configs and options: the command line answers at once and in a sentence, and writes no file.

Fifty cases run with the tests, a hundred more with the slow ones; KFEAT_FUZZ=5000 (`make fuzz`) makes it
thousands. A case is its seed.
"""

import os
import random
import shutil
import socket
import traceback
from copy import deepcopy
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from kfeat.cli import main
from tests.fuzz.patience import at_most

CASES = int(os.environ.get("KFEAT_FUZZ", "150"))
BATCH = 50
SECONDS = 20  # after which a case hangs
CONFIGS = Path(__file__).parents[2] / "configs"
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the same trees, in a seventh of the time
TREES = [yaml.load(path.read_text(), LOADER) for path in sorted(CONFIGS.rglob("[!_]*.yaml"))]
INCLUDED = Path("configs/pham_pagh_2013/_paper.yaml")
MUTATED = Path("configs/pham_pagh_2013/mutated.yaml")

NUMBERS = [0, 1, -1, 2, 3.5, 64, 10**9, 10**12, 2**63 - 1, 2**63, 10**30, 0.5, -0.0, 1e-320, 1e30, 1e308,
           float("nan"), float("inf")]  # fmt: skip
VALUES = [
    *NUMBERS, None, True, False, "", " ", "none", "exact", "all", "sample", "median", "balanced", "x" * 1000,
    "\0", "\ud800", "\x1b[2J", "a\nb", "é😀\u202e", "$x^$", "$", r"$\frac{1}{2}$", "{", "../../x", "x.csv",
    "/etc/passwd", "1e5", ".5", [], {}, [[]], [1, 2], [0, "a", None], {"name": "x"}, {"path": "x.csv"},
    {"name": "dense", "n": 50, "d": 3}, {"kind": "sample", "n_train": [0, 1]}, {"divide": 0}, {"for": {}},
    {"name": "sum"}, [{"name": "newton"}], list(range(500)), {"positive": [1]}, {"": {"": ""}},
]  # fmt: skip
STRANGE = ["", " ", "²", "-1", "x", "a,b", ",", "10" * 40, "{", "nan", "9e9h", "\0", "\udcff", "0", "1e3",
           "~", "*a", "!!bool x"]  # fmt: skip
OPTIONS = {
    "--set": [*STRANGE, "3", "[1, 2]", "null", "{name: newton}", "[8, 16]", "exact", "median", "true"],
    "--maps": [*STRANGE, "exact", "tensor_sketch", "exact,tensor_sketch", "random_maclaurin"],
    "--repeats": [*STRANGE, "1", "2", "1000", "1000000000"],
    "--time-limit": [*STRANGE, "90", "2h", "1e9", "9999999h"],
}
TARGETS = {
    "title": ["", "$x^$", r"$\frac{1}$", "$" * 2, "a\nb", "\0", "x" * 10_000, r"$\alpha$", ["a", "b"]],
    "include": ["/etc/passwd", "../adult_poly4.yaml", "..", ".", "", "_paper.yaml", "mutated.yaml", "\0",
                "x" * 5000],
    "repeats": [10**12, 99_999, 10**30, -1, 1.0, True],
    "rows_from": [["../x"], ["/etc"], ["x" * 5000], ["a/b"], "x", [""]],
    "settings": [5, [5], [{}], [{}] * 2000, [[]], [{"settings": []}], {}, [None], [{"solvers": None}]],
    "protocol": [{"split": {"kind": "sample", "n_train": [2] * 99, "seed": [0] * 99}}, [[]], {"scale": [[]]},
                 {"scale": [{"divide": [1, 2]}]}, {"split": [[], []]}, {"binarise": {"positive": [1, 2]}}],
    "kernel": [{"name": "gaussian", "gamma": "median"}, {"name": "polynomial", "degree": [10**18, 1]},
               {"name": "sum", "terms": []}, [], {"name": "polynomial", "label": "$x^$"}],
    "measure": [{"name": "kernel_error"}, {"name": "map_time"}, {"name": "bound_ratio"}, "kernel_error"],
    "maps": [[{"name": "stacked"}], [{"name": "nystrom", "n_components": [*range(1, 999)]}] * 9, [None]],
    "dataset": ["cpu", "census", {"path": "x.csv"}, {"path": "\0"}, {"name": "dense", "n": 10**12, "d": 9},
                {"path": "x" * 5000 + ".csv"}, [], ["digits"] * 3000, {"name": "digits", "fingerprint": "x"}],
    "figure": ["curves", {"kind": "methods", "rows": [], "y": ["share"] * 99}, 5],
    "switches": [5, [5], {}, [{"key": "x"}]],
    "label": ["$x^$", "\n", 5], "seed": [2**62], "\0": [1], "a.b": [1], 7: [1],
}  # fmt: skip


@pytest.fixture(scope="module")
def workplace(tmp_path_factory):
    """A folder with the configs in it, from which nothing reaches the network."""
    place = tmp_path_factory.mktemp("fuzz") / "inside"
    shutil.copytree(CONFIGS, place / "configs")
    before = Path.cwd()
    os.chdir(place)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", _no_network)
        yield place
    os.chdir(before)


def _no_network(*_):
    raise AssertionError("the network was used")


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(first, marks=pytest.mark.slow) for first in range(BATCH, CASES, BATCH))]
)
def test_any_config_and_any_option_is_answered_with_a_sentence(workplace, first):
    known = everything(workplace.parent)
    for seed in range(first, min(first + BATCH, CASES)):
        arguments = prepare(random.Random(seed))
        with at_most(SECONDS):
            result = CliRunner().invoke(main, arguments)
        assert (problem := wrong(result)) is None, f"case {seed}: {arguments}\n{problem}"
        MUTATED.unlink()
        assert everything(workplace.parent) == known, f"case {seed}: {arguments} wrote a file"


def wrong(result):
    """What is wrong with an answer: a traceback, a hang, a strange exit status, no sentence."""
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        return "".join(traceback.format_exception(result.exception))[-3000:]
    if result.exit_code not in (0, 1, 2) or "Traceback" in result.output:
        return f"exit status {result.exit_code}: {result.output[-3000:]}"
    if result.exit_code == 2 and not result.stderr.startswith(("kfeat: ", "Usage: ")):
        return f"no sentence: {result.output[-3000:]}"
    return None


def everything(place):
    return set(place.rglob("*"))


def prepare(draw):
    """Write a mutated config, perhaps with a mutated file that it includes; return a command line for it."""
    tree = deepcopy(draw.choice(TREES))
    if "include" in tree:
        tree["include"] = INCLUDED.name
    for _ in range(draw.choice([0, 1, 1, 1, 2, 4])):
        mutate(tree, draw)
    text = yaml.safe_dump(tree, sort_keys=False, allow_unicode=True)
    MUTATED.write_bytes(text.encode("utf-8", "surrogatepass"))
    if draw.random() < 0.1:
        shared = yaml.safe_load((CONFIGS.parent / INCLUDED).read_text())
        mutate(shared, draw)
        INCLUDED.write_text(yaml.safe_dump(shared))
    else:
        shutil.copyfile(CONFIGS.parent / INCLUDED, INCLUDED)
    words = command(draw)
    return [*words, str(MUTATED), *options(tree, draw, words[0])]


def command(draw):
    name = draw.choice(["plan", "run", "protocol", "report"])
    found = [name, *{"plan": ["--offline"], "run": ["--dry-run", "--offline"]}.get(name, [])]
    if name == "run" and draw.random() < 0.3:
        found += ["--time-limit", draw.choice(OPTIONS["--time-limit"])]
    return found


def options(tree, draw, name):
    """Options that change the config: of existing keys, of keys nearly so, of nothing."""
    found = []
    while draw.random() < 0.2:
        option = draw.choice(["--set", "--set", "--set", "--maps", "--repeats"])
        value = draw.choice(OPTIONS[option])
        if option == "--set":
            parts = [str(part) for part in draw.choice(list(places(tree)) or [("title",)])]
            if draw.random() < 0.2:
                parts[draw.randrange(len(parts))] = draw.choice(STRANGE)
            value = f"{'.'.join(parts)}={value}"
        if option == "--set" or name != "protocol":  # which has no others
            found += [option, value]
    return found


def places(tree, above=()):
    """The path of every value in the tree."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield (*above, key)
        yield from places(value, (*above, key))


def mutate(tree, draw):
    """Change one place of the tree: drop, replace, copy another value there, add a key, nest, repeat."""
    all_places = list(places(tree))
    if not all_places:
        return
    *above, key = draw.choice(all_places)
    draw.choice(CHANGES)(tree, value_at(tree, above), key, draw)


def value_at(tree, place):
    for key in place:
        tree = tree[key]
    return tree


def _drop(tree, holder, key, draw):
    del holder[key]


def _replace(tree, holder, key, draw):
    holder[key] = draw.choice(VALUES)


def _tune(tree, holder, key, draw):
    """Replace every number at or below the place by another, so that the config's shape stays."""
    value = holder[key]
    if isinstance(value, int | float) and not isinstance(value, bool):
        holder[key] = draw.choice(NUMBERS)
    for *above, last in places(value):
        inner = value_at(value, above)
        if isinstance(inner[last], int | float) and draw.random() < 0.3:
            inner[last] = draw.choice(NUMBERS)


def _exchange(tree, holder, key, draw):
    """Replace a value by one that another config of the house has under the same key."""
    other = deepcopy(draw.choice(TREES))
    same = [value_at(other, place) for place in places(other) if place[-1] == key]
    holder[key] = draw.choice(same or [None])


def _add(tree, holder, key, draw):
    if isinstance(holder, dict):
        holder[draw.choice(list(TARGETS))] = draw.choice(VALUES)
    else:
        holder.insert(key, draw.choice(VALUES))


def _aim(tree, holder, key, draw):
    """Set a key of the file, or of a setting, to what is meant to break it."""
    settings = tree.get("settings")
    parts = [part for part in settings if isinstance(part, dict)] if isinstance(settings, list) else []
    at = draw.choice([tree, *parts])
    name = draw.choice(list(TARGETS))
    at[name] = draw.choice(TARGETS[name])


def _nest(tree, holder, key, draw):
    for _ in range(draw.choice([1, 2, 60])):
        holder[key] = [holder[key]] if draw.random() < 0.5 else {"a": holder[key]}


def _repeat(tree, holder, key, draw):
    holder[key] = [holder[key]] * draw.choice([2, 30, 3000])


CHANGES = [
    _drop, _replace, _tune, _tune, _exchange, _exchange, _exchange, _add, _nest, _repeat, _aim,
    _aim, _aim,
]  # fmt: skip
