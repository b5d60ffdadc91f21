"""Commands that collect, check and convert treebank files."""

import argparse
import sys
from functools import partial

from spacy_dtparse.errors import ConfigError, DtparseError

from ..runs.files import write_json
from . import declaring as arg

command = partial(arg.declare, "Data")


@command(
    "collect build/assets --names craft genia gum masc --out build/treebanks",
    arg.path("folder", "folder with one subfolder per treebank, as downloaded"),
    arg.option("--names NAME[:WEIGHT] +", "treebanks: craft, genia, gum, masc", required=True),
    arg.path("--out", "folder for NAME/{train,dev}.mrg", required=True),
    arg.ERRORS,
)
def collect(options: argparse.Namespace) -> int:
    """Collect public treebanks: convert their projects' files to train.mrg and dev.mrg, one tree per line.

    assets/splits.json assigns each document to a part; test parts are left out.
    """
    from training.data.collecting import collect_treebank, layouts
    from training.data.treebanks import parse_weighted_names

    known, names, failed = layouts(), list(parse_weighted_names(options.names)), []
    for name in names:
        try:
            collected = collect_treebank(options.folder, name, options.out, known)
        except (DtparseError, OSError) as error:
            print(f"training: error: {name}: {error}", file=sys.stderr)
            failed.append(name)
        else:
            print("\n".join(collected.lines()))
    if failed:
        print(f"{len(failed)} of {len(names)} treebanks not collected: {', '.join(failed)}", file=sys.stderr)
    if len(failed) < len(names):
        converted = " ".join(name for name in names if name not in failed)
        print(
            "Checksums differ from the published ones if a project's repository has changed; to compare them: "
            f"python -m training verify {options.out} {converted}"
        )
    return 1 if failed else 0


@command(
    "verify assets sample",
    arg.path("folder", "folder with one subfolder per treebank"),
    arg.option("names NAME[:WEIGHT] +", "treebanks, such as craft or sample"),
    arg.ERRORS,
)
def verify(options: argparse.Namespace) -> int:
    """Check treebank files: compare them with published checksums, or at least read every tree."""
    from training.data.treebanks import parse_weighted_names
    from training.data.verify import verify

    checks = verify(options.folder, list(parse_weighted_names(options.names)))
    for check in checks:
        how = "as published" if check.published else "readable; no checksum has been published"
        state = f"FAILED: {check.problem}" if check.problem else f"{check.trees} trees, {how}"
        print(f"{check.path}: {state}")
    failed = sum(bool(check.problem) for check in checks)
    if failed:
        print(f"{failed} of {len(checks)} files failed; download them again")
    return 1 if failed else 0


@command(
    "convert assets sample --out build/corpus",
    arg.path("folder", "folder with one subfolder per treebank"),
    arg.option("names NAME[:WEIGHT] +", "treebanks, such as craft or sample"),
    arg.path("--out", "folder for NAME/{train,dev}.mrg and NAME/dev.spacy", required=True),
    *arg.CONVERTING,
    arg.ERRORS,
)
def convert(options: argparse.Namespace) -> None:
    """Convert treebanks to cleaned bracketed trees for the trainers and to spaCy's binary format for spacy evaluate."""
    from training.data.converting import convert_treebank
    from training.data.treebanks import parse_weighted_names

    for name in parse_weighted_names(options.names):
        converted = convert_treebank(options.folder, name, options.out, arg.parse_conversion(options))
        print(f"{name}: " + ", ".join(f"{count} {part} trees" for part, count in converted.counts.items()))
        print(*(f"  {line}" for line in converted.findings), sep="\n")


@command(
    "split assets/sample/train.mrg assets/sample/dev.mrg --parts train=300 test=60 --out build/treebanks/mine",
    arg.path("files FILE +", "files of bracketed trees"),
    arg.option("--parts NAME=N +", "number of trees in each part", required=True),
    arg.number("--seed", 0, "random seed for the order of the trees"),
    arg.option("--encoding", "encoding of the files (default: utf-8)", default="utf-8"),
    arg.ERRORS,
    arg.path("--out", "folder for PART.mrg", required=True),
)
def split(options: argparse.Namespace) -> None:
    """Split the trees of one or several files at random into parts: train.mrg, dev.mrg and others."""
    from training.data.splitting import split_files

    given = [text.partition("=") for text in options.parts]
    if not all(name and size.isdecimal() for name, _, size in given):
        raise ConfigError(f"--parts {' '.join(options.parts)}: give NAME=N for each part: train=300 test=60")
    parts = {name: int(size) for name, _, size in given}
    split_files(options.files, parts, options.out, options.seed, options.encoding)
    print(f"{options.out}: " + ", ".join(f"{size} {name} trees" for name, size in parts.items()))


@command(
    "heads build/corpus/sample/train.mrg --out build/heads.json",
    arg.option(f"files {arg.READ_SPEC} +", "bracketed trees"),
    arg.ERRORS,
    arg.path("--out", "file for the rules, JSON", required=True),
)
def heads(options: argparse.Namespace) -> None:
    """Learn head rules from trees: which child of a constituent is its head.

    You can edit the rules and pass them to train-span, train-boosted and spines as --heads.
    """
    from training.data.heads import learn_head_rules
    from training.data.treebanks import TreebankFile, read_files

    rules = learn_head_rules(s.tree for s in read_files(map(TreebankFile.parse, options.files)))
    write_json(options.out, rules.to_dict())
    for label, ((mode, order), *_) in rules.rules.items():
        print(f"{label:10} {mode:6} {' '.join(order[:12])}{' …' if len(order) > 12 else ''}")


@command("conventions assets/everyday/train.mrg", arg.path("files FILE +", "files of bracketed trees"), arg.ERRORS)
def conventions(options: argparse.Namespace) -> int:
    """List the everyday trees that violate the conventions of assets/everyday/GUIDE.md."""
    from training.data.conventions import check_conventions

    found = [problem for path in options.files for problem in check_conventions(path)]
    print("\n".join(found) if found else "all trees follow the conventions")
    return bool(found)
