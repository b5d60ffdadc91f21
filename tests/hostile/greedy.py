"""Small files that fit their schema and require as much time and memory as possible."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np

from spacy_dtparse.bpm_parser.parser import DependencyParser
from spacy_dtparse.core.stored import StoredParser
from spacy_dtparse.dtparse.features.lexicon import Lexicon
from spacy_dtparse.dtparse.features.templates import GROUPS, Position, Templates, compile_templates
from spacy_dtparse.dtparse.kernels.atoms import AtomMap
from spacy_dtparse.dtparse.kernels.features import PARTS_WIDTH
from spacy_dtparse.dtparse.model.model import DtreeModel, hash_table
from spacy_dtparse.dtparse.model.window_filter import WindowFilter
from spacy_dtparse.dtparse.parser import DtreeParser
from spacy_dtparse.model_io.container import container_from_bytes
from spacy_dtparse.nn.packing import pack
from spacy_dtparse.pcfgla.model.latent_part import Emissions, LatentPart
from spacy_dtparse.pcfgla.model.model import PHRASE, TAG, PcfgGrammar, PcfgModel
from spacy_dtparse.pcfgla.parser import PcfgParser
from spacy_dtparse.recurrent_tagger.tagger import RecurrentTagger
from spacy_dtparse.span_parser.model import PackedNetwork, SpanModel
from spacy_dtparse.span_parser.parser import SpanParser
from spacy_dtparse.symbols import SymbolTable
from spacy_dtparse.trees.heads import COLLINS
from spacy_dtparse.trees.tree import TOP
from tests import dependency_models, recurrent_models, span_models
from tests.reference.decision_trees import flatten, random_tree

from .bases import pcfg
from .files import container

REFUSED_AT_ONCE = ("networks without end", "a million arrays", "zeros")


def greedy() -> dict[str, bytes]:
    """Files by name; all but REFUSED_AT_ONCE are valid."""
    makers: dict[str, Callable[[], bytes]] = {
        "span: networks, chains": many_networks,
        "recurrent: tags": many_tags,
        "dependency: stages, labels": many_stages,
        "pcfg: symbols": lambda: long_golden_parses(PcfgParser(symbols(2048))),
        "pcfg: latent values": lambda: long_golden_parses(PcfgParser(latent(400, 1024, 1))),
        "pcfg: products": lambda: long_golden_parses(PcfgParser(latent(50, 24, 32))),
        "dtree: places": lambda: long_golden_parses(DtreeParser(places())),
        "networks without end": lambda: changed("span", n_networks=2**32),
        "a million arrays": lambda: changed("span", [[f"e{k}", "int8", "int8", [0]] for k in range(10**6)]),
        "zeros": lambda: container("span", {}, {"zeros": np.zeros(2**28, np.uint8)}),
    }
    return {name: make() for name, make in makers.items()}


def long_golden_parses(parser: StoredParser) -> bytes:
    """The parser's bytes with as many and as long golden parses as are allowed."""
    words, tags = ["cat"] * 20, ["NN"] * 20
    prover = parser._with_test_settings()
    return parser.FORMAT[1](parser.model, [{"words": words, "tags": tags, **prover.golden_outputs(words, tags)}] * 8)


def changed(kind: str, more: list[list[object]] = [], **fields: object) -> bytes:  # noqa: B006 (never changed)
    """A small model with other fields, and further entries for arrays."""
    meta, arrays = container_from_bytes(SpanParser(span_models.random_model(1)).to_bytes(), kind)
    return container(kind, {**meta, **fields}, arrays, more)


def many_networks() -> bytes:
    """Many copies of one network, for thousands of chains."""
    words, chains = span_models.random_model(1).words, ((), *((f"L{k}",) for k in range(4095)))
    network = span_models.random_network(words.size, len(chains), width=2, units=1, projection=1, layers=1)
    return long_golden_parses(SpanParser(SpanModel(words, chains, (PackedNetwork.pack(network),) * 64, {})))


def many_tags() -> bytes:
    """Thousands of tags."""
    model, tags = recurrent_models.random_model(), tuple(f"T{k}" for k in range(10_000))
    network = recurrent_models.random_network(model.parts.size, len(tags), width=2, units=1, layers=1)
    return RecurrentTagger(replace(model, tags=tags, packed=pack(network))).to_bytes()


