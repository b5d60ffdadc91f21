"""Wrong settings of components, recipes and commands."""

from __future__ import annotations

from typing import Any

from spacy_dtparse.cli import main
from spacy_dtparse.core.settings import SearchSettings
from spacy_dtparse.core.supertags import check_supertags
from spacy_dtparse.errors import ConfigError, DtparseError, ModelFormatError, TreeError
from spacy_dtparse.trees import parse_directional, tree_from_directional
from training.data.treebanks import TreebankFile
from training.dtparse.recipe import FitRecipe

from .cases import Case, Exits, Raises, Returns


def setting(name: str, phrase: str, error: type[Exception] | str = ConfigError, **settings: Any) -> Case:
    return Case("component setting", name, lambda bench: bench.component(**settings), Raises(error, phrase))


SETTINGS = [
    setting("unknown name", "dtparse -> foo", "ConfigValidationError", foo=1),
    setting("budget of a wrong type", "dtparse -> budget", "ConfigValidationError", budget="many"),
    setting("negative budget", "budget = -1; it is a whole number from 0", budget=-1),
    setting("negative max_tokens", "max_tokens = -2; it is a whole number from 0", max_tokens=-2),
    setting("a table of settings", "dtparse -> settings", "ConfigValidationError", settings={}),
    setting(
        "one of another factory",
        "span_parser -> window_filter",
        "ConfigValidationError",
        factory="span_parser",
        window_filter=0,
    ),
    setting(
        "a text as exclude_labels",
        "exclude_labels = 'NP'; it is a list of labels",
        factory="span_parser",
        exclude_labels="NP",
    ),
    Case(
        "component setting",
        "exclude_labels with a label that the model does not have",
        lambda bench: bench.component("span_parser", exclude_labels=["NPS"]).parser,
        Raises(ConfigError, "exclude_labels has 'NPS', which is no label of the model"),
    ),
    setting("empty spans_key", "it is a non-empty string, a key of doc.spans", spans_key=""),
    setting("empty spines_key", "it is a non-empty string, a key of doc.spans, or None", spines_key=""),
    setting("pcfgla: empty spines_key", "a key of doc.spans, or None", factory="pcfgla", spines_key=""),
    setting("pcfgla: settings as text", "pcfgla -> settings", "ConfigValidationError", factory="pcfgla", settings="a"),
    setting("pcfgla: unknown name", "pcfgla -> budget", "ConfigValidationError", factory="pcfgla", budget=0),
    setting("pcfgla: tags neither own nor given", "it is 'own' or 'given', or None", factory="pcfgla", tags="gold"),
    setting("pcfgla: prune above the maximum", "it is a number from 0 to below 1", factory="pcfgla", prune=1.0),
    setting("pcfgla: negative beam", "beam = -0.1; it is a number from 0 to below 1", factory="pcfgla", beam=-0.1),
    setting("pcfgla: no tokens at all", "max_tokens = 0; it is a whole number from 1", factory="pcfgla", max_tokens=0),
    setting("unknown scorer", "Could not find function 'no.such'", "RegistryError", scorer={"@scorers": "no.such"}),
    Case(
        "component setting",
        "model path that does not exist",
        lambda bench: bench.component(model=str(bench.folder / "no")),
        Returns(
            "a component without a model until from_disk is called",
            lambda found: found.labels == (),
            "there is no model file",
        ),
    ),
    Case(
        "component setting",
        "model path that does not exist, then a Doc",
        lambda bench: bench.component(model=str(bench.folder / "no")).parser,
        Raises(ModelFormatError, "there is no model file"),
    ),
    Case(
        "component setting",
        "shift_threshold = 0",
        lambda bench: SearchSettings(shift_threshold=0),
        Raises(ConfigError, "'shift_threshold' is 0; it must be a number above 0"),
    ),
    Case(
        "component setting",
        "shift_threshold below 0",
        lambda bench: SearchSettings(shift_threshold=-1.5),
        Raises(ConfigError, "'shift_threshold' is -1.5; it must be a number above 0"),
    ),
    Case(
        "component setting",
        "window_filter = 1: drop everything",
        lambda bench: SearchSettings(window_filter=1),
        Raises(ConfigError, "'window_filter' is 1; it must be a number from 0 to below 1"),
    ),
    Case(
        "component setting",
        "a beta above 1",
        lambda bench: SearchSettings(betas=[0.1, 1.5]),
        Raises(ConfigError, "'betas' is [0.1, 1.5]; it must be a list of numbers from 0 to 1"),
    ),
    Case(
        "component setting",
        "unknown search setting",
        lambda bench: SearchSettings().with_changes(beam=4),
        Raises(ConfigError, "unknown search setting beam; allowed are"),
    ),
    Case(
        "spines",
        "for too few words, from Python",
        lambda bench: check_supertags([[("NP", 1.0)]], 2),
        Raises(DtparseError, "2 words but spines for 1; give spines for every word, or none at all"),
    ),
    Case(
        "spines",
        "without probabilities, from Python",
        lambda bench: check_supertags([["NP", "VP"]], 1),
        Raises(DtparseError, "give a list of (text, probability) pairs"),
    ),
    Case(
        "spines",
        "directional, malformed",
        lambda bench: parse_directional(".NP><"),
        Raises(TreeError, "'.NP><' is not a directional spine"),
    ),
    Case(
        "spines",
        "directional, of no tree",
        lambda bench: tree_from_directional(["a", "b"], ["X", "X"], [parse_directional("(-"), parse_directional("(-")]),
        Raises(TreeError, "the constituent that begins with token 1 has no last child"),
    ),
]


