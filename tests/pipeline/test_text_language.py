"""Warnings about models and texts of different languages: at add_pipe, and of the commands."""

from __future__ import annotations

import warnings

import pytest
import spacy

import spacy_dtparse
from spacy_dtparse.cli import main
from spacy_dtparse.pipeline.text_language import (
    LANGUAGES,
    MIN_WORDS,
    TextLanguage,
    _function_words,
    language_name,
    language_problem,
)

FOREIGN = {
    "fr": "Le chat noir de ma voisine dort toujours sur la petite table de la cuisine.",
    "de": "Der Hund schläft in der Küche, und die Katze sitzt wie immer auf dem Tisch.",
    "es": "El perro duerme en la cocina y el gato está otra vez sobre la mesa.",
    "fi": "Kissa nukkuu keittiössä ja koira odottaa oven edessä, mutta kukaan ei tule.",
    "": "Собака спит на кухне, а кошка сидит на столе у окна.",
}
ENGLISH = (
    "The black cat of my neighbour always sleeps on the small kitchen table.",
    "Preheat oven. Mix flour, sugar, butter, eggs, milk, salt, baking powder.",
    "Ladies and gentlemen, please welcome Jean-Luc Godard, Werner Herzog and Federico Fellini!",
    "He said that the café's crème brûlée had a certain je ne sais quoi.",
    "HE SAID THAT HE WOULD NOT COME BACK BEFORE THE END OF MAY",
    "wow thats so cool lol, u should totally watch it 2nite bro",
)


class Parser:
    """A parser with a lexicon."""

    def __init__(self, lang="en", words=()):
        self.meta, self.lexicons = ({"lang": lang} if lang else {}), (words,)


def foreign(text, parser=None):
    nlp = spacy.blank("en")
    language = TextLanguage(nlp, parser or Parser())
    return language.foreign(language.words(nlp.make_doc(text)))


@pytest.mark.parametrize("code", sorted(set(FOREIGN) - {""}))
def test_function_words_of_another_language(code):
    assert foreign(FOREIGN[code]) == code  # without a lexicon
    assert foreign(FOREIGN[code], Parser(lang="")) is None
    assert foreign(FOREIGN[code], Parser(lang=code)) is None
    assert foreign(" ".join(FOREIGN[code].split()[: MIN_WORDS - 1])) is None


def test_unknown_words():
    def lexicon(size):
        return frozenset([*(f"w{k}" for k in range(size)), "the", "of"])

    assert foreign(FOREIGN[""]) is None and foreign(FOREIGN[""], Parser(words=lexicon(40_000))) == ""
    assert foreign(FOREIGN[""], Parser(words=lexicon(9_000))) is None
    known = "w1 w2 w3 w4 w5 w6 w7 w8"
    for size, unknown, function_words, said in (
        (40_000, 5, 2, ""),  # excesses of 0.3, 0.2, 0.4, and for small lexicons of 0.3, 0.4
        (40_000, 4, 2, None),
        (40_000, 4, 0, ""),
        (20_000, 5, 2, None),
        (20_000, 6, 2, ""),
    ):
        words = [*["bc", "cd", "ef", "fg", "gh", "hj"][:unknown], *["the", "of"][:function_words], *known.split()][:10]
        assert foreign(" ".join(words), Parser(words=lexicon(size))) == said


@pytest.mark.slow
@pytest.mark.embedded
@pytest.mark.parametrize("name", ["en_dtparse", "en_trees", "en_pcfgla"])
def test_texts_of_the_english_pipelines(name):
    nlp = spacy_dtparse.load(name)
    language = TextLanguage(nlp, nlp.pipeline[-1][1].parser)
    assert language.name == "English"
    for code, text in FOREIGN.items():
        words = language.words(nlp.make_doc(text))
        assert language.foreign(words) == code
        looks = f"looks like {LANGUAGES[code]}, not English," if code else "does not look like English,"
        assert language.note(words) == f"the text {looks} the language of the model; its trees are likely wrong"
    for text in ENGLISH:
        assert language.note(language.words(nlp.make_doc(text))) == ""


def test_names_and_function_words():
    assert language_name("fr") == "French" and language_name("is") == "Icelandic" and language_name("qq") == "'qq'"
    assert all(len(_function_words(code)) > 100 for code in LANGUAGES) and _function_words("qq") == frozenset()


