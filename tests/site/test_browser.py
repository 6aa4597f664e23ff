"""The pages in Chromium, without a window: no errors, themes, tables, rows, the explorer, accessibility.

They need Chromium and its driver (`apt-get install chromium chromium-driver`) and the extra `dev` (selenium,
axe-core-python).
"""

import os
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from kfeat.experiments.store import read_rows
from tests.site.conftest import ROOT

LACKING = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
LACKING += [name for name in ("selenium", "axe_core_python") if find_spec(name) is None]
pytestmark = pytest.mark.skipif(
    bool(LACKING),
    reason=f"needs {', '.join(LACKING)}: apt-get install chromium chromium-driver; pip install 'kfeat[dev]'",
)
PAGES = (
    "index.html", "paper-evil_2026.html", "map-tensor_sketch.html", "data.html", "explorer.html",
    "rows.html#quickstart",
)  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    options = ChromeOptions()
    for flag in ("headless=new", "disable-gpu", "disable-dev-shm-usage", "window-size=1280,900"):
        options.add_argument(f"--{flag}")
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")  # Chromium has none for root
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    options.binary_location = shutil.which("chromium") or ""
    driver = Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.implicitly_wait(5)
    yield driver
    driver.quit()


def show(browser: Any, site: Path, page: str, wait_for: str = "h1") -> None:
    browser.get("about:blank")  # so that another fragment of the same page is loaded anew
    browser.get(f"file://{site}/{page}")
    assert browser.find_elements("css selector", wait_for), f"{page} has no {wait_for}"


def emulate(browser: Any, width: int, theme: str) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    features = [{"name": "prefers-color-scheme", "value": theme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def texts(browser: Any, selector: str) -> list[str]:
    return [one.text for one in browser.find_elements("css selector", selector) if one.is_displayed()]


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (360, "dark")])
def test_pages_have_no_errors_nothing_serious_for_axe_and_nothing_too_wide(
    browser: Any, site: Path, width: int, theme: str
) -> None:
    import axe_core_python

    axe = (Path(axe_core_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
    emulate(browser, width, theme)
    for page in PAGES:
        show(browser, site, page, "main tbody tr, main dl dd")
        assert browser.get_log("browser") == [], page
        wide = browser.execute_script("return document.documentElement.scrollWidth")
        assert wide <= width, page
        browser.execute_script(axe)
        found = browser.execute_async_script("axe.run().then(arguments[0])")
        assert len(found["passes"]) > 10
        serious = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
        assert not serious, (page, [(one["id"], one["nodes"][0]["html"]) for one in serious])
    emulate(browser, 1280, "light")


def test_hostile_texts_do_nothing_but_stand_there(browser: Any, site: Path) -> None:
    show(browser, site, "paper-evil_2026.html")
    assert '<script>alert("title")</script>' in browser.find_element("css selector", "section h2").text
    show(browser, site, "rows.html#evil_2026%2Fsmall", "table tbody a")
    browser.find_element("css selector", "table tbody a").click()
    assert '<script>alert("title")</script>' in browser.find_element("id", "content").text
    assert browser.get_log("browser") == []


def test_a_table_sorts_by_keyboard_and_filters(browser: Any, site: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    show(browser, site, "data.html", "th button")
    header = browser.find_elements("css selector", "th")[3]
    assert header.text.startswith("training rows")
    for order, reverse in (("ascending", False), ("descending", True)):
        header.find_element("css selector", "button").send_keys(Keys.ENTER)
        assert header.get_attribute("aria-sort") == order
        shown = [text for text in texts(browser, "tbody td:nth-child(4)") if text != "–"]
        assert len(shown) > 5
        assert shown == sorted(shown, key=int, reverse=reverse)
    field = browser.find_element("css selector", "input[type=search]")
    field.send_keys("mnist")
    names = texts(browser, "tbody td:first-child")
    assert "mnist" in names
    assert "adult" not in names
    assert f"{len(names)} of " in browser.find_element("css selector", "output").text


def test_a_row_is_shown_by_its_id_with_its_command(browser: Any, site: Path) -> None:
    row = next(one for one in read_rows(ROOT / "results" / "quickstart").values() if one["map"])
    for address in (f"#{row['id']}", f"#{row['id'][:9]}", f"#quickstart:{row['id']}"):
        show(browser, site, f"rows.html{address}", "dl dt")
        said = browser.find_element("id", "content").text
        assert f"configs/quickstart.yaml --only {row['id']}" in said
        assert row["fingerprint"] in said
        assert f"{100 * row['accuracy']:.2f} %" in said
        assert f"{row['seconds']['train']['cpu']:.4f}" in said
    show(browser, site, "rows.html#0000", "ul.columns a")
    assert "No published row" in browser.find_element("id", "content").text


def test_the_rows_of_a_cell_are_one_click_from_its_number(browser: Any, site: Path) -> None:
    show(browser, site, "paper-evil_2026.html")
    browser.find_element("css selector", "td a[href^='rows.html']").click()
    assert browser.find_elements("css selector", "#content table tbody tr")
    assert "printed number, Table 1" in browser.find_element("id", "content").text


def test_the_explorer_keeps_its_state_in_the_address_and_shows_points(browser: Any, site: Path) -> None:
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import Select

    show(browser, site, "explorer.html", ".mark")
    Select(browser.find_element("name", "dataset")).select_by_visible_text("digits")
    Select(browser.find_element("name", "x")).select_by_value("n_components")
    before = len(browser.find_elements("css selector", ".mark"))
    assert before == 2  # the two maps; the exact kernel SVM has no D
    browser.find_element("css selector", "input[value=tensor_sketch]").click()
    address = browser.current_url
    assert "dataset=digits" in address
    assert "x=n_components" in address
    assert "maps=exact%2Crandom_maclaurin" in address
    for again in (False, True):
        if again:
            show(browser, site, address.rpartition("/")[2], ".mark")
        assert len(browser.find_elements("css selector", ".mark")) == 1
    browser.find_element("id", "chart").send_keys(Keys.ARROW_RIGHT)
    said = browser.find_element("id", "point").text
    assert "Random Maclaurin" in said
    assert "number of random features D 64" in said
    assert len(texts(browser, "#points tbody tr")) == 1
    browser.find_element("id", "chart").send_keys(Keys.ENTER)
    assert "rows.html#evil_2026%2Fsmall:" in browser.current_url


def test_the_theme_is_chosen_and_kept(browser: Any, site: Path) -> None:
    def paper() -> str:
        return str(browser.execute_script("return getComputedStyle(document.body).backgroundColor"))

    emulate(browser, 1280, "light")
    show(browser, site, "index.html")
    light = paper()
    button = browser.find_element("id", "theme")
    button.click()
    assert (button.text, paper()) == ("Theme: light", light)
    button.click()
    assert button.text == "Theme: dark"
    dark = paper()
    assert dark != light
    show(browser, site, "maps.html")
    assert paper() == dark
    browser.find_element("id", "theme").click()
    assert paper() == light
