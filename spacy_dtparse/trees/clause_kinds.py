"""The kind of a clause: main, relative, complement, adverbial or quotation, from labels and the words around it."""

from . import verb_words as words_of
from .gaps import is_wh
from .labels import QUOTE_TAGS
from .noun_phrases import CLAUSES, NOUN_PHRASES
from .predicates import PredicateFinder

KINDS = ("main", "relative", "complement", "adverbial", "quotation")
_COMPLEMENTIZERS = frozenset(("that", "whether"))
_TIMES = frozenset(("when", "whenever", "where", "wherever", "while"))
_PREPOSITIONS = frozenset(
    "after before by with without while since upon on in when despite besides instead until".split()
)
_QUOTES = frozenset(("``", "''", '"', "“", "”", "'", "‘", "’"))
_OPENING = (("``",), ('"',), ("“",), ("'",), ("‘",))
_PUNCTUATION = frozenset((",", ":", ".", "``", "''", "-LRB-", "-RRB-", "HYPH"))


def clause_kind(finder: PredicateFinder, k: int) -> str:
    """The kind of clause `k`, one of KINDS; `k` is a clause as `PredicateFinder.clause_of` finds it, or a VP.

    "main": no other clause contains it, or it is coordinated with a main clause or stands in parentheses. "relative":
    it modifies a noun (*who came*, *sold here*). "complement": a subject, an object, or the complement of an adjective,
    noun or preposition (*that he came*, *to go*, *what he said*). "adverbial": any other (*because he came*, *to buy
    milk* after *went*). "quotation": speech or thought with its verb outside and quotation marks or an inverted verb.
    A conjunct has the kind of the whole coordination.
    """
    while True:
        above = finder.parents[k]
        if above < 0:
            return "main"
        label = finder.labels[above]
        if _is_quoted_beside_speaker(finder, k, above):
            return "quotation"
        if _is_conjunct(finder, k, above):
            k = finder.clause_of(above) if label in CLAUSES else above
            continue
        if label == "PRN" and finder.labels[k] == "SBAR":  # (*as he says*), (*which is true*)
            return "relative" if any(is_wh(finder, kid) for kid in finder.children[k]) else "adverbial"
        if label in ("TOP", "FRAG", "PRN", "X", "LST", "INTJ", "TITLE", "HEADING", "CAPTION", "META") or (
            label not in CLAUSES | {"VP", "NP", "WHNP", "PP", "ADJP", "ADVP", "NX", "NML", "RRC", "WHPP", "WHADVP"}
        ):
            return "main" if label != "UCP" else "complement"
        if label in NOUN_PHRASES or label in ("NX", "NML", "RRC"):
            return _kind_in_noun_phrase(finder, k, above)
        if label == "PP":
            return _kind_in_prepositional_phrase(finder, above)
        if label in ("ADJP", "ADVP", "WHPP", "WHADVP"):
            return "adverbial" if _first_word(finder, k) in ("than", "as", "because", "since", "when") else "complement"
        if _is_quoted(finder, k, above):
            return "quotation"
        return _kind_in_verb_phrase(finder, k, above) if label == "VP" else _kind_in_clause(finder, k, above)


def antecedent(finder: PredicateFinder, k: int) -> tuple[int, int] | None:
    """The tokens [start, end) of the phrase that a relative clause `k` modifies; None for another clause."""
    while _is_conjunct(finder, k, finder.parents[k]) and finder.labels[finder.parents[k]] in CLAUSES | {"VP"}:
        k = finder.parents[k]
    if clause_kind(finder, k) != "relative":
        return None
    kids = finder.children[finder.parents[k]]
    before = kids[: kids.index(k)]
    while before and finder.name(before[-1]) in _PUNCTUATION:
        before = before[:-1]
    nominal = [kid for kid in before if finder.name(kid) in ("NP", "NX", "NML")]
    if nominal and (len(nominal) == 1 or finder.name(before[-1]) != "NP") and nominal[-1] == before[0]:
        return finder.extent(nominal[-1])
    if nominal and finder.name(before[-1]) == "NP":
        return finder.extent(before[-1])
    return (finder.extent(before[0])[0], finder.extent(before[-1])[1]) if before else None


