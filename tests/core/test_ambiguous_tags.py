"""Tags with a second-best one: strings equal to the best tag."""

from __future__ import annotations

import copy
import json
import pickle

import pytest

from spacy_dtparse.core.ambiguous_tags import AmbiguousTag, format_tag, has_ambiguous, parse_tag, second_tag
from spacy_dtparse.errors import DtparseError


def test_an_ambiguous_tag_is_a_string_equal_to_the_best_tag() -> None:
    tag = AmbiguousTag("NN", "VB")
    assert tag == "NN" and hash(tag) == hash("NN") and {"NN": 1}[tag] == 1 and f"{tag}" == "NN"
    assert json.dumps([tag]) == '["NN"]' and second_tag(tag) == "VB" and second_tag("NN") == ""
    for other in (pickle.loads(pickle.dumps(tag)), copy.deepcopy(tag), AmbiguousTag(tag, "VB")):
        assert other == "NN" and second_tag(other) == "VB"
    assert has_ambiguous(["DT", tag]) and not has_ambiguous(["DT", "NN"]) and not has_ambiguous([])


@pytest.mark.parametrize("text", ["NN", "NN|Fem", "|", "||", "NN||", "||NN", ""])
def test_a_text_without_two_tags_is_one_tag(text: str) -> None:
    assert parse_tag(text) == text and not second_tag(parse_tag(text)) and format_tag(parse_tag(text)) == text


@pytest.mark.parametrize(
    "tag", [AmbiguousTag("NN", "VB"), AmbiguousTag("NN|Fem", "VB|Inf"), AmbiguousTag("-LRB-", ":")]
)
def test_ambiguous_tags_are_written_and_read(tag: AmbiguousTag) -> None:
    found = parse_tag(format_tag(tag))
    assert found == tag and second_tag(found) == tag.second


@pytest.mark.parametrize("tag", ["N||x", AmbiguousTag("N|", "V"), AmbiguousTag("N||x", "V")])
def test_a_tag_that_could_not_be_read_again_is_an_error(tag: str) -> None:
    with pytest.raises(DtparseError, match="cannot be written"):
        format_tag(tag)
