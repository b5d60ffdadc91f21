"""Chunks of a tree: non-recursive phrases as in the shared task of CoNLL-2000, and their IOB tags.

Source of the definition: Tjong Kim Sang & Buchholz (2000), Introduction to the CoNLL-2000 Shared Task: Chunking,
section 2. A chunk contains the syntactic head of a constituent and what stands to its left in the constituent, but no
arguments and no modifiers after it, so chunks neither nest nor overlap. The code follows the text of the paper.
"""

from .heads import COLLINS, HeadRules
from .labels import PUNCTUATION_TAGS, base_label
from .tree import Tree

CHUNK_LABELS = ("NP", "VP", "PP", "SBAR", "ADJP", "ADVP", "PRT", "CONJP", "INTJ", "LST", "UCP")
"""The labels of chunks."""
OUTSIDE = "O"
"""The tag of a token that is in no chunk."""

_CHUNK_OF = {
    **{label: label for label in CHUNK_LABELS},
    "WHNP": "NP", "NX": "NP", "NAC": "NP", "NML": "NP", "QP": "NP",
    "WHPP": "PP", "WHADJP": "ADJP", "WHADVP": "ADVP",
}  # fmt: skip
"""Label of a constituent -> label of its chunk. Others (clauses, fragments, parentheses) have none of their own."""
_FLAT = frozenset(("PRT", "CONJP", "INTJ", "UCP"))
"""Constituents whose chunk is every token that is directly in them."""
_BRACKETS = frozenset(("-LRB-", "-RRB-"))
_EDGES = PUNCTUATION_TAGS | _BRACKETS | {"CC", "HYPH", "NFP"}
"""Tags of tokens that are in no chunk unless words of the chunk stand on both sides."""
_VERBS = frozenset(("MD", "TO", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ"))
_PREPOSITIONS = frozenset(("IN", "TO", "VBG", "VBN", "RP"))
_POSSESSIVE = "POS"
_NOUN_PHRASES = frozenset(("NP", "WHNP"))

Chunk = tuple[int, int, str]
"""First token, one past the last token, and label."""


def chunks(tree: Tree, rules: HeadRules = COLLINS) -> list[Chunk]:
    """The chunks of a tree, (start, end, label), from left to right; they do not overlap.

    `rules`: head rules for noun, adjective and adverb phrases.
    """
    return _Chunker(tree, rules).chunks()


def chunk_tags(tree: Tree, rules: HeadRules = COLLINS) -> list[str]:
    """The IOB tag of each token of a tree (n strings): B-NP for the first token of an NP chunk, I-NP for a further one,
    O for a token in no chunk. Every chunk begins with B, as in the data of CoNLL-2000 (IOB2)."""
    tags = [OUTSIDE] * tree.n_tokens
    for start, end, label in chunks(tree, rules):
        tags[start:end] = [f"B-{label}", *[f"I-{label}"] * (end - start - 1)]
    return tags


class _Chunker:
    """Gives each token the key of its chunk: the constituent that the chunk belongs to. Without recursion: constituents
    are visited in pre-order, so an outer one claims its tokens before the inner ones, which leave them."""

    def __init__(self, tree: Tree, rules: HeadRules):
        self.tree, self.rules = tree, rules
        self.children = tree.child_lists()
        self.labels = [base_label(label) for label in tree.labels]
        self.tags = [base_label(tag) for tag in tree.tags]
        self.keys: list[tuple[int, str] | None] = [None] * tree.n_tokens
        self.joined: dict[int, tuple[int, str]] = {}
        """Constituent -> the key of the chunk that its own chunk continues."""
        self.closed = [False] * len(tree)
        """Whether an outer chunk contains all of a constituent."""

    def chunks(self) -> list[Chunk]:
        parents = self.tree.parents()
        for k, label in enumerate(self.labels):
            if k and self.closed[parents[k]]:
                self.closed[k] = True
            if self.closed[k]:
                continue
            if label == "VP":
                self._verb_phrase(k)
            elif label in _NOUN_PHRASES or _CHUNK_OF.get(label) in ("NP", "ADJP", "ADVP"):
                self._headed_phrase(k)
            elif label in ("PP", "WHPP", "SBAR"):
                self._introduced_phrase(k)
            elif label == "LST":
                self._claim(self.tree.starts[k], self.tree.ends[k], (k, "LST"))
            elif label in _FLAT:
                self._claim_tokens([~child for child in self.children[k] if child < 0], (k, label))
            elif k in self.joined:  # a clause that consists of a verb phrase
                self.joined.update({child: self.joined[k] for child in self.children[k] if child >= 0})
        return self._collect()

    def _collect(self) -> list[Chunk]:
        """The runs of tokens with the same key, without punctuation and conjunctions at their edges."""
        found: list[Chunk] = []
        start = 0
        for end in range(1, len(self.keys) + 1):
            if end < len(self.keys) and self.keys[end] == self.keys[start]:
                continue
            key = self.keys[start]
            first, last = start, end
            if key is not None:
                edges = _EDGES if key[1] not in ("LST", "CONJP") else frozenset()
                while first < last and self.tags[first] in edges:
                    first += 1
                while first < last and self.tags[last - 1] in edges:
                    last -= 1
                if first < last:
                    found.append((first, last, key[1]))
            start = end
        return found

    def _claim(self, start: int, end: int, key: tuple[int, str]) -> None:
        """Put the free tokens of [start, end) in a chunk."""
        self._claim_tokens(range(start, end), key)

    def _claim_tokens(self, tokens: range | list[int], key: tuple[int, str]) -> None:
        for token in tokens:
            if self.keys[token] is None:
                self.keys[token] = key

    def _span(self, child: int) -> tuple[int, int]:
        return (self.tree.starts[child], self.tree.ends[child]) if child >= 0 else (~child, ~child + 1)

    def _name(self, child: int) -> str:
        return self.labels[child] if child >= 0 else self.tags[~child]

    def _take(self, children: list[int], key: tuple[int, str]) -> None:
        """Put children with all that they contain in a chunk."""
        for child in children:
            self._claim(*self._span(child), key)
            if child >= 0:
                self.closed[child] = True

    def _headed_phrase(self, k: int) -> None:
        """NP, ADJP, ADVP and the like: up to the head, and tokens directly after it.

        A noun phrase before the head is a chunk of its own: *68 years* in *68 years old*, the owner in *the dog's big
        tail*, whose possessive marker begins the chunk after it. If the head is a constituent of the same kind, words
        before it are in its chunk (*only a boy*).
        """
        children = self.children[k]
        names = [self._name(child) for child in children]
        label = _CHUNK_OF[self.labels[k]]
        key = self.joined.get(k, (k, label))
        marks_owner = label == "NP" and len(names) > 1 and names[-1] == _POSSESSIVE and children[-1] < 0
        named = names[:-1] if marks_owner else names
        if marks_owner:  # unless it begins the chunk of a noun phrase around this one
            self._claim_tokens([~children[-1]], (~k, label))
        head = self.rules.head_child(self.labels[k], named)
        target = children[head]
        if target >= 0 and _CHUNK_OF.get(self.labels[target]) == label and self.labels[target] in _PHRASES[label]:
            self.joined[target] = key  # its chunk is ours, with the words before it
            first = head
            while first and children[first - 1] < 0 and self.tags[~children[first - 1]] not in _EDGES:
                first -= 1
            self._claim_tokens([~child for child in children[first:head]], key)
            return
        if target >= 0 and names[head] not in _ASSIMILATED:
            self._claim_tokens([~child for child in children if child < 0 and self._name(child) not in _EDGES], key)
            return
        first = 0
        for index in range(head):
            if names[index] in _NOUN_PHRASES or (label != "NP" and names[index] in _CLAUSAL):
                first = index + 1
        end = head + 1
        while end < len(named) and (children[end] < 0 or (names[end] in _ASSIMILATED and label == "NP")):
            if children[end] >= 0 and names[end] not in ("QP", "NML", "NX", "NAC"):
                break
            end += 1
        self._take(children[first:end], key)
        if first and names[first - 1] in _NOUN_PHRASES and label == "NP":
            self._move_possessive(children[first - 1], key)

    def _move_possessive(self, owner: int, key: tuple[int, str]) -> None:
        """Let the chunk after a possessive noun phrase begin with its marker."""
        last = self.tree.ends[owner] - 1
        if self.tags[last] == _POSSESSIVE:
            self._claim(last, last + 1, key)

    def _verb_phrase(self, k: int) -> None:
        """Verbs, and words between and before them: auxiliaries, *to*, adverbs in front of the main verb.

        An infinitive or participle directly after the verb continues the chunk (*may not want to sell*).
        """
        children = self.children[k]
        key = self.joined.get(k, (k, "VP"))
        inner = [child for child in children if child >= 0 and self.labels[child] == "VP"]
        if not any(self._is_verb(child) for child in children):
            if inner and (len(inner) == 1 or children[0] == inner[0]):
                before = children[: children.index(inner[0])]
                if all(self._is_adverbial(child) for child in before):
                    self._take(before, key)
                    self.joined[inner[0]] = key
            return
        run: list[int] = []  # children since the last argument
        after: list[int] = []  # those of them after the last verb
        for child in children:
            if self._is_verb(child):
                self._take([*run, child], key)
                run = after = []
                after = [child]
            elif self._is_adverbial(child) or child < 0:
                run = [*run, child]
            elif after and self._continues(child) and all(self._is_adverbial(one) for one in run):
                self._take(run, key)
                self.joined[child] = key
                return
            else:
                run, after = [], []

    def _is_verb(self, child: int) -> bool:
        return child < 0 and self.tags[~child] in _VERBS

    def _is_adverbial(self, child: int) -> bool:
        return self.labels[child] in _ADVERBIAL if child >= 0 else self.tags[~child] not in _EDGES

    def _continues(self, child: int) -> bool:
        """Whether a constituent is a verb phrase, or a clause that consists of one that is not finite."""
        if child < 0:
            return False
        if self.labels[child] == "VP":
            return True
        inside = self.children[child]
        return self.labels[child] == "S" and len(inside) == 1 and inside[0] >= 0 and self.labels[inside[0]] == "VP"

    def _introduced_phrase(self, k: int) -> None:
        """PP and SBAR: the preposition or complementizer, with the words and adverbs before it."""
        children = self.children[k]
        label = _CHUNK_OF[self.labels[k]]
        last = -1
        for index, child in enumerate(children):
            name = self._name(child)
            if child >= 0 and name not in _ADVERBIAL:
                if name in _NOUN_PHRASES and last < 0:
                    continue  # *two years* after
                break
            if child < 0 and (label == "SBAR" or name in _PREPOSITIONS or last < 0):
                last = index
        if last < 0:
            return
        first = 0
        for index in range(last):
            if children[index] >= 0 and self._name(children[index]) in _NOUN_PHRASES:
                first = index + 1
        self._take(children[first : last + 1], (k, label))


_ADVERBIAL = frozenset(("ADVP", "WHADVP", "RB"))
_CLAUSAL = frozenset(("S", "SBAR", "PP", "VP"))
_ASSIMILATED = frozenset(("QP", "NML", "NX", "NAC", "ADJP", "UCP", "ADVP", "JJP", "LST"))
"""Heads of phrases that are no chunks of their own inside them."""
_PHRASES = {
    "NP": _NOUN_PHRASES | {"NX", "NAC", "NML"},
    "ADJP": frozenset(("ADJP", "WHADJP")),
    "ADVP": frozenset(("ADVP", "WHADVP")),
}
