"""A group that this process wrote is not read back, until somebody may have changed it."""

from typing import Any

import pytest

from spacy_dtparse.errors import SpanGroupError
from spacy_dtparse.pipeline.attributes import constituents, sentence_infos
from spacy_dtparse.pipeline.constituents import Written
from spacy_dtparse.pipeline.retokenized import as_doc

from .test_edited_groups import KEY, append_as_base, append_low, delete_last, parsed_doc, values


def test_written_groups_are_not_read_back_and_notice_edits(monkeypatch) -> None:
    """The written trees are used in place of the spans, until the spans are edited, the attributes are taken or tokens
    are merged."""
    fresh = values(parsed_doc())

    def fail(*arguments: Any) -> None:
        raise AssertionError("read back")

    with monkeypatch.context() as patch:
        patch.setattr("spacy_dtparse.pipeline.constituents.stored_spans", fail)
        assert values(parsed_doc()) == fresh
        for touch in (append_low, append_as_base, delete_last, lambda group: group.attrs):
            doc = parsed_doc()
            touch(doc.spans[KEY])
            with pytest.raises(AssertionError, match="read back"):
                constituents(doc)
    doc = parsed_doc()
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[0:3])
    with doc.retokenize() as retokenizer:  # as many tokens as before
        retokenizer.split(doc[1], ["s", "e", "es"], heads=[(doc[1], 0)] * 3)
    assert (0, 1, "NP") in values(doc) and (0, 3, "NP") not in values(doc)
    out_of_order = parsed_doc()
    trees, starts = out_of_order.spans[KEY].written
    out_of_order.spans[KEY].written = Written(trees[::-1], starts)
    assert values(out_of_order) == fresh


def test_records_of_sentences_are_checked_where_a_part_becomes_a_doc() -> None:
    doc = parsed_doc()
    assert len(constituents(doc)) == 7
    doc.spans[KEY].attrs["sentences"] = 3
    for use in (sentence_infos, lambda doc: as_doc(doc[0:6])):
        with pytest.raises(SpanGroupError, match="Parse the Doc again"):
            use(doc)
