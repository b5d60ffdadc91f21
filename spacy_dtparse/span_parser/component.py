"""The spaCy component `span_parser`: constituents by a network that scores spans."""

from ..core.settings import SpanSettings
from ..pipeline.constituent_pipe import FACTORY_METADATA, SCORER, ConstituentPipe, without_budget
from ..pipeline.factories import factory_of


class SpanParse(ConstituentPipe):
    """A network that scores spans, with a chart parser over the scores.

    `max_tokens`: longer sentences are parsed in windows. `networks`: number of the model's networks to use.
    `ensemble_threshold`: if no constituent of the first network's tree has a higher cost (-ln of its probability), the
    others are skipped. `penalty`: from 0 to below 1, the minimum probability of a constituent. `attach_unattached`:
    whether a word that the chart left without a phrase gets one, if the treebank never leaves such words without (see
    `SpanSettings`).

    `exclude_labels`: labels that no constituent may have, a list; the tree is the best one without them. When the model
    is loaded (the default one: at the first Doc), ConfigError is raised for a label that it does not have, for "TOP",
    and for a list after which no constituent is possible.

    Supertags (spines) are not used. Of a model of boosted trees, this is the span model inside.
    """

    factory = "span_parser"
    EMBEDDED = "en_span"
    LOADER = "load_span_parser"
    SETTINGS = without_budget(SpanSettings.ALLOWED)


make_span_parser = factory_of(SpanParse, SCORER, requires=["token.tag", "token.is_sent_start"], **FACTORY_METADATA)
