"""Show what a model of boosted trees has learnt: the strongest rules of each label, in words."""

import argparse

from ..errors import DtparseError
from ..json_text import to_json
from ..stored_names import to_stored
from .pipelines import add_pipeline_arguments, get_component, load_chosen_pipeline, positive_number


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `dtparse rules`."""
    parser.add_argument("--label", metavar="LABEL", help="only this label (*shift*: rules for making no inference)")
    parser.add_argument(
        "--max-rules", type=positive_number, default=5, metavar="N", help="rules per label (default: %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="a JSON object per line and label")
    add_pipeline_arguments(parser)


def run(options: argparse.Namespace) -> None:
    """Print the rules of each label."""
    parser = get_component(load_chosen_pipeline(options)).parser
    if parser.name != "dtree":
        raise DtparseError(
            f"this parser is of kind {parser.name!r}, which has no rules to show; boosted trees have (en_dtparse, "
            "en_trees)"
        )
    from ..dtparse.model.label_rules import label_rules

    labels = [options.label] if options.label is not None else parser.model.names
    found = [label_rules(parser.model, label, options.max_rules) for label in labels]
    print("\n".join(to_json(to_stored(rules)) for rules in found) if options.json else "\n\n".join(map(str, found)))