@pytest.mark.parametrize(
    ("model", "pipeline", "differ"),
    [
        ("en", "fr", True),
        ("en", "en", False),
        ("en-GB", "en", False),
        ("en", "xx", False),
        ("", "fr", False),
        (None, "fr", False),
        ("nb", "no", False),
        ("is", "en", True),
    ],
)
def test_language_problem(model, pipeline, differ):
    problem = language_problem(model, pipeline)
    assert bool(problem) == differ
    if model == "en" and differ:
        assert problem.startswith("its model is for English ('en'), and the pipeline's language is French ('fr'), so")


@pytest.mark.slow
@pytest.mark.embedded
@pytest.mark.parametrize("factory", ["dtparse", "span_parser", "pcfgla"])
def test_add_pipe_warns_of_another_language(factory):
    with pytest.warns(UserWarning, match=f"^{factory}: its model is for English .* language is French") as warned:
        spacy.blank("fr").add_pipe(factory)
    assert len(warned) == 1
    with pytest.warns(UserWarning, match="language is German"):
        spacy.blank("de").add_pipe("dtparse", config={"model": "en_trees"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for lang in ("en", "xx"):
            spacy.blank(lang).add_pipe(factory)


@pytest.mark.slow
@pytest.mark.embedded
def test_a_tagger_and_a_saved_pipeline_warn(tmp_path):
    nlp = spacy_dtparse.load("en_span")
    tagger = nlp.get_pipe("tagger")
    tagger.to_disk(tmp_path / "tagger")
    with pytest.warns(UserWarning, match="recurrent_tagger: its model is for English"):
        spacy.blank("fr").add_pipe("recurrent_tagger", config={"model": str(tmp_path / "tagger")})
    with pytest.warns(UserWarning, match="span_parser: its model is for English"):
        french = spacy.blank("fr")
        french.add_pipe("span_parser")
        assert french.get_pipe("span_parser").parser.meta["lang"] == "en"
    french.to_disk(tmp_path / "french")
    with pytest.warns(UserWarning, match="span_parser: its model is for English") as warned:
        loaded = spacy.load(tmp_path / "french")
        assert loaded.get_pipe("span_parser").parser.meta["lang"] == "en"
    assert len(warned) == 1


def run(capsys, *arguments):
    code = main(list(arguments))
    out, err = capsys.readouterr()
    return code, out, [line for line in err.splitlines() if "the language of the model" in line]


@pytest.mark.slow
@pytest.mark.embedded
def test_the_commands_say_so(capsys, tmp_path):
    french = ("looks like French, not English, the language of the model; its trees are likely wrong",)
    for command in (["parse", "--text"], ["explain"], ["show"]):
        code, out, said = run(capsys, *command, FOREIGN["fr"])
        assert code == 0 and out and said == [f"dtparse: warning: the text {french[0]}"]
        code, out, said = run(capsys, *command, ENGLISH[0])
        assert code == 0 and out and said == []
    file = tmp_path / "mixed.txt"
    file.write_text(f"{ENGLISH[0]}\n{FOREIGN['fr']}\n{FOREIGN['de']}\n", encoding="utf-8")
    code, out, said = run(capsys, "parse", str(file))
    assert code == 0 and len(out.splitlines()) >= 3 and said == [f"dtparse: warning: {file}:2 {french[0]}"]
    short = tmp_path / "short.txt"
    short.write_text("\n".join(["Bonjour, ma petite !", "Elle est dans la maison.", "Où sont les clés ?"] * 2), "utf-8")
    code, out, said = run(capsys, "parse", str(short))
    assert code == 0 and said == [f"dtparse: warning: {short}:1 {french[0]}"]
    many = tmp_path / "many.txt"
    many.write_text(f"{ENGLISH[0]}\n" * 120 + FOREIGN["fr"], encoding="utf-8")
    assert run(capsys, "parse", "--pipeline", "en_span", str(many))[2] == []
    trees = tmp_path / "french.mrg"
    leaves = " ".join(f"(NN {word.strip('.,')})" for word in FOREIGN["fr"].split())
    trees.write_text(f"(TOP (S {leaves} (. .)))\n", encoding="utf-8")
    code, out, said = run(capsys, "evaluate", str(trees))
    assert code == 0 and said == [f"dtparse: warning: sentence 1 of the treebank {french[0]}"]
