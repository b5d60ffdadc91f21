"""Train the gate of a boosted-tree parser anew, and say on dev how many windows it saves."""

import argparse
from pathlib import Path

from spacy_dtparse.cli.pipelines import natural_number
from spacy_dtparse.errors import ConfigError

from .treebanks import add_treebanks, treebanks_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `gate`."""
    parser.add_argument("model", type=Path, help="the model file")
    add_treebanks(parser, dev="to measure on")
    parser.add_argument("--bits", type=natural_number, default=20, help="size of its table, as a power of two")
    parser.add_argument("--seed", type=natural_number, default=0)
    parser.add_argument("--out", type=Path, required=True, help="the model file to write")


def run(options: argparse.Namespace) -> None:
    """Write the model with its new gate; the table shows what each setting of `gate` loses and keeps."""
    from spacy_dtparse.models import find_model
    from spacy_dtparse.parsers.dtree import DtreeParser
    from training.data.treebanks import read_files
    from training.dtree.gate import derivations_of, gate_shares, train_gate, with_gate
    from training.runs.files import write_atomically

    if not 2 <= options.bits <= 24:
        raise ConfigError(f"--bits is {options.bits}; it must be from 2 to 24")
    train, dev = treebanks_of(options)
    parser = DtreeParser.from_disk(find_model(options.model))
    search = parser.compiled.search

    def log(what: str, **facts: float) -> None:
        print(f"{what}: " + ", ".join(f"{name} {value:.6g}" for name, value in facts.items()), flush=True)

    derivations, skipped = derivations_of(parser.model, read_files(train))
    if skipped:
        print(f"{skipped} trees with labels that the model does not have were left out")
    gate = train_gate(search.grammar, search.heads, derivations, options.bits, options.seed, log)
    if dev:
        held_out, _ = derivations_of(parser.model, read_files(dev))
        print("gate    margin  right windows lost  windows scored")
        for share, found in gate_shares(search.grammar, search.heads, held_out, gate).items():
            print(f"{share:<6g}  {found['margin']:6.2f}  {found['lost']:18.3%}  {found['scored']:14.1%}")
    write_atomically(options.out, DtreeParser(with_gate(parser.model, gate)).to_bytes())
    print(f"{options.out}: {options.out.stat().st_size / 1e6:.2f} MB")