def many_stages() -> bytes:
    """As many stages and labels as are allowed."""
    model = dependency_models.random_model(2, decoder="spanning", guide="constituents")
    names = tuple(f"l{k}" for k in range(4092))
    return DependencyParser(replace(model, stages=model.stages[:1] * 4, label_names=names)).to_bytes()


def symbols(n: int) -> PcfgModel:
    """A grammar of that many symbols; any of them can derive two words, and TOP any of them."""
    model, names = pcfg(), [TOP, *(f"T{k}" for k in range(1, n))]
    kind = np.full(n, TAG, np.int8)
    kind[0] = PHRASE
    base = np.arange(n, dtype=np.int32) - (kind == TAG)
    binary = np.stack([np.arange(n), np.ones(n), np.ones(n)], axis=1).astype(np.int32)
    unary = np.stack([np.zeros(n - 1), np.arange(1, n)], axis=1).astype(np.int32)
    grammar = PcfgGrammar(
        tuple(names),
        kind,
        base,
        np.arange(n, dtype=np.int32),
        np.full(n, 1.0 / n),
        binary,
        np.full(n, -1.0),
        unary,
        np.full(n - 1, -9.0),
        one_tag(model, n),
    )
    return PcfgModel(SymbolTable([TOP]), SymbolTable(names[1:]), model.words, grammar, grammar, (), False)


def one_tag(model: PcfgModel, n: int) -> Emissions:
    """Emissions of symbol 1, among `n`, for every class."""
    classes = len(model.words)
    return Emissions(np.arange(classes + 1), np.ones(classes, np.int32), np.full(classes, -1.0), np.full(n, -1.0))


def latent(n: int, size: int, parts: int) -> PcfgModel:
    """That many grammars with `size` values of all of `n` symbols except the root and, for one grammar, the tag."""
    model, sizes = symbols(n), np.full(n, size, np.int32)
    sizes[: 1 if parts > 1 else 2] = 1
    rules = np.array([[0, 1, 1], [1, 1, 1], [0, 1, -1]], np.int32)
    one = int(sizes[1])
    values = np.full(one**2 + one**3 + one, 0.1)
    return replace(model, latent=(LatentPart(sizes, rules, values, one_tag(model, int(sizes.sum()))),) * parts)


def places() -> DtreeModel:
    """Thousands of deep templates over thousands of tags, and many labels."""
    labels, tags = [*(f"L{k}" for k in range(511)), TOP], [*(f"t{k}" for k in range(4095)), "NN"]
    n_atoms, rng = 1000, random.Random(0)
    deep: list[Position] = [
        ("child", a, ("child", b, ("child", c, ("item", where, k))))
        for a in ("first", "head", "last")
        for b in ("first", "head", "last")
        for c in ("first", "head")
        for where in ("left", "right", "start")
        for k in range(60)
    ]
    grouped = tuple(("some_terminal", name, k, False, "tag") for k in range(100) for name in list(GROUPS)[:3])
    pairs = tuple(((one, "label"), (other, "label")) for one, other in pairwise(deep))
    templates = Templates("deep", tuple((place, "label") for place in deep), pairs, grouped, True)
    lexicon = Lexicon.build(labels, tags, ("*rare*", "cat"), "NN")
    direct = np.full(compile_templates(templates, lexicon.sizes)[1], -1, np.int32)
    direct[np.linspace(0, len(direct) - 1, n_atoms).astype(int)] = np.arange(n_atoms)
    none, weights = np.zeros(0, np.int32), np.zeros(2**20, np.int16)
    weights[:100] = 1
    trees = [[random_tree(rng, n_atoms, 4) for _ in range(5)] for _ in range(len(labels) + 1)]
    return DtreeModel(
        lexicon,
        templates,
        COLLINS,
        "shift_reduce",
        64,
        True,
        (),
        AtomMap(direct, *hash_table(none, none), np.array([n_atoms, 0, 0])),
        np.zeros((n_atoms, PARTS_WIDTH), np.int32),
        tuple(flatten(own, rng) for own in trees),
        {},
        window_filter=WindowFilter(weights, (0.001,), (-(2**30),)),
    )
