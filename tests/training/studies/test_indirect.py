"""The indirect store against the direct one: same rows, same leaves, same label data, same ensembles."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from spacy_dtparse.dtparse.features.tables import get_templates
from spacy_dtparse.dtparse.features.templates import compile_templates
from spacy_dtparse.dtparse.kernels import features as k
from spacy_dtparse.dtparse.kernels.state import STRATEGIES
from spacy_dtparse.dtparse.model.model import make_grammar
from spacy_dtparse.errors import TrainingDataError
from spacy_dtparse.trees import Recipe
from spacy_dtparse.trees.heads import COLLINS
from spacy_dtparse.trees.heads_compiled import compile_head_rules
from tests.jit.harness import gold
from training.data.corpus import read_treebank, training_tree
from training.dtparse.boosting.labels import open_label_data
from training.dtparse.boosting.learner import LabelLearner
from training.dtparse.boosting.store import DirectStore, Store, open_store
from training.dtparse.boosting.tree import DecisionTree, single_leaf
from training.dtparse.examples import STORES, collect_atoms, write_stores
from training.dtparse.recipe import LearnerConfig
from training.dtparse.training_set import build_lexicon
from training.studies.turian2006.indirect import (
    UNKNOWN,
    IndirectStore,
    atom_templates,
    is_hashed,
    reduce_table,
    sequence_template,
)

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

TREEBANK = Path(__file__).parents[3] / "assets" / "sample" / "train.mrg"
TABLES = ("baseline", "kitchen_sink", "standard")
N_SENTENCES = 12


@cache
def sample_trees():
    recipe = Recipe(("strip_empty", "drop_repeated_unary"))
    return [training_tree(sentence, recipe) for sentence in read_treebank(TREEBANK, limit=N_SENTENCES)]


def setting(strategy: str, table: str, max_arity: int = 5):
    """Arguments of write_stores and build_all but the folder."""
    trees = sample_trees()
    lexicon = build_lexicon(trees, 2)
    templates = get_templates(table)
    grammar = make_grammar(strategy, max_arity, True, len(lexicon.labels), templates.reach())
    heads = compile_head_rules(COLLINS, lexicon.symbols)
    derivations = [gold(lexicon, tree, strategy, number, 1.0 + number % 3) for number, tree in enumerate(trees)]
    atoms, _ = collect_atoms(grammar, heads, templates, lexicon, derivations, 2, 18)
    return grammar, heads, templates, lexicon, atoms, derivations


def build_both(folder: Path, arguments) -> tuple[dict, dict]:
    """Stores of both kinds below `folder`; returns what the two builders reported."""
    direct = write_stores(folder / "direct", *arguments)
    atoms = arguments[4]
    for store in STORES:
        DirectStore.build(folder / "direct" / store, int(atoms.state[0]))
    return direct, IndirectStore.build_all(folder / "indirect", *arguments)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """(folder, arguments, reports) of a strategy and table, built once."""
    made: dict[tuple[str, str], tuple] = {}

    def get(strategy: str, table: str):
        key = strategy, table
        if key not in made:
            folder = tmp_path_factory.mktemp(f"{strategy}-{table}")
            arguments = setting(strategy, table)
            made[key] = folder, arguments, build_both(folder, arguments)
        return made[key]

    return get


def random_tree(rng: np.random.Generator, atoms: np.ndarray, n_splits: int) -> DecisionTree:
    """A tree that splits its leaves at random by some of `atoms`."""
    columns: list[list[int]] = [[-1], [-1], [-1]]
    for _ in range(n_splits):
        node = int(rng.choice([node for node, test in enumerate(columns[0]) if test < 0]))
        size = len(columns[0])
        for column, value in zip(columns, (int(rng.choice(atoms)), size, size + 1), strict=True):
            column[node] = value
            column += [-1, -1]
    return DecisionTree(*(np.array(column, dtype=np.int32) for column in columns))


def one_split(atom: int) -> DecisionTree:
    """Node 1 has the atom, node 2 has not."""
    return DecisionTree(*(np.array(column, dtype=np.int32) for column in ([atom, -1, -1], [1, -1, -1], [2, -1, -1])))


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_rows_leaves_and_label_data_are_those_of_the_direct_store(built, strategy, table):
    folder, _, (direct_totals, indirect_totals) = built(strategy, table)
    assert direct_totals == indirect_totals
    rng = np.random.default_rng(3)
    for name in STORES:
        direct, indirect = (open_store(str(folder / kind / name)) for kind in ("direct", "indirect"))
        assert isinstance(indirect, Store) and type(indirect) is IndirectStore
        assert (indirect.n_examples, indirect.n_atoms) == (direct.n_examples, direct.n_atoms)
        for mine, theirs in zip(
            open_label_data(folder / "indirect" / name), open_label_data(folder / "direct" / name), strict=True
        ):
            assert mine.dtype == theirs.dtype and mine.tobytes() == theirs.tobytes()
        n = direct.n_examples
        if name == "shift" and strategy != "shift_reduce":
            assert n == 0
            continue
        assert n >= N_SENTENCES
        for size in (0, 1, n // 7, n):
            ids = np.sort(rng.choice(n, size=size, replace=False)).astype(np.int32)
            for mine, theirs in zip(indirect.rows(ids), direct.rows(ids), strict=True):
                assert mine.dtype == theirs.dtype and np.array_equal(mine, theirs)
        used = np.unique(direct.rows(np.arange(n))[1])
        for tree in (single_leaf(), *(random_tree(rng, used, size) for size in (1, 2, 5, 20, 40, 40))):
            expected = direct.percolate(tree)
            got = indirect.percolate(tree)
            assert got.dtype == expected.dtype and np.array_equal(got, expected)
            assert len(tree.atom) == 1 or name != "window" or len(np.unique(got)) > 1


@pytest.mark.parametrize("table", TABLES)
def test_every_single_atom_is_found_in_its_template(built, table):
    """A reduced table of one template at a time emits each atom wherever the full table does."""
    folder, _, _ = built("shift_reduce", table)
    direct, indirect = (open_store(str(folder / kind / "window")) for kind in ("direct", "indirect"))
    indptr, atoms = direct.rows(np.arange(direct.n_examples))
    row = np.repeat(np.arange(direct.n_examples), np.diff(indptr))
    template = indirect.source.template
    assert (template != UNKNOWN).all()
    kinds = set()
    step = max(1, indirect.n_atoms // 150)
    for atom in range(0, indirect.n_atoms, step):
        tree = one_split(atom)
        assert np.array_equal(np.flatnonzero(indirect.percolate(tree) == 1), row[atoms == atom])
        kinds.add(bool(is_hashed(indirect.source.table, template[atom])))
    assert kinds == ({True, False} if table == "standard" else {False})
    if table == "standard":
        assert (template == sequence_template(indirect.source.table)).any()


def test_a_reduced_table_keeps_only_what_its_templates_need():
    arguments = setting("shift_reduce", "standard")
    table, _ = compile_templates(arguments[2], arguments[3].sizes)
    everything = np.arange(sequence_template(table) + 1)
    for mine, theirs in zip(reduce_table(table, everything), table, strict=True):
        assert mine.dtype == theirs.dtype and np.array_equal(mine, theirs)
    nothing = reduce_table(table, everything[:0])
    assert sum(len(part) for part in (nothing.positions, nothing.slots, nothing.unary, nothing.tuples)) == 0
    assert nothing.sequence[0] == -1 and not nothing.bounds.any()
    child = int(np.flatnonzero(table.positions[table.slots[table.unary, 0], 0] == k.CHILD)[0])
    one = reduce_table(table, np.array([child]))
    assert len(one.positions) == 2 and one.positions[1, 2] == 0, "a child of an item needs the item's place"
    assert len(one.slots) == 1 and one.unary.tolist() == [0] and one.slots[0, 0] == 1


def test_atoms_that_no_derivation_has_reach_no_row(tmp_path):
    """The store of fewer sentences than the map was made from; a sequence the map was not told about is
    still one."""
    grammar, heads, templates, lexicon, atoms, derivations = setting("shift_reduce", "standard")
    few = derivations[:2]
    arguments = (grammar, heads, templates, lexicon, atoms, few)
    build_both(tmp_path, arguments)
    direct, indirect = (open_store(str(tmp_path / kind / "window")) for kind in ("direct", "indirect"))
    present = np.unique(direct.rows(np.arange(direct.n_examples))[1])
    assert len(present) < direct.n_atoms
    rng = np.random.default_rng(0)
    for _ in range(10):
        tree = random_tree(rng, np.arange(direct.n_atoms), 30)
        assert np.array_equal(direct.percolate(tree), indirect.percolate(tree))
    table = indirect.source.table
    parts = np.zeros((direct.n_atoms, k.PARTS_WIDTH), dtype=np.int32)
    hashed = np.unique(atoms.values[atoms.keys != 0])
    assert set(atom_templates(table, atoms, parts)[hashed]) == {sequence_template(table)}
    without = reduce_table(table, np.arange(sequence_template(table)))
    assert set(atom_templates(without, atoms, parts)[hashed]) == {UNKNOWN}


def test_a_small_row_buffer_grows_and_the_rows_stay_the_same(built):
    folder, _, _ = built("shift_reduce", "kitchen_sink")
    direct = open_store(str(folder / "direct" / "window"))
    fresh = IndirectStore.open(folder / "indirect" / "window")
    fresh._rows = np.empty(1, dtype=np.int32)
    ids = np.arange(0, direct.n_examples, 2)
    for mine, theirs in zip(fresh.rows(ids), direct.rows(ids), strict=True):
        assert np.array_equal(mine, theirs)
    assert len(fresh._rows) <= 1.5 * direct.rows(ids)[0][-1] + fresh.n_atoms


@pytest.mark.parametrize(
    ("strategy", "table", "size"), [("shift_reduce", "kitchen_sink", 300), ("bottom_up", "standard", 500)]
)
def test_training_gives_the_same_bytes(built, strategy, table, size):
    folder, arguments, _ = built(strategy, table)
    config = LearnerConfig(sample_size=size, max_splits=12)
    labels = arguments[3].labels
    splits = 0
    for name, store in (("NP", "window"), ("VP", "window"), ("TOP", "top"), ("shift", "shift")):
        if store == "shift" and strategy != "shift_reduce":
            continue
        number = len(labels) if name == "shift" else labels.id_of(name)
        ensembles = []
        for kind in ("direct", "indirect"):
            path = folder / kind / store
            learner = LabelLearner(open_store(str(path)), open_label_data(path), number, name, config)
            learner.fit(0.05, max_trees=5)
            ensembles.append(learner.ensemble)
        for mine, theirs in zip(ensembles[1], ensembles[0], strict=True):
            assert mine.tobytes() == theirs.tobytes()
        splits += int((ensembles[1].atom >= 0).sum())
    assert splits > 40


def test_another_process_opens_the_same_store(built):
    folder, _, _ = built("r2l", "standard")
    path = folder / "indirect" / "window"
    code = (
        "import sys; from training.dtparse.boosting.store import open_store; import numpy as np\n"
        "store = open_store(sys.argv[1])\n"
        "indptr, atoms = store.rows(np.arange(0, store.n_examples, 5))\n"
        "checksum = int((atoms * np.arange(len(atoms)) % 9973).sum())\n"
        "print(type(store).__name__, store.n_examples, int(indptr[-1]), checksum)"
    )
    run = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    indptr, atoms = open_store(str(folder / "direct" / "window")).rows(
        np.arange(0, open_store(str(path)).n_examples, 5)
    )
    checksum = int((atoms * np.arange(len(atoms)) % 9973).sum())
    assert run.stdout.split() == [
        "IndirectStore",
        str(open_store(str(path)).n_examples),
        str(int(indptr[-1])),
        str(checksum),
    ]


def test_errors_name_the_value(built, tmp_path):
    folder, _, _ = built("shift_reduce", "kitchen_sink")
    store = open_store(str(folder / "indirect" / "window"))
    n = store.n_atoms
    with pytest.raises(TrainingDataError, match=f"atom {n}, but the store has atoms 0 to {n - 1}"):
        store.percolate(one_split(n))
    for ids in ([0, store.n_examples], [-1], [3, 2]):
        with pytest.raises(IndexError, match="must be ascending"):
            store.rows(np.array(ids))
    moved = tmp_path / "window"
    moved.mkdir()
    for file in (folder / "indirect" / "window").iterdir():
        (moved / file.name).write_bytes(file.read_bytes())
    with pytest.raises(TrainingDataError, match="move the folder of all stores as a whole"):
        IndirectStore.open(moved)