def _is_conjunct(finder: PredicateFinder, k: int, above: int) -> bool:
    """Whether clause `k` is coordinated in the constituent above, or is the same clause as that."""
    if above < 0:
        return False
    label, own = finder.labels[above], finder.labels[k]
    if finder.is_frame(above) or (finder.extent(above) == finder.extent(k) and label in CLAUSES):
        return True
    if label == "VP":
        return own == "VP" and not any(finder.name(kid) in ("VBD", "VBZ", "VBP", "VB", "VBG", "VBN")
                                       for kid in finder.children[above])  # fmt: skip
    if label not in CLAUSES:
        return False
    kids = finder.children[above]
    if any(kid >= 0 and finder.labels[kid] == "VP" for kid in kids) or finder.by_core.get(above):
        return False
    if own == "SBAR" and label != "SBAR":  # *if it rains, he stays and she goes*
        return not any(finder.name(kid) in ("S", "SQ", "SINV", "SBARQ") for kid in kids)
    return True


def _first_word(finder: PredicateFinder, k: int) -> str:
    """The first word of a clause that is no adverb or quotation mark before a conjunction (*even if*)."""
    start, end = finder.extent(k)
    for i in range(start, min(end, start + 3)):
        if finder.tree.tags[i] not in QUOTE_TAGS and finder.words[i] not in (
            "even",
            "just",
            "only",
            "especially",
            "so",
        ):
            return finder.words[i]
    return finder.words[start]


def _is_to_infinitive(finder: PredicateFinder, k: int) -> bool:
    start, end = finder.extent(k)
    while start < end - 1 and finder.tree.tags[start] == "RB":
        start += 1
    return finder.tree.tags[start] == "TO"


def _kind_in_noun_phrase(finder: PredicateFinder, k: int, above: int) -> str:
    kids = finder.children[above]
    place = kids.index(k)
    if not any(finder.name(kid) not in _PUNCTUATION | {"RB", "ADVP", "PDT"} for kid in kids[:place]):
        return "complement"  # *what he said* as a noun phrase
    if finder.labels[k] == "VP":
        return "relative"
    if finder.labels[k] == "S":
        return "complement"  # *the decision to go*
    inner = finder.children[k]
    if any(is_wh(finder, kid) or finder.name(kid) in ("WHPP", "WHADVP") for kid in inner):
        return "relative"
    if len(inner) == 1:
        return "relative"
    return "complement" if _first_word(finder, k) in _COMPLEMENTIZERS | {"if"} else "adverbial"


def _kind_in_prepositional_phrase(finder: PredicateFinder, above: int) -> str:
    parent = finder.parents[above]
    label = finder.labels[parent] if parent >= 0 else ""
    word = finder.words[finder.tree.starts[above]]
    return "adverbial" if label in CLAUSES | {"VP", "TOP", "PP"} and word in _PREPOSITIONS else "complement"


def _is_quoted(finder: PredicateFinder, k: int, above: int) -> bool:
    """Whether clause `k` is in quotation marks, or stands before an inverted or following verb of speech."""
    start, end = finder.extent(k)
    tags, words = finder.tree.tags, finder.tree.words
    verbs = [finder.words[one.verb] for one in finder.by_core.get(above, []) if one.verb >= end]
    around = finder.by_phrase.get(above)
    if finder.labels[above] == "VP":
        verbs = [finder.words[around.verb]] if around is not None else []
    if finder.labels[k] == "SBAR" and _first_word(finder, k) in _COMPLEMENTIZERS:
        return False
    speaks = any(verb in words_of.SPEECH for verb in verbs)
    if not speaks:
        return False
    left = start - 1
    while left >= 0 and tags[left] in (",", ":") and words[left] not in _QUOTES:
        left -= 1
    opens = (left >= 0 and words[left] in _QUOTES) or words[start] in _QUOTES
    if opens:
        return True
    if finder.labels[above] in ("S", "SINV") and finder.labels[k] in ("S", "SQ", "SBARQ", "SINV"):
        kids = finder.children[above]
        return any(finder.name(kid) in (",", "''", ".") for kid in kids[kids.index(k) + 1 :][:2]) and not (
            _is_to_infinitive(finder, k) or tags[start] in ("VBG", "VBN")
        )
    return False


def _is_quoted_beside_speaker(finder: PredicateFinder, k: int, above: int) -> bool:
    """Whether clause `k` is in quotation marks beside a clause without any that reports it (*“I go”, she said*)."""
    start = finder.extent(k)[0]
    words = finder.tree.words
    if finder.labels[above] not in CLAUSES or not (words[start] in _QUOTES or words[start - 1 : start] in _OPENING):
        return False
    for other in finder.clauses_below(above):
        found = finder.by_clause.get(finder.clause_of(other), [])
        first, last = finder.extent(other)
        if other != k and found and finder.words[found[0].verb] in words_of.SPEECH and last - first < 8:
            if not found[0].objects and found[0].clause_object is None and not _QUOTES.intersection(words[first:last]):
                return words[first - 1 : first] not in _OPENING
    return False


