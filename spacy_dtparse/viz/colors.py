"""Colours of drawings: two themes, and a colour for each label that is the same in all drawings."""

import re
from collections.abc import Iterable, Mapping
from zlib import crc32

from ..errors import ConfigError

THEMES = ("light", "dark", "auto")
"""Light, dark, or the theme of the viewer's system."""

Colors = bool | Mapping[str, str]
"""True: the palette's colour for each label; False: one colour for all; a mapping: label to CSS colour, the palette's
for the others."""

PLAIN = {
    "light": {"label": "#1f4e79", "tag": "#6b6b6b", "word": "#111", "edge": "#8a8a8a", "background": "white"},
    "dark": {"label": "#79b8ff", "tag": "#a8a8a8", "word": "#eee", "edge": "#7d8590", "background": "#0d1117"},
}
_PALETTE = {
    "light": ("#1d5fa8", "#b0341f", "#1f7a3a", "#6d28d9", "#a8206f", "#00707a", "#8a5a00", "#4a5568"),
    "dark": ("#79b8ff", "#ff9d8a", "#7ddc97", "#c4a7ff", "#ff9bd0", "#63d4de", "#f0c36a", "#b6c2d1"),
}
_PALETTE_LABELS = {
    0: ("NP", "WHNP", "NX", "NML", "NAC"),
    1: ("VP",),
    2: ("PP", "WHPP"),
    3: ("S", "SQ", "SINV"),
    4: ("SBAR", "SBARQ"),
    5: ("ADVP", "WHADVP", "PRT"),
    6: ("ADJP", "WHADJP", "QP"),
    7: ("TOP", "ROOT"),
}
_INDEX_OF_LABEL = {label: index for index, labels in _PALETTE_LABELS.items() for label in labels}


def check_theme(theme: str) -> None:
    """Raise ConfigError unless it is one of THEMES."""
    if theme not in THEMES:
        raise ConfigError(f"theme={theme!r}; allowed are {', '.join(map(repr, THEMES))}")


def check_color(name: str, color: object) -> str:
    """Return `color` if it is a plain CSS colour. `name`: name of the option, for the ConfigError that is raised
    otherwise."""
    if not isinstance(color, str) or not re.fullmatch(r"[\w#(),.% -]+", color):
        raise ConfigError(f"{name}={color!r}; give a CSS colour such as 'white', '#fff' or 'none'")
    return color


def check_colors(colors: object) -> None:
    """Raise ConfigError unless `colors` is True, False or a mapping from labels to CSS colours."""
    if isinstance(colors, Mapping):
        for label, color in colors.items():
            check_color(f"colors[{label!r}]", color)
    elif not isinstance(colors, bool):
        raise ConfigError(
            f"colors={colors!r}; allowed are True, False, or a mapping from labels to CSS colours, {{'NP': '#06c'}}"
        )


def palette_index(label: str) -> int:
    """The index of a label in the palette. Anything after - or = (function tags) is ignored."""
    plain = re.split("[-=|]", label)[0] or label
    return _INDEX_OF_LABEL.get(plain, crc32(plain.encode()) % len(_PALETTE["light"]))


def color_class(label: str, colors: Colors, kind: str = "label", style: str = "") -> str:
    """The attributes of an element in the colour of a label: classes, and a style if needed.

    `kind`: its other classes. `style`: the rest of its style.
    """
    if isinstance(colors, Mapping) and label in colors:
        style = f"--own:{colors[label]};fill:{colors[label]};{style}"
    elif colors is not False:
        kind = f"{kind} c{palette_index(label)}"
    return f'class="{kind}" style="{style}"' if style else f'class="{kind}"'


def color_rules(theme: str, scope: str, rules: str, labels: Iterable[str], colors: Colors) -> str:
    """CSS for a theme: `rules` filled with its plain colours, and the palette's classes of the `labels`.

    Every rule must begin with {scope}. "auto" has the rules of both themes, the dark ones for dark systems.
    """
    check_theme(theme)
    if theme == "auto":
        light, dark = (color_rules(name, scope, rules, labels, colors) for name in ("light", "dark"))
        return f"{light}@media (prefers-color-scheme:dark){{{dark}}}"
    indices = sorted({palette_index(label) for label in labels}) if colors is not False else []
    palette = _PALETTE[theme]
    # the class twice: a later drawing's rule for all labels must not win on a page with several
    own = "".join(f"{scope} .c{index}.c{index}{{fill:{palette[index]};--own:{palette[index]}}}" for index in indices)
    return rules.format(scope=scope, **PLAIN[theme]) + own
