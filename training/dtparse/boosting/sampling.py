"""Priority sampling of examples (Duffield, Lund & Thorup 2005): few examples, unbiased sums of their weights."""

import hashlib
import math
from typing import NamedTuple

import numpy as np

from spacy_dtparse.dtypes import INDEX, SCORE
from spacy_dtparse.jit.decorator import kernel

_BLOCK = 512
_MASK64 = 0xFFFFFFFFFFFFFFFF
_MASK = np.uint64(0xFFFFFFFF)
_M1 = np.uint64(0x7FEB352D)
_M2 = np.uint64(0x846CA68B)
_S15, _S16, _S9 = np.uint64(15), np.uint64(16), np.uint64(9)
_STEP = np.float32(2.0**-23)
_HALF = np.float32(0.5)
_MARGIN = 1.0 + 1e-5  # far above the rounding of a float32 product


class Sample(NamedTuple):
    """`ids` int32 (k,) ascending; `weight` float64 (k,) above 0: max(w, threshold) of the sampled examples.
    `threshold`: the (k + 1)-th largest priority, 0 if every example with weight was sampled."""

    ids: np.ndarray
    weight: np.ndarray
    threshold: float


def label_key(name: str) -> int:
    """64-bit hash of a label's name, the same in every process: selects the label's random numbers."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")


def stream_keys(seed: int, key: int, draw: int) -> tuple[int, int]:
    """Two 32-bit keys of the random numbers of draw `draw` (splitmix64 of all three)."""
    state = seed & _MASK64
    for part in (key, draw):
        state = (state ^ (part & _MASK64)) + 0x9E3779B97F4A7C15 & _MASK64
        state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & _MASK64
        state = (state ^ state >> 27) * 0x94D049BB133111EB & _MASK64
        state ^= state >> 31
    return state & 0xFFFFFFFF, state >> 32


@kernel
def _mix(x):
    """Compute one round of a 32-bit multiply-xorshift hash (constants: Wellons, "hash prospector", lowbias32)."""
    x ^= x >> _S16
    x = (x * _M1) & _MASK
    x ^= x >> _S15
    x = (x * _M2) & _MASK
    return x ^ (x >> _S16)


@kernel
def uniforms(first, count, key0, key1, out):
    """Set out float32 [j] to a number in (0, 1) of 23 bits that depends only on example first + j and the keys."""
    for j in range(count):
        x = _mix(_mix(np.uint64(first + j) ^ key0) ^ key1)
        out[j] = (np.float32(np.int32(x >> _S9)) + _HALF) * _STEP


@kernel
def collect_candidates(signed_weight, key0, key1, threshold, ids, priority):
    """Collect the examples of weight > 0 whose priority w / r may be above `threshold`: indices and priorities, in
    order. Returns their number; candidates that do not fit in `ids` are only counted."""
    n = len(signed_weight)
    draw = np.empty(_BLOCK, np.float32)
    excess = np.empty(_BLOCK, np.float32)
    found = 0
    for first in range(0, n, _BLOCK):
        count = min(_BLOCK, n - first)
        uniforms(first, count, key0, key1, draw)
        for j in range(count):
            excess[j] = np.abs(signed_weight[first + j]) - threshold * draw[j]
        for j in range(count):
            if excess[j] > 0:
                if found < len(ids):
                    ids[found] = first + j
                    priority[found] = np.float64(np.abs(signed_weight[first + j])) / np.float64(draw[j])
                found += 1
    return found


class PrioritySampler:
    """Draws priority samples of `size` examples (None: all), with the last threshold as a first guess. The guess
    affects only the speed of a draw, never its result."""

    def __init__(self, size: int | None):
        self.size, self._guess = size, 0.0
        self._allocate(3 * (size or 0) + 1024)

    def _allocate(self, n: int) -> None:
        self._ids, self._priority = np.empty(n, dtype=INDEX), np.empty(n, dtype=SCORE)

    def draw(self, signed_weight: np.ndarray, keys: tuple[int, int]) -> Sample:
        """Draw a sample of examples of weight |signed_weight| float32 (n,), with the random numbers of `keys`."""
        size = self.size
        if size is None or size >= len(signed_weight):
            ids = np.flatnonzero(signed_weight).astype(INDEX)
            return Sample(ids, np.abs(signed_weight[ids]).astype(SCORE), 0.0)
        key0, key1 = np.uint64(keys[0]), np.uint64(keys[1])
        guess = self._guess * 0.93 or first_guess(signed_weight, size)
        while True:
            found = collect_candidates(signed_weight, key0, key1, np.float32(guess), self._ids, self._priority)
            if found > len(self._ids):
                self._allocate(found)
                continue
            ids, priority, threshold = self._ids[:found], self._priority[:found], 0.0
            if found > size:
                threshold = float(np.partition(priority, found - size - 1)[found - size - 1])
            if guess == 0.0 or threshold > guess * _MARGIN:
                break
            guess = guess * 0.7 if guess > 1e-30 else 0.0
        self._guess = threshold
        sampled = priority > threshold
        missing = size - int(sampled.sum())
        if missing:  # examples whose priority equals the threshold: the lowest indices
            sampled[np.flatnonzero(priority == threshold)[:missing]] = True
        ids = ids[sampled]
        return Sample(ids, np.maximum(np.abs(signed_weight[ids]).astype(SCORE), threshold), threshold)


def first_guess(signed_weight: np.ndarray, size: int) -> float:
    """A threshold t with about `size` expected candidates, Σ min(1, w / t) = size, from every s-th example; 0 if there
    are fewer."""
    stride = max(1, len(signed_weight) // 65536)
    weight = np.sort(np.abs(signed_weight[::stride]).astype(SCORE))[::-1]
    wanted = size * len(weight) / len(signed_weight)
    rank = np.arange(min(len(weight), math.ceil(wanted)))  # number of examples with a weight above t
    threshold = (weight.sum() - np.cumsum(weight) + weight)[rank] / (wanted - rank)
    fits = np.flatnonzero(weight[rank] <= threshold)
    return float(threshold[fits[0]]) * 0.93 if len(fits) else 0.0
