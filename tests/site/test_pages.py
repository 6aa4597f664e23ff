"""The pages as files: links resolve, texts of configs stay texts, data say what rows say, all is small."""

import json
import re
import shutil
import time
import zlib
from base64 import b64decode
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from kfeat.analysis.judgement import judge_experiments
from kfeat.cli.options import config_files
from kfeat.errors import StoreError
from kfeat.experiments.config import Experiment, load_experiment
from kfeat.experiments.row import Row
from kfeat.experiments.store import read_rows, write_rows
from kfeat.experiments.trial import header
from kfeat.site import links
from kfeat.site.build import build
from kfeat.site.catalogue import maps
from kfeat.site.links import slug
from kfeat.site.papers import papers
from kfeat.site.scripts import script
from tests.cells import planned
from tests.cli.commands import kfeat
from tests.site.conftest import HOSTILE, ROOT, experiments_in


class Page(HTMLParser):
    """What a page links to, the anchors it has, its elements and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: list[str] = []
        self.tags: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append(tag)
        self.links += [value for key in ("href", "src") if (value := given.get(key))]
        self.anchors += [value for key in ("id",) if (value := given.get(key))]

    def handle_data(self, data: str) -> None:
        self.text += data


def data_of(path: Path) -> tuple[str, Any]:
    """Return the name and the value that a script of data hands over."""
    found = re.fullmatch(r"kfeat\.put\(\.\.\.(.*)\);\n", path.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    name, value = json.loads(found[1])
    if "deflated" in value:
        value = json.loads(zlib.decompress(b64decode(value["deflated"])))
    return name, value


def assert_links_resolve(folder: Path) -> int:
    """Assert that every link of every page leads to a file, an anchor or rows that are there."""
    pages = {path.name: Page(path.read_text(encoding="utf-8")) for path in folder.glob("*.html")}
    index = data_of(folder / "index.js")[1]["configs"]
    cells = {
        name: {one[0] for one in data_of(folder / source)[1]["cells"]} for name, (source, _) in index.items()
    }
    count = 0
    for name, page in pages.items():
        assert len(set(page.anchors)) == len(page.anchors), name
        for link in page.links:
            count += 1
            target, _, fragment = link.partition("#")
            if link == "data:,":
                continue
            assert "//" not in link, f"{name} asks for {link}, which lies elsewhere"
            assert not target or (folder / target).is_file(), f"{name}: {link}"
            if target == "rows.html" and fragment:
                config, _, cell = fragment.partition(":")
                assert config in cells, f"{name}: {link}"
                assert not cell or cell in cells[config], f"{name}: {link}"
            elif fragment and target != "explorer.html":
                assert fragment in pages[target or name].anchors, f"{name}: {link}"
    return count


def test_every_link_resolves(site: Path) -> None:
    assert assert_links_resolve(site) > 200


def test_a_broken_link_is_found(site: Path, tmp_path: Path) -> None:
    for path in site.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    page = tmp_path / "maps.html"
    page.write_text(page.read_text().replace("map-nystrom.html", "map-nowhere.html"))
    with pytest.raises(AssertionError, match="nowhere"):
        assert_links_resolve(tmp_path)


def test_texts_of_configs_and_rows_stay_texts(site: Path) -> None:
    text = (site / "paper-evil_2026.html").read_text(encoding="utf-8")
    page = Page(text)
    assert '<script>alert("title")</script>' in page.text
    assert 'onerror=alert("claim")' in page.text
    assert "differs, not explained" in page.text  # 72 against 90 per cent
    assert "img" not in page.tags
    assert page.tags.count("script") == 2  # kfeat.js and tables.js


def test_no_text_can_end_a_script_or_break_its_line() -> None:
    text = script("x", {"title": HOSTILE, "comment": "<!--"})
    assert "<" not in text
    assert not {"\u2028", "\u2029"} & set(text)
    assert json.loads(text[len("kfeat.put(...") : -3])[1]["title"] == HOSTILE


def test_the_data_of_a_row_are_those_of_its_line(site: Path) -> None:
    name, data = data_of(site / "rows-quickstart.js")
    assert name == "rows quickstart"
    columns = {(section, key): (how, values) for section, key, how, values in data["columns"]}
    cell_of = [at for at, (_, _, size) in enumerate(data["cells"]) for _ in range(size)]

    def value(place: tuple[str, str], at: int) -> Any:
        how, values = columns[place]
        return values if how == "all" else values[cell_of[at]] if how == "cell" else values[at]

    rows = read_rows(ROOT / "results" / "quickstart")
    ids = [value(("trial", "id"), at) for at in range(len(cell_of))]
    assert sorted(ids) == sorted(rows)
    for at, identity in enumerate(ids):
        row = rows[identity]
        assert value(("numbers", "accuracy"), at) == f"{100 * row['accuracy']:.2f} %"
        assert value(("parameters", "repeat"), at) == str(row["repeat"])
        assert value(("parameters", "fingerprint"), at) == row["fingerprint"]


def test_what_came_out_stands_first_whatever_became_of_the_first_row(tmp_path: Path) -> None:
    experiment = experiments_in(tmp_path)[0]
    place = tmp_path / "results" / experiment.name
    whole = list(read_rows(place).values())
    of_whole = sections_of(experiment, tmp_path, whole)
    (exact,) = (trial for trial in planned(experiment.path) if trial.map is None)  # its cell is the first
    failed = {**header(exact), "status": "failed", "reason": "no memory"}
    others = [row for row in whole if row["id"] != exact.id]
    assert sections_of(experiment, tmp_path, [failed, *others]) == of_whole
    assert of_whole.index("numbers") < of_whole.index("parameters")


def sections_of(experiment: Experiment, folder: Path, rows: list[Row]) -> list[str]:
    """Return the titles of the sections of a config's rows, in the order of its page."""
    place = folder / "results" / experiment.name
    shutil.rmtree(place)
    write_rows(place, rows)
    build([experiment], folder / "results", folder / "pages")
    columns = data_of(folder / "pages" / links.script(experiment.name))[1]["columns"]
    return list(dict.fromkeys(section for section, *_ in columns))


