"""The table of bad and odd inputs, by subject."""

from .constraints import CONSTRAINTS
from .files import MODELS, TREEBANKS
from .links import CONLLU, LINKS
from .settings import COMMANDS, RECIPES, SETTINGS
from .spines import SPINE_TAGGERS
from .texts import DOCS, TEXTS

CASES = [*TEXTS, *DOCS, *CONSTRAINTS, *TREEBANKS, *MODELS]
CASES += [*SETTINGS, *RECIPES, *COMMANDS, *LINKS, *CONLLU, *SPINE_TAGGERS]
