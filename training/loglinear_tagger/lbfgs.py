"""Minimising a smooth function of many variables: limited-memory BFGS (Nocedal & Wright 1999, algorithm 7.5)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]
_SUFFICIENT, _CURVATURE = 1e-4, 0.9
_MOST_TRIALS = 30
_MEMORY = 7  # steps that are remembered


class Lbfgs:
    """A minimisation at some iteration. `function`: gives value and gradient at a point, both float64. `point`: where
    it begins, or goes on after `iterations` with the latest `pairs` of a step and a change of the gradient."""

    def __init__(
        self,
        function: Function,
        point: np.ndarray,
        iterations: int = 0,
        pairs: Iterable[tuple[np.ndarray, np.ndarray]] = (),
    ):
        self._function, self.point, self.iterations = function, point, iterations
        self.value, self.gradient = function(point)
        self._pairs = deque(pairs, maxlen=_MEMORY)

    def advance(self) -> bool:
        """One iteration; False, and nothing changes, where no step along the search direction is a gain."""
        found = self._search(self._direction())
        if found is None and self._pairs:
            self._pairs.clear()  # steepest descent: what was remembered misleads
            found = self._search(self._direction())
        if found is None:
            return False
        point, value, gradient = found
        step, change = point - self.point, gradient - self.gradient
        if float(step @ change) > 1e-10 * float(change @ change):
            self._pairs.append((step, change))
        self.point, self.value, self.gradient = point, value, gradient
        self.iterations += 1
        return True

    def _direction(self) -> np.ndarray:
        """Minus the inverse Hessian, as the remembered steps have it, times the gradient (two-loop recursion)."""
        direction = -self.gradient
        shares = []
        for step, change in reversed(self._pairs):
            share = float(step @ direction) / float(step @ change)
            direction -= share * change
            shares.append(share)
        if self._pairs:
            step, change = self._pairs[-1]
            direction *= float(step @ change) / float(change @ change)
        else:
            direction /= max(1.0, float(np.sqrt(direction @ direction)))
        for (step, change), share in zip(self._pairs, reversed(shares), strict=True):
            direction += (share - float(change @ direction) / float(step @ change)) * step
        return direction

    def _search(self, direction: np.ndarray) -> tuple[np.ndarray, float, np.ndarray] | None:
        """A step that meets the weak Wolfe conditions, by bisection; None where none is found."""
        slope = float(self.gradient @ direction)
        if slope >= 0.0:
            return None
        low, high, length = 0.0, np.inf, 1.0
        best: tuple[np.ndarray, float, np.ndarray] | None = None
        for _ in range(_MOST_TRIALS):
            point = self.point + length * direction
            value, gradient = self._function(point)
            if not value <= self.value + _SUFFICIENT * length * slope:
                high = length
            else:
                best = point, value, gradient
                if float(gradient @ direction) >= _CURVATURE * slope:
                    return best
                low = length
            length = 2.0 * low if high == np.inf else (low + high) / 2.0
        return best

    def state(self) -> dict[str, Any]:
        """All that a minimisation goes on from, as arrays and numbers."""
        pairs = np.array(self._pairs).reshape(len(self._pairs), 2, len(self.point))
        return {"point": self.point, "iterations": self.iterations, "steps": pairs[:, 0], "changes": pairs[:, 1]}

    @classmethod
    def from_state(cls, function: Function, state: Mapping[str, Any]) -> Lbfgs:
        """The reverse of `state`."""
        pairs = zip(state["steps"], state["changes"], strict=True)
        return cls(function, np.array(state["point"]), int(state["iterations"]), pairs)
