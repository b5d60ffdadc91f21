"""Template tables reduced to some of their templates, and the template each atom comes from.

The templates of a table are numbered through: unary, tuples, grouped, then the sequence.
"""

import numpy as np

from spacy_dtparse.dtypes import INDEX
from spacy_dtparse.kernels.trees import features as k
from spacy_dtparse.kernels.trees.atoms import AtomMap

from .indirect_kernels import Stages

UNKNOWN = -1
"""Template of an atom that no derivation has; no row can hold it."""

_PACKED = ("places", "slots", "unary", "unary_base", "tuples", "grouped", "grouped_base")
_HEAD_GROUPS = (k.HEAD_LEFT, k.HEAD_RIGHT, k.NON_HEAD)


def sequence_template(table: k.TemplateTable) -> int:
    """Number of the sequence template, which comes last (whether the table has it or not)."""
    return len(table.unary) + len(table.tuples) + len(table.grouped)


def is_hashed(table: k.TemplateTable, templates: np.ndarray) -> np.ndarray:
    """Whether the atoms of each of `templates` are found by hash key; bool, of the same shape."""
    place = templates - len(table.unary)
    return ((place >= 0) & (place < len(table.tuples))) | (templates == sequence_template(table))


def atom_templates(table: k.TemplateTable, atoms: AtomMap, parts: np.ndarray) -> np.ndarray:
    """The template of every atom, int32 (n_atoms,), or UNKNOWN.

    `parts`: what `record_parts` wrote while all derivations were replayed. It leaves out sequences that are
    too long for it, so a hashed atom it does not know is a sequence, where the table has that template.
    """
    n_unary, n_tuples = len(table.unary), len(table.tuples)
    sequence = sequence_template(table)
    template = np.full(int(atoms.state[0]), UNKNOWN, dtype=INDEX)
    held = np.flatnonzero(atoms.direct >= 0)
    bases = np.concatenate([table.unary_base, table.grouped_base])
    place = np.searchsorted(bases, held, side="right") - 1
    template[atoms.direct[held]] = np.where(place < n_unary, place, place + n_tuples)
    hashed = atoms.values[atoms.keys != 0]
    if len(hashed):
        unseen = sequence if table.sequence[0] >= 0 else UNKNOWN
        of_seed = np.full(n_tuples + 1, unseen, dtype=INDEX)  # from a tuple's number in the hash to its row
        of_seed[table.tuples[:, 3]] = n_unary + np.arange(n_tuples)
        template[hashed] = np.where(parts[hashed, 1] > 0, of_seed[parts[hashed, 0]], unseen)
    return template


def reduce_table(table: k.TemplateTable, templates: np.ndarray) -> k.TemplateTable:
    """`table` with only the given templates (numbers, ascending) and the places and slots they need.

    A template keeps its place in the direct map or its hash seed, so its atoms are found as with the full table.
    """
    n_unary, sequence = len(table.unary), sequence_template(table)
    wanted = np.zeros(sequence + 1, dtype=bool)
    wanted[templates] = True
    unary, tuples, grouped = np.split(wanted[:sequence], [n_unary, n_unary + len(table.tuples)])
    new_tuples = table.tuples[tuples]
    members = new_tuples[:, :3]
    slot_used, place_used = np.zeros(len(table.slots), dtype=bool), np.zeros(len(table.places), dtype=bool)
    slot_used[table.unary[unary]] = True
    slot_used[members[members >= 0]] = True
    slots = table.slots[slot_used]
    place_used[slots[:, 0]] = True
    is_child = table.places[:, 0] == k.CHILD
    for place in np.flatnonzero(is_child)[::-1]:  # a child comes after its parent
        place_used[table.places[place, 2]] |= place_used[place]
    new_place = np.cumsum(place_used) - 1
    new_slot = np.append(np.cumsum(slot_used) - 1, -1)  # the last entry stands for an unused member, -1
    places = table.places[place_used]
    is_child = is_child[place_used]
    places[is_child, 2] = new_place[places[is_child, 2]]
    slots[:, 0] = new_place[slots[:, 0]]
    new_tuples[:, :3] = new_slot[members]
    bounds = np.zeros_like(table.bounds)
    for column, kept in ((0, place_used), (2, slot_used), (4, unary), (6, wanted[n_unary:])):
        before = np.concatenate([[0], np.cumsum(kept)])
        bounds[:, column : column + 2] = before[table.bounds[:, column : column + 2]]
    return k.TemplateTable(
        places=places,
        slots=slots,
        unary=new_slot[table.unary[unary]].astype(INDEX),
        unary_base=table.unary_base[unary],
        tuples=new_tuples,
        groups=table.groups,
        grouped=table.grouped[grouped],
        grouped_base=table.grouped_base[grouped],
        sequence=table.sequence if wanted[sequence] else np.array([-1], dtype=INDEX),
        bounds=bounds,
    )


def make_stages(table: k.TemplateTable, templates: np.ndarray) -> Stages:
    """The given templates, each a stage of its own, in their order."""
    singles = [reduce_table(table, np.array([template])) for template in templates]
    sizes = np.zeros(4, dtype=INDEX)  # places, slots, unary templates and tuples so far
    bounds = np.zeros((len(singles), 2, 8), dtype=INDEX)
    flags = np.zeros((len(singles), 3), dtype=INDEX)
    for s, one in enumerate(singles):
        one.places[one.places[:, 0] == k.CHILD, 2] += sizes[0]
        one.slots[:, 0] += sizes[0]
        one.tuples[:, :3] += np.where(one.tuples[:, :3] >= 0, sizes[1], 0).astype(INDEX)
        one.unary[:] += sizes[1]
        bounds[s] = one.bounds + np.repeat(sizes, 2)
        sizes += np.array([len(one.places), len(one.slots), len(one.unary), len(one.tuples)], dtype=INDEX)
        shared = np.diff(one.bounds[k.SHARED].reshape(4, 2), axis=1)[:, 0]
        groups = one.groups[one.grouped[:, 1]]
        flags[s, 0] = shared[2] + shared[3] > 0
        flags[s, 1] = shared[1] > 0 and not flags[s, 0]
        flags[s, 2] = one.places[:, 3].any() or np.isin(groups[:, 0], _HEAD_GROUPS).any() or groups[:, 2].any()
    empty = reduce_table(table, np.zeros(0, dtype=np.int64))
    return Stages(
        empty._replace(**{name: np.concatenate([getattr(one, name) for one in (empty, *singles)]) for name in _PACKED}),
        bounds,
        np.cumsum([0, *(len(one.grouped) for one in singles)], dtype=INDEX),
        np.array([one.sequence for one in singles], dtype=INDEX).reshape(len(singles), 1),
        flags,
    )
