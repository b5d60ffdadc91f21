"""Groups of constituents as they are stored: spaCy's bytes, with a checksum of the spans."""

from __future__ import annotations

import zlib
from fractions import Fraction

import catalogue
import numpy as np
import pytest
from spacy.tokens import Doc, Span, SpanGroup
from spacy.vocab import Vocab

from spacy_dtparse.pipeline import stored_group
from spacy_dtparse.pipeline.attributes import constituents, cost
from spacy_dtparse.pipeline.constituent_group import ConstituentGroup

KEY = "constituents"


@pytest.mark.parametrize("n_tokens", [2, 15, 300, 301])
def test_checksums_of_stored_groups(n_tokens: int, monkeypatch) -> None:
    """The checksum is that of the stored spans, however it is computed; a small number is stored, too."""
    doc = Doc(Vocab(), words=["w"] * n_tokens)
    spans = [Span(doc, i, n_tokens, label=f"X{i % 3}", span_id="level-1", kb_id="Q1") for i in range(n_tokens)]
    group = ConstituentGroup(doc, name=KEY, attrs={"costs": [0.5] * n_tokens}, spans=spans)
    spans_only = stored_group.bytes_of(group)[-42 * n_tokens :]
    assert stored_group.checksum(group) == zlib.crc32(spans_only)
    stored = group.to_bytes()
    attrs = SpanGroup(doc).from_bytes(stored).attrs
    assert attrs == {"costs": [0.5] * n_tokens, "checksum": zlib.crc32(spans_only)}
    assert stored == SpanGroup(doc, name=KEY, attrs=attrs, spans=spans).to_bytes() and "checksum" not in group.attrs
    monkeypatch.setattr(zlib, "crc32", lambda data: 7)
    assert SpanGroup(doc).from_bytes(group.to_bytes()).attrs["checksum"] == 7


def test_attributes_of_other_types_are_stored_as_spacy_stores_them(monkeypatch) -> None:
    """numpy's values by srsly's own encoder, others by encoders that are registered later; without one, spaCy's error,
    and the group is as it was."""
    doc = Doc(Vocab(), words=["a", "b"])
    values = {"costs": [0.5], "mine": np.arange(3), "text": "\u00e9", 2: (1, None)}
    group = ConstituentGroup(doc, name=KEY, attrs=values, spans=[Span(doc, 0, 2, label="NP")])
    attrs = SpanGroup(doc).from_bytes(group.to_bytes()).attrs
    assert attrs["mine"].tolist() == [0, 1, 2] and attrs["text"] == "\u00e9" and attrs[2] == [1, None]
    group.attrs["mine"] = 1 + 2j, Fraction(1, 3)
    with pytest.raises(TypeError, match="can not serialize 'Fraction' object"):
        group.to_bytes()
    assert group.attrs == {**values, "mine": (1 + 2j, Fraction(1, 3))}

    def encode(value, chain=None):
        return str(value) if isinstance(value, Fraction) else value if chain is None else chain(value)

    monkeypatch.setitem(catalogue.REGISTRY, ("srsly", "msgpack_encoders", "fractions"), encode)
    assert SpanGroup(doc).from_bytes(group.to_bytes()).attrs["mine"] == [1 + 2j, "1/3"]


def test_other_threads_see_the_attributes_while_a_large_group_is_read(monkeypatch) -> None:
    """A group of more than 300 spans is stored to read it; meanwhile its attributes stay."""
    doc = Doc(Vocab(), words=["w"] * 400)
    spans = [Span(doc, k, k + 1, "NP") for k in range(400)]
    doc.spans[KEY] = ConstituentGroup(doc, name=KEY, attrs={"costs": [0.5] * 400}, spans=spans)
    loaded = Doc(doc.vocab).from_bytes(doc.to_bytes())
    seen: list[bool] = []

    class Watched:
        __iter__ = SpanGroup.__iter__

        @staticmethod
        def to_bytes(group: SpanGroup) -> bytes:
            seen.append("costs" in group.attrs)
            return SpanGroup.to_bytes(group)

    monkeypatch.setattr(stored_group, "SpanGroup", Watched)
    assert cost(constituents(loaded)[399]) == 0.5
    assert seen and all(seen)


def test_a_group_whose_attributes_cannot_be_stored_is_read() -> None:
    for n in (3, 400):
        doc = Doc(Vocab(), words=["w"] * n)
        doc.spans[KEY] = SpanGroup(
            doc, name=KEY, attrs={"mine": {1}}, spans=[Span(doc, k, k + 1, "NP") for k in range(n)]
        )
        assert len(constituents(doc)) == n and doc.spans[KEY].attrs == {"mine": {1}}
