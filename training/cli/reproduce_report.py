"""Make tables and plots of what `reproduce` measured, beside the figures that the papers print."""

import argparse
from pathlib import Path

from spacy_dtparse.errors import ConfigError

ROOT = Path(__file__).resolve().parents[2]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `reproduce-report`."""
    parser.add_argument("results", type=Path, nargs="?", default=Path("build/2006"), help="the folder of all runs")
    parser.add_argument(
        "--page",
        type=Path,
        default=ROOT / "docs" / "studies" / "turian2006.md",
        help="file whose blocks <!-- 2006: NAME --> are filled (default: docs/studies/turian2006.md)",
    )
    parser.add_argument("--images", type=Path, help="folder for the plots (default: img beside the page)")


def run(options: argparse.Namespace) -> None:
    """Fill the page and draw the plots, and say which."""
    from training.studies.plans import RESULT, fill_blocks, load_results
    from training.studies.turian2006.running import PLAN
    from training.studies.turian2006.tables import TABLES, draw_plots

    results = load_results(options.results, PLAN)
    if not results:
        raise ConfigError(f"{options.results} has no RUN/{RESULT}; make some with: python -m training reproduce")
    filled = fill_blocks(options.page, "2006", TABLES, results)
    drawn = draw_plots(results, options.images or options.page.parent / "img")
    print(f"{options.page}: {', '.join(filled) or 'nothing to fill'}")
    for path in drawn:
        print(path)