def _kind_in_verb_phrase(finder: PredicateFinder, k: int, above: int) -> str:
    kids = finder.children[above]
    one = finder.by_phrase.get(above)
    verb = finder.words[one.verb] if one is not None else ""
    before = kids[: kids.index(k)]
    has_comma = bool(before) and finder.name(before[-1]) == ","
    since_verb = [kid for kid in before if finder.extent(kid)[0] > (one.verb if one is not None else -1)]
    others = [kid for kid in since_verb if finder.name(kid) not in ("RB", "ADVP", "PRT", ",", ":", "``", "''")]
    label = finder.labels[k]
    if label in ("S", "VP"):
        first = finder.tree.tags[finder.extent(k)[0]]
        if _is_to_infinitive(finder, k):
            is_future = verb == "going" and one is not None and len(one.group) > 1  # *is going to talk*
            if (
                has_comma
                or (verb in words_of.MOTION and not is_future)
                or (one is not None and one.passive and verb not in words_of.CONTROL)
            ):
                return "adverbial" if verb not in words_of.RAISING else "complement"
            if any(finder.name(kid) == "PP" for kid in others) and verb not in words_of.CONTROL:
                return "adverbial"
            if any(finder.name(kid) == "NP" for kid in others) and not _takes_clause(verb):
                return "adverbial"
            return "complement"
        if first in ("VBG", "VBN") or (first == "RB" and finder.tree.tags[finder.extent(k)[0] + 1] == "VBG"):
            return "adverbial" if has_comma or others else "complement"
        return "complement"
    word = _first_word(finder, k)
    inner = finder.children[k]
    names = [finder.name(kid) for kid in inner]
    if word in _COMPLEMENTIZERS:
        return "complement"
    if finder.words[finder.extent(k)[0]] == "so":
        return "adverbial"
    if any(is_wh(finder, kid) for kid in inner):
        return "adverbial" if has_comma else "complement"
    if "WHADVP" in names or "WHPP" in names or word in _TIMES:
        is_question = word not in _TIMES or (verb in words_of.QUESTION and not others and not has_comma)
        return "complement" if is_question or (verb in words_of.BE and not others) else "adverbial"
    if word == "if":
        asks = verb in words_of.QUESTION and not has_comma and not any(finder.name(kid) == "PP" for kid in others)
        is_conditional = one is not None and any(finder.words[i] in words_of.CONDITIONAL for i in one.group)
        return "complement" if asks and not is_conditional and verb not in ("say", "said") else "adverbial"
    if word == "for" and finder.is_frame(k):
        return "complement" if verb in words_of.LINKING or verb in words_of.CONTROL or not others else "adverbial"
    if word == "like" or (word == "as" and "IN" in names):
        return "adverbial"
    return "adverbial" if "IN" in names else "complement"


def _takes_clause(verb: str) -> bool:
    """Whether a verb's infinitive after its object is a complement."""
    return verb in words_of.CONTROL or verb in words_of.LINKING or verb in words_of.HAVE


def _kind_in_clause(finder: PredicateFinder, k: int, above: int) -> str:
    """The kind of a clause directly in another one, beside its verb phrase."""
    found = finder.by_core.get(above, [])
    if any(k in (one.subject, one.complement, one.clause_object, *one.objects) for one in found):
        return "complement"
    if any(one.subject is not None and one.subject >= 0 and _contains(finder, one.subject, k) for one in found):
        return "complement"
    if finder.labels[k] in ("SQ", "SBARQ"):
        return "main"
    start = finder.extent(k)[0]
    if finder.labels[k] == "S" and not _is_to_infinitive(finder, k) and finder.tree.tags[start] not in ("VBG", "VBN"):
        first = next(iter(finder.by_clause.get(finder.clause_of(k), [])), None)
        if first is not None and finder.tree.tags[first.group[0]] not in ("VBG", "VBN", "TO"):
            return "main"
    return "adverbial"


def _contains(finder: PredicateFinder, node: int, k: int) -> bool:
    return finder.extent(node)[0] <= finder.extent(k)[0] and finder.extent(k)[1] <= finder.extent(node)[1]
