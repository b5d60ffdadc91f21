"""Commands about annotation."""

import argparse
from functools import partial

from spacy_dtparse.errors import ConfigError

from . import declaring as arg

command = partial(arg.declare, "Parsers")


@command(
    "simulate-annotation assets/sample/dev.mrg,limit=50 --strategies largest best",
    arg.option(f"files {arg.READ_SPEC} +", "bracketed gold trees"),
    arg.ERRORS,
    arg.option("--pipeline", "pipeline folder, or the name of an English parser (default: en_dtparse)"),
    arg.option(
        "--strategies +",
        "best (default): of the page's statements the one that corrects most brackets; largest: the largest missing "
        "constituent, or else the largest superfluous one",
        choices=("best", "largest"),
        default=["best"],
    ),
    arg.number("--min-words", 3, "leave out sentences of fewer words", minimum=1),
    arg.number("--max-words", 40, "leave out sentences of more words", minimum=1),
    arg.number("--sentences", 200, "maximum number of sentences of each file", minimum=1),
    arg.path("--json FILE", "also write the records to this file"),
)
def simulate_annotation(options: argparse.Namespace) -> None:
    """Annotate gold trees with a simulated annotator: statements per sentence until the parser's tree is the gold tree.

    The parser gets predicted tags, and parses each sentence again under all statements about it.
    """
    from spacy_dtparse.cli.pipelines import get_component
    from spacy_dtparse.pipeline.embedded import load_named
    from training.annotation.simulation import simulate, summarize, summary_table
    from training.data.evaluate import tag_lists
    from training.data.treebanks import TreebankFile

    nlp = load_named(options.pipeline)
    parser = get_component(nlp).configured_parser
    records = []
    for file in map(TreebankFile.parse, options.files):
        trees = [sentence.tree for sentence in file.read()]
        gold = [tree for tree in trees if options.min_words <= tree.n_tokens <= options.max_words][: options.sentences]
        if not gold:
            raise ConfigError(f"{file.path}: no sentence of {options.min_words} to {options.max_words} words")
        tags = tag_lists(nlp, (tree.words for tree in gold))
        for strategy in options.strategies:
            found = summarize(simulate(parser, gold, tags, strategy))
            records.append({"treebank": file.name, "strategy": strategy, **found})
    print(summary_table(records))
    arg.write_results(options, records)


@command(
    "simulate-learning assets/sample/train.mrg --dev assets/sample/dev.mrg,limit=20 --learn-at 25 --orders random",
    arg.option(f"file {arg.READ_SPEC}", "bracketed gold trees, whose sentences are annotated"),
    arg.option(f"--dev {arg.READ_SPEC}", "gold trees to score models on", required=True),
    arg.ERRORS,
    arg.option("--pipeline", "pipeline folder, or the name of an English parser (default: en_dtparse)"),
    arg.flag("--from-nothing", "begin without a parser, a span model and a tagger; models get the gold tags"),
    arg.option("--learn-at N +", "numbers of trees after which a model is trained", type=int, required=True),
    arg.option(
        "--orders +",
        "random, or chosen: most expected errors per token first, under the pipeline's parser (default: both)",
        choices=("random", "chosen"),
    ),
    arg.number("--min-words", 3, "leave out sentences of fewer words", minimum=1),
    arg.number("--max-words", 40, "leave out sentences of more words", minimum=1),
    arg.option("--network-from N", "from N trees on, train the network, too, and take the better model", type=int),
    arg.number("--pool", 600, "number of sentences, drawn by chance, to annotate some of", minimum=1),
    arg.number("--seed", 0, "random seed"),
    arg.path("--json FILE", "also write the records to this file, after each"),
)
def simulate_learning(options: argparse.Namespace) -> None:
    """Simulate annotation with learning beside it: statements, and F1 on a dev part, after some numbers of trees."""
    import random

    from spacy_dtparse.annotation.corrector import Corrector
    from spacy_dtparse.annotation.suspicions import span_model_of
    from spacy_dtparse.pipeline.embedded import load_named
    from training.annotation.learning import annotated_sentences
    from training.annotation.loop import Task, loop_table, simulate_loop
    from training.data.evaluate import tag_lists
    from training.data.treebanks import TreebankFile

    file, dev_file = map(TreebankFile.parse, (options.file, options.dev))
    pool, dev = ([sentence.tree for sentence in one.read()] for one in (file, dev_file))
    pool = [tree for tree in pool if options.min_words <= tree.n_tokens <= options.max_words]
    random.Random(options.seed).shuffle(pool)
    pool = pool[: options.pool]
    if max(options.learn_at) > len(pool):
        raise ConfigError(f"--learn-at {max(options.learn_at)}: there are only {len(pool)} sentences; give less")
    orders = options.orders or ["random", *([] if options.from_nothing else ["chosen"])]
    when = options.learn_at, options.seed, options.network_from
    if options.from_nothing:
        if "chosen" in orders:
            raise ConfigError("--orders chosen needs a parser with probabilities, which --from-nothing does not have")
        pooled, scored = (annotated_sentences(trees, [tree.tags for tree in trees]) for trees in (pool, dev))
        task = Task(pooled, scored, None, None, *when)
        by_order = {"random": list(range(len(pool)))}
    else:
        corrector = Corrector(load_named(options.pipeline))
        parser, nlp = corrector.parser, corrector.nlp
        pooled, scored = (
            annotated_sentences(trees, tag_lists(nlp, (one.words for one in trees))) for trees in (pool, dev)
        )
        task = Task(pooled, scored, parser, span_model_of(parser), *when)
        by_order = {"random": list(range(len(pool)))}
        if "chosen" in orders:
            errors = []
            for one in pooled:
                tree = parser.parse(one.tree.words, one.tags).tree
                errors.append(corrector.expected_errors(one.tree.words, one.tags, tree) or 0.0)
            by_order["chosen"] = sorted(range(len(pool)), key=lambda index: -errors[index])
    records = []
    for order in orders:
        for record in simulate_loop(task, by_order[order]):
            records.append({"treebank": file.name, "order": order, **record})
            print(loop_table(records[-1:]), flush=True)
            arg.write_results(options, records)
    print(loop_table(records))
