"""What a shell completes: names of configs, datasets, kernels, maps and solvers."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path

import click
from click.shell_completion import CompletionItem, FishComplete, add_completion_class

from kfeat.cli.postponed import postpone
from kfeat.files import known_configs


class Fish(FishComplete):
    """Completes words with a comma, such as `--maps orf,nystrom`, which click's script cuts at the comma."""

    source_template = FishComplete.source_template.replace('split ","', 'split --max 1 ","')


add_completion_class(Fish)
Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def completions(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    """Return what a shell offers for an incomplete word: the names that begin with it, else files."""
    items = [CompletionItem(name) for name in names if name.startswith(incomplete)]
    return items or [CompletionItem(incomplete, type="file")]


def completes(names: Callable[[], Iterable[str]]) -> Complete:
    """Return a parameter's `shell_complete` that offers these names."""
    return lambda _, __, incomplete: completions(names(), incomplete)


def registered(part: str) -> list[str]:
    """Return the names of the kernels, maps or solvers (`part`: kernel, map, solver)."""
    postpone()
    from kfeat.experiments.component import registries
    from kfeat.place import entry_points

    return sorted({*registries()[part], *entry_points(f"kfeat.{part}s")})


def dataset_names() -> list[str]:
    """Return the names of the registered datasets, without importing what reads them."""
    text = (Path(__file__).parents[1] / "data/registry.yaml").read_text(encoding="utf-8")
    return re.findall(r"^(\w+):", text, re.MULTILINE)


def config_names() -> list[str]:
    """Return the names of the configs that come with kfeat, of their folders, and of configs here."""
    known = known_configs()
    paths = [path.relative_to(known).with_suffix("") for path in known.rglob("[!_]*.yaml")]
    names = {path.as_posix() for name in paths for path in (name, *name.parents[:-1])}
    return sorted(names | {path.name for path in Path().glob("[!_.]*.y*ml")})
