"""Phrases by rule: plain sentences of nine languages, and inputs of every kind."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from spacy_dtparse.dependency_phrases.profile import PROFILES, load_profile
from spacy_dtparse.dependency_phrases.rules import find_phrases
from spacy_dtparse.errors import ConfigError
from spacy_dtparse.trees import Tree

from .samples import Sample, brackets, parse_tokens, phrases_of, read_samples

SAMPLES = read_samples()


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: f"{sample.lang}: {' '.join(sample.words)}")
def test_plain_sentences_have_the_phrases_that_a_speaker_expects(sample: Sample):
    assert phrases_of(sample) == sample.expected


def test_there_are_thirty_sentences_of_each_language():
    counts = Counter(sample.lang for sample in SAMPLES)
    assert set(counts) == {"de", "fr", "cs", "ru", "fi", "it", "is", "zh", "ar"}
    assert min(counts.values()) >= 30


def english(line: str, profile: str = "penn") -> str:
    return phrases(line, "en", profile)


def phrases(line: str, lang: str, profile: str = "universal") -> str:
    words, pos, heads, relations, features = parse_tokens(line)
    return brackets(words, find_phrases(words, pos, features, heads, relations, load_profile(profile, lang)).spans)


@pytest.mark.parametrize(
    ("line", "penn", "universal"),
    [
        (
            "Cats/NOUN/4/nsubj and/CCONJ/3/cc dogs/NOUN/1/conj sleep/VERB/0/root/VerbForm=Fin",
            "[S [NP Cats and dogs] [VP sleep]]",
            "[S [NP [NP Cats] and [NP dogs]] [VP sleep]]",
        ),
        (
            "She/PRON/3/nsubj often/ADV/3/advmod sings/VERB/0/root/VerbForm=Fin",
            "[S [NP She] [ADVP often] [VP sings]]",
            "[S [NP She] [VP [ADVP often] sings]]",
        ),
        (
            "They/PRON/2/nsubj made/VERB/0/root/VerbForm=Fin him/PRON/2/obj happy/ADJ/2/xcomp",
            "[S [NP They] [VP made [S [NP him] [ADJP happy]]]]",
            "[S [NP They] [VP made [NP him] [ADJP happy]]]",
        ),
        (
            "He/PRON/2/nsubj says/VERB/0/root/VerbForm=Fin she/PRON/4/nsubj left/VERB/2/ccomp/VerbForm=Fin",
            "[S [NP He] [VP says [SBAR [S [NP she] [VP left]]]]]",
            "[S [NP He] [VP says [S [NP she] [VP left]]]]",
        ),
        (
            "We/PRON/2/nsubj left/VERB/0/root/VerbForm=Fin after/SCONJ/4/mark eating/VERB/2/advcl/VerbForm=Ger",
            "[S [NP We] [VP left [PP after [S [VP eating]]]]]",
            "[S [NP We] [VP left [SBAR after [S [VP eating]]]]]",
        ),
        (
            "I/PRON/2/nsubj know/VERB/0/root/VerbForm=Fin who/PRON/2/ccomp/PronType=Int he/PRON/3/nsubj is/AUX/3/cop",
            "[S [NP I] [VP know [SBAR [WHNP who] [S [NP he] is]]]]",
            "[S [NP I] [VP know [SBAR [WHNP who] [S [NP he] is]]]]",
        ),
        (
            "It/PRON/3/nsubj will/AUX/3/aux rain/VERB/0/root/VerbForm=Inf (/PUNCT/5/punct again/ADV/3/advmod "
            ")/PUNCT/5/punct ./PUNCT/3/punct",
            "[S [NP It] [VP will [VP rain [PRN ( [ADVP again] )]]] .]",
            "[S [NP It] [VP will [VP rain [PRN ( [ADVP again] )]]] .]",
        ),
        (
            "Whom/PRON/4/obj/PronType=Int did/AUX/4/aux you/PRON/4/nsubj see/VERB/0/root/VerbForm=Inf ?/PUNCT/4/punct",
            "[SBARQ [WHNP Whom] [SQ did [NP you] [VP see]] ?]",
            "[SBARQ [WHNP Whom] [SQ did [NP you] [VP see]] ?]",
        ),
    ],
)
def test_penn_profile_differs_in_english_habits(line: str, penn: str, universal: str):
    assert english(line) == penn
    assert english(line, "universal") == universal


def test_an_adverb_with_modifiers_of_nouns_is_one():
    line = "She/PRON/2/nsubj came/VERB/0/root/VerbForm=Fin in/ADP/5/case last/ADJ/5/amod year/ADV/2/obl ./PUNCT/2/punct"
    for words, found in (
        ("last/ADJ/5/amod", "NP"),
        ("last/NUM/5/nummod", "NP"),
        ("last/DET/5/det", "NP"),
        ("last/ADV/5/advmod", "ADVP"),
    ):
        assert f"[PP in [{found} " in english(line.replace("last/ADJ/5/amod", words), "universal")


@pytest.mark.parametrize("lang", ["is", "fr"])
def test_a_clause_with_a_correlate_or_a_conjunction_as_nominal_is_a_noun_phrase(lang: str):
    """Icelandic *Hún byrjar á því að lesa* (she begins by reading); *Hún bendir á að hún fari* (she says that she
    goes), where the conjunction is the head in UD."""
    line = (
        "Hún/PRON/2/nsubj byrjar/VERB/0/root/VerbForm=Fin á/ADP/6/case því/PRON/6/nmod að/PART/6/mark "
        "lesa/VERB/2/obl/VerbForm=Inf"
    )
    assert phrases(line, lang) == "[S [NP Hún] [VP byrjar [PP á [NP [NP því] [S [VP að [VP lesa]]]]]]]"
    assert phrases(line.replace("því/PRON/6/nmod", "því/ADV/6/advmod"), lang).count("NP") == 1
    assert phrases(line.replace("2/obl", "2/advcl"), lang).count("[NP [NP") == 0
    line = (
        "Hún/PRON/2/nsubj bendir/VERB/0/root/VerbForm=Fin á/ADP/4/case að/SCONJ/2/obl hún/PRON/6/nsubj "
        "fari/VERB/4/ccomp/VerbForm=Fin"
    )
    assert phrases(line, lang) == "[S [NP Hún] [VP bendir [PP á [NP [SBAR að [S [NP hún] [VP fari]]]]]]]"


def test_icelandic_has_obliques_of_nouns_and_genitive_pronouns():
    """*Þetta er félag í heimi* (this is a company in the world), *okkar störf* (the work of us)."""
    line = "Þetta/PRON/3/nsubj er/AUX/3/cop félag/NOUN/0/root í/ADP/5/case heimi/NOUN/3/obl"
    assert phrases(line, "is") == "[S [NP Þetta] [VP er [NP [NP félag] [PP í [NP heimi]]]]]"
    assert phrases(line, "de") == "[S [NP Þetta] [VP er [NP félag] [PP í [NP heimi]]]]"
    line = "okkar/PRON/2/nmod:poss/Case=Gen störf/NOUN/3/nsubj sjást/VERB/0/root/VerbForm=Fin"
    assert phrases(line, "is") == "[S [NP [NP okkar] störf] [VP sjást]]"
    assert phrases(line, "de") == "[S [NP okkar störf] [VP sjást]]"


def test_gum_profile_calls_relative_subjects_noun_phrases():
    line = "girls/NOUN/0/root who/PRON/3/nsubj/PronType=Rel sing/VERB/1/acl:relcl/VerbForm=Fin"
    assert english(line) == "[NP [NP girls] [SBAR [WHNP who] [S [VP sing]]]]"
    assert english(line, "gum") == "[NP [NP girls] [SBAR [NP who] [S [VP sing]]]]"


def test_quotation_marks_stay_with_their_partner():
    line = (
        "his/PRON/3/nmod:poss “/PUNCT/3/punct car/NOUN/5/nsubj ”/PUNCT/3/punct broke/VERB/0/root/VerbForm=Fin "
        "./PUNCT/5/punct"
    )
    assert english(line, "universal") == "[S [NP his “ car ”] [VP broke] .]"


@pytest.mark.parametrize("profile", PROFILES)
def test_no_input_breaks_it(profile: str):
    """Random heads, relations and words: constituents nest, cover every token once, and are the same again."""
    rng = np.random.default_rng(7)
    rules = load_profile(profile, "en")
    relations = (
        "nsubj obj obl nmod det amod advmod case mark cc conj aux cop punct acl acl:relcl advcl ccomp xcomp parataxis "
        "flat compound:prt nsubj:outer expl nmod:unmarked odd"
    ).split()
    pos = [*"NOUN VERB ADJ ADV ADP PUNCT PRON DET AUX CCONJ SCONJ PART NUM INTJ SYM X".split(), ""]
    words = ["a", "who", "to", ",", "(", ")", '"', "“", "”", "?", ".", "-", "that", "with"]
    features = ["", "VerbForm=Fin", "VerbForm=Part", "VerbForm=Ger", "PronType=Rel", "Polarity=Neg"]
    for _ in range(300):
        n = int(rng.integers(1, 25))
        low, high = (-2, n + 2) if rng.random() < 0.3 else (-1, n)
        columns = [[str(rng.choice(values)) for _ in range(n)] for values in (words, pos, features)]
        heads = [int(head) for head in rng.integers(low, high, n)]
        labels = [str(rng.choice(relations)) for _ in range(n)]
        found = find_phrases(*columns, heads, labels, rules)
        spans = [(0, n, "TOP"), *found.spans]
        tree = Tree(
            columns[0], ["X"] * n, [label for *_, label in spans], *zip(*[span[:2] for span in spans], strict=True)
        )
        assert found.spans[0][:2] == (0, n) and tree.n_tokens == n
        assert found == find_phrases(*columns, heads, labels, rules)


def test_long_sentences_do_not_recurse():
    n = 3000
    columns = ["w"] * n, ["NOUN"] * n, [""] * n
    chain = find_phrases(*columns, [*range(-1, n - 1)], ["root", *["nmod"] * (n - 1)], load_profile())
    assert len(chain.spans) == 2 * n - 1
    crossing = find_phrases(*columns, [-1, *[(i * 7919) % n for i in range(1, n)]], ["dep"] * n, load_profile())
    assert crossing.spans[0][:2] == (0, n) and crossing.lifted > 0


def test_unknown_profile_is_refused():
    with pytest.raises(ConfigError, match="profile = 'pen'; allowed are 'universal', 'penn', 'gum'"):
        load_profile("pen")
