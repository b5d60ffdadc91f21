"""The spaCy component `dtparse`: constituents by boosted decision trees."""

from ..core.settings import SearchSettings
from ..pipeline.constituent_pipe import FACTORY_METADATA, SCORER, ConstituentPipe
from ..pipeline.model_pipe import factory_of


class DtParse(ConstituentPipe):
    """Boosted decision trees.

    `budget`: number of inferences to score per sentence before the search returns the best tree so far; 0 parses
    greedily. `max_tokens`: longer sentences are parsed greedily. `shift_threshold`: a shift with a higher score is
    taken without scoring the other inferences. `window_filter`: fraction of the correct windows that may be dropped
    unscored. `marginal_weight`: weight of the span model's marginals relative to the trees. `commit_threshold`: minimum
    probability at which an inference is taken unscored. `attach_unattached`: whether to attach words that are never
    unattached in the treebanks. `betas`: cutoffs for supertags, see `SearchSettings`.
    """

    factory = "dtparse"
    EMBEDDED = "en_dtparse"
    SETTINGS = SearchSettings.ALLOWED


make_dtparse = factory_of(DtParse, SCORER, requires=["token.tag"], **FACTORY_METADATA)
