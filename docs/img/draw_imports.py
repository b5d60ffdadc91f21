"""Draw docs/img/imports.svg, the subpackages and their imports, from the sources: python docs/img/draw_imports.py.

A box is as low as its imports allow. An arrow is an import; it is left out where a path of other arrows leads there.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests import test_imports_point_one_way as rules  # noqa: E402
from tests.test_imports_point_one_way import PACKAGE, imported_modules, subpackage_of  # noqa: E402

PICTURE = ROOT / "docs" / "img" / "imports.svg"
BOX, GAP, ROW, MARGIN, WIDTH = 26, 14, 72, 20, 1080
"""Height of a box, least space between two boxes, distance of two rows, margin of the picture, its width; pixels."""
COLOURS = {
    "what all components use": "#dbe7f5", "components": "#fde3c4", "pipelines and commands": "#d9eedb",
    "in training/ (not installed)": "#ece0f5",
}  # fmt: skip
Graph = dict[str, set[str]]


def colour_of(name: str) -> str:
    """The kind of a subpackage: a key of COLOURS."""
    shared, components, others, trainers = COLOURS
    if name.startswith("training/"):
        return trainers
    return shared if name in rules.SHARED else components if name in rules.COMPONENTS else others


def label_of(name: str) -> str:
    """The text in the box; the colour says whether the subpackage is one of training/."""
    return name.removeprefix("training/")


def name_of(module: str) -> str:
    """The box of a module: a subpackage of the package or of training/; the root of either has none."""
    top, *rest = module.split(".")
    if top == "training" and rest and (ROOT / "training" / rest[0]).is_dir():
        return f"training/{rest[0]}"
    return subpackage_of(module) if top == "spacy_dtparse" else "package"


def read_imports() -> Graph:
    """Subpackage -> the other subpackages that it imports. Without the exceptions, which `docs/design.md` names."""
    graph: Graph = {}
    for path in sorted([*PACKAGE.rglob("*.py"), *(ROOT / "training").rglob("*.py")]):
        name = name_of(".".join(path.relative_to(ROOT).with_suffix("").parts))
        if name == "package":
            continue
        ignored = {name, "package"}
        if PACKAGE in path.parents:
            ignored |= rules.EXCEPTIONS.get(path.relative_to(PACKAGE).as_posix(), set())
        graph.setdefault(name, set()).update({name_of(module) for module in imported_modules(path)} - ignored)
    return graph


def without_shortcuts(graph: Graph) -> Graph:
    """The graph without the imports to which a path of other imports leads."""

    @cache
    def below(name: str) -> frozenset[str]:
        return frozenset().union(*({other} | below(other) for other in graph[name]))

    return {name: {o for o in others if not any(o in below(x) for x in others)} for name, others in graph.items()}


def place_boxes(graph: Graph) -> dict[str, tuple[float, float, float]]:
    """Name -> x of the middle, y of the upper edge, width. In a row, boxes are in the order of what they import."""

    @cache
    def level(name: str) -> int:
        return 1 + max(map(level, graph[name]), default=-1)

    rows: dict[int, list[str]] = {}
    for name in sorted(graph):
        rows.setdefault(level(name), []).append(name)
    top = max(rows)
    boxes: dict[str, tuple[float, float, float]] = {}

    def order(name: str) -> tuple[bool, float, str]:
        middles = [boxes[other][0] for other in graph[name]]
        return name.startswith("training/"), sum(middles) / max(1, len(middles)), name

    for number in sorted(rows):
        names = sorted(rows[number], key=order)
        widths = [7.2 * len(label_of(name)) + 18 for name in names]
        space = max(GAP, (WIDTH - sum(widths)) / (len(names) + 1))
        x = (WIDTH - sum(widths) - space * (len(names) - 1)) / 2
        for name, width in zip(names, widths, strict=True):
            boxes[name] = x + width / 2, MARGIN + (top - number) * ROW, width
            x += width + space
    return boxes


def draw() -> str:
    """The picture as SVG."""
    graph = without_shortcuts(read_imports())
    boxes = place_boxes(graph)
    bottom = max(y for _, y, _ in boxes.values()) + BOX + MARGIN
    lines, texts = [], []
    for name, (x, y, width) in boxes.items():
        for other in sorted(graph[name]):
            to_x, to_y, _ = boxes[other]
            bend = (to_y - y - BOX) / 2
            curve = f"M{x:.0f},{y + BOX} C{x:.0f},{y + BOX + bend:.0f} {to_x:.0f},{to_y - bend:.0f} {to_x:.0f},{to_y}"
            lines.append(f'<path d="{curve}" marker-end="url(#arrow)"/>')
        box = f'x="{x - width / 2:.0f}" y="{y}" width="{width:.0f}" height="{BOX}" rx="5"'
        texts.append(f'<rect {box} fill="{COLOURS[colour_of(name)]}"/>')
        texts.append(f'<text x="{x:.0f}" y="{y + 17}">{label_of(name)}</text>')
    for number, (name, colour) in enumerate(COLOURS.items()):
        x = MARGIN + number * 250
        texts.append(f'<rect x="{x}" y="{bottom}" width="16" height="16" rx="3" fill="{colour}"/>')
        texts.append(f'<text x="{x + 24}" y="{bottom + 13}" text-anchor="start">{name}</text>')
    size = f'width="{WIDTH}" height="{bottom + 2 * MARGIN}" viewBox="0 0 {WIDTH} {bottom + 2 * MARGIN}"'
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="13">',
        "<title>Subpackages and their imports</title>",
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#777"/></marker></defs>',
        '<rect width="100%" height="100%" fill="#fff"/>',
        f'<g fill="none" stroke="#999" stroke-width="1">{"".join(lines)}</g>',
        '<g text-anchor="middle" fill="#222">', *texts, "</g>", "</svg>", "",
    ])  # fmt: skip


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf8")
