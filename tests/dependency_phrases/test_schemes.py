"""Label schemes: which are known, and ClearNLP's labels as Universal Dependencies."""

import pytest

from spacy_dtparse.dependency_phrases.profile import load_profile
from spacy_dtparse.dependency_phrases.rules import find_phrases
from spacy_dtparse.dependency_phrases.schemes import CLEARNLP, UNIVERSAL, find_scheme, to_universal
from spacy_dtparse.errors import ConfigError

from .samples import brackets, parse_tokens


def test_schemes_are_found_by_their_labels():
    assert find_scheme(["nsubj", "ROOT", "obl:mod", "acl:relcl"]) == UNIVERSAL
    assert find_scheme(["nsubj", "ROOT", "dobj", "nmod:prep", "neg"]) == UNIVERSAL  # version 1
    assert find_scheme(["nsubj", "ROOT", "prep", "pobj"]) == CLEARNLP
    assert find_scheme([]) == UNIVERSAL


def test_other_schemes_are_refused_by_name():
    with pytest.raises(ConfigError, match=r"those of the TIGER treebank \(mo, nk, oa, sb\).*Universal Dependencies"):
        find_scheme(["sb", "oa", "nk", "mo", "ROOT"])
    with pytest.raises(ConfigError, match=r"of no known scheme \(adv, atr, pred\)"):
        find_scheme(["Pred", "Atr", "Adv"])


def clearnlp(line: str, profile: str = "universal") -> str:
    words, pos, heads, labels, features = parse_tokens(line)
    heads, relations = to_universal(CLEARNLP, pos, heads, labels)
    rules = load_profile(profile, "en", True)
    return brackets(words, find_phrases(words, pos, features, heads, relations, rules).spans)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "She/PRON/2/nsubj lives/VERB/0/ROOT in/ADP/2/prep the/DET/5/det house/NOUN/3/pobj of/ADP/5/prep "
            "Paul/PROPN/6/pobj ./PUNCT/2/punct",
            "[S [NP She] [VP lives [PP in [NP [NP the house] [PP of [NP Paul]]]]] .]",
        ),
        (
            "He/PRON/2/nsubj is/AUX/0/ROOT a/DET/4/det cook/NOUN/2/attr ./PUNCT/2/punct",
            "[S [NP He] [VP is [NP a cook]] .]",
        ),
        ("They/PRON/2/nsubj are/AUX/0/ROOT happy/ADJ/2/acomp", "[S [NP They] [VP are [ADJP happy]]]"),
        (
            "It/PRON/4/nsubjpass was/AUX/4/auxpass n't/PART/4/neg seen/VERB/0/ROOT/VerbForm=Part by/ADP/4/agent "
            "Anna/PROPN/5/pobj",
            "[S [NP It] [VP was [VP n't seen [PP by [NP Anna]]]]]",
        ),
        (
            "apples/NOUN/6/nsubj ,/PUNCT/1/punct pears/NOUN/1/conj and/CCONJ/3/cc plums/NOUN/3/conj fall/VERB/0/ROOT",
            "[S [NP [NP apples] , [NP pears] and [NP plums]] [VP fall]]",
        ),
        (
            "We/PRON/2/nsubj left/VERB/0/ROOT without/ADP/2/prep eating/VERB/3/pcomp bread/NOUN/4/dobj",
            "[S [NP We] [VP left [SBAR without [S [VP eating [NP bread]]]]]]",
        ),
        (
            "She/PRON/2/nsubj wants/VERB/0/ROOT to/PART/4/aux give/VERB/2/xcomp it/PRON/4/dobj to/ADP/4/dative "
            "him/PRON/6/pobj",
            "[S [NP She] [VP wants [S [VP to [VP give [NP it] [PP to [NP him]]]]]]]",
        ),
    ],
)
def test_clearnlp_labels(line: str, expected: str):
    assert clearnlp(line) == expected


def test_unknown_labels_are_dep():
    assert to_universal(UNIVERSAL, ["X", "X"], [-1, 0], ["ROOT", "strange"]) == ([-1, 0], ["root", "dep"])
