"""The spaCy component `dtparse`: constituents by boosted decision trees."""

from ..core.settings import SearchSettings
from ..pipeline.constituent_pipe import FACTORY_METADATA, SCORER, ConstituentPipe
from ..pipeline.factories import factory_of


class DtParse(ConstituentPipe):
    """Boosted decision trees.

    `budget`: number of inferences to score per sentence before the search returns the best tree so far; 0 parses
    greedily. `max_tokens`: longer sentences are parsed greedily. `shift_threshold`: a shift with a higher score is
    taken without scoring the other inferences. `window_filter`: fraction of the correct windows that may be dropped
    unscored. `marginal_weight`: weight of the span model's marginals relative to the boosted trees.
    `commit_threshold`: minimum probability at which an inference is taken unscored. `attach_unattached`: whether words
    that the search left without a phrase get one, if the treebanks never leave such words without; it also repeats
    labels that the span model finds probable (an NP directly above an NP). `betas`: cutoffs for supertags, see
    `SearchSettings`.
    """

    factory = "dtparse"
    EMBEDDED = "en_dtparse"
    SETTINGS = SearchSettings.ALLOWED


make_dtparse = factory_of(DtParse, SCORER, requires=["token.tag", "token.is_sent_start"], **FACTORY_METADATA)