def test_names_for_files_are_safe_and_distinct() -> None:
    names = ["adult", "a/b", "a--b", "a b", "../x", "Ä", "ä", "a" * 200, "a" * 201]
    slugs = [slug(name) for name in names]
    assert len({*slugs}) == len(names)
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+", one) and len(one) < 100 for one in slugs)


def test_it_keeps_off_folders_of_others_and_removes_its_own_old_pages(tmp_path: Path) -> None:
    experiments = experiments_in(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(StoreError, match="expected an empty folder"):
        build(experiments, tmp_path / "results", tmp_path / "mine")
    build(experiments, tmp_path / "results", tmp_path / "pages")
    assert (tmp_path / "pages" / "rows-quickstart.js").is_file()
    (tmp_path / "pages" / "CNAME").write_text("kfeat.example")
    build(experiments[:1], tmp_path / "results", tmp_path / "pages")
    assert (tmp_path / "pages" / "CNAME").is_file()
    assert not (tmp_path / "pages" / "rows-quickstart.js").exists()
    assert_links_resolve(tmp_path / "pages")


def test_a_map_is_ranked_among_the_same_size_and_score() -> None:
    """Of 16 methods each size has a rank by accuracy and one by kernel error, never one of both."""
    experiment = load_experiment(ROOT / "configs/survey/adult_gaussian.yaml")
    (judgement,) = judge_experiments([experiment], ROOT / "nothing", ROOT / "results")
    (fastfood,) = (one for one in maps([judgement]) if one["name"] == "fastfood")
    ranks = [[str(cell.text) for cell in line] for line in fastfood["survey"].lines]
    assert sorted(line[2] for line in ranks) == sorted(2 * ["16", "64", "256", "1024", "4096"])
    assert {line[4].partition(" of ")[2] for line in ranks} == {"16", "12"}  # Nystrom ends below 4,096


def test_the_command_says_what_it_wrote_and_what_it_lacks(tmp_path: Path) -> None:
    config = ROOT / "configs" / "quickstart.yaml"
    lacking = kfeat("site", config, "--results", tmp_path / "none", "--out", tmp_path / "pages")
    assert lacking.exit_code == 2
    assert "no rows of these configs" in lacking.stderr
    done = kfeat("site", config, "--results", ROOT / "results", "--out", tmp_path / "pages")
    assert done.exit_code == 0, done.output
    assert f"open {tmp_path / 'pages' / 'index.html'}" in done.stdout


@pytest.mark.slow  # half a minute: all published rows
def test_the_whole_site_is_small_and_its_links_resolve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    start = time.process_time()
    written = build(
        [load_experiment(file) for file in config_files((Path("configs"),))],
        Path("results"),
        tmp_path / "pages",
    )
    assert time.process_time() - start < 60  # 20 s on an idle machine
    assert sum(path.stat().st_size for path in written) < 8e6  # of 25,000 rows
    assert assert_links_resolve(tmp_path / "pages") > 2000


def test_configs_stand_where_the_readme_has_their_verdicts_not_where_its_prose_links_them(
    tmp_path: Path,
) -> None:
    experiments = experiments_in(tmp_path)
    first = experiments[0]
    second = replace(first, name="evil_2026/another")
    readme = tmp_path / "results" / "evil_2026" / "README.md"
    blocks = "".join(f"<!-- verdicts evil_2026/{name} -->\n<!-- end -->\n" for name in ("another", "small"))
    readme.write_text(f"# Evil\n\nAs [small](small/table.md) says.\n\n{blocks}")
    judgements = judge_experiments([first, second], tmp_path / "runs", tmp_path / "results")
    (paper,) = papers(judgements, tmp_path / "results")
    assert [one.experiment.name for one in paper.judgements] == ["evil_2026/another", "evil_2026/small"]
