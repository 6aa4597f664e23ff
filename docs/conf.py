"""Configuration of Sphinx; `make docs` builds the pages into docs/_build.

The source is the repository, so that links between docs/ and results/ are those of a checkout.
"""

import re
import sys
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "kfeat"
author = "The kfeat developers"
project_copyright = f"2026, {author}"
release = version = version_of("kfeat")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_click",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "results",
]
root_doc = "docs/index"
include_patterns = ["docs/**", "results/**"]
exclude_patterns = ["docs/_build", "docs/_templates", "docs/examples", ".*", "kfeat", "runs", "tests"]
templates_path = [str(Path(__file__).parent / "_templates")]
html_additional_pages = {"index": "start.html"}  # leads to root_doc
smartquotes = False  # results stand as they are published
default_role = "literal"  # names in docstrings stand between single backticks

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]  # tables of cells have headings of the third level only

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's sections state the types
autodoc_inherit_docstrings = False
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": ["docs/examples"],
    "gallery_dirs": ["docs/gallery"],
    "filename_pattern": r"/plot_",
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "kfeat"
html_static_path = ["_static"]
html_css_files = ["dt_bundle.css", "style.css"]
html_js_files = [(name, {"defer": "defer"}) for name in ("datatables.js", "tables.js")]
html_show_sourcelink = False
html_copy_source = False
html_show_search_summary = False  # it fetches pages, which a page that is opened as a file may not
html_theme_options = {
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 8,
    # Tables and the explorer take the width that there is.
    "secondary_sidebar_items": {"docs/[!ei]**": ["page-toc"], "results/*/README": ["page-toc"]},
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "collapse_navigation": True,  # 160 pages of results would be listed in each page
}
html_sidebars = {"docs/start": [], "docs/explorer": []}


def _escaped(line: str) -> str:
    """Return a line of a docstring with the signs of formulas escaped, except between backticks.

    The docstrings are plain text: |x|, a * b and the underscore of `coef_` are no markup.
    """
    parts = re.split(r"(`[^`]*`)", line)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"(?<=\w)_(?!\w)", r"\\_", re.sub(r"[*|]", r"\\\g<0>", parts[i]))
    return "".join(parts)


def _escape_formulas(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Escape the text of a docstring, up to its examples, before numpydoc reads it."""
    examples = lines.index("Examples") if "Examples" in lines else len(lines)
    lines[:examples] = [_escaped(line) for line in lines[:examples]]


def _skip_foreign_members(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out `approximates`, a class, and the set_..._request that scikit-learn adds to estimators."""
    return True if name == "approximates" or re.fullmatch(r"set_\w+_request", name) else None


def setup(app: Any) -> None:
    """Connect the functions above; a lower priority comes first, and numpydoc has 500."""
    app.connect("autodoc-process-docstring", _escape_formulas, priority=100)
    app.connect("autodoc-skip-member", _skip_foreign_members)
