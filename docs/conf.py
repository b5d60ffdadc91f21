"""Configuration of the documentation site; `python -m sphinx -W --keep-going -c docs . build/site` builds it.

The source folder is the whole repository, so that links between documents work on the site and in the repository. The
navigation follows `docs/index.md`: each of its headings is a part, and each link in its tables is a page.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # training is not an installed package

from docutils import nodes  # noqa: E402
from sphinx.application import Sphinx  # noqa: E402
from sphinx.util.docutils import SphinxDirective  # noqa: E402

import spacy_dtparse  # noqa: E402
from spacy_dtparse.core.settings import Settings  # noqa: E402

project = "spacy-dtparse"
author = "the spacy-dtparse developers"
release = spacy_dtparse.__version__
language = "en"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton", "sphinx_argparse_cli"]
root_doc = "docs/index"
include_patterns = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "assets/**.md", "docs/**.md"]
exclude_patterns = ["build", ".venv", "docs/site"]
smartquotes = False  # do not change quotes and dashes

myst_heading_anchors = 4
"""Generate the anchors that GitHub generates; a link to a missing one is a warning, and so the build fails."""

myst_disable_syntax = ["myst_line_comment", "myst_block_break", "myst_role", "myst_target"]
"""Syntax that only MyST has: for example, a line that begins with a per cent sign would be a comment and disappear."""

default_role = "py:obj"  # docstrings have names in single backticks
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
maximum_signature_line_length = 100
python_use_unqualified_type_names = True
add_module_names = False

highlight_language = "text"  # trees are not Python
pygments_style = "default"
pygments_dark_style = "github-dark"
html_theme = "furo"  # loads no fonts and no scripts from other sites
html_title = "spacy-dtparse"
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_static_path = ["site/static"]
html_css_files = ["site.css"]
html_extra_path = ["site/root"]  # index.html, which redirects to docs/index.html
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b6e4f", "color-brand-content": "#0b6e4f"},
    "dark_css_variables": {"color-brand-primary": "#5fd3a5", "color-brand-content": "#5fd3a5"},
}
copybutton_prompt_text = "$ "


PARAMETER = re.compile(r"(?:`[\w*]+`, )*`[\w*]+`: ")
"""The beginning of the explanation of one or several parameters in a docstring."""

PAGE = re.compile(r"^\| \[([^\]]+)\]\(([\w./]+)\.md\) \|", re.MULTILINE)
"""A row of the tables of the index."""


def parts_of_index(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each second-level heading of docs/index.md with the pages of its table as toctree lines: title and path."""
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        yield part.splitlines()[0], [f"{title} <{page}>" for title, page in PAGE.findall(part)]


def add_navigation(app: Sphinx, docname: str, source: list[str]) -> None:
    """Add the parts of the index as toctrees, which only the navigation shows."""
    if docname == root_doc:
        for caption, pages in parts_of_index(source[0]):
            source[0] += "\n".join(["", "```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", ""])


def copy_pictures(app: Sphinx, error: Exception | None) -> None:
    """Copy the pictures of README and index: they are HTML, with one per theme, so Sphinx does not copy them."""
    if error is None and app.builder.format == "html":
        shutil.copytree(ROOT / "docs" / "img", Path(app.outdir) / "docs" / "img", dirs_exist_ok=True)


def list_parameters(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Turn the explanations of parameters in a docstring ("`one`: this. `two`: that.") into lists."""
    paragraphs = "\n".join(lines).split("\n\n")
    lines[:] = [line for one in paragraphs for line in [*format_parameters(" ".join(one.split("\n"))).split("\n"), ""]]


def skip_tuple_fields(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Skip the fields of NamedTuples: they have no docstrings, and the docstring of the class explains them."""
    return True if type(obj).__name__ == "_tuplegetter" else None


def format_parameters(paragraph: str) -> str:
    """Format a paragraph as a list of the parameters that it explains, if any, with the text before and after them."""
    if not PARAMETER.match(paragraph) and not re.search(rf"\. {PARAMETER.pattern}", paragraph):
        return paragraph
    before, *rest = re.split(rf"(?:^|(?<=[.)] ))(?={PARAMETER.pattern})", paragraph)
    items, after = [before] if before else [], ""
    for text in rest:
        text, separator, raises = text.partition(". Raises ")
        items.append(f"- {text}{'.' if separator else ''}")
        after += f"Raises {raises}" if separator else ""
    return "\n\n".join([*items, after] if after else items)


def defaults_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the defaults of the parser that has these settings, by name."""
    for kind in Settings.__subclasses__():
        if all(kind.ALLOWED.get(name) is setting for name, setting in settings.items()):
            return {field.name: field.default for field in fields(kind)}
    raise LookupError(f"no settings have {', '.join(settings)}")


class SettingsTable(SphinxDirective):
    """`settings-of:: CLASS`: a table of the settings of a component class, with the allowed values."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        module, _, name = self.arguments[0].rpartition(".")
        kind = getattr(import_module(module), name)
        defaults = defaults_of(kind.SETTINGS)
        rows = [("model", "``None``", "a path of a model file")] if hasattr(kind, "LOADER") else []
        if hasattr(kind, "EMBEDDED"):
            rows = [("model", f"that of {kind.EMBEDDED}", "a path of a model file, or a name of an English pipeline")]
        rows += [(name, f"``{defaults[name]!r}``", setting.allowed) for name, setting in kind.SETTINGS.items()]
        rows += [(name, f"``{default!r}``", one.allowed) for name, (default, one) in kind.COMPONENT_SETTINGS.items()]
        lines = [".. list-table::", "   :header-rows: 1", "", "   * - setting", "     - default", "     - allowed"]
        for name, default, allowed in rows:
            lines += [f"   * - ``{name}``", f"     - {default}", f"     - {allowed}"]
        return self.parse_text_to_nodes("\n".join(lines))


def setup(app: Sphinx) -> None:
    """Connect the functions above; Sphinx calls this."""
    app.connect("source-read", add_navigation)
    app.connect("build-finished", copy_pictures)
    app.connect("autodoc-process-docstring", list_parameters)
    app.connect("autodoc-skip-member", skip_tuple_fields)
    app.add_directive("settings-of", SettingsTable)
