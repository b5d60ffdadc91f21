"""Priority sampling of examples (Duffield, Lund & Thorup 2005): few examples, unbiased sums of their weights."""

import hashlib
from typing import NamedTuple

import numpy as np

from spacy_dtparse.dtypes import INDEX, SCORE
from spacy_dtparse.kernels.jit import kernel

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
    """`ids` int32 (k,) ascending; `weight` float64 (k,) above 0: max(w, threshold) of the kept examples.

    `threshold`: the (k + 1)-th largest priority, 0 when every example with weight was kept.
    """

    ids: np.ndarray
    weight: np.ndarray
    threshold: float


def label_key(name: str) -> int:
    """64-bit number of a label's name, the same in every process: which random numbers the label draws."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")


def stream_keys(seed: int, key: int, draw: int) -> tuple[int, int]:
    """Two 32-bit keys of the random numbers of draw number `draw` (splitmix64 of all three)."""
    state = seed & _MASK64
    for part in (key, draw):
        state = (state ^ (part & _MASK64)) + 0x9E3779B97F4A7C15 & _MASK64
        state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & _MASK64
        state = (state ^ state >> 27) * 0x94D049BB133111EB & _MASK64
        state ^= state >> 31
    return state & 0xFFFFFFFF, state >> 32


@kernel
def uniforms(first, count, key0, key1, out):
    """out float32 [j] = a number in (0, 1) that depends on example first + j and the keys only (counter-based).

    Two rounds of a 32-bit multiply-xorshift hash (constants: Wellons, "hash prospector", lowbias32); 23 bits.
    """
    for j in range(count):
        x = np.uint64(first + j) ^ key0
        x ^= x >> _S16
        x = (x * _M1) & _MASK
        x ^= x >> _S15
        x = (x * _M2) & _MASK
        x ^= x >> _S16
        x ^= key1
        x ^= x >> _S16
        x = (x * _M1) & _MASK
        x ^= x >> _S15
        x = (x * _M2) & _MASK
        x ^= x >> _S16
        out[j] = (np.float32(np.int32(x >> _S9)) + _HALF) * _STEP


@kernel
def collect_candidates(signed_weight, key0, key1, threshold, ids, priority):
    """Examples of weight > 0 whose priority w / r may be above `threshold`: numbers and priorities, in order.

    Returns their number, or -1 when they do not fit in `ids`.
    """
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
                if found == len(ids):
                    return -1
                ids[found] = first + j
                priority[found] = np.float64(np.abs(signed_weight[first + j])) / np.float64(draw[j])
                found += 1
    return found


class PrioritySampler:
    """Draws priority samples of `size` examples (None: all); remembers the last threshold as a first guess.

    The guess decides only how fast a draw is, never what is drawn.
    """

    def __init__(self, size: int | None):
        self.size = size
        self._guess = 0.0
        self._ids = np.empty(0, dtype=INDEX)
        self._priority = np.empty(0, dtype=SCORE)

    def draw(self, signed_weight: np.ndarray, keys: tuple[int, int]) -> Sample:
        """A sample of examples of weight |signed_weight| float32 (n,), with the random numbers of `keys`."""
        if self.size is None or self.size >= len(signed_weight):
            ids = np.flatnonzero(signed_weight).astype(INDEX)
            return Sample(ids, np.abs(signed_weight[ids]).astype(SCORE), 0.0)
        size = self.size
        if len(self._ids) == 0:
            capacity = min(len(signed_weight), 3 * size + 1024)
            self._ids, self._priority = np.empty(capacity, dtype=INDEX), np.empty(capacity, dtype=SCORE)
        guess = self._guess * 0.93 or first_guess(signed_weight, size)
        low, high = 0.0, np.inf  # thresholds known to give too many / too few
        key0, key1 = np.uint64(keys[0]), np.uint64(keys[1])
        while True:
            found = collect_candidates(signed_weight, key0, key1, np.float32(guess), self._ids, self._priority)
            if found < 0:
                low = guess
                if guess == 0.0 or high <= low * 1.0001:
                    self._grow(len(signed_weight))
                else:
                    guess = guess * 1.5 if np.isinf(high) else (low + high) / 2
                continue
            ids, priority = self._ids[:found], self._priority[:found]
            if found <= size:
                if guess == 0.0:
                    return Sample(ids.copy(), np.abs(signed_weight[ids]).astype(SCORE), 0.0)
            else:
                threshold = float(np.partition(priority, found - size - 1)[found - size - 1])
                if guess == 0.0 or threshold > guess * _MARGIN:
                    break
            high = guess
            guess = guess * 0.7 if low == 0.0 else (low + high) / 2
            if guess < 1e-30 or high <= low * 1.0001:
                self._grow(len(signed_weight))
                guess = low if low < high * 0.9 else low * 0.5
                low = 0.0
                if guess < 1e-30:
                    guess = 0.0
        self._guess = threshold
        kept = priority > threshold
        missing = size - int(kept.sum())
        if missing:  # examples of exactly the threshold's priority: the lowest numbers
            kept[np.flatnonzero(priority == threshold)[:missing]] = True
        ids = ids[kept]
        return Sample(ids, np.maximum(np.abs(signed_weight[ids]).astype(SCORE), threshold), threshold)

    def _grow(self, n: int) -> None:
        self._ids, self._priority = np.empty(n, dtype=INDEX), np.empty(n, dtype=SCORE)


def first_guess(signed_weight: np.ndarray, size: int) -> float:
    """A threshold t with about `size` expected candidates, Σ min(1, w / t) = size, from every s-th example."""
    stride = max(1, len(signed_weight) // 65536)
    weight = np.sort(np.abs(signed_weight[::stride]).astype(SCORE))[::-1]
    wanted = size * len(weight) / len(signed_weight)
    tail = weight.sum() - np.concatenate([[0.0], np.cumsum(weight)[:-1]])  # weight from rank j on
    for rank in range(min(len(weight), int(wanted) + 1)):
        left = wanted - rank
        if left <= 0:
            break
        threshold = tail[rank] / left
        if weight[rank] <= threshold:
            return float(threshold) * 0.93
    return 0.0
