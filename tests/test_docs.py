"""A small build of the documentation in Chromium: widths, accessibility, the explorer, tables, the search.

It needs Chromium and its driver (`apt-get install chromium chromium-driver`) and the extras `dev` and `docs`.
"""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from math import inf
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LACKING = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
LACKING += [name for name in ("selenium", "axe_core_python", "sphinx", "itables") if find_spec(name) is None]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        bool(LACKING),
        reason=f"needs {', '.join(LACKING)}: apt-get install chromium chromium-driver; "
        "pip install 'kfeat[dev,docs]'",
    ),
]
PAPER = "results/yang_2014/README.html"
TABLE = "results/survey/growth_covertype/table.html"
PAGES = {  # and an element to wait for
    "index.html": "h1",
    "docs/findings.html": "h1",
    "docs/explorer.html": ".legend",
    "search.html?q=halton": "#search-results li a",
    PAPER: "div.dt-container",
    TABLE: "div.dt-container",
}
SHOWN = ("quickstart", "yang_2014", "survey/growth_covertype")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return the folder of the pages of a few results, without those of the reference and the gallery."""
    folder = tmp_path_factory.mktemp("site")
    made = shutil.ignore_patterns("generated", "_build", "gallery", "howto", "reference", "concepts")
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=made)
    shutil.copytree(ROOT / "configs", folder / "configs")
    for name in SHOWN:
        shutil.copytree(ROOT / "results" / name, folder / "results" / name)
    extensions = "extensions=sphinx.ext.autodoc,myst_parser,sphinx_design,results"
    command = [sys.executable, "-m", "sphinx", "-q", "-D", extensions, "-c", folder / "docs", folder]
    command.append(folder / "pages")
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)  # links to what was left out are broken
    return folder / "pages"


@pytest.fixture(scope="module")
def browser():
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    options = ChromeOptions()
    for flag in ("headless=new", "disable-gpu", "disable-dev-shm-usage"):
        options.add_argument(f"--{flag}")
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")  # Chromium has none for root
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    options.binary_location = shutil.which("chromium") or ""
    driver = Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.implicitly_wait(10)
    yield driver
    driver.quit()


@pytest.fixture
def show(browser, site):
    """Return the function that opens a page as a file, at a width, and waits for an element of it."""

    def opened(page, wait_for="h1", width=1280, theme="light"):
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        features = [{"name": "prefers-color-scheme", "value": theme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        browser.get("about:blank")  # so that another fragment of the same page is loaded anew
        browser.get(f"file://{site}/{page}")
        assert browser.find_elements("css selector", wait_for), f"{page} has no {wait_for}"
        return browser

    return opened


def texts(browser, selector):
    return [element.text for element in browser.find_elements("css selector", selector)]


def test_the_landing_page_shows_in_one_screen_what_kfeat_is(show):
    browser = show("docs/index.html", "article img")
    cards = browser.find_elements("css selector", ".sd-card")
    assert len(cards) == 3
    assert max(card.rect["y"] + card.rect["height"] for card in cards) < 800


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (390, "dark")])
def test_pages_have_no_errors_nothing_serious_for_axe_and_nothing_too_wide(show, width, theme):
    import axe_core_python

    axe = (Path(axe_core_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
    for page, wait_for in PAGES.items():
        browser = show(page, wait_for, width, theme)
        errors = [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
        assert not [error for error in errors if "invalid theme mode" not in error]  # that is the theme's own
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width, page
        browser.execute_script(axe)
        answer = browser.execute_async_script("axe.run().then(arguments[0])")
        assert len(answer["passes"]) > 10
        serious = [rule for rule in answer["violations"] if rule["impact"] in ("serious", "critical")]
        assert not [(page, rule["id"], rule["nodes"][0]["html"][:200]) for rule in serious]


def test_the_explorer_draws_what_is_chosen_and_a_click_leads_to_the_row(show):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.support.ui import Select

    browser = show("docs/explorer.html#experiment=survey/growth_covertype&x=n_train&y=fit", ".legend")
    assert "Nystrom, D = 1024" in texts(browser, ".legendtext")
    assert Select(browser.find_element("name", "dataset")).first_selected_option.text == "covertype"
    Select(browser.find_element("name", "x")).select_by_value("n_components")
    assert "x=n_components" in browser.current_url
    assert "number of random features D" in texts(browser, ".xtitle")
    assert len(texts(browser, "#points tbody tr")) == 10  # of its first page
    point = browser.find_element("css selector", ".scatterlayer .point")
    ActionChains(browser).move_to_element(point).click().perform()
    assert "growth_covertype/table.html?row=ORF" in browser.current_url
    (marked,) = texts(browser, "tr.marked")  # the method has a row for each number of training rows
    assert "n_train = 1000" in marked


def test_a_table_sorts_by_the_keyboard_and_is_searched(show):
    from selenium.webdriver.common.keys import Keys

    browser = show(TABLE, "th.dt-orderable-asc")
    header = browser.find_element("css selector", "th:nth-child(3)")
    for direction in ("ascending", "descending"):
        header.find_element("css selector", "[role=button]").send_keys(Keys.ENTER)
        assert browser.find_elements("css selector", f"th:nth-child(3)[aria-sort={direction}]")  # it waits
        shown = texts(browser, ".dt-container tbody td:nth-child(3)")
        shown = [-inf if text == "–" else float(text.split()[0]) for text in shown]
        assert len(shown) > 20
        assert shown == sorted(shown, reverse=direction == "descending")
    browser.find_element("css selector", "input[type=search].dt-input").send_keys("nystrom")
    assert {"Nystrom" in text for text in texts(browser, ".dt-container tbody td:nth-child(2)")} == {True}


def test_a_page_of_a_table_has_its_figure_its_config_and_leads_to_the_explorer(
    show,
):
    browser = show(TABLE, "details.sd-dropdown")
    assert browser.execute_script("return document.querySelector('article img').naturalWidth") > 100
    assert "gamma" in browser.find_element("css selector", "details pre").get_attribute("textContent")
    browser.find_element("partial link text", "The explorer").click()
    assert "ORF, n = 1000" in texts(browser, ".legendtext")


def test_the_search_finds_a_page_of_the_results(show):
    browser = show("search.html?q=halton", "#search-results li a")
    assert browser.find_elements("partial link text", "Yang")
