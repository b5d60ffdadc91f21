"""Exact 64-bit keys of linear features.

A key contains a template and up to two atoms below 2**24 or four below 2**12; bits 56 to 63 are left for a bin (see
`feature_table`). No two features have the same key. 0 is an atom that the model does not have; no feature contains it.
"""

import numpy as np

from ...jit.decorator import inner_kernel

MAX_ATOMS, MAX_TAGS = 2**24, 2**12
ONE = np.int32(1)
"""Filler of a key that has no further atom."""
_TEMPLATE_AT = np.uint64(48)  # templates are below 128
_12, _24, _36 = np.uint64(12), np.uint64(24), np.uint64(36)


@inner_kernel
def put_two(keys, count, template, first, second):
    """Write the key of two atoms below 2**24, which counts unless one of them is unknown; return the new count."""
    keys[count] = (np.uint64(template) << _TEMPLATE_AT) | (np.uint64(first) << _24) | np.uint64(second)
    return count + ((first > 0) & (second > 0))


@inner_kernel
def put_four(keys, count, template, first, second, third, fourth):
    """Write the key of four atoms below 2**12, which counts unless one of them is unknown; return the new count."""
    upper = (np.uint64(template) << _TEMPLATE_AT) | (np.uint64(first) << _36) | (np.uint64(second) << _24)
    keys[count] = upper | (np.uint64(third) << _12) | np.uint64(fourth)
    return count + ((first > 0) & (second > 0) & (third > 0) & (fourth > 0))


@inner_kernel
def put_twos(keys, count, template, pairs):
    """Call `put_two` for each of the pairs, with consecutive templates starting with `template`."""
    for first, second in pairs:
        count = put_two(keys, count, template, first, second)
        template += 1
    return count


@inner_kernel
def put_fours(keys, count, template, fours):
    """Call `put_four` for each of the fours, with consecutive templates starting with `template`."""
    for first, second, third, fourth in fours:
        count = put_four(keys, count, template, first, second, third, fourth)
        template += 1
    return count


@inner_kernel
def tag_pair(first, second):
    """Two tags as one atom below 2**24, 0 if one is unknown."""
    return np.int32(first * MAX_TAGS + second) if first > 0 and second > 0 else np.int32(0)
