"""Write the span marginals of a sentence into the matrix that the boosted trees read."""

import numpy as np

from ...core.marginals import SpanMarginals, concatenate_marginals
from ...dtypes import INDEX, OFFSET
from ..kernels.marginals import COLUMNS, write_marginals_batch


def with_marginals(
    columns: np.ndarray, marginals: SpanMarginals, marginal_weight: float = 0.0, commit_threshold: float = 1.0
) -> np.ndarray:
    """Combine token columns int32 (n, TOKEN_COLUMNS) and marginals in one matrix, in the format of
    `dtparse.kernels.marginals`. `marginal_weight`: weight of the log odds of a constituent in the search.
    `commit_threshold`: minimum probability at which the span model's decision is final; 1: never."""
    token_offsets = np.array([0, len(columns)], dtype=OFFSET)
    return batch_with_marginals(
        columns, token_offsets, *concatenate_marginals([marginals]), marginal_weight, commit_threshold
    )[0]


def batch_with_marginals(
    columns: np.ndarray,
    token_offsets: np.ndarray,
    marginals: SpanMarginals,
    span_offsets: np.ndarray,
    marginal_weight: float,
    commit_threshold: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Apply `with_marginals` to S sentences: return their concatenated matrices and the row offsets, int64 (S + 1,).

    `columns`: of all tokens; sentence s has the rows `token_offsets[s]` to `token_offsets[s + 1]`, int64 (S + 1,).
    `marginals`, `span_offsets`: the output of `concatenate_marginals`.
    """
    row_offsets = token_offsets + span_offsets
    tokens = np.zeros((int(row_offsets[-1]), COLUMNS), dtype=INDEX)
    sums = np.zeros(len(tokens) + len(span_offsets) - 1)
    write_marginals_batch(
        columns,
        token_offsets,
        marginals,
        span_offsets,
        float(marginal_weight),
        commit_threshold if commit_threshold < 1 else 2.0,
        tokens,
        row_offsets,
        sums,
    )
    return tokens, row_offsets
