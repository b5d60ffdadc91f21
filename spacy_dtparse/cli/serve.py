"""Serve a web page that shows the tree of a sentence typed by the user."""

import argparse

from .pipelines import add_pipeline_arguments, load_chosen_pipeline, natural_number


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `dtparse serve`."""
    add_address_arguments(parser)
    add_pipeline_arguments(parser)


def add_address_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options for the address of a page: `--port`, `--host`."""
    parser.add_argument(
        "--port", type=natural_number, default=5000, metavar="N", help="0: any free port (default: %(default)s)"
    )
    parser.add_argument(
        "--host", default="localhost", metavar="NAME", help="address to listen at (default: this machine only)"
    )


def run(options: argparse.Namespace) -> None:
    """Serve until Ctrl-C."""
    nlp = load_chosen_pipeline(options)

    from ..web.server import serve

    serve(nlp, options.port, options.host)
