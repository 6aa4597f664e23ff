"""Figures as files: small SVG in any script, and PNG, that name neither the time nor a version."""

import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from io import StringIO
from pathlib import Path
from typing import TypeVar
from xml.etree import ElementTree

from matplotlib import font_manager, rcParams
from matplotlib.figure import Figure
from matplotlib.text import Text

T = TypeVar("T")
SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
FONTS = "'DejaVu Sans', Verdana, Arial, sans-serif"  # of an SVG: Matplotlib's own, then none that is wider
ElementTree.register_namespace("", SVG)
ElementTree.register_namespace("xlink", XLINK)


def save(figure: Figure, paths: Sequence[Path], dpi: float = 150) -> None:
    """Save the figure at each path, as an SVG or PNG that names neither the time nor a version."""
    for path in paths:
        if path.suffix == ".svg":
            path.write_text(as_svg(figure, dpi), encoding="utf-8")
        else:
            in_any_script(figure, partial(figure.savefig, path, dpi=dpi, metadata={"Software": None}))


def as_svg(figure: Figure, dpi: float = 150) -> str:
    """Return the figure as the text of an SVG that names neither the time nor a version."""

    def drawn() -> str:
        svg, nothing = StringIO(), dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(svg, format="svg", dpi=dpi, metadata=nothing)
        return svg.getvalue()

    return _slim(in_any_script(figure, drawn))


def in_any_script(figure: Figure, draw: Callable[[], T]) -> T:
    """Return what `draw` returns, again with further fonts if Matplotlib's own lacks signs of the figure.

    A sign that no font of the machine has is a box, about which nothing is said. The context of RC ends the
    use of these fonts.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        drawn = draw()
    signs = [
        re.match(r"Glyph (\d+) |Matplotlib currently does not", str(warning.message)) for warning in caught
    ]
    for warning, sign in zip(caught, signs, strict=True):
        if sign is None:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    families = fonts_with(frozenset(int(sign[1]) for sign in signs if sign and sign[1]))
    if not families:
        return drawn
    rcParams["font.family"] = [*rcParams["font.family"], *families]
    for text in figure.findobj(Text):
        text.set_fontfamily(rcParams["font.family"])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph |Matplotlib currently does not")
        return draw()


@cache
def fonts_with(signs: frozenset[int]) -> tuple[str, ...]:
    """Return as few installed fonts as have these signs, given by their code points, if any font has them."""
    found: dict[str, frozenset[int]] = {}
    for font in font_manager.fontManager.ttflist if signs else ():
        if font.style == "normal" and not font.name.startswith("Last Resort"):  # whose signs are boxes
            has = signs.intersection(font_manager.get_font(font.fname).get_charmap())
            found[font.name] = found.get(font.name, signs) & has  # in all its weights
    families, missing = list[str](), signs
    while missing := missing & frozenset().union(*found.values()):
        families.append(max(found, key=lambda name: len(found[name] & missing)))
        missing -= found[families[-1]]
    return tuple(families)


def _slim(svg: str) -> str:
    """Return Matplotlib's SVG at less than half its size, with the same picture in other fonts too.

    A style stands in the file once, as a class; places have two digits; groups without a meaning go.
    """
    root, referred = ElementTree.fromstring(svg), set(re.findall(r"#(\w+)", svg))
    classes: dict[str, str] = {}
    for element in reversed(list(root.iter())):  # children before their parents
        attributes = element.attrib
        if attributes.get("id") not in referred:
            attributes.pop("id", None)
        if attributes.get("transform", "").startswith("rotate(-0 "):
            del attributes["transform"]
        if "style" in attributes:
            style = re.sub("; font-family: 'DejaVu Sans'[^;]*", "", attributes.pop("style"))
            attributes["class"] = classes.setdefault(style, f"c{len(classes)}")
        for name, value in attributes.items():
            attributes[name] = " ".join(re.sub(r"\d+\.\d{3,}", _two_digits, value).split())
        if element.tag == f"{{{SVG}}}text":
            element[:] = _words(element)
        else:
            element[:] = [part for child in element for part in (child if _is_bare(child) else [child])]
    rules = [f"text{{font-family: {FONTS}}}", *(f".{name}{{{style}}}" for style, name in classes.items())]
    sheet = next(root.iter(f"{{{SVG}}}style"))
    sheet.text = "\n".join([sheet.text or "", *rules, ""])
    ElementTree.indent(root, "")
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _is_bare(element: ElementTree.Element) -> bool:
    return not element.attrib and element.tag == f"{{{SVG}}}g"


def _two_digits(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def _words(signs: Iterable[ElementTree.Element]) -> list[ElementTree.Element]:
    """Return the signs of a formula from left to right, and those of a word as one, for narrower fonts."""
    words: list[ElementTree.Element] = []
    for sign in sorted(signs, key=lambda sign: float(sign.attrib["x"])):
        last = words[-1] if words else sign
        word = f"{last.text}{sign.text}"
        alike = all(sign.get(name) == last.get(name) for name in ("class", "y"))
        if last is not sign and alike and re.fullmatch(r"\w+[.,:;]?", word):
            last.text = word
        else:
            words.append(sign)
    return words
