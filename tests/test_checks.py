"""Values of settings: the ends of each range, values of other types, and error messages."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from spacy_dtparse.checks import boolean, check, fraction, fractions, integer, label_list, one_of, optional, real
from spacy_dtparse.errors import ConfigError


@pytest.mark.parametrize(
    ("setting", "allowed", "good", "bad"),
    [
        (integer(1), "a whole number from 1", [1, 10**30], [0, 1.0, True, "1", None, math.nan]),
        (integer(0, 8), "a whole number from 0 to 8", [0, 8], [-1, 9, False]),
        (real(0), "a number from 0", [0, 0.5, math.inf], [-0.1, math.nan, True, "0", None]),
        (real(0, above=True), "a number above 0", [1e-9, math.inf], [0, 0.0]),
        (real(0, math.inf, above=True, below=True), "a number above 0", [1e9], [0, math.inf]),
        (real(0, 0.05), "a number from 0 to 0.05", [0, 0.05], [0.06]),
        (fraction(), "a number from 0 to below 1", [0, 0.999], [1, 1.0, -1]),
        (fractions(), "a list of numbers from 0 to 1", [[], (0.1, 1), [0]], [0.1, [1.1], [True], "0", None]),
        (label_list(), "a list of labels, such as ['FRAG', 'X']", [[], ["NP"], ("S",)], ["NP", [""], [1], None]),
        (one_of("a", "b"), "'a' or 'b'", ["a", "b"], ["c", "", None, 1, ["a"]]),
        (boolean(), "true or false", [True, False], [0, 1, None, "true"]),
        (optional(integer(2)), "a whole number from 2, or None", [None, 2], [1, 2.0]),
    ],
)
def test_what_is_allowed(setting, allowed, good, bad):
    assert setting.allowed == allowed
    assert all(map(setting.fits, good)) and not any(map(setting.fits, bad))
    for value in good:
        check(SimpleNamespace(size=value), {"size": setting})
    for value in bad:
        for kind, called in (("", "size"), ("recipe", "recipe setting 'size'")):
            with pytest.raises(ConfigError) as caught:
                check(SimpleNamespace(size=value), {"size": setting}, kind)
            assert str(caught.value) == f"{called} is {value!r}; it must be {allowed}"
