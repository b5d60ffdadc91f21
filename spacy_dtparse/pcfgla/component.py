"""The spaCy component `pcfgla`: constituents by a PCFG, optionally with latent annotations."""

from ..core.settings import PcfgSettings
from ..pipeline.constituent_pipe import FACTORY_METADATA, SCORER, ConstituentPipe, without_budget
from ..pipeline.factories import factory_of


class PcfgLa(ConstituentPipe):
    """A PCFG, optionally with latent annotations, which may choose its words' tags.

    `tags`: "own" lets the grammar choose the words' tags, so that the Doc needs none and existing tags are ignored;
    "given" allows a word only its tag in the Doc; a grammar never writes its tags to the Doc. `decoder`: "max-rule",
    "viterbi", "q" or "rerank", `prune`, `beam`: from 0 to below 1 (0 prunes nothing), `candidates_n`, `betas`: see
    `PcfgSettings`. `max_tokens`: longer sentences are parsed in pieces. Raises ConfigError for a decoder that needs
    data which the model lacks.

    (spaCy has no `requires` per component instance, so missing tags are reported at the first Doc if `tags` is
    "given".)
    """

    factory = "pcfgla"
    EMBEDDED = "en_pcfgla"
    SETTINGS = without_budget(PcfgSettings.ALLOWED)

    tags: str | None

    @property
    def needs_tags(self) -> bool:
        """Whether words may only have the tags of their Doc. Loads the model if the setting `tags` leaves it open."""
        if self.tags is not None:
            return self.tags == "given"
        return self.configured_parser.needs_tags


make_pcfgla = factory_of(PcfgLa, SCORER, requires=["token.is_sent_start"], **FACTORY_METADATA)
