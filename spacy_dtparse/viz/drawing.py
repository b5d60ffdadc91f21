"""Draw trees in any style, as text that can be saved as a file and displays itself in a notebook."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import ConfigError, shorten
from ..files import write_atomically
from ..trees.tree import Tree
from .colors import PLAIN
from .spans import WIDTH, spans_html
from .svg import Look, Probabilities, check_look, legal, svg_trees
from .text import MIN_WIDTH, check_text, text_tree

STYLES = ("tree", "spans", "text")
_PRE = (
    "font-family:ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;line-height:1.2;white-space:pre;"
    "overflow-x:auto"
)
"""The style of a text tree in HTML. A notebook's style sheet may set another font for `pre`, and break its lines."""
OPTIONS: dict[str, tuple[str, str]] = {
    "colors": ("tree, spans", "True, False, or a mapping from labels to CSS colours"),
    "probabilities": ("tree, spans, text", "True or False: show a probability with each label"),
    "tags": ("tree, spans, text", "True or False: show parts of speech"),
    "theme": ("tree, spans", "'light', 'dark' or 'auto' (the theme of the viewer's system)"),
    "background": ("tree, spans", "a CSS colour, or 'none'"),
    "direction": ("tree, spans", "'ltr' or 'rtl'"),
    "layout": ("tree, text", "'down', 'side', or 'auto' (down where it fits)"),
    "width": ("spans, text", f"columns of a line, a whole number from {MIN_WIDTH}"),
    "ascii": ("text", "True or False: | + - instead of box characters"),
}
"""Each option of `draw` with the styles that accept it, and a description of its values."""

_PAGE = """<!DOCTYPE html>
<html lang="{lang}" dir="{direction}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>body{{margin:16px;{body}}}figure{{margin:0 0 24px}}{dark}</style>
</head>
<body>
{content}</body>
</html>
"""


class Drawing(str):
    """A drawing: its text is SVG, HTML or plain text; as the last value of a notebook cell it displays itself."""

    style: str
    html: str

    def __new__(cls, text: str, style: str, html: str) -> Drawing:
        self = super().__new__(cls, text)
        self.style, self.html = style, html
        return self

    def __reduce__(self) -> tuple:
        return Drawing, (str(self), self.style, self.html)

    def _repr_html_(self) -> str:
        return self.html

    def display(self) -> Drawing:
        """Display the drawing in a notebook at once, as in a loop, and return it; as the last value of the cell it is
        not displayed again. Without IPython nothing is displayed."""
        try:
            from IPython.display import display
        except ImportError:
            return self
        html = f'<span class="tex2jax_ignore">{self.html}</span>'  # not to be read as formulas, as by displaCy
        plain = str(self) if self.style == "text" else f"<drawing in style {self.style!r}>"  # for consoles
        display({"text/html": html, "text/plain": plain}, raw=True)
        return DisplayedDrawing(str(self), self.style, self.html)

    def _repr_svg_(self) -> str | None:
        return str(self) if self.startswith("<svg") else None

    def save(self, path: str | Path) -> Path:
        """Write the text to a file, in UTF-8, and return its path. After an error the file is unchanged."""
        path = Path(path)
        write_atomically(path, self)
        return path


class DisplayedDrawing(Drawing):
    """A drawing that a notebook has displayed already."""

    def _ipython_display_(self) -> None:
        """Do nothing: IPython calls this instead of asking for HTML."""


class _Options(NamedTuple):
    look: Look
    probabilities: bool
    width: int | None
    ascii: bool


def draw(
    trees: Sequence[Tree],
    style: str = "tree",
    page: bool = False,
    options: Mapping[str, Any] | None = None,
    probabilities: Sequence[Probabilities] | None = None,
    numbered: bool = False,
) -> Drawing:
    """Draw the trees in one of STYLES: "tree" is SVG, "spans" HTML, "text" plain text; with `page` a complete HTML
    page.

    `options`: see OPTIONS. `probabilities`: a probability or None for each constituent of each tree, shown if the
    option `probabilities` is on. `numbered`: see `svg_trees`. Raises ConfigError for another style, option or value.
    """
    look, with_probabilities, width, ascii_only = check_options(style, options)
    look = look._replace(numbered=numbered)
    shown = probabilities if with_probabilities else None
    if style == "text":
        columns = shutil.get_terminal_size((100, 24)).columns if width is None else width
        drawn = [
            text_tree(
                tree,
                ascii_only=ascii_only,
                tags=look.tags,
                width=max(columns, MIN_WIDTH),
                layout=look.layout,
                probabilities=None if shown is None else shown[index],
            )
            for index, tree in enumerate(trees)
        ]
        text = "\n\n".join(drawn)
        html = f'<pre style="{_PRE}">{escape(legal(text))}</pre>\n'
    elif style == "spans":
        text = html = spans_html(trees, look, shown, WIDTH if width is None else width)
    else:
        text = svg_trees(trees, look, shown)
        drawings = [text]
        if len(trees) != 1:
            drawings = [
                svg_trees([tree], look, None if shown is None else [shown[index]]) for index, tree in enumerate(trees)
            ]
        html = "".join(_figure(svg) for svg in drawings)
    if page:
        text = _page(trees, look, html)
    return Drawing(text, style, html)


def check_options(style: str, options: Mapping[str, Any] | None) -> _Options:
    """Check the options. Raises ConfigError that names the value and the allowed ones."""
    if style not in STYLES:
        raise ConfigError(f"style={style!r}; allowed are {', '.join(map(repr, STYLES))}")
    if options is None:
        options = {}
    if not isinstance(options, Mapping):
        raise ConfigError(f"options={options!r}; give a mapping such as {{'probabilities': True}}")
    allowed = [name for name, (styles, _) in OPTIONS.items() if style in styles.split(", ")]
    for name, value in options.items():
        if name in OPTIONS and name not in allowed:
            raise ConfigError(f"option {name!r} is not for style {style!r} but for {OPTIONS[name][0]}")
        if name not in OPTIONS:
            near = get_close_matches(str(name), allowed, 1)
            raise ConfigError(
                f"there is no option {name!r}{f'; did you mean {near[0]!r}?' if near else ''}; style {style!r} has "
                + ", ".join(allowed)
            )
        if name in ("probabilities", "tags", "ascii") and not isinstance(value, bool):
            raise ConfigError(f"{name}={value!r}; allowed are True and False")
    look_options = {name: value for name, value in options.items() if name in Look._fields}
    look = Look(**{"layout": "auto", **look_options})
    check_look(look)
    width = options.get("width")
    check_text(look.layout, width)
    return _Options(look, options.get("probabilities", False), width, options.get("ascii", False))


def _figure(svg: str) -> str:
    """An SVG in a box that scrolls sideways, so that a long sentence keeps its size."""
    return f'<figure style="overflow-x:auto;margin:0 0 12px">\n{svg}</figure>\n'


def _page(trees: Sequence[Tree], look: Look, content: str) -> str:
    title = shorten(legal(" ".join(trees[0].words)) if trees else "spacy-dtparse", 80)
    theme = "light" if look.theme == "auto" else look.theme
    body = f"background:{look.background or PLAIN[theme]['background']};color:{PLAIN[theme]['word']}"
    dark = PLAIN["dark"]
    rule = f"@media (prefers-color-scheme:dark){{body{{background:{dark['background']};color:{dark['word']}}}}}"
    return _PAGE.format(
        lang="mul",
        direction=look.direction,
        title=escape(title),
        body=body,
        dark=rule if look.theme == "auto" else "",
        content=content,
    )
