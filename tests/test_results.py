"""Tests of the results in README and docs: the tables are those that the benchmarks wrote."""

from __future__ import annotations

import re
import subprocess
import sys

from .bench_modules import bench_module
from .documents import ROOT
from .test_documents import MEASURED, prose


def test_result_blocks_are_known():
    """benchmarks/report.py fills every block, and fails with a message for an unknown one."""
    text = "".join((ROOT / name).read_text(encoding="utf8") for name in MEASURED)
    names = re.findall(r"<!-- results: ([\w-]+) -->", text)
    assert len(names) == text.count("<!-- /results -->")
    with bench_module("report") as report:
        assert sorted(names) == sorted(report.TABLES)
        assert sum(path.read_text(encoding="utf8").count("<!-- results: ") for path in report.FILES) == len(names)


def rows(name: str, after: str) -> dict[str, list[str]]:
    """The cells of the rows of the first table after a line, by the first cell."""
    lines = iter((ROOT / name).read_text(encoding="utf8").partition(after)[2].splitlines())
    table: dict[str, list[str]] = {}
    for line in lines:
        if line.startswith("|"):
            first, *cells = (cell.strip() for cell in line.strip("|").split("|"))
            table[first] = cells
        elif table:
            break
    return table


def test_readme_numbers_are_the_measured_ones():
    """The numbers of the default pipeline are those of the table that benchmarks/report.py fills, and of the section
    about boosted trees, which has those of the network, too; the others are somewhere in docs."""
    shown = rows("README.md", "## Accuracy and speed")
    measured = rows("docs/experiments/shipped.md", "<!-- results: accuracy -->")
    trees = rows("docs/experiments/shipped.md", "## Boosted trees with a span model")
    large = rows("docs/experiments/shipped.md", "## The large pipeline")
    for table in (large, trees):
        table["everyday_test"] = table["everyday test, 480 trees"]
    names = [name for name in measured if not set(name) & set("- (")]
    assert names == ["everyday", "everyday_test", "masc", "gum", "craft", "genia", "wsj"]
    for name in names[1:]:  # the README has the test set of everyday only
        f1, evalb, exact = measured[name][1:4]
        cells = next(cells for first, cells in shown.items() if first.startswith(name.replace("_", " ")))
        assert cells[:3] == [large[name][0], f"{f1} / {evalb}, {exact}", trees[name][0]] and trees[name][2] == cells[1]
    speeds = [
        cell.replace(" / ", " and ") for cell in shown["tokens per second from raw text, one core (news / fiction)"][:3]
    ]
    section = prose("docs/experiments/shipped.md").partition("## The large pipeline")[2]
    assert f"the pipeline {speeds[0]} from raw text" in section
    assert f"`en_dtparse` {speeds[1]}, `en_span` {speeds[2]} (" in section
    text = "".join((ROOT / name).read_text(encoding="utf8") for name in MEASURED)
    part = prose("README.md").partition("## Accuracy and speed")[2].partition("\n## ")[0]
    numbers = re.findall(r"\d+\.\d\d? / \d+\.\d\d?(?=[ ;.]|$)|\d+\.\d\d?|\d+,\d{3}", part)
    assert len(numbers) > 40
    for number in numbers:
        assert re.search(rf"(?<![\d.]){re.escape(number)}(?!\d)", text), f"{number} is in no table of docs"


def test_report_fills_blocks(tmp_path):
    (tmp_path / "load.json").write_text(
        '{"results": {"one": {"import_spacy_dtparse": 0.02, "load": 1.25, "import_kernels": 0.1, "first_parse": 0.04,'
        ' "rss_after_imports_mb": 99.5, "rss_after_load_mb": 220.4, "rss_after_parse_mb": 221.6,'
        ' "bytes": 12300000}}}'
    )
    page = tmp_path / "page.md"
    page.write_text(
        "a\n<!-- results: load -->\nold\n<!-- /results -->\nb\n<!-- results: speed -->\nkept\n<!-- /results -->\n"
    )
    script = [sys.executable, str(ROOT / "benchmarks" / "report.py"), "--results", str(tmp_path), str(page)]
    done = subprocess.run(script, capture_output=True, text=True, check=True)
    assert done.stdout == "page.md: load\n"
    text = page.read_text()
    assert "old" not in text and "| pipeline on disk | 12.3 MB |" in text and "kept" in text
    subprocess.run(script, capture_output=True, check=True)
    assert page.read_text() == text  # filling twice changes nothing
    page.write_text("<!-- results: nonsense -->\n<!-- /results -->\n")
    failed = subprocess.run(script, capture_output=True, text=True)
    assert failed.returncode == 1 and "no table 'nonsense'" in failed.stderr