def recipe(name: str, phrase: str, **settings: Any) -> Case:
    return Case("training recipe", name, lambda bench: FitRecipe.from_dict(settings), Raises(ConfigError, phrase))


RECIPES = [
    recipe("unknown setting", "unknown recipe setting foo; allowed are", foo=1),
    recipe("unknown strategy", "'strategy' is 'top_down'; it must be", strategy="top_down"),
    recipe("unknown templates", "'templates' is 'huge'; it must be", templates="huge"),
    recipe("unknown preprocessing step", "'preprocessing' is 'lemmatize'; allowed are", preprocessing=["lemmatize"]),
    recipe("preprocessing that is not a list", "it must be a JSON list", preprocessing="strip_empty"),
    recipe("negative_weight = 0", "'negative_weight' is 0; it must be a number from 1e-06", negative_weight=0),
    recipe(
        "negative_weight that is not a number",
        "'negative_weight' is nan; it must be a number",
        negative_weight=float("nan"),
    ),
    recipe("max_arity = 1", "it must be a whole number from 2 to 64", max_arity=1),
    recipe("fractional max_arity", "'max_arity' is 2.5; it must be a whole number", max_arity=2.5),
    recipe("number as text", "'seed' is '7'; it must be a whole number", seed="7"),
    recipe("text for true or false", "'edge_punctuation' is 'no'; it must be true or false", edge_punctuation="no"),
    recipe("λ decay of 2", "decay is 2; it must be a number above 0 to below 1", path={"decay": 2}),
    recipe("λ start below 0", "lambda_start is -1; it must be a number above 0, or None", path={"lambda_start": -1}),
    recipe("λ floor below 0", "lambda_floor is -1; it must be a number from 0", path={"lambda_floor": -1}),
    recipe("λ path without an end", "training would never end", path={"patience": None}),
    recipe("λ path that is not an object", "'path' is 3; it must be a JSON object", path=3),
    recipe("unknown gain of the learner", "gain is 'huge'; it must be 'soft' or 'hard'", learner={"gain": "huge"}),
    Case(
        "training recipe",
        "malformed JSON",
        lambda bench: FitRecipe.from_json(bench.file(b"{")),
        Raises(ConfigError, "give a JSON file of recipe settings"),
    ),
    Case(
        "training recipe",
        "JSON list",
        lambda bench: FitRecipe.from_json(bench.file(b"[]")),
        Raises(ConfigError, "a recipe is a JSON object, not a list"),
    ),
    Case(
        "training recipe",
        "treebank weight of 0",
        lambda bench: TreebankFile.parse("a.mrg,weight=0"),
        Raises(ConfigError, "the weight is 0.0; it must be above 0"),
    ),
    Case(
        "training recipe",
        "treebank weight that is not a number",
        lambda bench: TreebankFile.parse("a.mrg,weight=big"),
        Raises(ConfigError, "'big' is no number for 'weight'"),
    ),
    Case(
        "training recipe",
        "unknown option of a treebank",
        lambda bench: TreebankFile.parse("a.mrg,foo=1"),
        Raises(ConfigError, "'foo=1' is no option of a treebank"),
    ),
]

COMMANDS = [
    Case(
        "command line",
        "file that does not exist",
        lambda bench: main(["parse", str(bench.folder / "no.txt")]),
        Exits(1, "there is no file"),
    ),
    Case(
        "command line",
        "file that is not UTF-8",
        lambda bench: main(["parse", str(bench.file(b"caf\xe9\n"))]),
        Exits(1, "byte 4 of the line is not utf-8"),
    ),
    Case(
        "command line", "empty text", lambda bench: main(["parse", "--text", "  "]), Exits(1, "the input has no text")
    ),
    Case(
        "command line",
        "3,000 brackets without a space",
        lambda bench: main(["parse", "--text", "(" * 3000]),
        Exits(1, "3,000 of them marks (neither letters nor digits)"),
    ),
    Case(
        "command line",
        "lone surrogate in the text",
        lambda bench: main(["The cat\udcff sat."]),
        Exits(1, "(a lone surrogate)"),
    ),
    Case(
        "command line",
        "token without a tag in tagged input",
        lambda bench: main(["parse", "--tagged", str(bench.file(b"the cat\n"))]),
        Exits(1, "is not a token_TAG pair"),
    ),
    Case(
        "command line",
        "unknown pipeline",
        lambda bench: main(["parse", "--pipeline", "no_such", "--text", "a"]),
        Exits(1, "cannot load the pipeline 'no_such'"),
    ),
    Case(
        "command line",
        "missing model",
        lambda bench: main(["parse", "--model", str(bench.folder / "no"), "--text", "a"]),
        Exits(1, "there is no model file"),
    ),
    Case(
        "command line",
        "negative budget option",
        lambda bench: main(["parse", "--text", "a", "--budget", "-1"]),
        Exits(2, "'-1' is not a whole number from 0"),
    ),
    Case(
        "command line",
        "deadline of 0 seconds",
        lambda bench: main(["parse", "--text", "a", "--deadline", "0"]),
        Exits(2, "'0' is not a number from 0.001 to 3600"),
    ),
    Case(
        "command line",
        "evaluate on an empty treebank",
        lambda bench: main(["evaluate", str(bench.file(b""))]),
        Exits(1, "no tree in it"),
    ),
    Case(
        "command line",
        "evaluate files of different lengths",
        lambda bench: main(
            ["evaluate", str(bench.file(b"(TOP (NN a))", "a")), str(bench.file(b"(TOP (NN a)) (TOP (NN b))", "b"))]
        ),
        Exits(1, "give one predicted tree per gold tree"),
    ),
]
