"""The parts of clauses, on hand-written trees: verbs, subjects, objects, kinds, own words, who did what."""

from __future__ import annotations

import pytest
import spacy
from spacy.tokens import Doc
from spacy.vocab import Vocab

import spacy_dtparse
from spacy_dtparse import antecedent, clause_kind, clause_tokens, clauses, objects, predicates, subject, triples, verb
from spacy_dtparse.errors import ConfigError, NonConstituentError, NotParsedError
from spacy_dtparse.trees.clause_kinds import KINDS

from .test_attributes import gold_doc, texts


@pytest.fixture(autouse=True)
def registered():
    spacy_dtparse.register_extensions()


def said(doc):
    """The triples as strings: who | what is done | to whom."""
    return [
        " | ".join(("-" if one.subject is None else one.subject.text, " ".join(map(str, one.verb)),
                    "-" if one.object is None else one.object.text))
        for one in triples(doc)
    ]  # fmt: skip


CASES = {
    "plain": (
        "(S (NP (DT The) (NN hen)) (VP (VBD laid) (NP (DT an) (NN egg))) (. .))",
        ["The hen | laid | an egg"], "main",
    ),
    "passive with agent": (
        "(S (NP (DT The) (NN house)) (VP (VBD was) (VP (VBN built) (PP (IN by) (NP (NNP Jack))))) (. .))",
        ["Jack | was built | The house"], "main",
    ),
    "passive without agent, got": (
        "(S (NP (PRP He)) (VP (VBD got) (VP (VBN bitten))) (. .))", ["- | got bitten | He"], "main",
    ),
    "passive of a verb with two objects": (
        "(S (NP (PRP She)) (VP (VBD was) (VP (VBN given) (NP (DT a) (NN rose)) (PP (IN by) (NP (NNP Tom))))))",
        ["Tom | was given | a rose"], "main",
    ),
    "two objects": (
        "(S (NP (PRP I)) (VP (VBD gave) (NP (PRP her)) (NP (DT a) (NN rose))))", ["I | gave | a rose"], "main",
    ),
    "auxiliaries and negation": (
        "(S (NP (PRP He)) (VP (MD should) (RB not) (VP (VB have) (VP (VBN been) (VP (VBG eating) (NP (NN soup)))))))",
        ["He | should not have been eating | soup"], "main",
    ),
    "never as an adverb phrase": (
        "(S (NP (PRP He)) (VP (VBZ has) (ADVP (RB never)) (VP (VBN lied))))", ["He | has never lied | -"], "main",
    ),
    "particle": (
        "(S (NP (PRP She)) (VP (VBD took) (PRT (RP off)) (NP (PRP$ her) (NN coat))))",
        ["She | took off | her coat"], "main",
    ),
    "copula": ("(S (NP (PRP He)) (VP (VBZ is) (NP (DT a) (NN nurse))))", ["He | is | a nurse"], "main"),
    "linking verb": ("(S (NP (PRP He)) (VP (VBD became) (NP (DT a) (NN nurse))))", ["He | became | a nurse"], "main"),
    "there is": (
        "(S (NP (EX There)) (VP (VBP are) (NP (NP (CD three) (NNS mice)) (PP (IN in) (NP (NN bed))))))",
        ["three mice in bed | are | -"], "main",
    ),
    "there used to be": (
        "(S (NP (EX There)) (VP (VBD used) (S (VP (TO to) (VP (VB be) (NP (DT a) (NN mill)))))))",
        ["a mill | used | to be a mill", "a mill | to be | -"], "main complement",
    ),
    "imperative": ("(S (VP (VB Close) (NP (DT the) (NN door))) (. !))", ["- | Close | the door"], "main"),
    "imperative with a name": (
        "(S (NP (NNP Ann)) (, ,) (VP (VB close) (NP (DT the) (NN door))))", ["- | close | the door"], "main",
    ),
    "negated imperative": (
        "(S (VP (VB Do) (RB not) (VP (VB feed) (NP (DT the) (NNS ducks)))))", ["- | Do not feed | the ducks"], "main",
    ),
    "question": (
        "(SQ (VBD Did) (RB n't) (NP (PRP she)) (VP (VB buy) (NP (DT the) (NN hat))) (. ?))",
        ["she | Did n't buy | the hat"], "main",
    ),
    "question with a copula": (
        "(SQ (VBZ Is) (NP (PRP he)) (NP (DT a) (NN nurse)) (. ?))", ["he | Is | a nurse"], "main",
    ),
    "question for the subject": (
        "(SBARQ (WHNP (WP Who)) (SQ (VP (VBD saw) (NP (NNP Ann)))) (. ?))", ["Who | saw | Ann"], "main",
    ),
    "question for the object": (
        "(SBARQ (WHNP (WP What)) (SQ (VBD did) (NP (NNP Ann)) (VP (VB see))) (. ?))", ["Ann | did see | What"], "main",
    ),
    "question for a stranded preposition's noun": (
        "(SBARQ (WHNP (WP Who)) (SQ (VBD did) (NP (PRP she)) (VP (VB talk) (PP (TO to)))) (. ?))",
        ["she | did talk | -"], "main",
    ),
    "relative word as subject": (
        "(S (NP (NP (DT The) (NN man)) (SBAR (WHNP (WP who)) (S (VP (VBD came))))) (VP (VBD sat)))",
        ["The man | came | -", "The man who came | sat | -"], "main relative",
    ),
    "relative word as object": (
        "(S (NP (NP (DT The) (NN book)) (SBAR (WHNP (WDT that)) (S (NP (PRP I)) (VP (VBD gave) (NP (PRP her)))))) "
        "(VP (VBZ is) (ADJP (JJ old))))",
        ["I | gave | The book", "The book that I gave her | is | old"], "main relative",
    ),
    "relative clause without a word": (
        "(NP (NP (DT the) (NNS keys)) (SBAR (S (NP (PRP she)) (VP (VBD lost)))))",
        ["she | lost | the keys"], "relative",
    ),
    "relative word across a clause": (
        "(NP (NP (DT the) (NN man)) (SBAR (WHNP (WP who)) (S (NP (PRP she)) (VP (VBD said) "
        "(SBAR (S (VP (VBD came))))))))",
        ["she | said | came", "the man | came | -"], "relative complement",
    ),
    "whose is no substitute for the noun": (
        "(NP (NP (DT the) (NN man)) (SBAR (WHNP (WP$ whose) (NN dog)) (S (NP (PRP I)) (VP (VBD saw)))))",
        ["I | saw | whose dog"], "relative",
    ),
    "participle of a noun": (
        "(S (NP (NP (DT The) (NNS books)) (VP (VBN sold) (ADVP (RB here)))) (VP (VBP are) (ADJP (JJ cheap))))",
        ["- | sold | The books", "The books sold here | are | cheap"], "main",
    ),
    "present participle of a noun": (
        "(NP (NP (DT a) (NN man)) (VP (VBG selling) (NP (NNS hats))))", ["a man | selling | hats"], "",
    ),
    "coordinated verb phrases": (
        "(S (NP (PRP She)) (VP (VP (VBD came) (PRT (RP in))) (, ,) (VP (VBD took) (NP (NN tea))) (CC and) "
        "(VP (VBD sat))))",
        ["She | came in | -", "She | took | tea", "She | sat | -"], "main",
    ),
    "coordinated verb phrases with one auxiliary": (
        "(S (NP (PRP She)) (VP (MD will) (VP (VP (VB sing)) (CC and) (VP (VB dance)))))",
        ["She | will sing | -", "She | will dance | -"], "main",
    ),
    "coordinated verbs share an object": (
        "(S (NP (PRP He)) (VP (VBD bought) (CC and) (VBD sold) (NP (NNS hats))))",
        ["He | bought | hats", "He | sold | hats"], "main",
    ),
    "coordinated clauses": (
        "(S (S (NP (NNP Ann)) (VP (VBD sang))) (CC and) (S (NP (NNP Bob)) (VP (VBD played) (NP (NN chess)))))",
        ["Ann | sang | -", "Bob | played | chess"], "main main main",
    ),
    "complement clause": (
        "(S (NP (PRP He)) (VP (VBD said) (SBAR (IN that) (S (NP (PRP it)) (VP (VBD rained))))))",
        ["He | said | that it rained", "it | rained | -"], "main complement",
    ),
    "indirect question": (
        "(S (NP (PRP He)) (VP (VBD asked) (SBAR (IN if) (S (NP (PRP it)) (VP (VBD rained))))))",
        ["He | asked | if it rained", "it | rained | -"], "main complement",
    ),
    "condition after a verb of speech": (
        "(S (NP (PRP I)) (VP (MD would) (VP (VB tell) (NP (PRP you)) "
        "(SBAR (IN if) (S (NP (PRP I)) (VP (VBD knew)))))))",
        ["I | would tell | you", "I | knew | -"], "main adverbial",
    ),
    "adverbial clause in front": (
        "(S (SBAR (IN If) (S (NP (PRP it)) (VP (VBZ rains)))) (, ,) (NP (PRP we)) (VP (VBP stay)))",
        ["it | rains | -", "we | stay | -"], "main adverbial",
    ),
    "clause of a noun": (
        "(S (NP (DT The) (NN fact) (SBAR (IN that) (S (NP (PRP he)) (VP (VBD left))))) (VP (VBD hurt) (NP (PRP me))))",
        ["he | left | -", "The fact that he left | hurt | me"], "main complement",
    ),
    "clause as subject": (
        "(S (SBAR (WHNP (WP What)) (S (NP (PRP he)) (VP (VBD said)))) (VP (VBZ is) (ADJP (JJ true))))",
        ["he | said | What", "What he said | is | true"], "main complement",
    ),
    "infinitive with an understood subject": (
        "(S (NP (PRP He)) (VP (VBZ wants) (S (VP (TO to) (VP (VB go))))))",
        ["He | wants | to go", "He | to go | -"], "main complement",
    ),
    "infinitive of an object": (
        "(S (NP (PRP She)) (VP (VBD told) (NP (PRP him)) (S (VP (TO to) (VP (VB go))))))",
        ["She | told | him", "him | to go | -"], "main complement",
    ),
    "infinitive of purpose": (
        "(S (NP (NNP Jack)) (VP (VBD went) (PP (RP up)) (S (VP (TO to) (VP (VB fetch) (NP (NN water)))))))",
        ["Jack | went | -", "Jack | to fetch | water"], "main adverbial",
    ),
    "infinitive as subject": (
        "(S (S (VP (TO To) (VP (VB err)))) (VP (VBZ is) (ADJP (JJ human))))",
        ["- | To err | -", "To err | is | human"], "main complement",
    ),
    "object with an infinitive": (
        "(S (NP (PRP I)) (VP (VBP want) (S (NP (PRP him)) (VP (TO to) (VP (VB go))))))",
        ["I | want | him", "him | to go | -"], "main complement",
    ),
    "participle with an understood subject": (
        "(S (NP (PRP He)) (VP (VBD left) (, ,) (S (VP (VBG singing)))))",
        ["He | left | -", "He | singing | -"], "main adverbial",
    ),
    "quotation before an inverted verb": (
        "(SINV (`` ``) (S (NP (PRP I)) (VP (VBP go))) (, ,) ('' '') (VP (VBD said)) (NP (NNP Ann)) (. .))",
        ["I | go | -", "Ann | said | I go"], "main quotation",
    ),
    "quotation after the verb": (
        "(S (NP (NNP Ann)) (VP (VBD said) (, ,) (`` ``) (S (NP (PRP I)) (VP (VBP go)))) (. .) ('' ''))",
        ["Ann | said | I go", "I | go | -"], "main quotation",
    ),
    "time is no object": (
        "(S (NP (PRP He)) (VP (VBD slept) (NP (CD two) (NNS hours))))", ["He | slept | -"], "main",
    ),
    "time as an object": (
        "(S (NP (PRP He)) (VP (VBD spent) (NP (CD two) (NNS hours))))", ["He | spent | two hours"], "main",
    ),
    "name as a complement": (
        "(S (NP (PRP They)) (VP (VBD called) (NP (PRP him)) (NP (DT a) (NN fool))))", ["They | called | him"], "main",
    ),
    "parenthesis": (
        "(S (NP (PRP He)) (VP (VBZ is) (PRN (, ,) (S (NP (PRP I)) (VP (VBP think))) (, ,)) (NP (DT a) (NN fool))))",
        ["He | is | a fool", "I | think | -"], "main main",
    ),
    "headline": ("(NP (DT The) (NN end))", [], ""),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_who_did_what_and_kinds(name):
    tree, wanted, kinds = CASES[name]
    doc = gold_doc(f"(TOP {tree})", "(TOP (S (NP (PRP It)) (VP (VBD ended))))")
    assert said(doc) == [*wanted, "It | ended | -"]
    assert [clause_kind(clause) for clause in clauses(doc)] == [*kinds.split(), "main"]
    assert set(kinds.split()) <= set(KINDS)


def test_parts_of_a_clause():
    doc = gold_doc(
        "(TOP (S (NP (NP (DT The) (NN man)) (SBAR (WHNP (WP who)) (S (VP (VBD came))))) (VP (MD may) (RB not) "
        "(VP (VB give) (NP (PRP us)) (NP (NN tea)))) (. .)))"
    )
    main, relative = doc._.clauses
    assert main._.subject.text == "The man who came" == subject(main).text and main._.subject in doc._.constituents
    assert main._.verb == doc[6] == verb(main) and texts(main._.objects) == ["us", "tea"] == texts(objects(main))
    assert texts(main._.clause_tokens) == ["The", "man", "may", "not", "give", "us", "tea", "."]
    assert clause_tokens(main) == main._.clause_tokens
    assert relative._.subject.text == "who" and relative._.antecedent.text == "The man"
    assert antecedent(relative) == doc._.constituents[2] and antecedent(main) is None
    assert relative._.objects == [] and texts(relative._.clause_tokens) == ["who", "came"]
    assert (main._.clause_kind, relative._.clause_kind) == ("main", "relative")
    found = main._.predicates[1]
    assert found == doc._.predicates[1] and texts(found.verb_group) == ["may", "not", "give"] and found.negated
    assert found.clause == main and not found.passive and found.agent is None and found.complement is None
    assert (
        [one.verb.text for one in relative._.predicates] == ["came"] == [str(one.verb[0]) for one in relative._.triples]
    )
    sentence, plain = next(doc.sents), doc[relative.start : relative.end]
    assert sentence._.verb == main._.verb and plain._.verb == relative._.verb


def test_coordination():
    doc = gold_doc(
        "(TOP (S (S (NP (NNP Ann)) (VP (VP (VBD sang) (NP (NNS songs))) (CC and) (VP (VBD baked) (NP (NNS pies))))) "
        "(CC but) (S (NP (NNP Bob)) (VP (VBD slept)))))"
    )
    whole, ann, bob = doc._.clauses
    assert whole._.subject.text == "Ann" and whole._.verb.text == "sang" and texts(whole._.clause_tokens) == ["but"]
    assert texts(ann._.objects) == ["songs", "pies"] == texts(whole._.objects) and bob._.objects == []
    assert [one.subject.text for one in doc._.predicates] == ["Ann", "Ann", "Bob"]
    assert [one.clause for one in doc._.predicates] == [ann, ann, bob]


def test_white_space_and_sentences_without_clauses():
    doc = gold_doc("(TOP (S (NP (DT the) (NN cat)) (VP (VBD sat) (PP (IN on) (NP (PRP it))))))", space_after="cat")
    (clause,) = doc._.clauses
    assert clause._.verb.text == "sat" and texts(clause._.clause_tokens) == ["the", "cat", "sat", "on", "it"]
    headline = gold_doc("(TOP (NP (DT The) (NN end)))", "(TOP (FRAG (RB Not) (NP (DT a) (NN word))))")
    for sentence in headline.sents:
        assert sentence._.subject is None and sentence._.verb is None and sentence._.objects == []
        assert sentence._.clause_kind == "main" and len(sentence._.clause_tokens) == len(sentence)
    assert headline._.triples == [] == headline._.predicates


def test_errors():
    doc = gold_doc("(TOP (S (NP (DT the) (NN cat)) (VP (VBD sat))))")
    for function in (subject, verb, objects, clause_tokens, clause_kind, antecedent):
        with pytest.raises(
            NonConstituentError, match=r"'the cat'\) are a constituent NP, not a clause; .*doc._.clauses"
        ):
            function(doc[0:2])
        with pytest.raises(NonConstituentError, match="one token, not a clause"):
            function(doc[0:1])
        with pytest.raises(NonConstituentError, match="not a constituent"):
            function(doc[1:3])
        with pytest.raises(NotParsedError):
            function(spacy.blank("en")("It rains.")[:])
    with pytest.raises(NotParsedError):
        triples(Doc(Vocab(), words=["a"]))
    german = gold_doc("(TOP (S (NP (PRP Es)) (VP (VBZ endet))))", vocab=spacy.blank("de").vocab)
    with pytest.raises(ConfigError, match=r"language is 'de'.*English only"):
        predicates(german)
    assert clauses(german)


def test_deep_trees_need_no_recursion():
    depth = 2500
    nested = "(SBAR (WHNP (WP who)) (S (NP (PRP she)) (VP (VBD said) " * depth
    doc = gold_doc(f"(TOP {nested}(NP (PRP it)){')))' * depth})")
    assert len(predicates(doc)) == len(triples(doc)) == depth
    phrases = gold_doc(f"(TOP (S (NP (PRP he)) {'(VP (VBD stopped) ' * depth}(NP (PRP it)){')' * depth}))")
    assert len(predicates(phrases)) == depth
